import numpy as np
import pytest

from answers import said
from topiclens import TopicModel, TopicTransformer, train
from topiclens.claims import train_embeddings
from topiclens.documents import Masking
from topiclens.exercises import embeddings as check
from topiclens.theory import gram_optimum, moments

A = 1 - 0.8 * 0.3
GRAM = gram_optimum(TopicModel(), Masking())
UNCENTRED = moments(TopicModel(), Masking())


def solve(C, D):
    values, Q = np.linalg.eigh(C)
    sums = values[:, None] + values
    right = Q.T @ (D + D.T) @ Q
    return Q @ np.divide(right, sums, out=np.zeros_like(right), where=sums > 1e-12 * values[-1]) @ Q.T


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (1 / (A * 5), "✓ Right."),
        (np.float32(1 / (A * 5)), "✓ Right."),
        (..., "no answer yet"),
        (1 / (A * 20), "20 topics in place of the 5 words"),
        (0.2, "✗ Not yet. Which of T, v"),
        (None, "must be a number, not NoneType"),
        ([1, 2], "must be a number, not list"),
        (float("nan"), "must be a finite number"),
    ],
)
def test_gap(capsys, answer, says):
    assert says in said(capsys, check.gap_of_infinite_documents, answer)


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (GRAM, "✓ Right."),
        (solve(UNCENTRED.centred().C, UNCENTRED.centred().D), "✓ Right."),
        (GRAM[1:, 1:], "The shape is (100, 100); it must be (101, 101)."),
        (GRAM * np.nan, "not finite"),
        (2 * GRAM, "factor of 2"),
        (GRAM + 0.3, "null space"),
        (np.triu(GRAM), "not symmetric"),
        (solve(UNCENTRED.C, UNCENTRED.D), "not centred"),
        (np.eye(101), "does not solve"),
        ("E", "must be an array of numbers, not str"),
    ],
)
def test_gram(capsys, answer, says):
    assert says in said(capsys, check.gram_from_moments, answer)


def hidden(**settings):
    model = TopicTransformer(100, attention="uniform", value="identity", see_selected=False, init_scale=0.1)
    return train(model, TopicModel(), loss="squared", decay=True, batch_size=128, progress=False, **settings)


def test_hidden_positions(capsys):
    assert "✓ Right." in said(capsys, check.hidden_positions, hidden(steps=1500))
    assert "topics have not formed" in said(capsys, check.hidden_positions, hidden(steps=2))
    assert "must be the History" in said(capsys, check.hidden_positions, 3)
    visible = train_embeddings("squared", steps=800, progress=False)
    assert "✗ Not yet." in said(capsys, check.hidden_positions, visible)
    entropy = train_embeddings("cross-entropy", steps=300, progress=False)
    assert "another scale" in said(capsys, check.hidden_positions, entropy)
