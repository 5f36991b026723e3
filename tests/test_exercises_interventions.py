import numpy as np
import pytest

from answers import said
from topiclens.exercises import interventions as check
from topiclens.interventions import swap_columns


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (("b", "c", "a"), "✓ Right."),
        (("B", " c", "a"), "✓ Right."),
        (("c", "a", "b"), "other way round"),
        (("a", "b", "c"), "nothing would have"),
        (("b", "a", "c"), "Follow a"),
        ((1, 2, 3), "letters among"),
        (3, "three letters, not int"),
        (..., "no answer yet"),
        ((..., ..., ...), "no answer yet"),
    ],
)
def test_ring(capsys, answer, says):
    assert says in said(capsys, check.ring, answer)


def rows(W_K, first, second):
    W_K[[first, second]] = W_K[[second, first]]
    return W_K


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (swap_columns, "✓ Right."),
        (lambda W, a, b: W, "as before"),
        (rows, "swapped rows"),
        (lambda W, a, b: swap_columns(W, a - 1, b - 1), "Off by one"),
        (lambda W, a, b: -W, "not those after"),
        (lambda W, a, b: W[1:], "The shape is"),
        (lambda W, a, b: 1 / 0, "stops with ZeroDivisionError"),
        (None, "must be a function"),
        (..., "no answer yet"),
    ],
)
def test_same_cut(capsys, answer, says):
    assert says in said(capsys, check.same_cut, answer)


def borrow(order):
    def change(W_K, W_Q):
        W_Q[:, 1:] = W_Q[:, 1 + order]
        return W_K, W_Q

    return change


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (borrow(check.NEXT), "✓ Right."),
        (borrow(np.argsort(check.NEXT)), "word before"),
        (lambda W_K, W_Q: (W_K, W_Q), "still copies"),
        (lambda W_K, W_Q: (W_K[:, check.NEXT], W_Q), "W_K: The shape"),
        (lambda W_K, W_Q: (W_K, 0 * W_Q), "% of the answers are the next word"),
        (lambda W_K, W_Q: W_Q, "must return the pair"),
        (lambda W_K, W_Q: W_K @ np.zeros(3), "stops with ValueError"),
        (3, "must be a function"),
        (..., "no answer yet"),
    ],
)
def test_next_word(capsys, answer, says):
    assert says in said(capsys, check.next_word, answer)
