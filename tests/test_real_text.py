"""The real encoder on real text in the small setting of the claims command; and broken on purpose."""

import numpy as np
import pytest

from topiclens import claims, measures
from topiclens.encoder import RELATIONS, WordAttention, sum_by_relation


@pytest.fixture(scope="module")
def study():
    return claims.measure_real_text(cache=False, progress=False)


def test_the_claim_holds(study):
    claim = claims.real_text(study)
    assert claim.holds, str(claim)
    for bound in ((0.03, 1), (1.1, np.inf), (0.95, 1.05), (0.99, 1.01), (0.48, 0.52)):
        assert bound in claim.expected.values()


def test_the_claim_fails_where_it_must(study):
    """Embeddings of the twin, attention of the twin, and attention that knows nothing but distance."""
    assert not claims.real_text(study._replace(vectors=study.twin_vectors)).holds
    assert not claims.real_text(study._replace(attentions=study.twin_attentions)).holds
    near = [
        WordAttention(a.words, a.positions, a.spans, np.exp(-abs(a.positions[:, None] - a.positions) / 3)[None, None])
        for a in study.attentions
    ]
    blind = claims.real_text(study._replace(attentions=near))
    assert blind.measured["attention, same / different topic, by layer"][0] > 1.1  # distance alone looks like topics
    assert blind.measured["attention, same / different topic, at equal distance"][0] < 1.1
    assert not blind.holds


def test_topics_are_good_and_a_bad_model_is_seen_to_be_bad(study):
    coherence = study.topics.coherence
    assert np.median(coherence) > 0.15
    assert coherence.min() > -1


def test_clearer_words_have_closer_embeddings(study):
    gaps = []
    for threshold in (0.0, 0.5, 0.8):
        labels = study.topics.labels(threshold)
        unit = study.vectors[labels >= 0]
        unit = unit / np.linalg.norm(unit, axis=1, keepdims=True)
        gaps.append(measures.vector_means(unit, labels[labels >= 0]).gap)
    assert gaps[0] < gaps[1] < gaps[2]


def test_relations_are_in_order(study):
    """A word attends most to itself, then to itself elsewhere, then to its topic."""
    sums = sum_by_relation(study.attentions, study.topics.labels(0.5))
    means = dict(zip(RELATIONS, sums.means().mean((1, 2)), strict=True))
    assert means["itself"] > means["same word"] > means["same topic"] > means["different topic"]
    low, high = sums.intervals()
    assert 1.1 < low < sums.ratio() < high
