"""Checks of chapter 1, documents from a topic model."""

import numpy as np

from ..documents import FIRST_WORD, TopicModel
from ..measures import block_means
from . import array_complaint, exercise, number_complaint

T, TAU, V = 10, 4, 100
TOPICS = TopicModel(T, V // T)  # τ = 4, N = 128


@exercise
def alpha_like_four_topics(answer) -> str | None:
    """α at which Dirichlet mixtures have the co-occurrence matrix of 4 topics of 10."""
    complaint = number_complaint(answer, 0.5, 1e-3, "")
    if complaint is not None and not complaint:
        alpha = float(answer)
        if alpha <= 0:
            return "α must be above 0."
        chance = (1 + alpha) / (1 + T * alpha)
        return (
            f"With α = {alpha:g} two positions of a document have the same topic with probability {chance:.5g}; "
            f"with {TAU} topics of {T} it is {1 / TAU:g}."
        )
    return complaint


@exercise
def pair_probabilities(answer) -> str | None:
    """E[p pᵀ], (V, V), estimated from 20,000 documents of 2 to 20 words."""
    truth = TOPICS.word_moments[1]
    if complaint := array_complaint(answer, truth, np.inf, ""):
        return complaint
    value = np.asarray(answer, float)
    if not np.allclose(value, value.T, rtol=1e-6, atol=0):
        return "The matrix is not symmetric: words i and j meet as often as words j and i."
    if abs(value.sum()) < 0.1 * abs(value).sum():
        return "The entries sum to about 0, as those of M or R do: E[p pᵀ] itself is asked for, nothing taken off."
    found = block_means(value * V**2, TOPICS.word_topics)
    truth = block_means(truth * V**2, TOPICS.word_topics)
    off = {name: a / b for name, a, b in zip(found._fields, found, truth, strict=True)}
    if abs(off["same_topic"] - off["different_topic"]) > 0.03 * abs(off["different_topic"]):
        return (
            f"Against pairs of different topics, pairs of one topic come out {off['same_topic']:.3g} : "
            f"{off['different_topic']:.3g} of what they should be. Do row and column i − 1 belong to word i?"
        )
    if abs(off["same_topic"] - 1) > 0.03 or abs(off["different_topic"] - 1) > 0.03:
        return (
            f"Pairs of different words come out {off['same_topic']:.3g} (same topic) and {off['different_topic']:.3g} "
            "(different topic) times what they should be. How many pairs of positions has each document?"
        )
    if abs(off["same_word"] - 1) > 0.1:
        return (
            f"Pairs of different words are right, but the diagonal is {off['same_word']:.3g} times what it should be. "
            "Is a position paired with itself?"
        )
    # Dividing document by document leaves entries up to twice as large as they should be, and 0.17 off on average.
    entry = value / TOPICS.word_moments[1]
    if entry.min() < 0 or entry.max() > 3 or np.sqrt(np.mean((entry - 1) ** 2)) > 0.35:
        i, j = np.unravel_index(abs(entry - 1).argmax(), entry.shape)
        return (
            "The means over topics are right, single entries are not: that of "
            f"words {i + FIRST_WORD} and {j + FIRST_WORD} is {entry[i, j]:.3g} times what it should be."
        )
    return None


def renamed_documents(num_documents: int = 500, seed: int = 12) -> np.ndarray:
    """(D, N) documents of 128 words from 4 of 10 topics, whose words a stranger has renamed."""
    return _new_names()[TOPICS.sample(num_documents, seed).words - FIRST_WORD] + FIRST_WORD


@exercise
def topics_of_renamed_words(answer) -> str | None:
    """(V,) labels of the renamed words, equal for words of one topic and different for others."""
    try:
        value = np.asarray(answer)
        labels = np.unique(value, return_inverse=True)[1]
    except (TypeError, ValueError):
        return "The answer must be an array of labels of one kind: whole numbers, say."
    if value.shape != (V,):
        return f"The shape is {value.shape}; it must be {(V,)}, a label for each of the ids 1 … {V}."
    truth = np.empty(V, int)
    truth[_new_names()] = TOPICS.word_topics
    together, belong = (k[:, None] == k for k in (labels, truth))
    apart, joined = (int(wrong.sum()) // 2 for wrong in (belong & ~together, together & ~belong))
    if apart or joined:
        return (
            f"{apart} pairs of words of one topic have different labels,\n"  # as wide as the book's pages
            f"{joined} pairs of words of different topics have the same label,\n"
            f"among {V * (V - 1) // 2} pairs."
        )
    return None


def _new_names():
    """(V,) the new number of each word, counted from 0."""
    return np.random.default_rng(13).permutation(V)
