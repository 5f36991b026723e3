import numpy as np
import pandas as pd
import pytest
from scipy.stats import t

from answers import said
from topiclens import TopicModel
from topiclens.exercises import either_layer as check

LOW = pd.DataFrame({"scores' log r": [0.0, 0.1, 0.9, 2.0, -0.1]})
V = check.VALUES
ERROR = V.std(ddof=1) / np.sqrt(5)


@pytest.mark.parametrize(
    ("answer", "says"),
    [(2, "✓ Right."), (3, "above 0"), (5, "Count the rows"), (..., "no answer yet"), ("two", "must be a number")],
)
def test_counting_cells(capsys, answer, says):
    assert says in said(capsys, check.cells_with_topic_attention, answer, LOW)


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (V.mean() + ERROR * t.ppf([0.025, 0.975], 4), "✓ Right."),
        (V.mean() + ERROR * np.array([-1.96, 1.96]), "Student's"),
        (V.mean() + V.std(ddof=1) * t.ppf([0.025, 0.975], 4), "the mean of five"),
        (V.mean() + V.std() / np.sqrt(5) * t.ppf([0.025, 0.975], 4), "divided by 5"),
        (0.7, "The shape is ()"),
        ((0.7, 0.8), "not the ends"),
    ],
)
def test_interval(capsys, answer, says):
    assert says in said(capsys, check.interval, answer)


def test_attention_that_moves(capsys):
    good = {"embedding": "one-hot", "decoder": "identity", "see_selected": False}
    good |= {
        "loss": "cross-entropy",
        "optimizer": "sgd",
        "lr": 100.0,
        "init_scale": 0.15,
        "steps": 700,
        "batch_size": 32,
    }
    assert "✓ Right." in said(capsys, check.moves_attention, good)
    assert "✓ Right." in said(capsys, check.moves_attention, good | {"checkpoints": [0]})
    assert "names rate, which" in said(capsys, check.moves_attention, good | {"rate": 1})
    assert "above 1.5" in said(capsys, check.moves_attention, good | {"steps": 3})
    assert "must keep optimizer = 'sgd'" in said(capsys, check.moves_attention, good | {"optimizer": "adam"})
    for steps in (10_000, 0, "5"):
        assert "between 1 and 1500" in said(capsys, check.moves_attention, good | {"steps": steps})
    for other in ({"attention": "uniform"}, {"topics": TopicModel(5, 4)}):
        assert "must train W_K and W_Q" in said(capsys, check.moves_attention, good | other | {"steps": 3})
    assert "not finite" in said(capsys, check.moves_attention, good | {"lr": 1e30})
    assert "must be a dict" in said(capsys, check.moves_attention, 3)
