"""Checks of the exercises on embeddings (book/04-embeddings.ipynb)."""

import numpy as np

from ..documents import Masking, TopicModel
from ..measures import between_words, block_means, gram
from ..theory import gram_optimum, moments, shown_shares
from ..training import History
from . import array_complaint, exercise, number_complaint


@exercise
def gap_of_infinite_documents(answer):
    a, _, _ = shown_shares(Masking(0.3, 0.2, 0.1))
    if number_complaint(answer, 1 / (a * 20), 1e-3, "") is None:
        return "That is with the 20 topics in place of the 5 words of one."
    return number_complaint(answer, 1 / (a * 5), 1e-3, "Which of T, v, p_m and p_c does the theorem use, and how?")


@exercise
def gram_from_moments(answer):
    truth = gram_optimum(TopicModel(), Masking())
    second = moments(TopicModel(), Masking())
    complaint = array_complaint(answer, truth, 1e-6, "The matrix does not solve C E + E C = D + Dᵀ.")
    if complaint is None or np.shape(answer) != truth.shape or not np.isfinite(answer).all():
        return complaint
    answer = np.asarray(answer, float)
    if not np.allclose(answer, answer.T, atol=1e-9):
        return "The matrix is not symmetric."
    if np.allclose(answer, 2 * truth, atol=1e-6) or np.allclose(answer, truth / 2, atol=1e-6):
        return "The matrix is off by a factor of 2: look at both sides of the equation once more."
    if np.allclose(second.C @ answer + answer @ second.C, second.D + second.D.T, atol=1e-6):
        return "This solves the equation with moments that are not centred."
    if np.allclose(answer - answer.mean(), truth - truth.mean(), atol=1e-6):
        return "It has something in C's null space, where it must be 0: which eigenvalues did you divide by?"
    return complaint


@exercise
def hidden_positions(answer):
    if not isinstance(answer, History):
        return f"The answer must be the History that train(...) returns, not {type(answer).__name__}."
    if "W_E" not in answer.matrices or answer.final("W_E").shape[1] != 101:
        return "This run did not learn embeddings of 100 words."
    topics, masking = TopicModel(), Masking()
    exact = block_means(between_words(gram_optimum(topics, masking, see_selected=False)), topics.word_topics)
    trained = block_means(between_words(gram(answer.final("W_E"))), topics.word_topics)
    if trained.gap < 0.5 * exact.gap:
        return f"The topics have not formed: the gap is {trained.gap:.3g}. More steps, or another learning rate?"
    if trained.gap > 2 * exact.gap:
        return f"The gap is {trained.gap:.3g}, on another scale than the squared loss gives."
    if abs(trained.gap / exact.gap - 1) > 0.1:
        return f"The gap, {trained.gap:.4f}, is more than 10 % from the optimum for hidden selected positions."
    if trained.same_word - trained.same_topic > 0.05:
        return "The diagonal stands out from its block: too few steps, or queries that see themselves?"
    return None
