"""Checks of the exercises on the two stages of training (book/07-two-stages.ipynb)."""

import numpy as np

from ..documents import TopicModel
from ..measures import attention_scores, between_words, block_means, half_time
from ..training import History
from . import exercise, number_complaint

STEPS, GAP = np.array([0, 10, 20, 40, 80, 160]), np.array([0, 0.01, 0.05, 0.03, 0.07, 0.08])
POWERS = {"W_V": 2, "W_K": 6, "W_E": 2}


@exercise
def half_time_of_curve(answer):
    """The step from which GAP stays above half of its largest value."""
    hint = "Half of the largest value, then the last time that the curve comes up through it."
    complaint = number_complaint(answer, half_time(STEPS, GAP), 1e-3, hint)
    if complaint != hint:
        return complaint
    first = np.interp(GAP.max() / 2, GAP[1:3], STEPS[1:3])
    slips = {
        first: "There the curve passes half of its largest value for the first time. Does it stay above?",
        np.interp(GAP[-2] / 2, GAP[3:5], STEPS[3:5]): "Half of which value? The largest is the last one.",
        40: "That is a record at which the curve is below the half: it passes between two records.",
        80: "That is the first record above the half: the curve passes earlier, between two records.",
    }
    return next((text for slip, text in slips.items() if np.isclose(float(answer), slip, atol=1e-3)), hint)


@exercise
def powers_with_embeddings(answer):
    """Powers of ε of the gradients of W_V, W_K, W_E when W_E is learned too and the decoder is tied."""
    try:
        powers = np.asarray(answer, float)
    except (TypeError, ValueError):
        return "The answer must be three numbers, (W_V, W_K, W_E)."
    if powers.shape != (3,):
        return f"The shape is {powers.shape}; it must be (3,): W_V, W_K, W_E."
    if not np.isfinite(powers).all():
        return "Some entries are not finite numbers."
    if np.array_equal(powers, [0, 2, 0]):
        return "These are the powers with one-hot embeddings. W_E is small too now, and so is the decoder."
    wrong = [name for (name, truth), power in zip(POWERS.items(), powers, strict=True) if power != truth]
    if not wrong:
        return None
    hints = {
        "W_V": "How many small factors are left in the logits when you take W_V out?",
        "W_E": "The embeddings stand in the logits twice; a derivative leaves out one of them.",
        "W_K": "Count the small factors of ∂L/∂S, which needs the logits to differ between keys, and of ∂S/∂W_K.",
    }
    return f"Not the power of {', '.join(wrong)}. {hints[wrong[0]]}"


@exercise
def overlapping_stages(answer):
    """(History, TopicModel) of a run with squared loss in which the scores are less than 1.5 times as late as W_V."""
    if not isinstance(answer, tuple | list) or len(answer) != 2:
        return "The answer must be a pair, (history, topics)."
    history, topics = answer
    if not isinstance(history, History) or not isinstance(topics, TopicModel):
        kinds = ", ".join(type(part).__name__ for part in answer)
        return f"The answer must be a History and the TopicModel that it was trained on, not ({kinds})."
    missing = {"W_V", "W_K", "W_Q"} - history.matrices.keys()
    if missing:
        return f"This run did not learn {', '.join(sorted(missing))}; all three are to be trained together."
    if history.settings.get("loss") != "squared":
        return f"This run was trained with the loss {history.settings.get('loss')!r}; the squared loss is asked for."
    if history.final("W_V").shape[0] != topics.num_words + 1:
        ids = history.final("W_V").shape[0]
        return f"W_V is over {ids} ids, but the topic model has {topics.num_words} words and [MASK]."
    stacks = history.matrices["W_V"], attention_scores(history.matrices["W_K"], history.matrices["W_Q"])
    values, scores = (block_means(between_words(stack), topics.word_topics).gap for stack in stacks)
    for name, gap, least in (("W_V", values, 0.02), ("the scores", scores, 1.0)):
        if not gap.max() >= least:
            return f"The topics have not formed in {name}: the largest gap is {gap.max():.3g}, less than {least:g}."
    halves = half_time(history.steps, values), half_time(history.steps, scores)
    if np.isnan(halves).any():
        return "One of the gaps ends below half of its largest value: it has come and gone, and has no half time."
    if halves[1] >= 1.5 * halves[0]:
        return f"W_V's half time is {halves[0]:.0f}, the scores' {halves[1]:.0f}: {halves[1] / halves[0]:.2f} times it."
    return None
