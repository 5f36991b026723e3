import numpy as np
import pytest

from answers import said
from topiclens import History, TopicModel
from topiclens.exercises import two_stages as check

TOPICS = TopicModel(5, 2)
STEPS = np.linspace(0, 100, 101)
SAME = np.pad(np.kron(np.eye(5), np.ones((2, 2))), ((1, 0), (1, 0)))


def history(values_at=40, scores_at=50, *, values=0.5, scores=3.0, loss="squared", leave_out=(), fade=False):
    """A made-up run whose gaps rise to `values` and `scores`, half way at the given steps."""

    def rise(half):
        return (1 / (1 + np.exp(half - STEPS)) * np.where(fade & (STEPS > 90), 0.1, 1))[:, None, None]

    keys = np.broadcast_to(np.eye(11) * 11**0.25, (101, 11, 11))  # W_Qᵀ W_K / √d_a is then W_Qᵀ / 11^¼
    matrices = {
        "W_V": values * rise(values_at) * SAME,
        "W_K": keys,
        "W_Q": scores * rise(scores_at) * SAME * 11**0.25,
    }
    matrices = {name: m.astype(np.float32) for name, m in matrices.items() if name not in leave_out}
    return History(np.ones(100), STEPS.astype(int), matrices, {"loss": loss})


@pytest.mark.parametrize(
    ("function", "answer"),
    [
        (check.half_time_of_curve, 50),
        (check.half_time_of_curve, np.float64(50)),
        (check.powers_with_embeddings, (2, 6, 2)),
        (check.powers_with_embeddings, np.array([2.0, 6.0, 2.0])),
        (check.overlapping_stages, (history(), TOPICS)),
        (check.overlapping_stages, [history(60, 30), TOPICS]),
    ],
)
def test_right(function, answer, capsys):
    assert said(capsys, function, answer) == "✓ Right.\n"


@pytest.mark.parametrize("function", [check.half_time_of_curve, check.powers_with_embeddings, check.overlapping_stages])
def test_no_answer(function, capsys):
    assert said(capsys, function, ...).startswith("… no answer yet")


@pytest.mark.parametrize(
    ("function", "answer", "words"),
    [
        (check.half_time_of_curve, "soon", "must be a number"),
        (check.half_time_of_curve, [50, 50], "must be a number"),
        (check.half_time_of_curve, float("nan"), "finite"),
        (check.half_time_of_curve, 17.5, "for the first time"),
        (check.half_time_of_curve, 45, "Half of which value"),
        (check.half_time_of_curve, 40, "below the half"),
        (check.half_time_of_curve, 80, "first record above"),
        (check.half_time_of_curve, 3, "the last time"),
        (check.powers_with_embeddings, "two", "three numbers"),
        (check.powers_with_embeddings, (2, 6), r"The shape is (2,); it must be (3,)"),
        (check.powers_with_embeddings, (2, float("inf"), 2), "not finite"),
        (check.powers_with_embeddings, (0, 2, 0), "one-hot"),
        (check.powers_with_embeddings, (3, 6, 2), "Not the power of W_V."),
        (check.powers_with_embeddings, (2, 4, 2), "Not the power of W_K."),
        (check.powers_with_embeddings, (2, 6, 0), "Not the power of W_E."),
        (check.overlapping_stages, history(), "a pair"),
        (check.overlapping_stages, (history(), 10), "not (History, int)"),
        (check.overlapping_stages, (history(leave_out=("W_V",)), TOPICS), "did not learn W_V"),
        (check.overlapping_stages, (history(loss="cross-entropy"), TOPICS), "squared loss is asked for"),
        (check.overlapping_stages, (history(), TopicModel()), "W_V is over 11 ids"),
        (check.overlapping_stages, (history(values=0.01), TOPICS), "not formed in W_V"),
        (check.overlapping_stages, (history(scores=0.5), TOPICS), "not formed in the scores"),
        (check.overlapping_stages, (history(fade=True), TOPICS), "come and gone"),
        (check.overlapping_stages, (history(20, 70), TOPICS), "the scores' 70: 3.50 times"),
    ],
)
def test_wrong(function, answer, words, capsys):
    out = said(capsys, function, answer)
    assert out.startswith("✗ Not yet.")
    assert words in out
