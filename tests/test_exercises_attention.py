"""Chapter 6's checks: right answers pass, usual mistakes are told what is wrong with them."""

import numpy as np
import pytest

from answers import said
from topiclens.documents import Masking
from topiclens.exercises import attention as check
from topiclens.measures import attention_ratios
from topiclens.training import History


def ratios(scores, word_topics, transpose=False, itself=True, total=False):
    """r of each query word, by hand; the switches are mistakes."""
    weights = np.exp(scores - scores.max(1, keepdims=True))
    if transpose:
        weights = np.exp(scores).T
    same = word_topics[:, None] == word_topics
    own = same if itself else same & ~np.eye(len(same), dtype=bool)
    sums = [(weights * mask).sum(1) for mask in (own, ~same)]
    return sums[0] / sums[1] if total else sums[0] / own.sum(1) / (sums[1] / (~same).sum(1))


def overflowing(scores, word_topics):
    weights, same = np.exp(scores), word_topics[:, None] == word_topics
    return (weights * same).sum(1) / same.sum(1) / ((weights * ~same).sum(1) / (~same).sum(1))


def of_means(scores, word_topics):
    same = word_topics[:, None] == word_topics
    return np.exp((scores * same).sum(1) / same.sum(1) - (scores * ~same).sum(1) / (~same).sum(1))


def history(r=21.0, masking=None, **more):
    """A run that ended with attention r times as large on the own topic."""
    scores = np.zeros((101, 101))
    scores[1:, 1:] = np.kron(np.eye(10), np.full((10, 10), np.log(r)))
    matrices = {"W_Q": np.eye(101)[None], "W_K": scores[None] * 101**0.5, **more}
    masking = repr(masking or Masking(0.15, 0.2, 0.1))
    return History(np.zeros(1), np.array([1]), matrices, {"masking": masking})


@pytest.mark.parametrize(
    ("function", "answer"),
    [
        (check.optimal_ratio, 81),
        (check.optimal_ratio, 1 + 20 * 0.2 / 0.05),
        (check.ratios, attention_ratios),
        (check.ratios, ratios),
        (check.keep_more, (21, history())),
        (check.keep_more, [1 + 10 * 0.2 / 0.1, history(22.7)]),
    ],
)
def test_right(function, answer, capsys):
    assert said(capsys, function, answer) == "✓ Right.\n"


@pytest.mark.parametrize(
    ("function", "answer", "words"),
    [
        (check.optimal_ratio, "81 times", "must be a number"),
        (check.optimal_ratio, np.inf, "finite"),
        (check.optimal_ratio, 80, "for p_c = 0"),
        (check.optimal_ratio, 6, "trusted less"),
        (check.optimal_ratio, 11, "default setting"),
        (check.optimal_ratio, 20, "Which of T"),
        (check.ratios, np.ones(12), "must be a function, not ndarray"),
        (check.ratios, lambda scores: scores, "TypeError"),
        (check.ratios, lambda *_: "large", "array of numbers"),
        (check.ratios, lambda *_: 7.7, "shape is ()"),
        (check.ratios, lambda s, t: np.full(len(s), np.nan), "not finite"),
        (check.ratios, lambda s, t: np.full(len(s), 7.7), "r of its own"),
        (check.ratios, lambda s, t: ratios(s, t, transpose=True), "a row is a query"),
        (check.ratios, lambda s, t: ratios(s, t, itself=False), "leave out the query word"),
        (check.ratios, lambda s, t: ratios(s, t, total=True), "divide sums"),
        (check.ratios, lambda s, t: 1 / ratios(s, t), "over that to the own one"),
        (check.ratios, lambda s, t: ratios(s, t) ** 2, "numbers are off"),
        (check.ratios, of_means, "exponential afterwards"),
        (check.ratios, overflowing, "overflow"),
        (check.keep_more, 21, "must be a pair"),
        (check.keep_more, (11, history()), "not what the theorem says"),
        (check.keep_more, ("21 or so", history()), "must be a number"),
        (check.keep_more, (21, 22.7), "not float"),
        (check.keep_more, (21, history(W_V=np.eye(101)[None])), "learned W_V"),
        (check.keep_more, (21, history(masking=Masking())), "keep_prob=0.1"),
        (check.keep_more, (21, history(r=11)), "median r is 11.0"),
        (check.keep_more, (21, history(r=40)), "well above theory"),
        (check.keep_more, (21, History(np.zeros(1), np.array([1]), {"W_E": np.eye(101)[None]})), "did not learn"),
    ],
)
def test_wrong(function, answer, words, capsys):
    out = said(capsys, function, answer)
    assert out.startswith("✗ Not yet. ")
    assert words in out


@pytest.mark.parametrize("function", [check.optimal_ratio, check.ratios, check.keep_more])
def test_no_answer(function, capsys):
    assert "no answer yet" in said(capsys, function, ...)
