"""Checks of the exercises on how far the paper's picture carries (book/12-how-far.ipynb)."""

import numpy as np
import torch
from sklearn.metrics import adjusted_rand_score

from ..checks import check_int, check_positive
from ..deeper import DeeperTransformer
from ..documents import Masking, PartnerTopics, TauOfT, TopicModel, mask_documents
from ..measures import attention_by_words, between_words, cluster_words
from ..theory import gram_optimum, shown_shares
from ..training import TrainingDiverged, train
from . import array_complaint, exercise


@exercise
def bank(answer):
    complaint = array_complaint(answer, np.array([2.0, 0.2]), 1e-6, "These are not its coordinates.")
    if complaint is None or np.shape(answer) != (2,):
        return complaint
    if np.allclose(answer, [0.8, 0.2]):
        return "That is p(topic | word); the coordinates do not ask how the word divides itself."
    if np.allclose(answer, [0.04, 0.01]):
        return "Those are the frequencies; a topic's own words, which are at 1, have frequencies, too."
    return complaint


@exercise
def partners(answer):
    a, _, _ = shown_shares(Masking())
    gram = between_words(gram_optimum(TopicModel(12, 5, mixture=PartnerTopics(1.0)), Masking(), infinite=True))
    truth = np.array([gram[0, 1] - gram[0, 20], np.linalg.matrix_rank(gram, tol=1e-6)])
    complaint = array_complaint(answer, truth, 1e-9, "")
    if complaint is None or np.shape(answer) != (2,):
        return complaint
    gap, rank = np.asarray(answer, float)
    if abs(gap - truth[0]) > 1e-6:
        if abs(gap - 1 / (5 * a)) < 1e-6:
            return "That gap belongs to topics of 5 words; which words can documents tell apart here?"
        return "Not the gap."
    if rank == truth[1] + 1:
        return "Not the rank: the topics' shares sum to 1, and that direction does not vary."
    return "Not the rank." if rank != truth[1] else None


@exercise
def topics_in_attention(answer):
    if not isinstance(answer, dict):
        return f"The answer must be a dict of switches, not {type(answer).__name__}."
    if answer.get("residual") is not True or answer.get("causal"):
        return "The residual stream must stay on, and the model must not be causal."
    topics, masking = TopicModel(8, 8, mixture=TauOfT(2), length=32), Masking()
    try:
        check_int("layers", answer.get("layers", 1), 1, 3)  # no time for more on the chapter's page
        check_int("heads", answer.get("heads", 1), 1, 8)
        check_positive("init_scale", answer.get("init_scale", 0.1))
        model = DeeperTransformer(64, **({"dim": 32, "init_scale": 0.1} | answer))
        train(model, topics, masking, steps=300, lr=0.01, batch_size=16, progress=False)
    except (TypeError, ValueError, TrainingDiverged) as error:
        return f"{type(error).__name__}: {error}"
    masked = mask_documents(topics.sample(1000, 100).words, masking, 64, 101)
    with torch.no_grad():
        attention = model.run(masked)[1][0].mean(1).numpy()
    clusters = cluster_words(attention_by_words(attention, masked, 64), 8)
    rand = adjusted_rand_score(topics.word_topics, clusters)
    return None if rand > 0.9 else f"The adjusted Rand index of the first layer's attention is {rand:.2f}."
