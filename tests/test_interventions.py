import numpy as np
import pytest

from topiclens import interventions as surgery
from topiclens.documents import MaskedDocuments, Masking, TopicModel, count_words, mask_documents
from topiclens.measures import attention_scores, between_words, composed_map, copying_rate, favourite_keys
from topiclens.model import TopicTransformer

TOPICS = TopicModel(3, 4, length=9)
WORD_TOPICS = TOPICS.word_topics
SAME = WORD_TOPICS[:, None] == WORD_TOPICS
RNG = np.random.default_rng(0)
SCORES, W_V = RNG.normal(size=(2, 13, 13))


def of_topic(t):
    return np.equal(WORD_TOPICS, t)


def model_and_batch(see_selected):
    model = TopicTransformer(
        12, embedding="one-hot", decoder="identity", bias=False, see_selected=see_selected, init_scale=1.0
    )
    masked = mask_documents(TOPICS.sample(40, 0).words, Masking(0.4), 12, 1)
    W = model.matrices()
    return model, masked, attention_scores(W["W_K"], W["W_Q"]), W["W_V"]


def planted():
    """A code: query q attends to carrier[q], whose column of W_V says q."""
    carrier = surgery.permutation_within_topics(WORD_TOPICS, 5)[1:] - 1
    P = np.eye(12)[carrier]
    return carrier, 8 * P + SAME, 0.7 * P + 0.1 * SAME


@pytest.mark.parametrize("see_selected", [True, False])
def test_attention_and_outputs_are_those_of_the_model(see_selected):
    model, masked, scores, W = model_and_batch(see_selected)
    batch = count_words(masked, 12, see_selected)
    attention = surgery.attend(scores, batch)
    assert np.allclose(attention.sum(1), 1)
    expected = model.forward_counts(batch).detach().numpy()
    assert np.allclose(surgery.outputs(attention, W), expected, atol=1e-5)


def test_a_query_that_sees_nothing_attends_to_nothing():
    words = np.array([[1, 2]])
    batch = count_words(MaskedDocuments(words, words, words > 0), 12, see_selected=False)
    assert not surgery.attend(SCORES, batch).any()


def test_large_scores_do_not_overflow():
    _, masked, scores, _ = model_and_batch(False)
    batch = count_words(masked, 12, False)
    assert np.allclose(surgery.attend(scores + 5000, batch), surgery.attend(scores, batch))


def test_swapping_carriers_swaps_answers_and_no_others():
    carrier, scores, W = planted()
    before = composed_map(scores, W).argmax(1)
    assert copying_rate(composed_map(scores, W)) == 1
    after = composed_map(scores, surgery.swap_columns(W, carrier[0], carrier[3])).argmax(1)
    assert after.tolist() == [3, 1, 2, 0, *before[4:]]
    assert np.array_equal(surgery.swap_columns(surgery.swap_columns(W_V, 2, 5), 5, 2), W_V)
    with pytest.raises(ValueError, match="second = 13 must be an id from 0 to 12"):
        surgery.swap_columns(W_V, 1, 13)


@pytest.mark.parametrize("move_all", [False, True])
def test_permutations_keep_topics_and_the_mask(move_all):
    for seed in range(20):
        order = surgery.permutation_within_topics(WORD_TOPICS, seed, move_all=move_all)
        assert order[0] == 0
        assert sorted(order) == list(range(13))
        assert np.array_equal(WORD_TOPICS[order[1:] - 1], WORD_TOPICS)
        assert not move_all or (order[1:] != np.arange(1, 13)).all()
    with pytest.raises(ValueError, match="topic 1 has one word"):
        surgery.permutation_within_topics(np.array([0, 0, 1]), 0, move_all=True)


def test_permutations_are_uniform():
    """All 24 orders of a topic, and all 9 derangements, equally often: chi-squared below 3 standard deviations."""
    for move_all, number in ((False, 24), (True, 9)):
        rng = np.random.default_rng(1)
        drawn = [
            tuple(surgery.permutation_within_topics(WORD_TOPICS, rng, move_all=move_all)[1:5]) for _ in range(2000)
        ]
        found = {order: drawn.count(order) for order in set(drawn)}
        assert len(found) == number
        mean = 2000 / number
        chi = sum((n - mean) ** 2 / mean for n in found.values())
        assert chi < number - 1 + 3 * np.sqrt(2 * number)


def test_shuffling_keeps_block_means():
    order = surgery.permutation_within_topics(WORD_TOPICS, 3)
    before, after = between_words(W_V), between_words(W_V[:, order])
    for t in range(3):
        for s in range(3):
            block = np.ix_(of_topic(t), of_topic(s))
            assert after[block].mean() == pytest.approx(before[block].mean(), abs=1e-12)


def test_block_average_is_the_mean_of_each_block():
    averaged = surgery.block_average(W_V, WORD_TOPICS)
    for t in range(3):
        for s in range(3):
            rows, columns = np.flatnonzero(of_topic(t)) + 1, np.flatnonzero(of_topic(s)) + 1
            block = averaged[np.ix_(rows, columns)]
            assert np.allclose(block, W_V[np.ix_(rows, columns)].mean())
    assert np.array_equal(averaged[0], W_V[0])
    assert np.array_equal(averaged[:, 0], W_V[:, 0])


def test_average_attention_keeps_each_topics_share():
    averaged = surgery.average_attention(SCORES + 900, WORD_TOPICS)
    before, after = (np.exp(s[1:, 1:] - s[1:, 1:].max()) for s in (SCORES + 900, averaged))
    for t in range(3):
        share = [w[:, of_topic(t)].sum(1) / w.sum(1) for w in (before, after)]
        assert np.allclose(*share)
        assert np.allclose(after[:, of_topic(t)], after[:, of_topic(t)][:, :1])
    assert np.array_equal(averaged[0], (SCORES + 900)[0])


def test_ablation_removes_the_span_and_nothing_else():
    embeddings, directions = RNG.normal(size=(7, 13)), RNG.normal(size=(7, 3))
    directions[:, 2] = directions[:, 0] - directions[:, 1]  # of rank 2
    left = surgery.ablate(embeddings, directions)
    assert np.allclose(directions.T @ left, 0)
    assert np.linalg.matrix_rank(embeddings - left) == 2
    assert np.allclose(surgery.ablate(left, directions), left)
    with pytest.raises(ValueError, match="dimension 6, embeddings 7"):
        surgery.ablate(embeddings, directions[:6])


def test_topic_directions_are_means_of_topics():
    embeddings = RNG.normal(size=(7, 13))
    directions = surgery.topic_directions(embeddings, WORD_TOPICS)
    assert np.allclose(directions[:, 1], embeddings[:, 5:9].mean(1) - embeddings[:, 1:].mean(1))
    assert np.allclose(directions.sum(1), 0)


def test_patching_a_document_with_itself_does_nothing():
    model, masked, _, W = model_and_batch(True)
    attention = model.attention(masked).detach().numpy()
    own = surgery.patched_outputs(attention, W, masked, masked.selected)
    assert np.allclose(own, model(masked).detach().numpy(), atol=1e-5)
    other = MaskedDocuments(*(part[::-1] for part in (masked.words, masked.shown, masked.selected)))
    patched = surgery.patched_outputs(attention, W, other, masked.selected)
    d, q = (index[0] for index in np.nonzero(masked.selected))
    assert np.allclose(patched[0], W[:, other.shown[d]] @ attention[d, q], atol=1e-6)
    short = np.where(np.arange(9) < 8, masked.words, -1)
    with pytest.raises(ValueError, match="padded"):
        surgery.patched_outputs(attention, W, MaskedDocuments(short, short, masked.selected), masked.selected)
    with pytest.raises(ValueError, match=r"\(40, 9, 9\)"):
        surgery.patched_outputs(attention[:, :8], W, masked, masked.selected)


def test_renaming_keys_in_both_matrices_changes_nothing():
    order = surgery.permutation_within_topics(WORD_TOPICS, 4)[1:] - 1
    _, scores, W = planted()
    assert np.allclose(composed_map(scores[:, order], W[:, order]), composed_map(scores, W))
    assert not np.array_equal(favourite_keys(scores[:, order]), favourite_keys(scores))
