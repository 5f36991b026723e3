"""Checks of the exercises on attention (book/06-attention.ipynb)."""

import numpy as np

from ..measures import attention_ratios, attention_scores, between_words
from ..training import History
from . import array_complaint, call, exercise, number_complaint


@exercise
def optimal_ratio(answer):
    """r* for T = 20, p_c = 0.2, p_r = 0.05, selected positions hidden."""
    T, p_c, p_r = 20, 0.2, 0.05
    complaint = number_complaint(answer, 1 + T * p_c / p_r, 1e-6, "Which of T, τ, v, p_m, p_c and p_r enter, and how?")
    if complaint is None or "must be" in complaint:
        return complaint
    value = float(answer)
    if np.isclose(value, T * p_c / p_r):
        return "Almost. What would your formula give for p_c = 0, when the word on show tells nothing?"
    if np.isclose(value, [1 + T * p_r / p_c, T * p_r / p_c]).any():
        return "Your r falls as words are kept more often. Should a word be trusted less for that?"
    if np.isclose(value, 11):
        return "That is the value for the default setting."
    return complaint


@exercise
def ratios(answer):
    """A function (scores, word_topics) → r of each query word; scores are (V, V), rows = query."""
    rng = np.random.default_rng(0)
    word_topics = np.repeat(np.arange(3), (2, 4, 6))
    same = word_topics[:, None] == word_topics
    scores = rng.normal(size=(12, 12)) + 1.5 * same
    for shift in (0.0, rng.normal(size=(12, 1)), 2000.0):
        value = call(answer, "12 × 12 scores", scores + shift, word_topics)
        complaint = array_complaint(value, attention_ratios(scores, word_topics), 1e-6, "")
        if complaint is None:
            continue
        if complaint:
            return (
                "A score of 2000 makes the exponential overflow. What may you take off a whole row first?"
                if np.ndim(shift) == 0 and shift and "finite" in complaint
                else complaint
            )
        weights = np.exp(scores + (shift if np.ndim(shift) else 0.0))
        return _mistake(np.asarray(value, float), weights, same)
    return None


def _mistake(value, weights, same):
    """What a reader probably did who gets `value` for `weights`, the exponentials of the scores."""
    other_word = same & ~np.eye(len(same), dtype=bool)

    def mean(weights, mask, axis=1):
        return (weights * mask).sum(axis) / mask.sum(axis)

    usual = {
        "Your rows are keys. In this book a row is a query.": mean(weights, same, 0) / mean(weights, ~same, 0),
        "You leave out the query word itself; r counts it, c₁ and all.": mean(weights, other_word)
        / mean(weights, ~same),
        "You divide sums. Topics have different sizes here: r compares means per word.": (weights * same).sum(1)
        / (weights * ~same).sum(1),
        "That is the ratio of the scores, not of the attention: take the exponential first.": mean(
            np.log(weights), same
        )
        / mean(np.log(weights), ~same),
        "You average scores and take the exponential afterwards. Average the attention.": np.exp(
            mean(np.log(weights), same) - mean(np.log(weights), ~same)
        ),
        "That is the attention to other topics over that to the own one.": mean(weights, ~same) / mean(weights, same),
    }
    for said, wrong in usual.items():
        if np.allclose(value, wrong, rtol=1e-6):
            return said
    if np.allclose(value, value[0]):
        return "All words get the same number; each query word has an r of its own."
    return "The numbers are off. For each row: the mean of exp(score) over words of its topic, over that of the others."


@exercise
def keep_more(answer):
    """(prediction, History): r* for p_c = 0.2, and a run of attention trained with it, selected positions hidden."""
    if not isinstance(answer, tuple | list) or len(answer) != 2:
        return "The answer must be a pair: your prediction of r and the History of your run."
    prediction, history = answer
    complaint = number_complaint(prediction, 21, 1e-6, "The prediction is not what the theorem says for p_c = 0.2.")
    if complaint:
        return complaint
    if not isinstance(history, History):
        return f"The second part must be the History of a run, not {type(history).__name__}."
    if not {"W_K", "W_Q"} <= set(history.matrices) or history.final("W_Q").shape[-1] != 101:
        return "This run did not learn W_K and W_Q for 100 words."
    if "W_V" in history.matrices:
        return "This run learned W_V, too; freeze it at its optimum."
    masking = history.settings.get("masking", "")
    if "keep_prob=0.2" not in masking:
        return f"This run was trained with {masking}."
    scores = between_words(attention_scores(history.final("W_K"), history.final("W_Q")))
    r = float(np.median(attention_ratios(scores, np.repeat(np.arange(10), 10))))
    if r < 0.85 * prediction:
        return f"The median r is {r:.1f}. More steps? Or can the queries see selected positions?"
    if r > 1.25 * prediction:
        return f"The median r is {r:.1f}, well above theory. Are the documents very short?"
    return None
