"""The checks of chapter 1's exercises tell right answers from typical wrong ones, and say what is wrong."""

import numpy as np
import pytest

from answers import said
from topiclens.documents import FIRST_WORD, TopicModel
from topiclens.exercises import topic_model as check

TOPICS = TopicModel(length=(2, 20))


@pytest.fixture(scope="module")
def counts():
    words = TOPICS.sample(20_000, seed=11).words
    return np.stack([np.bincount(row[row > 0], minlength=101)[FIRST_WORD:] for row in words]).astype(float)


def true_labels():
    labels = np.empty(100, int)
    labels[check._new_names()] = TOPICS.word_topics
    return labels


def is_right(text):
    return text == "✓ Right.\n"


def is_complaint(text, *words):
    return text.startswith("✗ Not yet. ") and all(word in text for word in words)


@pytest.mark.parametrize(
    "one_check", [check.alpha_like_four_topics, check.pair_probabilities, check.topics_of_renamed_words]
)
def test_stub(capsys, one_check):
    assert said(capsys, one_check, ...).startswith("… no answer yet")


def test_alpha(capsys):
    assert is_right(said(capsys, check.alpha_like_four_topics, 0.5))
    assert is_right(said(capsys, check.alpha_like_four_topics, np.float64(1 / 2)))
    assert is_right(said(capsys, check.alpha_like_four_topics, 0.5001))


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (4, ["0.12195", "0.25"]),
        (0.1, ["0.55", "0.25"]),
        (0.503, ["0.24925", "0.25"]),
        (-1, ["above 0"]),
        (float("nan"), ["finite"]),
        ("half", ["number", "str"]),
        ([0.5, 0.5], ["number", "list"]),
    ],
)
def test_wrong_alpha(capsys, answer, words):
    assert is_complaint(said(capsys, check.alpha_like_four_topics, answer), *words)


def test_pair_probabilities(capsys, counts):
    N = counts.sum(1)
    pairs = counts.T @ counts - np.diag(counts.sum(0))
    assert is_right(said(capsys, check.pair_probabilities, pairs / (N * (N - 1)).sum()))
    weighted = counts / (N * (N - 1))[:, None]
    one_by_one = (weighted.T @ counts - np.diag(weighted.sum(0))) / len(counts)
    assert is_right(said(capsys, check.pair_probabilities, one_by_one))
    assert is_right(said(capsys, check.pair_probabilities, TOPICS.word_moments[1]))


def wrong_pair_probabilities(counts):
    N = counts.sum(1)
    squares, mean = counts.T @ counts, counts.mean(0)
    right = (squares - np.diag(counts.sum(0))) / (N * (N - 1)).sum()
    shuffled = np.random.default_rng(0).permutation(100)
    lumps = right.copy()
    lumps[:10, :10] = np.where(np.eye(10) == 1, right[:10, :10], 0)  # topic 1: the pair 1, 2 has it all
    lumps[0, 1] = lumps[1, 0] = (right[:10, :10].sum() - np.trace(right[:10, :10])) / 2
    return {
        "with itself": (squares / (N * (N - 1)).sum(), ["diagonal"]),
        "all pairs": (squares / (N**2).sum(), ["How many pairs"]),
        "one length for all": (
            (squares - np.diag(counts.sum(0))) / (len(N) * N.mean() * (N.mean() - 1)),
            ["How many pairs"],
        ),
        "divided by all pairs of all documents": (squares / N.sum() ** 2, ["How many pairs"]),
        "not symmetric": (np.triu(right) * 2, ["not symmetric"]),
        "names mixed up": (right[np.ix_(shuffled, shuffled)], ["belong to word i"]),
        "one number in a block": (lumps, ["single entries"]),
        "nothing": (0 * right, ["How many pairs"]),
        "covariance": (right - np.outer(mean, mean) / N.mean() ** 2, ["as those of M or R"]),
        "relative": (right * 10_000 - 1, ["as those of M or R"]),
        "shape": (right[:10], ["(10, 100)", "(100, 100)"]),
        "infinite": (np.full((100, 100), np.inf), ["finite"]),
        "words": ([["a"]], ["list"]),
    }


@pytest.mark.parametrize(
    "name",
    [
        "with itself",
        "all pairs",
        "one length for all",
        "divided by all pairs of all documents",
        "not symmetric",
        "names mixed up",
        "one number in a block",
        "nothing",
        "covariance",
        "relative",
        "shape",
        "infinite",
        "words",
    ],
)
def test_wrong_pair_probabilities(capsys, counts, name):
    answer, words = wrong_pair_probabilities(counts)[name]
    assert is_complaint(said(capsys, check.pair_probabilities, answer), *words)


def test_topics_of_renamed_words(capsys):
    labels = true_labels()
    assert is_right(said(capsys, check.topics_of_renamed_words, labels))
    assert is_right(said(capsys, check.topics_of_renamed_words, [f"topic {9 - label}" for label in labels]))


def test_renamed_documents():
    words = check.renamed_documents(50)
    assert words.shape == (50, 128)
    topics_of_first = np.unique(true_labels()[words[0] - FIRST_WORD])
    assert len(topics_of_first) == 4
    assert not (words == check.renamed_documents(50, seed=1)).all()


def test_wrong_topics_of_renamed_words(capsys):
    labels = true_labels()
    one_moved = labels.copy()
    one_moved[0] = (labels[0] + 1) % 10
    for answer, words in [
        (np.arange(100) // 10, ["different labels", "same label"]),
        (one_moved, ["9 pairs of words of one topic", "10 pairs of words of different"]),
        (np.zeros(100, int), ["0 pairs of words of one topic", "4500 pairs"]),
        (np.where(labels == 9, 8, labels), ["0 pairs of words of one topic", "100 pairs"]),
        (labels[:10], ["(10,)", "(100,)"]),
        (np.eye(100), ["(100, 100)"]),
        (3, ["()"]),
        ([[1, 2], [3]], ["one kind"]),
        ([None, "a"] * 50, ["one kind"]),
    ]:
        assert is_complaint(said(capsys, check.topics_of_renamed_words, answer), *words), (answer, words)
