"""Checks of the exercises on which layer carries the topics (book/08-either-layer.ipynb)."""

import numpy as np
from scipy.stats import t

from ..checks import check_int
from ..documents import TopicModel
from ..grid import train_grid
from ..measures import attention_ratios, attention_scores, between_words
from . import array_complaint, exercise, number_complaint

VALUES = np.array([0.71, 0.74, 0.69, 0.73, 0.78])


def cells_with_topic_attention(answer, low) -> None:
    """`low` is the chapter's table of lower ends."""
    truth = int((low["scores' log r"] > np.log(2)).sum())

    @exercise
    def check(answer):
        if number_complaint(answer, int((low["scores' log r"] > 0).sum()), 0, "") is None:
            return "That many are above 0; the question is about log 2."
        return number_complaint(answer, truth, 0, "Count the rows of `low` whose log r is above log 2.")

    check(answer)


@exercise
def interval(answer):
    error = VALUES.std(ddof=1) / np.sqrt(5)
    truth = VALUES.mean() + error * t.ppf([0.025, 0.975], 4)
    complaint = array_complaint(answer, truth, 1e-3, "These are not the ends of the interval.")
    if complaint is None or np.shape(answer) != (2,):
        return complaint
    half = (np.asarray(answer, float)[1] - np.asarray(answer, float)[0]) / 2
    if np.isclose(half, error * 1.96, rtol=1e-3):
        return "The factor is that of a normal distribution; with five values it must be Student's."
    if np.isclose(half, error * np.sqrt(5) * t.ppf(0.975, 4), rtol=1e-3):
        return "That is an interval for one value; the mean of five is known better."
    if np.isclose(half, VALUES.std() / np.sqrt(5) * t.ppf(0.975, 4), rtol=1e-3):
        return "The spread was divided by 5; an estimate of it from five values divides by 4."
    return complaint


@exercise
def moves_attention(answer):
    if not isinstance(answer, dict):
        return f"The answer must be a dict of settings, not {type(answer).__name__}."
    wanted = {"embedding": "one-hot", "decoder": "identity", "see_selected": False}
    wanted |= {"loss": "cross-entropy", "optimizer": "sgd"}
    for name, value in wanted.items():
        if answer.get(name) != value:
            return f"The setting must keep {name} = {value!r}."
    steps = answer.get("steps")
    try:
        check_int("steps", steps, 1, 1500)  # no time for more on the chapter's page
        (run,) = train_grid([answer | {"checkpoints": [steps]}], jobs=1, progress=False)
    except ValueError as error:  # a misspelt name
        return f"{error}."
    if run.error:
        return run.error
    if not {"W_K", "W_Q"} <= set(run.history.matrices) or run.history.final("W_K").shape[1] != 101:
        return "The setting must train W_K and W_Q, for the chapter's 100 words."
    topics = TopicModel().word_topics
    scores = between_words(attention_scores(run.history.final("W_K"), run.history.final("W_Q")))
    r = float(np.median(attention_ratios(scores, topics)))
    return None if r > 1.5 else f"The median of r is {r:.3g}; it must be above 1.5."
