import json

import numpy as np
import pytest

from topiclens import claims, theory
from topiclens.__main__ import main
from topiclens.claims import ALL, Claim

SHARED = ["third-stage", "swap-carriers", "shuffle-values"]  # measured on the same runs
ALONE = [[name] for name in ALL if name not in (*SHARED, "real-text")]  # that one is in test_real_text


@pytest.mark.parametrize("names", [*ALONE, SHARED], ids="+".join)
def test_claims_hold(names, capsys):
    for name in names:
        assert main(["claims", "--json", "--only", name]) == 0
        (claim,) = json.loads(capsys.readouterr().out)
        assert claim["name"] == name
        assert set(claim) == {"name", "statement", "measured", "expected", "holds"}
        assert claim["holds"] is True
        assert set(claim["measured"]) == set(claim["expected"])
        assert all(len(numbers) > 0 for numbers in claim["measured"].values())


def test_one_claim_in_words(capsys):
    assert main(["claims", "--only", "attention-theory"]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("[attention-theory] ✓ Claim holds")
    assert printed.count("[") == 2  # this claim's name and one bound


def test_an_unknown_claim_is_refused(capsys):
    with pytest.raises(SystemExit) as stop:
        main(["claims", "--only", "nonsense"])
    assert stop.value.code == 2
    assert "invalid choice: 'nonsense'" in capsys.readouterr().err


def test_a_broken_formula_fails_the_command(monkeypatch, capsys):
    whole = theory.AttentionSetting.loss
    monkeypatch.setattr(theory.AttentionSetting, "loss", lambda self, r: whole(self, np.asarray(r) * 1.01))
    assert main(["claims", "--only", "attention-theory"]) == 1
    assert "✗ Claim FAILS" in capsys.readouterr().out


def test_bounds_decide():
    claim = Claim("x", "x", {"q": [1.0, 2.0]}, {"q": (0.5, 2.0)})
    assert claim.holds
    claim.check()
    for bad in ({"q": [2.1]}, {"q": [0.4]}, {"q": [float("nan")]}):
        broken = Claim("x", "x", bad, {"q": (0.5, 2.0)})
        assert not broken.holds
        with pytest.raises(AssertionError, match="'x' fails"):
            broken.check()


def test_untied_embeddings_fail_the_claim():
    """The claim can tell: with an untied decoder the embeddings' Gram matrix is not the optimum."""
    assert not claims.embeddings([claims.train_embeddings("squared", decoder="free", steps=300, progress=False)]).holds


def test_layers_that_have_only_learned_topics_fail_the_claims_about_the_code():
    """At step 150 topics are there and the code is not: nothing is copied, swaps and shuffles have nothing to move."""
    early = [claims.train_code(seed=0, steps=150, progress=False)]
    assert not claims.third_stage(early, early).holds
    assert not claims.swap_carriers(early).holds


def test_words_of_half_the_frequency_are_not_at_the_sum():
    """The claim can tell the sum from the midpoint, even early in training."""
    runs = {weight: [claims.train_shared_words(weight, steps=200, progress=False)] for weight in (1.0, 0.5)}
    claim = claims.shared_words({1.0: runs[0.5], 0.5: runs[1.0]})
    for name, numbers in claim.measured.items():
        low, high = claim.expected[name]
        assert all(low <= x <= high for x in numbers) == ("trained" not in name)
