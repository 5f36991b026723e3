import numpy as np
import pytest

from answers import said
from topiclens.exercises import third_stage as check
from topiclens.measures import composed_map
from topiclens.training import History

CHOSEN = np.arange(100) // 10 * 10 + (np.arange(100) + 1) % 10


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        ((20, 10), "✓ Right."),
        ((1, 0.5), "one topic"),
        ((20, 8), "random map"),
        ((20, 20), "counted twice"),
        ((3, 3), "Take one topic first"),
        ((..., ...), "no answer yet"),
        ((20, ...), "no answer yet"),
        (..., "no answer yet"),
        (3, "The shape is ()"),
        (("a", "b"), "array of numbers"),
    ],
)
def test_chance(capsys, answer, says):
    assert says in said(capsys, check.chance, answer)


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (lambda S, W: (S.argmax(1), W[:, S.argmax(1)].argmax(0)), "✓ Right."),
        (lambda S, W: (S.argmax(0), W[:, S.argmax(0)].argmax(0)), "rows are queries"),
        (lambda S, W: (S.argmax(1) + 1, W[:, S.argmax(1)].argmax(0) + 1), "from 0"),
        (lambda S, W: (S.argmax(1), W[S.argmax(1)].argmax(1)), "rows = output"),
        (lambda S, W: (S.argmax(1), composed_map(S, W).argmax(1)), "take the carrier alone"),
        (lambda S, W: (S.argmax(1), W.argmax(0)), "each query's carrier"),
        (lambda S, W: (S.argmax(1), np.zeros(12)), "second array"),
        (lambda S, W: (S.argmax(1), np.zeros(5)), "must be (12,)"),
        (lambda S, W: S.argmax(1), "pair"),
        (lambda S, W: S @ np.zeros(5), "stops with ValueError"),
        (3, "must be a function"),
        (..., "no answer yet"),
    ],
)
def test_decode(capsys, answer, says):
    assert says in said(capsys, check.decode, answer)


def run(carrier, strength=0.7):
    """A history whose last matrices hold a code with these carriers."""
    P = np.pad(np.eye(100)[carrier], (1, 0))
    W = {"W_Q": 10 * P.T * 101**0.5, "W_K": np.eye(101), "W_V": strength * P}
    return History(np.zeros(1), np.array([1]), {name: m[None].astype(np.float32) for name, m in W.items()})


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (run(CHOSEN), "✓ Right."),
        (run(np.argsort(CHOSEN)), "other way round"),
        (run(np.arange(100)), "Only 0% of the carriers"),
        (run(CHOSEN, -1.0), "It copies only"),
        (History(np.zeros(1), np.array([1]), {"W_E": np.zeros((1, 101, 101))}), "did not learn W_V"),
        (3, "must be the History"),
    ],
)
def test_dictated(capsys, answer, says):
    assert says in said(capsys, check.dictated, answer)
