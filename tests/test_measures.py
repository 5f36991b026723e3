import time
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from topiclens.documents import MASK, PAD, Dirichlet, MaskedDocuments, Masking, TopicModel, mask_documents
from topiclens.measures import (
    attention_by_relation,
    attention_by_words,
    attention_entropy,
    attention_ratios,
    attention_scores,
    between_words,
    block_means,
    block_share,
    cluster_words,
    composed_map,
    copying_rate,
    cosine_auc,
    favourite_keys,
    gram,
    half_time,
    map_counts,
    topic_coordinates,
    vector_means,
    word_attention,
)
from topiclens.model import TopicTransformer

WORD_TOPICS = np.arange(100) // 10


def relation(i, j, topics):
    return 0 if i == j else 1 if topics[i] == topics[j] else 2


@given(st.lists(st.integers(0, 3), min_size=1, max_size=8), st.integers(0, 10**6))
@settings(deadline=None)
def test_block_means_are_means_over_pairs(topics, seed):
    V, topics = len(topics), np.array(topics)
    stack = np.random.default_rng(seed).normal(size=(2, V, V))
    groups = [
        [[m[i, j] for i in range(V) for j in range(V) if relation(i, j, topics) == r] for r in range(3)] for m in stack
    ]
    found = block_means(stack, topics)
    for k in range(2):
        for r in range(3):
            expected = np.mean(groups[k][r]) if groups[k][r] else np.nan
            assert found[r][k] == pytest.approx(expected, nan_ok=True)
    assert np.allclose(block_means(stack[0], topics), [f[0] for f in found], equal_nan=True)


def test_gram_is_inner_products():
    W_E = np.random.default_rng(0).normal(size=(2, 3, 5)).astype(np.float32)
    assert np.allclose(gram(W_E)[1], W_E[1].T @ W_E[1], atol=1e-6)
    assert gram(W_E).dtype == np.float64


def batch(num_documents=6, see_selected=True, seed=0):
    topics = TopicModel(mixture=Dirichlet(0.1), length=(10, 30))
    masked = mask_documents(topics.sample(num_documents, seed).words, Masking(0.3), 100, seed)
    model = TopicTransformer(100, see_selected=see_selected, init_scale=0.4)
    return masked, model.attention(masked).detach().numpy()


@pytest.mark.parametrize("see_selected", [True, False])
def test_attention_by_relation_is_a_loop_over_pairs(see_selected):
    masked, attention = batch(see_selected=see_selected)
    groups = {kind: [[], [], []] for kind in ("word", "mask")}
    D, N = masked.shown.shape
    for d in range(D):
        for q in range(N):
            for k in range(N):
                query, key = masked.shown[d, q], masked.shown[d, k]
                if PAD in (query, key) or key == MASK:
                    continue
                word = masked.words[d, q] if query == MASK else query
                kind = "mask" if query == MASK else "word"
                groups[kind][relation(word - 1, key - 1, WORD_TOPICS)].append(attention[d, q, k])
    found = attention_by_relation(attention, masked, WORD_TOPICS)
    for means, kind in zip(found, groups, strict=True):
        assert means == pytest.approx([np.mean(np.array(g, float)) for g in groups[kind]], rel=1e-9)


def planted(masked, same=3.0):
    """Attention that prefers the query's topic by a factor of exactly `same`, whatever the documents."""
    topic = np.where(masked.shown > 0, (masked.shown - 1) // 10, -1)
    weights = np.where((topic[:, :, None] == topic[:, None, :]) & (topic[:, :, None] >= 0), same, 1.0)
    weights *= masked.present[:, None, :]
    return weights / weights.sum(2, keepdims=True)


def test_ids_shifted_by_one_or_four_are_caught():
    """Off by the number of special tokens, topics are looked up in the wrong row; with words of all topics about,
    the highest id falls outside and the measure refuses, instead of printing 1.3 where the truth is 3."""
    masked, _ = batch(40)
    attention = planted(masked)
    true = attention_by_relation(attention, masked, WORD_TOPICS).word_queries
    assert true.same_topic / true.different_topic > 2
    for shift in (1, 4):
        shifted = MaskedDocuments(
            *(np.where(x > 0, x + shift, x) for x in (masked.words, masked.shown)), masked.selected
        )
        with pytest.raises(ValueError, match=f"run from .* to {100 + shift}; they must lie between . and 100"):
            attention_by_relation(attention, shifted, WORD_TOPICS)
        # the other way round: topics that are listed with room for special tokens
        padded = np.concatenate([np.zeros(shift, int), WORD_TOPICS])[:100]
        wrong = attention_by_relation(attention, masked, padded).word_queries
        assert wrong.same_topic / wrong.different_topic < 0.9 * true.same_topic / true.different_topic
    zero_based = MaskedDocuments(np.where(masked.words == PAD, PAD, masked.words - 1), masked.shown, masked.selected)
    with pytest.raises(ValueError, match="words: ids run from 0"):
        attention_by_relation(attention, zero_based, WORD_TOPICS)
    with pytest.raises(ValueError, match=r"must be \(100, 100\)"):
        block_means(np.eye(101), WORD_TOPICS)  # a matrix over ids, [MASK] not taken out


def test_transposed_attention_is_caught():
    masked, attention = batch()
    with pytest.raises(ValueError, match="must be 1"):
        attention_by_relation(attention.transpose(0, 2, 1), masked, WORD_TOPICS)


def test_sums_are_float64():
    """Ten thousand small numbers beside a large one survive; in float32 they would be lost."""
    words = np.array([[1] + [11] * 2000])
    masked = MaskedDocuments(words, words, np.zeros_like(words, bool))
    attention = np.zeros((1, 2001, 2001), np.float32)
    attention[0, :, 0] = 1
    attention[0, 0, 0], attention[0, 0, 1:] = 0.0, np.float32(1 / 2000)
    means = attention_by_relation(attention, masked, WORD_TOPICS).word_queries
    exact = (2000 * 1.0 + 2000 * float(np.float32(1 / 2000))) / 4000
    assert means.different_topic == pytest.approx(exact, rel=1e-12)


def test_between_words_takes_mask_out():
    assert between_words(np.arange(9).reshape(3, 3)).tolist() == [[4, 5], [7, 8]]


def test_scores_are_those_of_the_model():
    model = TopicTransformer(12, embedding="one-hot", attention_dim=5, init_scale=1.0)
    W = model.matrices()
    assert np.allclose(attention_scores(W["W_K"], W["W_Q"]), model.scores().detach().numpy(), atol=1e-5)


def test_attention_ratio_is_that_of_planted_scores():
    topics = np.arange(12) // 4
    same = topics[:, None] == topics
    rows = np.random.default_rng(0).normal(size=(12, 1))  # what is added to a row changes nothing
    assert np.allclose(attention_ratios(np.log(np.where(same, 3.0, 1.0)) + rows, topics), 3.0)
    uneven = np.where(same, 2.0, 1.0)
    uneven[0, 0], uneven[0, 1] = 5.0, 1.0  # mean of 5, 1, 2, 2 is 2.5
    assert attention_ratios(np.log(uneven), topics)[0] == pytest.approx(2.5)


def test_half_time_is_when_a_curve_stays_above_half_its_peak():
    assert half_time([0, 10, 20, 30], [0, 0, 4, 4]) == 15
    assert half_time([0, 10, 20, 30], [0, 4, 1, 4]) == pytest.approx(20 + 10 / 3)  # an early peak does not count
    assert half_time([5, 10], [3, 4]) == 5
    assert np.isnan(half_time([0, 10, 20], [0, 4, 1]))
    assert np.isnan(half_time([0, 10], [0, 0]))


def test_block_share_of_blocks_is_1_whatever_the_diagonal():
    blocks = np.random.default_rng(0).normal(size=(10, 10)).repeat(10, 0).repeat(10, 1)
    assert block_share(blocks + np.diag(np.arange(100.0)), WORD_TOPICS) == pytest.approx(1)


def test_block_share_by_hand():
    matrix = np.array([[9, 1, 2], [3, 9, 4], [5, 6, 9]])  # blocks off the diagonal: {1, 3}, {2, 4}, {5, 6}
    within = (1 + 1 + 1 + 1 + 0.25 + 0.25) / 6
    assert block_share(matrix, np.array([0, 0, 1])) == pytest.approx(1 - within / np.var([1, 2, 3, 4, 5, 6]))


def test_block_share_of_noise_is_the_number_of_blocks_over_that_of_entries():
    rng = np.random.default_rng(0)
    noise = [block_share(rng.normal(size=(100, 100)), WORD_TOPICS) for _ in range(20)]
    assert np.mean(noise) == pytest.approx(100 / 9900, rel=0.1)
    assert np.mean([block_share(m, rng.permutation(WORD_TOPICS)) for m in rng.normal(size=(20, 100, 100))]) < 0.015


@given(st.floats(-3, 3).filter(lambda x: abs(x) > 0.1), st.floats(-3, 3))
@settings(deadline=None, max_examples=30)
def test_block_share_does_not_depend_on_scale_and_shift(scale, shift):
    matrix = np.random.default_rng(1).normal(size=(12, 12))
    topics = np.arange(12) // 4
    assert block_share(scale * matrix + shift, topics) == pytest.approx(block_share(matrix, topics))


def test_clusters_are_the_topics_in_any_order_of_words():
    rng = np.random.default_rng(0)
    topics = rng.permutation(WORD_TOPICS)
    matrix = (topics[:, None] == topics) + 0.3 * rng.normal(size=(100, 100)) + 50 * np.eye(100)
    clusters = cluster_words(matrix, 10)
    assert len(set(zip(clusters, topics, strict=True))) == len(set(clusters)) == 10
    assert len(set(zip(cluster_words(rng.normal(size=(100, 100)), 10), topics, strict=True))) > 30


def test_attention_by_words_is_a_mean_over_pairs_of_positions():
    rng = np.random.default_rng(0)
    masked = mask_documents(TopicModel(2, 2, length=(3, 6)).sample(20, 0).words, Masking(0.3), 4, 1)
    attention = rng.random((20, 6, 6)) * masked.present[:, None, :] * (rng.random((20, 6, 6)) < 0.9)
    attention /= attention.sum(2, keepdims=True)
    found = attention_by_words(attention, masked, 4)
    for i in range(1, 5):
        for j in range(1, 5):
            values = [
                attention[d, q, k] * (attention[d, q] > 0).sum()
                for d, q, k in np.ndindex(20, 6, 6)
                if masked.shown[d, q] == i and masked.shown[d, k] == j and attention[d, q, k] > 0
            ]
            assert found[i - 1, j - 1] == pytest.approx(np.mean(values))


def test_uniform_attention_by_words_is_1_also_if_it_is_causal():
    words = TopicModel(2, 2, length=6).sample(50, 0).words
    causal = np.tril(np.ones((50, 6, 6)))
    found = attention_by_words(causal / causal.sum(2, keepdims=True), MaskedDocuments(words, words, words > 0), 5)
    assert found[:4, :4] == pytest.approx(1)
    assert np.isnan(found[4]).all()  # a word that never occurs
    assert np.isnan(found[:, 4]).all()


def test_composed_map_is_what_the_layer_answers_to_a_document_of_all_words():
    model = TopicTransformer(
        12, embedding="one-hot", decoder="identity", bias=False, see_selected=False, init_scale=1.0
    )
    words = np.concatenate([np.tile(np.arange(1, 13), (12, 1)), np.arange(1, 13)[:, None]], 1)
    selected = np.arange(13) == 12  # the last position asks, about each word in turn, and is hidden
    answers = model(MaskedDocuments(words, words, np.tile(selected, (12, 1)))).detach().numpy()
    W = model.matrices()
    scores, W_V = (between_words(m) for m in (attention_scores(W["W_K"], W["W_Q"]), W["W_V"]))
    assert np.allclose(composed_map(scores, W_V), answers[:, 1:], atol=1e-5)
    stack = composed_map(np.stack([scores, scores + 3000]), np.stack([W_V, W_V]))
    assert np.allclose(stack[0], stack[1])
    assert np.allclose(word_attention(scores).sum(1), 1)


def test_entropy_counts_the_words_that_share_attention():
    scores = np.full((3, 12), -1e4)
    scores[0, :4] = 0.0
    scores[1, 2] = 5.0
    scores[2] = 7.0
    assert np.allclose(np.exp(attention_entropy(scores)), [4, 1, 12])
    assert favourite_keys(scores)[1] == 2


def test_copying_rate_is_the_share_of_rows_that_peak_on_the_diagonal():
    outputs = np.eye(4)
    outputs[2, 3] = 2.0
    assert copying_rate(outputs) == 0.75
    assert copying_rate(np.stack([outputs, np.eye(4)])).tolist() == [0.75, 1.0]


def test_map_counts():
    assert map_counts([0, 2, 1, 4, 3, 5]) == (2, 2, 6)  # an involution
    assert map_counts([1, 2, 3, 0]) == (0, 0, 4)
    assert map_counts([1, 1, 1, 1]) == (1, 0, 1)
    with pytest.raises(ValueError, match="from 1 to 4; they must be words from 0 to 3"):
        map_counts([1, 2, 3, 4])


def labelled_vectors():
    rng = np.random.default_rng(0)
    labels = rng.permutation(np.repeat([0, 2, 3], [5, 20, 35]))  # no word of topic 1
    return rng.normal(size=(60, 7)) + rng.normal(size=(4, 7))[labels], labels


def test_vector_means_are_block_means_of_the_gram_matrix():
    vectors, labels = labelled_vectors()
    assert np.allclose(vector_means(vectors, labels), block_means(vectors @ vectors.T, labels))
    several = np.stack([labels, labels[::-1]])
    for k, row in enumerate(several):
        assert np.allclose(np.array(vector_means(vectors, several))[:, k], vector_means(vectors, row))


def test_auc_by_hand():
    vectors, labels = labelled_vectors()
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    cosines, pair = unit @ unit.T, np.triu_indices(60, 1)
    same = (labels[:, None] == labels)[pair]
    ours, others = cosines[pair][same], cosines[pair][~same]
    wins = (ours[:, None] > others).mean() + (ours[:, None] == others).mean() / 2
    assert cosine_auc(vectors, labels) == pytest.approx(wins, abs=1e-3)
    assert cosine_auc(3 * vectors, np.stack([labels, labels])) == pytest.approx([wins, wins], abs=1e-3)
    assert cosine_auc(np.eye(4)[[0, 0, 1, 1]], np.array([0, 0, 1, 1])) == 1
    assert cosine_auc(np.eye(4), np.array([0, 0, 1, 1])) == 0.5
    assert np.isnan(cosine_auc(vectors, np.zeros(60, int)))


def test_all_pairs_of_5000_words_with_20_shuffles_are_fast_and_small():
    rng = np.random.default_rng(0)
    vectors, labels = rng.normal(size=(5000, 384)).astype(np.float32), rng.integers(0, 100, 5000)
    shuffled = np.stack([rng.permutation(labels) for _ in range(20)])
    tracemalloc.start()
    start = time.process_time()
    vector_means(vectors, shuffled)
    areas = cosine_auc(vectors, shuffled)
    seconds, (_, peak) = time.process_time() - start, tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert abs(areas - 0.5).max() < 0.01
    assert peak < 1e9
    assert seconds < 5


def test_coordinates_along_topics_are_those_that_the_embeddings_were_made_from():
    own = np.repeat(np.eye(5), 2, axis=1)  # two words of each topic alone
    shared = np.array([[1.5, 0], [0.5, 1], [0, 1], [0, 0], [0, 0]])
    made = np.hstack([own, shared])
    topics = np.random.default_rng(0).normal(size=(7, 5))
    E = (topics - topics.mean(1, keepdims=True)) @ made
    assert np.allclose(topic_coordinates(E.T @ E, made / made.sum(1, keepdims=True)), made)
