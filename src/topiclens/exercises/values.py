"""Checks of the exercises on the value matrix (book/05-values.ipynb)."""

import numbers

import numpy as np

from ..documents import Masking, TopicModel
from ..measures import between_words, block_means
from ..theory import moments, shown_shares, value_optimum
from . import array_complaint, exercise, number_complaint

WORDS_PER_TOPIC = 5  # of 20 topics
MASKING = Masking(0.2, 0.3, 0.1)
L2 = 1e-5
TOLERANCE = 0.05


@exercise
def two_gaps(answer):
    """(same − different topic if a little regularisation is kept while N grows, the same without any)."""
    if not isinstance(answer, tuple | list) or len(answer) != 2:
        return "The answer must be a pair: the gap with regularisation kept while N grows, and the gap without any."
    a, b, _ = shown_shares(MASKING)
    bump = MASKING.keep_prob / (a + b)
    truths = {"kept": 1 / (a * WORDS_PER_TOPIC), "without": (1 / a - bump) / WORDS_PER_TOPIC}
    complaints = {}
    for (which, truth), value in zip(truths.items(), answer, strict=True):
        complaint = number_complaint(value, truth, 1e-3, "wrong")
        if complaint not in (None, "wrong"):
            return complaint
        if complaint:
            complaints[which] = float(value)
    if not complaints:
        return None
    kept, without = (float(value) for value in answer)
    if np.allclose((without, kept), list(truths.values()), rtol=1e-3):
        return "Both numbers are right, but they have changed places."
    if "kept" in complaints:
        if np.isclose(kept, 1 / (a * 20), rtol=1e-3):
            return "Your first gap is that of topics of 20 words; here 20 is the number of topics."
        return "The first gap is wrong: which of T, v, p_m, p_c, p_r does the theorem for long documents use, and how?"
    if np.isclose(without, 1 / a - bump, rtol=1e-3):
        return "Your second gap lacks the share of one word among the v words of its topic."
    if np.isclose(without, truths["kept"] - bump, rtol=1e-3):
        return "In your second gap the block seems to pay for the whole bump; the bump is spread over the v words."
    return "The first gap is right, the second is not: subtract what the diagonal has taken from its block."


@exercise
def ridge(answer):
    """W_V, (V+1, V+1), of least squared loss plus L2 times its sum of squares, default documents."""
    topics, masking = TopicModel(), Masking()
    truth = value_optimum(topics, masking, l2=L2)
    hint = "The matrix is not the one at which the gradient of the regularised loss is 0."
    complaint = array_complaint(answer, truth, 1e-6, hint)
    if complaint != hint:
        return complaint
    W = np.asarray(answer, float)

    def near(matrix):
        return np.allclose(W, matrix, atol=1e-6 * abs(truth).max())

    if near(value_optimum(topics, masking)):
        return f"This is the optimum without regularisation; l2 = {L2:g} is asked for."
    if near(truth.T):
        return "Rows and columns have changed places: rows are outputs."
    if near(value_optimum(topics, masking, l2=2 * L2)) or near(value_optimum(topics, masking, l2=L2 / 2)):
        return "The regularisation is off by a factor of 2: differentiate both terms of the loss."
    m = moments(topics, masking)
    if near(np.linalg.solve(m.C + L2 * np.eye(len(m.C)), m.D)):
        return "You solve with C on the left of D; the loss of W x̄ puts it on the other side."
    m = m.centred()
    if near(np.linalg.solve(m.C + L2 * np.eye(len(m.C)), m.D.T).T):
        return "You have taken the means out, as a bias would do; this layer has none."
    return hint


@exercise
def long_document_picture(answer):
    """(N, l2): the exact optimum, default masking, looks as if documents were infinitely long."""
    if not isinstance(answer, tuple | list) or len(answer) != 2:
        return "The answer must be a pair (N, l2)."
    N, l2 = answer
    if not isinstance(N, numbers.Integral) or isinstance(N, bool) or N < 1:
        return f"N = {N!r} must be a whole number, at least 1."
    complaint = number_complaint(l2, np.inf, 0, "")
    if complaint:
        return complaint
    if float(l2) < 0:
        return f"l2 = {float(l2):g} must be at least 0."
    topics, masking = TopicModel(length=int(N)), Masking()
    means = block_means(between_words(value_optimum(topics, masking, l2=float(l2))), topics.word_topics)
    a, _, _ = shown_shares(masking)
    bump, gap = means.same_word - means.same_topic, means.gap * a * 10
    if bump > TOLERANCE * means.gap:
        return f"The diagonal stands out from its block by {bump / means.gap:.3f} of the gap; {TOLERANCE:g} is allowed."
    if abs(gap - 1) > TOLERANCE:
        return f"The diagonal is gone, but the gap is {gap:.3f} of 1/(a·v). What has regularisation done to the blocks?"
    return None
