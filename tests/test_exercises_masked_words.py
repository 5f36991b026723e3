"""Chapter 2's checks: right answers pass, usual mistakes are told what is wrong with them."""

import numpy as np
import pytest

from answers import said
from topiclens import TopicModel, theory
from topiclens.documents import Masking
from topiclens.exercises import masked_words as check


def posterior(keep_prob, random_prob, num_topics, tau, words_per_topic):
    true, drawn = 1 / (tau * words_per_topic), 1 / (num_topics * words_per_topic)
    return true * (keep_prob + random_prob * drawn) / (keep_prob * true + random_prob * drawn)


def kept(keep_prob, random_prob, num_topics, tau, words_per_topic):
    return keep_prob * num_topics / (keep_prob * num_topics + random_prob * tau)


def coins(keep_prob, random_prob, num_topics, tau, words_per_topic):
    chance = keep_prob / (keep_prob + random_prob)
    return chance + (1 - chance) / (tau * words_per_topic)


def raw_coins(keep_prob, random_prob, num_topics, tau, words_per_topic):
    # Right where fitting is no evidence, so that the check gets as far as the case that tells it apart.
    if tau == num_topics or 0 in (keep_prob, random_prob):
        return posterior(keep_prob, random_prob, num_topics, tau, words_per_topic)
    return keep_prob / (keep_prob + random_prob)


def simulated_floor(N):
    return theory.bayes_loss(
        TopicModel(length=N), Masking(), "cross-entropy", use_query=False, num_documents=20_000, seed=1
    ).mean


def all_others_visible(N):
    estimate = theory.bayes_loss(
        TopicModel(length=N), Masking(1e-9), "cross-entropy", use_query=False, num_documents=100_000
    )
    return estimate.mean


def only_masks_hide(N):
    return theory.bayes_loss(
        TopicModel(length=N), Masking(0.12), "cross-entropy", use_query=False, num_documents=20_000, seed=1
    ).mean


@pytest.mark.parametrize(
    ("function", "answer"),
    [
        (check.mask_share, (0.12, 18)),
        (check.mask_share, np.array([0.12, 18.0])),
        (check.posterior, posterior),
        (check.posterior, lambda *setting: np.array([posterior(*setting)])),
        (check.finite_floor, simulated_floor),
        (check.finite_floor, lambda N: [simulated_floor(N)]),
    ],
)
def test_right(function, answer, capsys):
    assert said(capsys, function, answer) == "✓ Right.\n"


@pytest.mark.parametrize(
    ("function", "answer", "words"),
    [
        (check.mask_share, 0.12, "shape"),
        (check.mask_share, "many", "array of numbers"),
        (check.mask_share, (0.2, 30), "selected positions"),
        (check.mask_share, (0.6, 90), "among all positions"),
        (check.mask_share, (0.18, 27), "share c is wrong"),
        (check.mask_share, (0.12, 12), "number is not"),
        (check.posterior, 0.7, "must be a function, not float"),
        (check.posterior, lambda p: p, "TypeError"),
        (check.posterior, lambda *_: "sure", "must return a number, not str"),
        (check.posterior, lambda *_: np.nan, "returns nan"),
        (check.posterior, lambda *_: None, "must return a number, not NoneType"),
        (check.posterior, lambda *_: 0.5, "random_prob = 0"),
        (check.posterior, lambda p_c, *_: float(p_c > 0), "keep_prob = 0 the shown word tells nothing"),
        (check.posterior, lambda *setting: 0 if setting[0] == 0 else posterior(*setting), "keep_prob = 0"),
        (check.posterior, kept, "word was kept"),
        (check.posterior, coins, "compare the two coins alone"),
        (check.posterior, raw_coins, "compare the two coins alone"),
        (check.finite_floor, 3.9, "must be a function, not float"),
        (check.finite_floor, lambda N: [1, 2], "must return a number, not list"),
        (check.finite_floor, lambda N: 1 / (N - 1), "ZeroDivisionError"),
        (check.finite_floor, lambda N: np.log(40), "one word is hidden"),
        (check.finite_floor, lambda N: np.log(40 if N > 1 else 100), "long documents"),
        (check.finite_floor, all_others_visible, "some of them are selected, too"),
        (check.finite_floor, only_masks_hide, "only [MASK] hides"),
        (check.finite_floor, lambda N: 0.996 * simulated_floor(N), "one word is hidden"),
        (check.finite_floor, lambda N: simulated_floor(N) * (0.996 if N > 5 else 1), "too low"),
        (check.finite_floor, lambda N: np.log(100), "too high"),
    ],
)
def test_wrong(function, answer, words, capsys):
    out = said(capsys, function, answer)
    assert out.startswith("✗ Not yet. ")
    assert words in out


def test_the_checks_own_floor_is_that_of_the_package():
    for N in (1, 2, 8, 10, 40):
        mean, error = theory.bayes_loss(
            TopicModel(length=N), Masking(), "cross-entropy", use_query=False, num_documents=20_000, seed=2
        )
        assert abs(check._floor(check._unselected(N, 0.15)) - mean) < 4 * error + 1e-9
