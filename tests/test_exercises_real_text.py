import numpy as np
import pytest
from scipy.sparse import csr_matrix

from answers import said
from topiclens.encoder import WordAttention, sum_by_relation
from topiclens.exercises import real_text as check
from topiclens.text import Document, WordCounts


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (np.log(5) / -np.log(0.025), "✓ Right."),
        (np.log(5), "not normalised"),
        (-np.log(5) / -np.log(0.025), "The sign"),
        (0.0, "ignore each other"),
        (0.2, "Shares of documents"),
        ("a", "must be a number"),
        (..., "no answer yet"),
    ],
)
def test_coherence(capsys, answer, says):
    assert says in said(capsys, check.coherence, answer)


def right(sums, pairs):
    both = (pairs > 0).all(1)
    means = sums[both] / pairs[both]
    return (pairs[both, 0] @ means[:, 0]) / (pairs[both, 0] @ means[:, 1])


def other_weights(sums, pairs):
    both = (pairs > 0).all(1)
    means = sums[both] / pairs[both]
    return (pairs[both, 1] @ means[:, 0]) / (pairs[both, 1] @ means[:, 1])


def mean_of_ratios(sums, pairs):
    both = (pairs > 0).all(1)
    means = sums[both] / pairs[both]
    return np.mean(means[:, 0] / means[:, 1])


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (right, "✓ Right."),
        (lambda s, p: 1 / right(s, p), "different topics over"),
        (lambda s, p: np.divide(*(s.sum(0) / p.sum(0))), "not matched"),
        (other_weights, "must be the same-topic ones"),
        (mean_of_ratios, "average ratios"),
        (lambda s, p: (s / p)[:, 0].sum(), "finite number"),
        (lambda s, p: s[9], "stops with IndexError"),
        (lambda s, p: 1.0, "is off"),
        (3, "must be a function"),
    ],
)
def test_matched(capsys, answer, says):
    assert says in said(capsys, check.matched, answer)


# Words 0 and 1 are of subject a, 2 and 3 of b, 4 of both; the last document, whose word 4 is a's, is measured.
COUNTS = np.array([[5, 4, 0, 0, 1], [4, 5, 0, 0, 1], [0, 0, 5, 4, 2], [0, 0, 4, 5, 1], [0, 0, 0, 0, 50]])
LEADS = [Document("", "", subject) for subject in "aabba"]
CORPUS = WordCounts(tuple("vwxyz"), csr_matrix(COUNTS))
ATTENTIONS = [
    WordAttention(
        np.arange(5), np.arange(5), None, np.random.default_rng(0).uniform(0.5, 2, (1, 1, 5, 5)).astype(np.float16)
    )
]
LABELS = np.array([0, 0, 1, 1, 1])
SUMS = sum_by_relation(ATTENTIONS, LABELS)


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        ((LABELS, SUMS.matched_ratio()), "✓ Right."),
        ((1 - LABELS, SUMS.matched_ratio()), "✓ Right."),  # numbers are names
        ((LABELS, SUMS.ratio()), "ratio of all pairs"),
        ((LABELS, 9.0), "the ratio is not"),
        ((np.array([0, 0, 1, 1, 0]), 1.0), "leave them out"),
        ((np.array([0, 0, 1, 1, 2]), 1.0), "All words have a label"),
        ((np.array([0, 0, -1, 1, 1]), 1.0), "not the labels"),
        ((LABELS.astype(float), 1.0), "whole numbers"),
        ((LABELS[:2], 1.0), "The shape is (2,)"),
        (3, "must be a pair"),
        (..., "no answer yet"),
    ],
)
def test_subjects(capsys, answer, says):
    assert says in said(capsys, check.subjects, answer, CORPUS, LEADS, np.array([4]), ATTENTIONS)
