import numpy as np
import pytest

from answers import said
from topiclens.documents import Masking
from topiclens.exercises import how_far as check
from topiclens.theory import shown_shares

A = shown_shares(Masking())[0]


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        ((2.0, 0.2), "✓ Right."),
        (np.array([2, 0.2]), "✓ Right."),
        ((0.8, 0.2), "p(topic | word)"),
        ((0.04, 0.01), "frequencies"),
        ((0.5, 5), "not its coordinates"),
        (2.0, "The shape is ()"),
        ("two", "array of numbers"),
        ((np.nan, 1), "not finite"),
        (..., "no answer yet"),
    ],
)
def test_bank(capsys, answer, says):
    assert says in said(capsys, check.bank, answer)


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        ((1 / (10 * A), 5), "✓ Right."),
        ((1 / (5 * A), 5), "topics of 5 words"),
        ((0.3, 5), "Not the gap."),
        ((1 / (10 * A), 6), "shares sum to 1"),
        ((1 / (10 * A), 11), "Not the rank."),
        ((1, 2, 3), "The shape is (3,)"),
    ],
)
def test_partners(capsys, answer, says):
    assert says in said(capsys, check.partners, answer)


def test_topics_in_attention(capsys):
    many = {"residual": True, "heads": 8, "attention_dim": 8, "mlp": True}
    assert "✓ Right." in said(capsys, check.topics_in_attention, many)
    assert "adjusted Rand index of" in said(capsys, check.topics_in_attention, {"residual": True})
    assert "must stay on" in said(capsys, check.topics_in_attention, {"heads": 8})
    assert "not be causal" in said(capsys, check.topics_in_attention, many | {"causal": True})
    assert "layers = 4" in said(capsys, check.topics_in_attention, many | {"layers": 4})
    assert "heads = '2'" in said(capsys, check.topics_in_attention, many | {"heads": "2"})
    assert "init_scale = 0 must be" in said(capsys, check.topics_in_attention, many | {"init_scale": 0})
    assert "unexpected keyword argument 'depth'" in said(capsys, check.topics_in_attention, many | {"depth": 2})
    assert "attention_dim = 0" in said(capsys, check.topics_in_attention, many | {"attention_dim": 0})
    assert "must be a dict" in said(capsys, check.topics_in_attention, 3)
