import numpy as np
import pytest

from answers import said
from topiclens.exercises import one_layer as check

IDS = check.NUM_WORDS + 1
BLOCKS = np.concatenate([np.zeros((10, 1)), np.kron(np.eye(10), np.ones((1, 10)))], axis=1)
RIGHT = (BLOCKS, np.log(5) * np.sqrt(10) * BLOCKS)
WEIGHTS = check.COUNTS * np.exp(check.SCORES)
SEEN = (check.COUNTS > 0) * np.exp(check.SCORES)
TIMES = (check.COUNTS > 0) * np.exp(check.SCORES * check.COUNTS)
LOPSIDED = np.outer(np.ones(IDS), np.arange(IDS) < 11)  # keys of topic 1 for every query


@pytest.mark.parametrize(
    ("function", "answer"),
    [
        (check.parameters, 5381),
        (check.attention_over_ids, WEIGHTS / WEIGHTS.sum()),
        (check.attention_over_ids, (WEIGHTS / WEIGHTS.sum()).tolist()),
        (check.prefers_own_topic, RIGHT),
        (check.prefers_own_topic, (np.eye(IDS), np.sqrt(IDS) * np.log(5) * BLOCKS.T @ BLOCKS)),
    ],
)
def test_right(function, answer, capsys):
    assert said(capsys, function, answer) == "✓ Right.\n"


@pytest.mark.parametrize("function", [check.parameters, check.attention_over_ids, check.prefers_own_topic])
def test_no_answer(function, capsys):
    assert said(capsys, function, ...).startswith("… no answer yet")


@pytest.mark.parametrize(
    ("function", "answer", "words"),
    [
        (check.parameters, "many", "must be a number"),
        (check.parameters, float("nan"), "finite"),
        (check.parameters, 5381 + IDS * 32, "tied decoder"),
        (check.parameters, 5381 - 33, "one id more"),
        (check.parameters, 5381 - IDS, "bias"),
        (check.parameters, 5381 - 16 * 32, "a matrix each"),
        (check.parameters, 42, "Add up"),
        (check.attention_over_ids, "row", "array of numbers"),
        (check.attention_over_ids, np.ones(5), r"The shape is (5,); it must be (6,)"),
        (check.attention_over_ids, np.full(6, np.inf), "not finite"),
        (check.attention_over_ids, np.exp(check.SCORES) / np.exp(check.SCORES).sum(), "does not show"),
        (check.attention_over_ids, WEIGHTS, "sums to 1"),
        (check.attention_over_ids, SEEN / SEEN.sum(), "shown four times"),
        (check.attention_over_ids, check.COUNTS / check.COUNTS.sum(), "uniform"),
        (check.attention_over_ids, TIMES / TIMES.sum(), "multiply the scores"),
        (check.attention_over_ids, np.eye(6)[0], "List the ten positions"),
        (check.prefers_own_topic, BLOCKS, "a pair"),
        (check.prefers_own_topic, 7, "a pair"),
        (check.prefers_own_topic, ("a", "b"), "arrays of numbers"),
        (check.prefers_own_topic, (np.eye(100), np.eye(100)), "W_K has shape (100, 100)"),
        (check.prefers_own_topic, (BLOCKS, np.eye(IDS)), "rows"),
        (check.prefers_own_topic, (BLOCKS, BLOCKS * np.nan), "not finite"),
        (check.prefers_own_topic, (BLOCKS, np.log(5) * BLOCKS), "√d_a"),
        (check.prefers_own_topic, (BLOCKS, 5 * np.sqrt(10) * BLOCKS), "exp(score)"),
        (check.prefers_own_topic, (0 * BLOCKS, BLOCKS), "query word 1 has 1"),
        (check.prefers_own_topic, (np.eye(IDS), np.sqrt(IDS) * np.log(5) * LOPSIDED.T), "has 0.692"),
    ],
)
def test_wrong(function, answer, words, capsys):
    out = said(capsys, function, answer)
    assert out.startswith("✗")
    assert words in out


def test_swapped_matrices_are_named(capsys):
    """Queries of different scale: right row by row, and no longer when W_K and W_Q change places."""
    scores = np.log(5) * BLOCKS.T @ BLOCKS
    scores[1:, 1:] += np.arange(1, IDS)[:, None] / 50  # adds the same to all keys of a query: no change to its row
    W_K, W_Q = np.eye(IDS), np.sqrt(IDS) * scores.T
    check.prefers_own_topic((W_K, W_Q))
    assert capsys.readouterr().out == "✓ Right.\n"
    check.prefers_own_topic((W_Q, W_K))
    assert "changed places" in capsys.readouterr().out
