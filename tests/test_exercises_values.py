import numpy as np
import pytest

from answers import said
from topiclens import Masking, TopicModel
from topiclens.exercises import values as check
from topiclens.theory import moments, value_optimum

TOPICS, MASKING = TopicModel(), Masking()
A, SUM = 0.86, 0.88  # a and a + b of the first exercise
GAPS = (1 / (A * 5), (1 / A - 0.3 / SUM) / 5)
M = moments(TOPICS, MASKING)
IDENTITY = np.eye(101)
RIDGE = M.D @ np.linalg.inv(M.C + 1e-5 * IDENTITY)
CENTRED = M.centred()


@pytest.mark.parametrize(
    ("function", "answer"),
    [
        (check.two_gaps, GAPS),
        (check.two_gaps, np.round(GAPS, 4).tolist()),
        (check.ridge, RIDGE),
        (check.ridge, RIDGE.tolist()),
        (check.long_document_picture, (4096, 5e-5)),
        (check.long_document_picture, (np.int64(2**20), 1e-6)),
    ],
)
def test_right(function, answer, capsys):
    assert said(capsys, function, answer) == "✓ Right.\n"


@pytest.mark.parametrize("function", [check.two_gaps, check.ridge, check.long_document_picture])
def test_no_answer(function, capsys):
    assert said(capsys, function, ...).startswith("… no answer yet")


@pytest.mark.parametrize(
    ("function", "answer", "words"),
    [
        (check.two_gaps, 0.2326, "must be a pair"),
        (check.two_gaps, (0.1, 0.2, 0.3), "must be a pair"),
        (check.two_gaps, ("one", 0.2), "must be a number"),
        (check.two_gaps, (0.2326, float("nan")), "finite"),
        (check.two_gaps, GAPS[::-1], "changed places"),
        (check.two_gaps, (1 / (A * 20), GAPS[1]), "20 is the number of topics"),
        (check.two_gaps, (0.2, GAPS[1]), "first gap is wrong"),
        (check.two_gaps, (0.2, 0.2), "first gap is wrong"),
        (check.two_gaps, (GAPS[0], 5 * GAPS[1]), "share of one word"),
        (check.two_gaps, (GAPS[0], GAPS[0] - 0.3 / SUM), "spread over"),
        (check.two_gaps, (GAPS[0], GAPS[0]), "the second is not"),
        (check.ridge, "matrix", "array of numbers"),
        (check.ridge, RIDGE[1:, 1:], "The shape is (100, 100); it must be (101, 101)"),
        (check.ridge, RIDGE * np.nan, "not finite"),
        (check.ridge, value_optimum(TOPICS, MASKING), "without regularisation"),
        (check.ridge, RIDGE.T, "changed places"),
        (check.ridge, M.D @ np.linalg.inv(M.C + 2e-5 * IDENTITY), "factor of 2"),
        (check.ridge, M.D @ np.linalg.inv(M.C + 0.5e-5 * IDENTITY), "factor of 2"),
        (check.ridge, np.linalg.inv(M.C + 1e-5 * IDENTITY) @ M.D, "on the left"),
        (check.ridge, CENTRED.D @ np.linalg.inv(CENTRED.C + 1e-5 * IDENTITY), "a bias would"),
        (check.ridge, IDENTITY, "gradient"),
        (check.long_document_picture, 4096, "a pair"),
        (check.long_document_picture, (4096.5, 1e-5), "whole number"),
        (check.long_document_picture, (0, 1e-5), "at least 1"),
        (check.long_document_picture, (4096, "small"), "must be a number"),
        (check.long_document_picture, (4096, float("inf")), "finite"),
        (check.long_document_picture, (4096, -1e-5), "at least 0"),
        (check.long_document_picture, (4096, 0), "stands out from its block by 1.092"),
        (check.long_document_picture, (4096, 1e-3), "the gap is"),
    ],
)
def test_wrong(function, answer, words, capsys):
    out = said(capsys, function, answer)
    assert out.startswith("✗")
    assert words in out
