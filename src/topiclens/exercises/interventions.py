"""Checks of the exercises on interventions (book/11-interventions.ipynb)."""

import numpy as np

from ..interventions import permutation_within_topics, swap_columns
from ..measures import attention_scores, between_words, composed_map
from . import array_complaint, call, exercise

TOPIC_OF = np.arange(100) // 10
NEXT = TOPIC_OF * 10 + (np.arange(100) + 1) % 10


@exercise
def ring(answer):
    """The answers to a, b, c after a ring of three columns."""
    if not isinstance(answer, tuple | list):
        return f"The answers are three letters, not {type(answer).__name__}."
    letters = tuple(str(letter).strip().lower() for letter in answer)
    if letters == ("b", "c", "a"):
        return None
    if set(letters) - set("abc"):
        return f"The answers are letters among a, b and c, not {', '.join(letters)}."
    if letters == ("c", "a", "b"):
        return "That is the ring the other way round: a attends to f(a) as before; what stands in that column now?"
    if letters == ("a", "b", "c"):
        return "Then nothing would have happened."
    return "Follow a: it attends to f(a), whose column is now f(b)'s. Whose word does that column name?"


@exercise
def same_cut(answer):
    """A function (W_K, first, second) → W_K with the effect of swapping W_V's columns."""
    rng = np.random.default_rng(0)
    W_K, W_Q, W_V = rng.normal(size=(3, 7, 7))
    first, second = 2, 5
    found = call(answer, "a 7 × 7 W_K", W_K.copy(), first, second)
    complaint = array_complaint(found, W_K, np.inf, "")
    if complaint:
        return complaint

    def answers(W_K, W_V):
        return composed_map(between_words(attention_scores(W_K, W_Q)), between_words(W_V))

    after = answers(np.asarray(found, float), W_V)
    if np.allclose(after, answers(W_K, swap_columns(W_V, first, second))):
        return None
    if np.allclose(after, answers(W_K, W_V)):
        return "The layer answers as before."
    rows = W_K.copy()
    rows[[first, second]] = rows[[second, first]]
    if np.allclose(found, rows):
        return "You swapped rows, which are dimensions. Keys are columns of W_K."
    if np.allclose(found, swap_columns(W_K, first - 1, second - 1)):
        return "Off by one: id 0 is [MASK], and ids are given."
    return "The answers are not those after the swap in W_V."


@exercise
def next_word(answer):
    """A function (W_K, W_Q) → (W_K, W_Q) of a layer that answers each word with the next one of its topic."""
    for seed in range(3):
        rng = np.random.default_rng(seed)
        carrier = permutation_within_topics(TOPIC_OF, rng)[1:] - 1
        code = np.pad(np.eye(100)[carrier], (1, 0))  # rows = query, columns = key
        turn = np.linalg.qr(rng.normal(size=(101, 101)))[0]
        W_K, W_Q = turn * 101**0.5, turn @ code.T * 10
        found = call(answer, "two 101 × 101 matrices", W_K.copy(), W_Q.copy())
        if not isinstance(found, tuple | list) or len(found) != 2:
            return "Your function must return the pair W_K, W_Q."
        for name, matrix in zip(("W_K", "W_Q"), found, strict=True):
            complaint = array_complaint(matrix, W_K, np.inf, "")
            if complaint:
                return f"{name}: {complaint}"
        said = composed_map(between_words(attention_scores(*found)), between_words(code)).argmax(1)
        if (said[NEXT] == np.arange(100)).mean() > 0.9:
            return "It says the word before, not the word after."
        if (said == np.arange(100)).mean() > 0.9:
            return "It still copies."
        right = (said == NEXT).mean()
        if right < 0.9:
            return f"With a code of other carriers, {right:.0%} of the answers are the next word; it must be 90 %."
    return None
