"""Checks of the exercises on the third stage (book/10-third-stage.ipynb)."""

import numpy as np

from ..claims import code_of
from ..measures import composed_map, copying_rate, favourite_keys
from ..training import History
from . import array_complaint, call, exercise


@exercise
def chance(answer):
    """(own carriers, two-cycles) of a random permutation within 20 topics of 5 words."""
    complaint = array_complaint(answer, np.array([20.0, 10.0]), 1e-6, "Take one topic first, then all twenty.")
    if complaint is None or "Take one" not in complaint:
        return complaint
    own, pairs = np.asarray(answer, float)
    if np.isclose(own, 1):
        return "That is one topic. There are twenty."
    if np.isclose(pairs, 20 * 10 / 25):
        return "That is a random map: in a permutation the second word's carrier is drawn from what is left."
    if np.isclose(pairs, 20):
        return "Each two-cycle was counted twice, once for each of its words."
    return complaint


@exercise
def decode(answer):
    """A function (scores, W_V) → (carriers, where each is sent)."""
    rng = np.random.default_rng(0)
    scores, W_V = rng.normal(size=(2, 12, 12))
    found = call(answer, "12 × 12 matrices", scores.copy(), W_V.copy())
    if not isinstance(found, tuple | list) or len(found) != 2:
        return "Your function must return a pair of arrays."
    carrier = scores.argmax(1)
    truth = carrier, W_V[:, carrier].argmax(0)
    usual = {
        "Your carriers are favourite queries of each key: rows are queries.": (scores.argmax(0), None),
        "Counted from 0, please.": (carrier + 1, None),
        "W_V has rows = output: what a key is sent to stands in its column.": (carrier, W_V[carrier].argmax(1)),
        "That is the composed map, with all of the attention; take the carrier alone.": (
            carrier, composed_map(scores, W_V).argmax(1)
        ),
        "You give the largest output of each word; the question is that of each query's carrier.": (
            carrier, W_V.argmax(0)
        ),
    }  # fmt: skip
    for said, wrong in usual.items():
        if all(part is None or np.array_equal(value, part) for value, part in zip(found, wrong, strict=True)):
            return said
    for name, value, right in zip(("first", "second"), found, truth, strict=True):
        complaint = array_complaint(value, right.astype(float), 1e-9, f"The {name} array is not right yet.")
        if complaint:
            return complaint
    return None


@exercise
def dictated(answer):
    """A History of a run whose carriers are the next words of each topic."""
    if not isinstance(answer, History):
        return f"The answer must be the History of a run, not {type(answer).__name__}."
    if not {"W_K", "W_Q", "W_V"} <= set(answer.matrices) or answer.final("W_V").shape != (101, 101):
        return "This run did not learn W_V, W_K and W_Q for 100 words."
    scores, W_V = code_of(answer)
    copied = copying_rate(composed_map(scores, W_V))
    if copied < 0.9:
        return f"It copies only {copied:.0%} of the words. More steps, or a larger learning rate?"
    words = np.arange(100)
    chosen = words // 10 * 10 + (words + 1) % 10
    found = favourite_keys(scores)
    if (found[chosen] == words).mean() > 0.8:
        return "Your carriers go the other way round: 2 → 1, 3 → 2. What are rows, and what are columns, of W_V?"
    share = (found == chosen).mean()
    return None if share >= 0.9 else f"Only {share:.0%} of the carriers are the chosen ones; it must be 90 %."
