"""Checks of the exercises in book/03-one-layer.ipynb."""

import numpy as np

from ..documents import TopicModel
from ..measures import attention_ratios, between_words
from ..model import TopicTransformer
from . import array_complaint, exercise, number_complaint

NUM_WORDS = 100
SWITCHES = {"dim": 32, "attention_dim": 16, "embedding": "learned", "decoder": "tied"}

SCORES = np.array([0.0, 1.0, 1.0, -0.5, 2.0, 0.5])
COUNTS = np.array([3, 2, 0, 4, 1, 0])

RATIO = 5.0


@exercise
def parameters(answer):
    """How many numbers TopicTransformer(NUM_WORDS, **SWITCHES) learns."""
    truth = sum(p.numel() for p in TopicTransformer(NUM_WORDS, **SWITCHES).parameters())
    ids, d, d_a = NUM_WORDS + 1, SWITCHES["dim"], SWITCHES["attention_dim"]
    slips = {
        truth + ids * d: "A tied decoder has no numbers of its own, and you seem to count them.",
        truth - d - 1: "The vocabulary has one id more than it has words.",
        truth - ids: "The bias is learned, too.",
        truth - d_a * d: "Queries and keys have a matrix each.",
    }
    hint = "Add up the sizes of the learned matrices, from the table of shapes, and leave out what is frozen or tied."
    complaint = number_complaint(answer, truth, 0, hint)
    return slips.get(float(answer), hint) if complaint == hint else complaint


@exercise
def attention_over_ids(answer):
    """One query's attention to each id, from its SCORES and the document's COUNTS."""
    truth = _softmax(SCORES, COUNTS)
    hint = "List the ten positions, apply softmax, and add up by id."
    complaint = array_complaint(answer, truth, 1e-3, hint)
    if complaint != hint:
        return complaint
    value = np.asarray(answer, float)
    if abs(value[COUNTS == 0]).max() > 1e-9:
        return "An id that the document does not show gets some attention."
    if abs(value.sum() - 1) > 1e-3:
        return f"The entries sum to {value.sum():.3f}; a row of attention sums to 1."
    if np.allclose(value, _softmax(SCORES, COUNTS > 0), atol=1e-3):
        return "An id that is shown four times gets no more than if it were shown once."
    if np.allclose(value, COUNTS / COUNTS.sum(), atol=1e-3):
        return "These are the shares of uniform attention: the scores have no say."
    if np.allclose(value, _softmax(SCORES * COUNTS, COUNTS > 0), atol=1e-3):
        return "You multiply the scores by the counts; it is exp(score) that appears once for each position."
    return hint


@exercise
def prefers_own_topic(answer):
    """(W_K, W_Q), each (d_a, V+1), with which every word's mean same-topic attention is RATIO times the other."""
    ids = NUM_WORDS + 1
    if not isinstance(answer, tuple | list) or len(answer) != 2:
        return "The answer must be a pair (W_K, W_Q)."
    try:
        W_K, W_Q = (np.asarray(matrix, float) for matrix in answer)
    except (TypeError, ValueError, RuntimeError) as error:
        return f"W_K and W_Q must be arrays of numbers: {error}."
    for name, matrix in (("W_K", W_K), ("W_Q", W_Q)):
        if matrix.ndim != 2 or matrix.shape[1] != ids or not len(matrix):
            return f"{name} has shape {matrix.shape}; with one-hot embeddings it must be (d_a, {ids})."
        if not np.isfinite(matrix).all():
            return f"{name} holds entries that are not finite numbers."
    if len(W_K) != len(W_Q):
        return f"W_K has {len(W_K)} rows and W_Q {len(W_Q)}; both must have d_a."
    scores = W_Q.T @ W_K / np.sqrt(len(W_Q))
    ratios = _ratios(scores)
    if np.allclose(ratios, RATIO, rtol=0.01):
        return None
    if np.allclose(_ratios(scores * np.sqrt(len(W_Q))), RATIO, rtol=0.01):
        return "The model divides the scores by √d_a, and you have not made up for it."
    if np.allclose(_ratios(scores.T), RATIO, rtol=0.01):
        return "Read the other way round, key by query, the ratio is right: the two matrices have changed places."
    if np.allclose(ratios, np.exp(RATIO), rtol=0.01):
        return "Attention goes with exp(score): a difference of scores is not yet a ratio of attention."
    worst = int(abs(np.log(ratios) - np.log(RATIO)).argmax())
    return f"The ratio is not {RATIO:g} for all words: query word {worst + 1} has {ratios[worst]:.3g}."


def _softmax(scores, counts):
    weights = counts * np.exp(scores)
    return weights / weights.sum()


def _ratios(scores):
    with np.errstate(divide="ignore", invalid="ignore"):
        return attention_ratios(between_words(scores), TopicModel().word_topics)
