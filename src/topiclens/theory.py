"""Exact optima and losses, in float64, without training (paper, sections on embeddings, value matrix, attention).

Everything here follows from second moments. Let p be a document's word distribution, u the uniform distribution
on words and e₀ the one-hot [MASK]. An ordinary position shows an id drawn from μ = a·p + b·u + c·e₀, a selected
one from ν = p_c·p + p_r·u + (1−p_c−p_r)·e₀, with

    a = 1 − (1−p_c)·p_m,    b = p_m·p_r,    c = p_m·(1−p_c−p_r).

The layer under uniform attention sees x̄, the mean of the one-hot ids that it may attend to.
Letters in shapes: V words, T topics. Matrices over ids are (V+1, V+1), row and column 0 belonging to [MASK].
"""

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize, minimize_scalar
from scipy.stats import binom

from .checks import check_choice, check_int, check_not_negative, check_positive
from .documents import FIRST_WORD, Dirichlet, Masking, PartnerTopics, TauOfT, TopicModel


class Estimate(NamedTuple):
    """A Monte Carlo mean and its standard error."""

    mean: float
    error: float


class Moments(NamedTuple):
    """What the squared loss of a linear layer on x̄ depends on; expectations over selected positions.

    Attributes:
        target: (V+1,) E[x], x the one-hot true word.
        average: (V+1,) E[x̄].
        D: (V+1, V+1) E[x x̄ᵀ].
        C: (V+1, V+1) E[x̄ x̄ᵀ].
    """

    target: np.ndarray
    average: np.ndarray
    D: np.ndarray
    C: np.ndarray

    def centred(self) -> "Moments":
        """The same with both means taken out, which is what a bias in the layer does."""
        zero = np.zeros_like(self.target)
        return Moments(
            zero, zero, self.D - np.outer(self.target, self.average), self.C - np.outer(self.average, self.average)
        )


def shown_shares(masking: Masking) -> tuple[float, float, float]:
    """a, b, c: the shares of positions that show a word of the document, a random word, and [MASK]."""
    p_m = masking.mask_prob
    return 1 - (1 - masking.keep_prob) * p_m, p_m * masking.random_prob, p_m * masking.hide_prob


def moments(topics: TopicModel, masking: Masking, *, see_selected: bool = True, infinite: bool = False) -> Moments:
    """The second moments, exact for documents of any length and for any topics and mixture.

    Args:
        see_selected: whether selected positions are part of x̄.
        infinite: the limit of long documents, in which x̄ is its own expectation given the topics.
    """
    mean, second = (_over_ids(moment) for moment in topics.word_moments)
    u = _over_ids(np.full(topics.num_words, 1 / topics.num_words))
    e0 = np.zeros_like(u)
    e0[0] = 1
    shares = shown_shares(masking) if see_selected else (1.0, 0.0, 0.0)
    mu = _Shown(*shares, mean, second, u, e0)
    if infinite:
        return Moments(mean, mu.mean, mu.with_words(), mu.with_itself())
    nu = _Shown(masking.keep_prob, masking.random_prob, masking.hide_prob, mean, second, u, e0)

    total = Moments(*(np.zeros(s) for s in (u.shape, u.shape, second.shape, second.shape)))
    for length, weight in topics.length_weights.items():
        part = _visible_moments(length, mu, nu) if see_selected else _hidden_moments(length, mu, masking.mask_prob)
        total = Moments(*(t + weight * p for t, p in zip(total, part, strict=True)))
    return total


class _Shown(NamedTuple):
    """A position that shows a·p + b·u + c·e₀."""

    a: float
    b: float
    c: float
    p_mean: np.ndarray
    p_second: np.ndarray
    u: np.ndarray
    e0: np.ndarray

    @property
    def fixed(self):
        return self.b * self.u + self.c * self.e0

    @property
    def mean(self):
        return self.a * self.p_mean + self.fixed

    def with_words(self):
        """E[p · selfᵀ]."""
        return self.a * self.p_second + np.outer(self.p_mean, self.fixed)

    def with_itself(self, other=None):
        """E[self · otherᵀ], self and other two positions of one document."""
        other = other or self
        return (
            self.a * other.a * self.p_second
            + np.outer(self.a * self.p_mean, other.fixed)
            + np.outer(self.fixed, other.mean)
        )


def _visible_moments(N, mu, nu):
    """x̄ over all N positions: N−1 ordinary ones and the selected one itself."""
    D = ((N - 1) * mu.with_words() + nu.a * np.diag(nu.p_mean) + np.outer(nu.p_mean, nu.fixed)) / N
    C = np.diag(nu.mean) + (N - 1) * np.diag(mu.mean) + (N - 1) * (N - 2) * mu.with_itself()
    C += (N - 1) * (nu.with_itself(mu) + mu.with_itself(nu))
    return Moments(mu.p_mean, ((N - 1) * mu.mean + nu.mean) / N, D, C / N**2)


def _hidden_moments(N, mu, p_m):
    """x̄ over the M ~ Binomial(N−1, 1−p_m) unselected positions, 0 if there is none."""
    M = np.arange(1, N)
    chance = binom.pmf(M, N - 1, 1 - p_m)
    some, inverse = chance.sum(), (chance / M).sum()
    C = inverse * np.diag(mu.p_mean) + (some - inverse) * mu.p_second
    return Moments(mu.p_mean, some * mu.p_mean, some * mu.p_second, C)


def _over_ids(moment):
    """A moment over words as one over ids, 0 at [MASK]."""
    return np.pad(moment, (FIRST_WORD, 0))


def squared_loss(W: np.ndarray, second: Moments, *, bias: bool = True) -> float:
    """Expected |W x̄ + b − x|² of a linear layer W, (V+1, V+1), with the best b (or none)."""
    m = second.centred() if bias else second
    energy = 1 - (second.target @ second.target if bias else 0)  # E|x|² = 1, less what the bias explains
    return float(energy - 2 * (W * m.D).sum() + ((W @ m.C) * W).sum())


def value_optimum(
    topics: TopicModel, masking: Masking, *, see_selected: bool = True, infinite: bool = False, l2: float = 0.0
) -> np.ndarray:
    """W_V of least squared loss, (V+1, V+1).

    One-hot embeddings, uniform attention, identity decoder, no bias (paper, stage 1).

    Ridge regression: the loss plus `l2` times the sum of squares of W_V is least at D (C + l2·I)⁻¹. For l2 = 0 it is
    the limit D C⁺ of vanishing regularisation; for infinite documents of disjoint, equally used topics, τ < T,
    `value_blocks` is the same in closed form.

    Raises:
        ValueError: l2 below 0.
    """
    check_not_negative("l2", l2)
    m = moments(topics, masking, see_selected=see_selected, infinite=infinite)
    if l2 == 0:
        return m.D @ np.linalg.pinv(m.C, rcond=1e-12, hermitian=True)
    return np.linalg.solve(m.C + l2 * np.eye(len(m.C)), m.D.T).T


class ValueBlocks(NamedTuple):
    """The four numbers of a value matrix that is constant on the diagonal, on topic blocks, and in [MASK]'s column."""

    same_word: float
    same_topic: float
    different_topic: float
    mask: float


def value_blocks(num_topics: int, words_per_topic: int, masking: Masking) -> ValueBlocks:
    """`value_optimum` for infinite documents, selected positions visible, τ < T (else nothing varies), in closed form.

    W[i, j] = β + [topic(i) = topic(j)] / (a·v) and W[i, 0] = γ for word rows i; row 0 is 0.

    Raises:
        ValueError: sizes below 1, or no position that shows its own word (a = 0).
    """
    check_int("num_topics", num_topics, 1)
    v, V = check_int("words_per_topic", words_per_topic, 1), num_topics * words_per_topic
    a, b, c = shown_shares(masking)
    if not a > 0:
        raise ValueError(f"{masking}: the share a = {a:g} of positions that show their own word must be above 0")
    beta = -(b * (a + b) / V + c**2) / (a * ((a + b) ** 2 + c**2 * V))
    gamma = c * (1 / a + V * beta) / (a + b)
    return ValueBlocks(beta + 1 / (a * v), beta + 1 / (a * v), beta, gamma)


def finite_value_blocks(topics: TopicModel, masking: Masking) -> ValueBlocks:
    """`value_optimum` for documents of any length, selected positions visible, in closed form (ours; chapter 5).

    The optimum is δ on differences between words of a topic, ρ on differences between topics, and 1/V on the rest, as
    its columns sum to 1.

    Raises:
        ValueError: topics that overlap or differ in size, a single topic, or a number of [MASK] that does not vary
            from document to document (c = 0 or 1, or documents of one word).
    """
    v, T, V = _disjoint(topics), topics.num_topics, topics.num_words
    a, b, c = shown_shares(masking)
    if T < 2 or not 0 < c < 1 or topics.lengths[0] < 2:
        raise ValueError(
            f"num_topics = {T}, share c = {c:g} of [MASK], N ≥ {topics.lengths[0]}: needs T ≥ 2, 0 < c < 1, N ≥ 2"
        )
    _, second = topics.mixture.moments(T)
    between = (second[0, 0] - second[0, 1]) / v  # E[p pᵀ] on differences between topics
    D, C = np.zeros(2), np.zeros(2)  # within topics, between topics
    for N, weight in topics.length_weights.items():
        m = (N - 1) * (a + b) + masking.keep_prob + masking.random_prob
        varies = np.array([0, (N - 1) * a * between])
        D += weight * (varies + masking.keep_prob / V) / N
        C += weight * (m / V + varies * ((N - 2) * a + 2 * masking.keep_prob)) / N**2
    delta, rho = D / C
    different = (1 - rho) / V
    same = different + (rho - delta) / v
    return ValueBlocks(*map(float, (same + delta, same, different, 1 / V)))


def _disjoint(topics):
    """v of topics that share no words and use theirs equally; others are refused."""
    if topics.words_per_topic is None:
        raise ValueError(f"{topics}: the closed form needs topics of equally many words that share none")
    return topics.words_per_topic


def gram_optimum(
    topics: TopicModel, masking: Masking, *, see_selected: bool = True, infinite: bool = False
) -> np.ndarray:
    """The Gram matrix E = W_Eᵀ W_E of least squared loss, (V+1, V+1).

    Uniform attention, W_V = I, tied decoder, with bias. Over symmetric E the loss is least where
    C E + E C = D + Dᵀ (moments centred); in C's eigenvectors that is one division per entry. The solution is
    0 in C's null space. For infinite documents E is 1/a times the projector on the range of Cov(p); for τ < T equally
    used, disjoint topics that makes E[same topic] − E[different topic] = 1/(a·v).

    Raises:
        ArithmeticError: the solution has a negative eigenvalue, so that no W_E reaches it.
    """
    second = moments(topics, masking, see_selected=see_selected, infinite=infinite)
    m = second.centred()
    eigenvalues, Q = np.linalg.eigh(m.C)
    sums = eigenvalues[:, None] + eigenvalues
    rhs = Q.T @ (m.D + m.D.T) @ Q
    # What is 0 in C comes out of the centring as rounding of the uncentred matrix (all of it, for τ = T).
    solved = np.divide(rhs, sums, out=np.zeros_like(rhs), where=sums > 1e-12 * np.trace(second.C))
    gram = Q @ solved @ Q.T
    smallest = np.linalg.eigvalsh(gram)[0]
    if smallest < -1e-9 * max(1.0, abs(gram).max()):
        raise ArithmeticError(f"the optimum over symmetric matrices has the eigenvalue {smallest:.3g} < 0")
    return gram


class AttentionSetting:
    """The exact squared loss of attention, as a function of one number or two (paper, stage 2).

    W_V is frozen at its optimum for uniform attention and long documents (`value_blocks`, or 1/v on blocks if selected
    positions are hidden; for τ = T this is one optimum among many). A query that shows a word gives every position
    that shows a word of the same topic r times the attention of a position that shows another topic's word, in the
    mean over that topic's words; a query that shows [MASK] attends uniformly.

    Args:
        num_topics, words_per_topic, tau: T, v, and the number τ of topics in a document.
        see_selected: whether selected positions may be attended to.

    Raises:
        ValueError: sizes below 1, τ > T, or masking that leaves no word of the document to be seen.
    """

    def __init__(self, num_topics: int, words_per_topic: int, tau: int, masking: Masking, *, see_selected: bool = True):
        self.T = check_int("num_topics", num_topics, 1)
        self.v = check_int("words_per_topic", words_per_topic, 1)
        self.tau = check_int("tau", tau, 1, num_topics)
        self.masking = masking
        self.see_selected = see_selected
        if masking.mask_prob == 1 and (masking.keep_prob == 0 or not see_selected):
            raise ValueError(f"{masking}, see_selected = {see_selected}: no word of the document can be seen")

    def loss(self, r: float | np.ndarray, mask_weight: float | np.ndarray = 1.0) -> np.ndarray:
        """Expected squared loss at a selected position of a long document.

        Args:
            r: attention ratio above 0, of any shape.
            mask_weight: c₀/c₃, a word query's attention to a position that shows [MASK] over that to another
                topic's word; shaped to fit r, and without effect if selected positions are hidden.
        """
        r, mask_weight = np.asarray(r, float), np.asarray(mask_weight, float)
        for name, value in (("r", r), ("mask_weight", mask_weight)):
            if not (value > 0).all():
                raise ValueError(f"{name} = {value.min()} must be above 0")
        m, in_document = self.masking, self.tau / self.T
        return (
            m.hide_prob * self._loss_of_query(np.ones_like(r), 1.0, in_document=True, kept=False)
            + m.keep_prob * self._loss_of_query(r, mask_weight, in_document=True, kept=True)
            + m.random_prob * in_document * self._loss_of_query(r, mask_weight, in_document=True, kept=False)
            + m.random_prob * (1 - in_document) * self._loss_of_query(r, mask_weight, in_document=False, kept=False)
        )

    def finite_loss(self, r: float, length: int) -> float:
        """`loss` in documents of N words, selected positions hidden; exact, by a sum over the counts of topics (ours).

        Raises:
            ValueError: selected positions visible, r not above 0, or N below 1.
        """
        self._only_hidden("finite_loss")
        check_positive("r", r)
        m = self.masking
        chance, n, others, squares = _topic_counts(check_int("length", length, 1), 1 - m.mask_prob, self.tau)

        def attention(r):
            """E of |A|², over topics, and of A on the query's own topic."""
            total = r * n + others
            return (chance * ((r * n) ** 2 + squares) / total**2).sum(), (chance * r * n / total).sum()

        (even, _), (energy, own), some = attention(1.0), attention(r), chance.sum() / self.tau
        # A is uniform if the query shows [MASK] or a random word whose topic is not in the document.
        in_document = self.tau / self.T
        uniform = m.hide_prob + m.random_prob * (1 - in_document)
        total = uniform * (even - 2 * some) + m.random_prob * in_document * (energy - 2 * some)
        return float(1 + (total + m.keep_prob * (energy - 2 * own)) / self.v)

    def optimal_ratio(self, length: int | None = None) -> float:
        """The r of least loss, [MASK] keys weighted as other topics' words, in long documents or in those of N words.

        It is infinite if every shown word is kept. With selected positions hidden it is 1 + T·p_c/p_r (infinite for
        p_r = 0) for long documents, whatever τ and v:
        the attention r/(r+τ−1) on the own topic then equals the probability that the true word is of the shown word's
        topic, given that this topic is in the document.

        Args:
            length: N, for `finite_loss`; long documents if not given.

        Raises:
            ValueError: p_c = p_r = 0, or τ = 1 with selected positions hidden, where no r is better than another;
                p_r = 0 or selected positions visible, if a length is given.
        """
        m = self.masking
        if m.keep_prob == m.random_prob == 0 or (self.tau == 1 and not self.see_selected):
            raise ValueError(
                f"tau = {self.tau}, keep_prob = {m.keep_prob}, random_prob = {m.random_prob}: no r is better than "
                "another if no selected position shows a word, or if only words of one topic can be attended to"
            )
        if length is not None:
            self._only_hidden("optimal_ratio for a length")
            if m.random_prob == 0:
                raise ValueError("random_prob = 0 must be above 0: without random words the best r is infinite")
            check_int("length", length, 3)  # with one other word there is no choice
        elif m.keep_prob == 1:
            return np.inf
        elif not self.see_selected:
            return 1 + self.T * m.keep_prob / m.random_prob if m.random_prob > 0 else np.inf
        loss = self.loss if length is None else lambda r: self.finite_loss(float(r), length)
        found = minimize_scalar(lambda s: float(loss(np.exp(s))), bounds=(-20, 20), options={"xatol": 1e-10})
        return float(np.exp(found.x))

    def joint_optimum(self) -> tuple[float, float]:
        """(r, mask_weight) of least loss in long documents, if [MASK] keys may have a weight of their own (ours).

        Raises:
            ValueError: selected positions hidden, no [MASK], or τ = 1 or no word shown, where it is not unique.
        """
        m = self.masking
        if not self.see_selected or m.hide_prob == 0 or m.keep_prob + m.random_prob == 0 or self.tau == 1:
            raise ValueError(
                f"see_selected = {self.see_selected}, tau = {self.tau}, {m}: joint_optimum needs [MASK] among the "
                "keys, selected positions that show words, and τ ≥ 2"
            )
        found = minimize(
            lambda s: float(self.loss(*np.exp(s))),
            [np.log(self.optimal_ratio()), 0.0],
            method="Nelder-Mead",
            options={"xatol": 1e-8, "fatol": 1e-15},
        )
        return tuple(np.exp(found.x).tolist())

    def saddle_slope(self) -> float:
        """σ, how hard attention is pulled from the saddle W_K = W_Q = 0, in long documents (ours; chapter 7).

        Selected positions hidden. The loss' gradient with respect to the scores then has T − 1 singular values σ, on
        differences between topics, and no others: gradient descent with the rate η lets W_K + W_Q grow along them by
        the factor exp(η σ/√d_a) a step.

        Raises:
            ValueError: selected positions visible, or a single topic.
        """
        self._only_hidden("saddle_slope")
        check_int("num_topics", self.T, 2)
        return 2 * self.masking.keep_prob * (self.tau - 1) / ((self.T - 1) * self.tau**2 * self.v**2)

    def _only_hidden(self, what):
        if self.see_selected:
            raise ValueError(f"{what} is known for hidden selected positions only, and see_selected = True")

    def _loss_of_query(self, r, mask_weight, *, in_document, kept):
        """Loss of a query that shows a word of topic s: s in the document or not, its true word kept or redrawn."""
        T, v, tau = self.T, self.v, self.tau
        if self.see_selected:
            a, b, c = shown_shares(self.masking)
            _, same, different, mask = value_blocks(T, v, self.masking)
        else:
            a, b, c = 1.0, 0.0, 0.0
            same, different, mask = 1 / v, 0.0, 0.0
        here, elsewhere = a / tau + b / T, b / T  # share of positions showing one topic of the document, one other
        own = r * (here if in_document else elsewhere)
        others = np.array([here, elsewhere])  # attention per topic: other topics of the document, topics outside it
        number = np.array([tau - in_document, T - tau - (not in_document)])
        masks = mask_weight * c
        total = own + number @ others + masks
        base = (different * (total - masks) + mask * masks) / total
        gain = same - different
        own_out = base + gain * own / total  # output at a word of topic s, and at words of the two other kinds
        other_out = [base + gain * share / total for share in others]
        squares = v * (own_out**2 + number[0] * other_out[0] ** 2 + number[1] * other_out[1] ** 2)
        if kept:
            at_truth = own_out
        elif in_document:
            at_truth = (own_out + (tau - 1) * other_out[0]) / tau
        else:
            at_truth = other_out[0]
        return squares - 2 * at_truth + 1


@lru_cache(maxsize=1)
def _topic_counts(N, visible, tau):
    """What a query of a topic in the document may find among the N − 1 other words, each visible with a probability.

    Of M > 0 visible words, n are of the query's topic and M − n of others. Four arrays over the pairs (M, n) that have
    a chance above rounding: that chance, n, M − n, and the expected sum of squares of the other topics' counts.
    """

    def likely(trials, chance):
        low, high = binom.ppf([1e-16, 1 - 1e-16], trials, chance)
        return max(int(low), 0), int(high) + 1

    M = np.arange(max(1, likely(N - 1, visible)[0]), likely(N - 1, visible)[1])[:, None]
    n = np.arange(likely(M[0, 0], 1 / tau)[0], likely(M[-1, 0], 1 / tau)[1]) if len(M) else np.arange(0)
    chance = binom.pmf(M, N - 1, visible) * binom.pmf(n, M, 1 / tau)
    possible = np.nonzero(chance)
    chance, n, others = chance[possible], n[possible[1]], (M - n)[possible]
    return chance, n, others, others * (1 + (others - 1) / max(tau - 1, 1))


def bayes_loss_long(
    num_topics: int, words_per_topic: int, tau: int, masking: Masking, loss: str, *, use_query: bool = True
) -> float:
    """The least loss of any predictor on long documents, whose τ topics can be read off.

    A selected position shows [MASK], or a word w that was kept with probability p_c·T / (p_c·T + p_r·τ) if w's topic
    is in the document; if it was not, the truth is uniform on the τ·v words.

    Args:
        loss: "cross-entropy" or "squared".
        use_query: whether the predictor looks at what the position itself shows.
    """
    check_int("num_topics", num_topics, 1)
    check_int("words_per_topic", words_per_topic, 1)
    check_int("tau", tau, 1, num_topics)
    p = np.zeros((1, num_topics * words_per_topic))
    p[0, : tau * words_per_topic] = 1 / (tau * words_per_topic)
    return float(_posterior_loss(p, masking, loss, use_query)[0])


def bayes_loss(
    topics: TopicModel,
    masking: Masking,
    loss: str,
    *,
    use_query: bool = True,
    num_documents: int = 2000,
    seed: int = 0,
) -> Estimate:
    """The least loss of any predictor that sees the unselected words, averaged over sampled documents.

    Given the M unselected words, topic t of them n_t times, the next word's topic has the probability
    (α + n_t)/(T·α + M) for Dirichlet mixtures; for τ-of-T it is 1/τ for topics that occur, and the rest is shared
    equally by the others. Only the documents are sampled; the loss of each is exact. Kept words at other selected
    positions would tell a little more: next to nothing at p_m = 0.15, but not if most positions are selected.

    Raises:
        ValueError: overlapping or correlated topics, for which the posterior has no closed form.
    """
    if isinstance(topics.mixture, PartnerTopics):
        raise ValueError(f"bayes_loss needs mixtures without correlation, not {topics.mixture}")
    if not ((topics.topic_word > 0).sum(0) == 1).all():
        raise ValueError("bayes_loss needs topics that share no words; these overlap or leave words unused")
    check_int("num_documents", num_documents, 2)
    rng = np.random.default_rng(seed)
    words = topics.sample(num_documents, rng).words
    seen = (words >= FIRST_WORD) & (rng.random(words.shape) >= masking.mask_prob)
    # The queried position is selected, whatever the coin says; positions are alike, so take each document's first.
    seen[:, 0] = False
    T = topics.num_topics
    rows = np.nonzero(seen)[0] * T + topics.word_topics[words[seen] - FIRST_WORD]
    n = np.bincount(rows, minlength=num_documents * T).reshape(num_documents, T)
    match topics.mixture:
        case Dirichlet(alpha):
            theta = (alpha + n) / (T * alpha + n.sum(1, keepdims=True))
        case TauOfT(tau):
            occurs = n > 0
            unseen = T - occurs.sum(1, keepdims=True)
            rest = (tau - occurs.sum(1, keepdims=True)) / np.maximum(unseen, 1)
            theta = np.where(occurs, 1.0, rest) / tau
    weights = (words >= FIRST_WORD).sum(1)  # a document has as many selected positions as its length allows
    losses = _posterior_loss(theta @ topics.topic_word, masking, loss, use_query)
    mean = np.average(losses, weights=weights)
    spread = weights / weights.mean() * (losses - mean)
    return Estimate(float(mean), float(np.sqrt((spread**2).sum()) / num_documents))


def _posterior_loss(p, masking, loss, use_query):
    """(D,) the loss of the posterior over true words, exact, if all else that is known makes them follow p (D, V)."""
    check_choice("loss", loss, ("cross-entropy", "squared"))
    V = p.shape[1]
    p_c, each = masking.keep_prob, masking.random_prob / V  # `each`: chance that a given random word is shown
    if not use_query:
        p_c, each = 0.0, 0.0
    masked = 1 - p_c - each * V
    match_ = p * (p_c + each)  # P(true = shown = w), and below P(true = w, shown = one other given word)
    shown = p_c * p + each
    other = p * each
    if loss == "cross-entropy":
        blind = -_x_log_x(p).sum(1)
        joint = _x_log_x(match_).sum(1) + (V - 1) * _x_log_x(other).sum(1)
        return masked * blind + _x_log_x(shown).sum(1) - joint
    blind = 1 - (p**2).sum(1)
    squares = match_**2 + (other**2).sum(1, keepdims=True) - other**2
    sharp = np.divide(squares, shown, out=np.zeros_like(p), where=shown > 0).sum(1)
    return masked * blind + (p_c + each * V) - sharp


def _x_log_x(x):
    return x * np.log(np.where(x > 0, x, 1.0))
