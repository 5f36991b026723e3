"""Each result by an independent route: sampling, enumeration, numerical minimisation."""

import itertools
from math import comb

import numpy as np
import pytest
import torch
from scipy.optimize import minimize
from scipy.stats import betabinom, binom

from topiclens.documents import FIRST_WORD, Dirichlet, Masking, TauOfT, TopicModel, count_words, mask_documents
from topiclens.measures import between_words, block_means
from topiclens.model import TopicTransformer
from topiclens.theory import (
    AttentionSetting,
    bayes_loss,
    bayes_loss_long,
    finite_value_blocks,
    gram_optimum,
    moments,
    shown_shares,
    squared_loss,
    value_blocks,
    value_optimum,
)

DEFAULT = Masking()
OTHER = Masking(0.4, 0.2, 0.3)


def enumerate_moments(topics, masking, see_selected):
    """E[x], E[x̄], E[x x̄ᵀ], E[x̄ x̄ᵀ] of one selected position, summed over everything that can happen (tiny models).

    Position 0 is the selected one: positions are alike, and lengths count by their number of positions.
    """
    V, T = topics.num_words, topics.num_topics
    sets = list(itertools.combinations(range(T), topics.mixture.tau))
    sums = [np.zeros(V + 1), np.zeros(V + 1), np.zeros((V + 1, V + 1)), np.zeros((V + 1, V + 1))]
    p_m, p_c, p_r = masking.mask_prob, masking.keep_prob, masking.random_prob

    def fates(word, selected):
        """(probability, what is shown) of one position."""
        if not selected:
            return [(1.0, word)]
        shows = {w: p_r / V for w in range(1, V + 1)}
        shows[word] += p_c
        shows[0] = masking.hide_prob
        return [(q, shown) for shown, q in shows.items()]

    for length, weight in topics.length_weights.items():
        for topic_set in sets:
            p = topics.topic_word[list(topic_set)].mean(0)
            one = [(p_word, w + 1) for w, p_word in enumerate(p) if p_word > 0]
            ordinary = [
                (pw * ps * pf, shown, selected)
                for pw, w in one
                for ps, selected in ((p_m, True), (1 - p_m, False))
                for pf, shown in fates(w, selected)
            ]
            for pw, word in one:
                for pf, shown in fates(word, True):
                    for rest in itertools.product(ordinary, repeat=length - 1):
                        chance = weight / len(sets) * pw * pf * np.prod([q for q, _, _ in rest])
                        keys = [s for _, s, selected in rest if see_selected or not selected]
                        keys += [shown] if see_selected else []
                        average = np.bincount(np.array(keys, int), minlength=V + 1) / max(len(keys), 1)
                        x = np.eye(V + 1)[word]
                        for total, part in zip(
                            sums, (x, average, np.outer(x, average), np.outer(average, average)), strict=True
                        ):
                            total += chance * part
    return sums


@pytest.mark.parametrize("see_selected", [True, False])
@pytest.mark.parametrize(
    "topics",
    [
        TopicModel(2, 1, mixture=TauOfT(1), length=3),
        TopicModel(3, 1, mixture=TauOfT(2), length=(1, 2)),
        TopicModel(2, mixture=TauOfT(1), length=2, topic_word=[[0.5, 0.3, 0.2], [0.0, 0.1, 0.9]]),
    ],
)
def test_moments_equal_full_enumeration(topics, see_selected):
    exact = moments(topics, OTHER, see_selected=see_selected)
    for ours, counted in zip(exact, enumerate_moments(topics, OTHER, see_selected), strict=True):
        assert np.allclose(ours, counted, atol=1e-12)


def test_long_documents_approach_the_infinite_moments():
    long, limit = (moments(TopicModel(length=10**6), DEFAULT, infinite=i) for i in (False, True))
    for ours, theirs in zip(long, limit, strict=True):
        assert np.allclose(ours, theirs, atol=1e-6)


def numbers(matrix):
    means = block_means(between_words(matrix), np.arange(100) // 10)
    return means.same_word, means.same_topic, means.different_topic, matrix[FIRST_WORD:, 0].mean()


def test_value_optimum_has_the_numbers_of_the_default_setting():
    topics = TopicModel()
    assert np.allclose(numbers(value_optimum(topics, DEFAULT)), (0.2133, 0.0990, -0.0012, 0.0100), atol=6e-5)
    assert np.allclose(numbers(value_optimum(topics, DEFAULT, infinite=True))[1:], (0.1080, -0.0076, 0.0542), atol=6e-5)


def test_gram_optimum_has_the_numbers_of_the_default_setting():
    topics, (a, _, _) = TopicModel(), shown_shares(DEFAULT)
    assert np.allclose(numbers(gram_optimum(topics, DEFAULT))[:3], (0.2033, 0.0890, -0.0112), atol=6e-5)
    word, same, different, mask = numbers(gram_optimum(topics, DEFAULT, infinite=True))
    assert same - different == pytest.approx(1 / (a * 10), abs=1e-9)
    assert word == pytest.approx(same)
    assert mask == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize("masking", [DEFAULT, OTHER, Masking(1.0, 0.5, 0.5), Masking(0.15, 0.0, 0.1)])
@pytest.mark.parametrize(("T", "v", "tau"), [(10, 10, 4), (3, 5, 2), (6, 1, 5), (4, 7, 1)])
def test_value_blocks_are_the_general_solution(T, v, tau, masking):
    general = value_optimum(TopicModel(T, v, mixture=TauOfT(tau)), masking, infinite=True)
    word, same, different, mask = value_blocks(T, v, masking)
    assert word == same
    topics = np.arange(T * v) // v
    closed = np.where(topics[:, None] == topics, same, different)
    assert np.allclose(between_words(general), closed, atol=1e-8)
    # c = 0 leaves [MASK] unseen: its column is not determined, and the least one is 0
    assert np.allclose(general[1:, 0], mask if masking.hide_prob else 0, atol=1e-8)
    assert np.allclose(general[0], 0, atol=1e-12)


@pytest.mark.parametrize("masking", [DEFAULT, OTHER, Masking(0.15, 0.0, 0.1)])
@pytest.mark.parametrize(
    "topics",
    [
        TopicModel(),
        TopicModel(3, 5, mixture=TauOfT(3), length=4),
        TopicModel(2, 3, mixture=TauOfT(1), length=(2, 9)),
        TopicModel(6, 2, mixture=Dirichlet(0.1), length=(20, 40)),
    ],
)
def test_finite_value_blocks_are_the_general_solution(topics, masking):
    word, same, different, mask = finite_value_blocks(topics, masking)
    closed = np.where(topics.word_topics[:, None] == topics.word_topics, same, different)
    np.fill_diagonal(closed, word)
    general = value_optimum(topics, masking)
    assert np.allclose(between_words(general), closed, atol=1e-9)
    assert np.allclose(general[1:, 0], mask, atol=1e-9)
    assert np.allclose(general[0], 0, atol=1e-12)


def test_regularised_values_are_the_ridge_optimum_and_tend_to_the_unregularised_one():
    topics, rng = TopicModel(4, 3, mixture=TauOfT(2), length=20), np.random.default_rng(0)
    second = moments(topics, DEFAULT)

    def penalised(W, l2):
        return squared_loss(W, second, bias=False) + l2 * (W**2).sum()

    for l2 in (1e-4, 1e-2):
        W = value_optimum(topics, DEFAULT, l2=l2)
        for _ in range(10):
            assert penalised(W + 1e-3 * rng.normal(size=W.shape), l2) > penalised(W, l2)
    assert np.allclose(value_optimum(topics, DEFAULT, l2=1e-9), value_optimum(topics, DEFAULT), atol=1e-4)


def test_hidden_selected_positions_give_projectors():
    assert np.allclose(
        numbers(value_optimum(TopicModel(), DEFAULT, see_selected=False, infinite=True)), (0.1, 0.1, 0, 0), atol=1e-9
    )


def test_the_bump_on_the_diagonal_outlives_long_documents():
    """As N grows it tends to p_c/(a+b), while infinite documents have none: two limits that do not commute."""
    a, b, _ = shown_shares(DEFAULT)
    word, same, *_ = numbers(value_optimum(TopicModel(length=10**5), DEFAULT))
    assert word - same == pytest.approx(DEFAULT.keep_prob / (a + b), rel=1e-3)


@pytest.mark.parametrize(
    "topics",
    [
        TopicModel(),
        TopicModel(6, 5, mixture=Dirichlet(0.1), length=(20, 40)),
        TopicModel(3, mixture=Dirichlet(1.0), length=30, topic_word=np.random.default_rng(0).dirichlet(np.ones(8), 3)),
    ],
)
def test_optima_cannot_be_improved(topics):
    """No small change of the matrix, symmetric where it must be, lowers the exact loss."""
    rng = np.random.default_rng(0)
    second = moments(topics, DEFAULT)
    W, E = value_optimum(topics, DEFAULT), gram_optimum(topics, DEFAULT)
    for _ in range(20):
        change = 1e-3 * rng.normal(size=W.shape)
        assert squared_loss(W + change, second, bias=False) >= squared_loss(W, second, bias=False)
        assert squared_loss(E + change + change.T, second) >= squared_loss(E, second)
    assert np.linalg.eigvalsh(E)[0] > -1e-9


def test_gram_optimum_equals_descent_on_embeddings():
    topics = TopicModel(2, 2, mixture=TauOfT(1), length=5)
    second = moments(topics, DEFAULT)

    def loss(flat):
        W_E = flat.reshape(5, 5)
        return squared_loss(W_E.T @ W_E, second)

    found = minimize(loss, np.random.default_rng(0).normal(size=25) * 0.3, method="BFGS", options={"gtol": 1e-9})
    W_E = found.x.reshape(5, 5)
    optimum = gram_optimum(topics, DEFAULT)
    assert found.fun == pytest.approx(squared_loss(optimum, second), abs=1e-9)
    # x̄ sums to 1 in every document, so that the all-ones direction is free; the optimum has nothing there
    seen = np.eye(5) - 1 / 5
    assert np.allclose(seen @ W_E.T @ W_E @ seen, optimum, atol=1e-4)


def test_without_variation_between_documents_nothing_is_learned():
    """τ = T or one topic: centred moments are rounding errors, which must not be divided by each other."""
    for topics in (TopicModel(mixture=TauOfT(10)), TopicModel(4, 5, mixture=TauOfT(4)), TopicModel(1, 5)):
        assert abs(gram_optimum(topics, DEFAULT, infinite=True)).max() < 1e-9
        means = block_means(between_words(gram_optimum(topics, DEFAULT)), topics.word_topics)
        assert topics.num_topics == 1 or abs(means.gap) < 1e-9


def test_squared_loss_is_the_loss_on_samples():
    topics = TopicModel(4, 3, mixture=TauOfT(2), length=(5, 15))
    W = np.random.default_rng(0).normal(size=(13, 13)) * 0.2
    for see_selected in (True, False):
        batch = count_words(mask_documents(topics.sample(60_000, 0).words, OTHER, 12, 1), 12, see_selected)
        seen = batch.counts / np.maximum(batch.counts.sum(1, keepdims=True), 1)
        errors = ((seen @ W.T)[batch.document[batch.row]] - np.eye(13)[batch.target]) ** 2
        losses = errors.sum(1)
        exact = squared_loss(W, moments(topics, OTHER, see_selected=see_selected), bias=False)
        # standard error over documents, as selected positions of one document are not independent
        per_document = np.bincount(batch.document[batch.row], losses - losses.mean(), minlength=60_000)
        assert abs(losses.mean() - exact) < 4 * np.sqrt((per_document**2).sum()) / len(losses)


@pytest.mark.parametrize(
    ("T", "tau", "best"), [(10, 4, 7.72), (10, 2, 5.76), (20, 4, 11.61), (50, 4, 17.76), (10, 9, 9.10)]
)
def test_best_attention_ratio(T, tau, best):
    setting = AttentionSetting(T, 10, tau, DEFAULT)
    assert setting.optimal_ratio() == pytest.approx(best, abs=0.005)
    grid = np.geomspace(0.1, 100, 20_001)
    assert grid[setting.loss(grid).argmin()] == pytest.approx(setting.optimal_ratio(), rel=1e-3)


@pytest.mark.parametrize("masking", [DEFAULT, OTHER, Masking(0.15, 0.05, 0.3)])
@pytest.mark.parametrize(("T", "v", "tau"), [(10, 10, 4), (20, 3, 2), (7, 1, 6)])
def test_best_attention_ratio_with_hidden_keys_is_closed(T, v, tau, masking):
    setting = AttentionSetting(T, v, tau, masking, see_selected=False)
    best = setting.optimal_ratio()
    assert best == pytest.approx(1 + T * masking.keep_prob / masking.random_prob, rel=1e-12)
    grid = np.geomspace(best / 3, best * 3, 100_001)
    assert grid[setting.loss(grid).argmin()] == pytest.approx(best, rel=1e-4)


def direct_attention_loss(T, v, tau, masking, see_selected, scores):
    """Every document set, query and truth of long documents written out, with a softmax of (V+1, V+1) scores."""
    V = T * v
    a, b, c = shown_shares(masking) if see_selected else (1.0, 0.0, 0.0)
    topic = np.arange(V) // v
    W = np.zeros((V + 1, V + 1))
    W[1:, 1:] = (topic[:, None] == topic) / v
    if see_selected:
        _, same, different, W[1:, 0] = value_blocks(T, v, masking)
        W[1:, 1:] = np.where(topic[:, None] == topic, same, different)
    total, sets = 0.0, list(itertools.combinations(range(T), tau))
    for chosen in sets:
        p = np.isin(topic, chosen) / (tau * v)
        shares = torch.tensor(np.concatenate([[c], a * p + b / V]))
        for truth in np.flatnonzero(p):
            shows = {0: masking.hide_prob} | {w + 1: masking.random_prob / V for w in range(V)}
            shows[truth + 1] += masking.keep_prob
            for query, chance in shows.items():
                weights = shares * scores[query].exp()
                error = torch.tensor(W) @ (weights / weights.sum()) - torch.eye(V + 1)[truth + 1]
                total = total + p[truth] * chance * error.square().sum() / len(sets)
    return total


@pytest.mark.parametrize("see_selected", [True, False])
def test_attention_loss_equals_a_direct_expectation(see_selected):
    r, mask_weight, topic = 3.7, 1.6, np.arange(8) // 2
    prefers = np.ones((9, 9))
    prefers[1:, 1:][topic[:, None] == topic] = r
    prefers[1:, 0] = mask_weight
    direct = direct_attention_loss(4, 2, 2, OTHER, see_selected, torch.tensor(np.log(prefers)))
    found = AttentionSetting(4, 2, 2, OTHER, see_selected=see_selected).loss(r, mask_weight)
    assert found == pytest.approx(float(direct), abs=1e-12)


def test_joint_optimum_with_the_weight_of_mask_keys():
    setting = AttentionSetting(10, 10, 4, DEFAULT)
    r, mask_weight = setting.joint_optimum()
    assert (r, mask_weight) == pytest.approx((8.1145, 1.5018), abs=5e-4)
    grid = np.linspace(0.9, 1.1, 41)
    losses = setting.loss(r * grid[:, None], mask_weight * grid)
    assert np.unravel_index(losses.argmin(), losses.shape) == (20, 20)
    assert losses.min() < setting.loss(setting.optimal_ratio())


@pytest.mark.parametrize(("tau", "masking"), [(1, OTHER), (2, OTHER), (3, Masking(0.5, 0.3, 0.2))])
def test_attention_loss_of_finite_documents_equals_sampling(tau, masking):
    """A model with these scores and values, position by position, on sampled documents."""
    topics, r = TopicModel(3, 2, mixture=TauOfT(tau), length=7), 3.7
    blocks = np.pad(np.kron(np.eye(3), np.ones((2, 2))), (1, 0))
    model = TopicTransformer(
        6, embedding="one-hot", value=blocks / 2, decoder="identity", bias=False, see_selected=False
    )
    with torch.no_grad():
        model.W_Q.copy_(torch.eye(7))
        model.W_K.copy_(torch.tensor(blocks * np.log(r) * np.sqrt(7)))
        masked = mask_documents(topics.sample(40_000, 0).words, masking, 6, 1)
        logits = model(masked).numpy()
    losses = ((logits - np.eye(7)[masked.words[masked.selected]]) ** 2).sum(1)
    exact = AttentionSetting(3, 2, tau, masking, see_selected=False).finite_loss(r, 7)
    document = np.nonzero(masked.selected)[0]
    per_document = np.bincount(document, losses - losses.mean(), minlength=40_000)
    assert abs(losses.mean() - exact) < 4 * np.sqrt((per_document**2).sum()) / len(losses)


@pytest.mark.parametrize(("length", "best"), [(32, 14.80), (128, 11.74), (512, 11.17)])
def test_best_attention_ratio_of_finite_documents(length, best):
    setting = AttentionSetting(10, 10, 4, DEFAULT, see_selected=False)
    found = setting.optimal_ratio(length)
    assert found == pytest.approx(best, abs=0.005)
    assert setting.finite_loss(found, length) < min(setting.finite_loss(found * x, length) for x in (0.99, 1.01))


def test_long_documents_approach_the_loss_of_infinite_ones():
    setting = AttentionSetting(5, 3, 2, OTHER, see_selected=False)
    for r in (0.5, 1.0, 8.0):
        assert setting.finite_loss(r, 10**4) == pytest.approx(setting.loss(r), rel=1e-4)
    assert setting.optimal_ratio(10**4) == pytest.approx(setting.optimal_ratio(), rel=1e-3)


def test_gradient_at_the_saddle():
    """The loss differentiated with respect to every score; then the slope of the loss in log r at r = 1."""
    T, v, tau = 4, 2, 2
    scores = torch.zeros((9, 9), dtype=torch.float64, requires_grad=True)
    direct_attention_loss(T, v, tau, OTHER, False, scores).backward()
    singular = np.linalg.svd(scores.grad.numpy(), compute_uv=False)
    setting = AttentionSetting(T, v, tau, OTHER, see_selected=False)
    assert np.allclose(singular, [setting.saddle_slope()] * (T - 1) + [0] * 6, atol=1e-12)
    for other in (setting, AttentionSetting(10, 10, 4, DEFAULT, see_selected=False)):
        slope = -np.diff(other.loss(np.exp([-1e-4, 1e-4])))[0] / 2e-4
        assert other.saddle_slope() == pytest.approx(slope / ((other.T - 1) * other.v), rel=1e-4)


def enumerate_bayes(topics, masking, loss, use_query):
    """The posterior from Bayes' rule over everything that the predictor can see (tiny models, fixed length)."""
    V, N = topics.num_words, topics.lengths[0]
    sets = list(itertools.combinations(range(topics.num_topics), topics.mixture.tau))
    joint = {}  # what is seen → weight of each true word
    for chosen in sets:
        p = topics.topic_word[list(chosen)].mean(0)
        for others in itertools.product(range(-1, V), repeat=N - 1):  # −1: selected, so not seen
            chance = np.prod([masking.mask_prob if w < 0 else (1 - masking.mask_prob) * p[w] for w in others])
            for truth in range(V):
                shows = {-1: masking.hide_prob} | {w: masking.random_prob / V for w in range(V)}
                shows[truth] += masking.keep_prob
                for shown, q in shows.items() if use_query else [(-1, 1.0)]:
                    seen = joint.setdefault((tuple(sorted(others)), shown), np.zeros(V))
                    seen[truth] += chance * p[truth] * q / len(sets)
    total = 0.0
    for weights in joint.values():
        if weights.sum() > 0:
            posterior = weights / weights.sum()
            if loss == "cross-entropy":
                total -= (weights[weights > 0] * np.log(posterior[weights > 0])).sum()
            else:
                total += weights.sum() * (1 - (posterior**2).sum())
    return total


@pytest.mark.parametrize("loss", ["cross-entropy", "squared"])
@pytest.mark.parametrize("use_query", [True, False])
def test_bayes_loss_equals_enumeration(loss, use_query):
    topics = TopicModel(3, 1, mixture=TauOfT(2), length=4)
    estimate = bayes_loss(topics, OTHER, loss, use_query=use_query, num_documents=40_000)
    exact = enumerate_bayes(topics, OTHER, loss, use_query)
    assert estimate.error < 0.005
    assert abs(estimate.mean - exact) < 4 * estimate.error


@pytest.mark.parametrize("loss", ["cross-entropy", "squared"])
def test_bayes_loss_of_dirichlet_mixtures_equals_numerical_integration(loss):
    """T = 2: the posterior over θ on a grid."""
    topics = TopicModel(2, 1, mixture=Dirichlet(0.7), length=5)
    t = (np.arange(4000) + 0.5) / 4000
    prior = (t * (1 - t)) ** -0.3
    prior /= prior.sum()
    total = 0.0
    for unseen in range(5):  # of the four other positions
        for ones in range(5 - unseen):
            zeros = 4 - unseen - ones
            chance = comb(4, unseen) * comb(4 - unseen, ones) * 0.4**unseen * 0.6 ** (4 - unseen)
            likelihood = prior * t**ones * (1 - t) ** zeros
            mean = (likelihood * t).sum() / likelihood.sum()
            q = np.array([mean, 1 - mean])
            value = -(q * np.log(q)).sum() if loss == "cross-entropy" else 1 - (q**2).sum()
            total += chance * likelihood.sum() * value
    estimate = bayes_loss(topics, OTHER, loss, use_query=False, num_documents=40_000)
    assert abs(estimate.mean - total) < 4 * estimate.error + 1e-3


def test_bayes_loss_of_long_documents():
    assert bayes_loss_long(10, 10, 4, DEFAULT, "cross-entropy", use_query=False) == pytest.approx(np.log(40))
    for loss in ("cross-entropy", "squared"):
        for use_query in (True, False):
            sampled = bayes_loss(TopicModel(length=500), DEFAULT, loss, use_query=use_query, num_documents=50)
            closed = bayes_loss_long(10, 10, 4, DEFAULT, loss, use_query=use_query)
            assert sampled.mean == pytest.approx(closed, rel=1e-9)


def test_bayes_floors_of_the_authors_data():
    """T = v = 10, α = 0.1, N uniform in 100…150; squared error there is the mean over 104 outputs.

    Without the query's word, an exact sum: topic t occurs n_t ~ beta-binomial(M) times among the M unselected words.
    """
    topics = TopicModel(mixture=Dirichlet(0.1), length=(100, 150))
    cross_entropy = squared = 0.0
    for length, weight in topics.length_weights.items():
        for M in range(length):
            chance = weight * binom.pmf(M, length - 1, 1 - DEFAULT.mask_prob)
            n = np.arange(M + 1)
            share = (0.1 + n) / (1 + M)
            pmf = 10 * betabinom.pmf(n, M, 0.1, 0.9)
            cross_entropy -= chance * (pmf * share * np.log(share / 10)).sum()
            squared += chance * (1 - (pmf * share**2 / 10).sum())
    assert cross_entropy == pytest.approx(3.1735, abs=5e-5)
    assert squared / 104 == pytest.approx(0.00909, abs=5e-6)
    for loss, exact in (("cross-entropy", cross_entropy), ("squared", squared)):
        found = bayes_loss(topics, DEFAULT, loss, use_query=False, num_documents=20_000)
        assert abs(found.mean - exact) < 4 * found.error


def test_one_topic_documents_want_uniform_attention():
    """Selected positions visible, τ = 1: W_V under uniform attention already gives the document's distribution."""
    assert AttentionSetting(10, 10, 1, DEFAULT).optimal_ratio() == pytest.approx(1, abs=1e-4)


def test_attention_mass_on_the_own_topic_is_the_posterior():
    setting = AttentionSetting(10, 10, 4, DEFAULT, see_selected=False)
    r, p_c, p_r = setting.optimal_ratio(), DEFAULT.keep_prob, DEFAULT.random_prob
    kept = p_c * 10 / (p_c * 10 + p_r * 4)  # probability that the word is the true one
    assert r / (r + 3) == pytest.approx(kept + (1 - kept) / 4)
