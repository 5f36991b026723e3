"""Numbers read off trained matrices and attention, by the three relations of two words:
same word, same topic (but another word), different topic.

Takes numpy arrays; knows no model. Sums are float64. Letters in shapes: D documents, N positions, V words,
T topics, K checkpoints.
"""

from typing import NamedTuple

import numpy as np
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.sparse import csr_matrix

from .checks import check_int
from .documents import FIRST_WORD, MASK, PAD, MaskedDocuments


class Relations(NamedTuple):
    """Means over pairs of words by relation; NaN where there is no such pair. Floats, or (K,) arrays for stacks."""

    same_word: float | np.ndarray
    same_topic: float | np.ndarray
    different_topic: float | np.ndarray

    @property
    def gap(self):
        """same_topic − different_topic."""
        return self.same_topic - self.different_topic


class AttentionRelations(NamedTuple):
    """Mean attention from one position to another, by relation.

    Attributes:
        word_queries: queries that show a word, related by what they show.
        mask_queries: queries that show [MASK], related by their hidden true word.
    """

    word_queries: Relations
    mask_queries: Relations


def gram(W_E: np.ndarray) -> np.ndarray:
    """(..., V+1, V+1) inner products of embeddings, for W_E (..., d, V+1)."""
    W_E = np.asarray(W_E, float)
    return np.swapaxes(W_E, -1, -2) @ W_E


def between_words(matrix: np.ndarray) -> np.ndarray:
    """(..., V, V): a matrix over ids without the row and the column of [MASK]."""
    return np.asarray(matrix)[..., FIRST_WORD:, FIRST_WORD:]


def block_means(matrix: np.ndarray, word_topics: np.ndarray) -> Relations:
    """Means of a matrix between words, or of a stack of them, by relation.

    Args:
        matrix: (V, V) or (K, V, V); see `between_words` for matrices over ids.
        word_topics: (V,) the topic of each word, whole numbers from 0.

    Raises:
        ValueError: shapes that do not fit.
    """
    matrix, word_topics = np.asarray(matrix, float), _check_topics(word_topics)
    V = len(word_topics)
    if matrix.ndim not in (2, 3) or matrix.shape[-2:] != (V, V):
        raise ValueError(f"matrix has shape {matrix.shape}; for {V} words it must be ({V}, {V}) or (K, {V}, {V})")
    member = np.eye(word_topics.max() + 1)[word_topics]  # (V, T)
    sizes = member.sum(0)
    diagonal = np.trace(matrix, axis1=-2, axis2=-1)
    same = np.einsum("...it,it->...", matrix @ member, member)
    pairs = np.array([V, (sizes**2).sum() - V, V**2 - (sizes**2).sum()])
    sums = np.stack([diagonal, same - diagonal, matrix.sum((-2, -1)) - same])
    return Relations(*_means(sums.T, pairs).T)


def topic_coordinates(gram: np.ndarray, topic_word: np.ndarray) -> np.ndarray:
    """(T, V): each word's embedding as a combination of the topics' own words (means of those of one topic only).

    The topics' means sum to about 0, so one number may be added to all coordinates of a word; the one chosen makes
    their median 0.

    Args:
        gram: (V, V) inner products between words.
        topic_word: (T, V) p(word | topic).

    Raises:
        ValueError: a topic without a word of its own.
    """
    used = topic_word > 0
    own = used.sum(0) == 1
    if not used[:, own].any(1).all():
        raise ValueError(f"topic {used[:, own].any(1).argmin()} has no word of its own: its place is not known")
    means = used[:, own] / used[:, own].sum(1, keepdims=True)
    between = means @ gram[np.ix_(own, own)] @ means.T
    found = np.linalg.lstsq(between, means @ gram[own], rcond=1e-6)[0]
    return found - np.median(found, axis=0)


def attention_scores(W_K: np.ndarray, W_Q: np.ndarray) -> np.ndarray:
    """(..., d, d) scores before the softmax for one-hot embeddings, rows = query, columns = key: W_Qᵀ W_K / √d_a."""
    W_K, W_Q = np.asarray(W_K, float), np.asarray(W_Q, float)
    return np.swapaxes(W_Q, -1, -2) @ W_K / np.sqrt(W_K.shape[-2])


def attention_ratios(scores: np.ndarray, word_topics: np.ndarray) -> np.ndarray:
    """r of each query word, (..., V): its mean attention to words of its topic (itself included) over that to others.

    Args:
        scores: (..., V, V) between words, rows = query.
        word_topics: (V,) the topic of each word; at least two topics.

    Raises:
        ValueError: shapes that do not fit, or a single topic.
    """
    scores, word_topics = np.asarray(scores, float), _check_topics(word_topics)
    same = word_topics[:, None] == word_topics
    if scores.shape[-2:] != same.shape or same.all():
        raise ValueError(f"scores have shape {scores.shape}; {same.shape} and at least two topics are needed")
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    mean = [(weights * mask).sum(-1) / mask.sum(1) for mask in (same, ~same)]
    return mean[0] / mean[1]


def word_attention(scores: np.ndarray) -> np.ndarray:
    """(..., V, V) attention of each query word in a document that holds every word once: softmax of scores (..., V, V).

    Rows = query, columns = key.
    """
    scores = np.asarray(scores, float)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return weights / weights.sum(-1, keepdims=True)


def composed_map(scores: np.ndarray, W_V: np.ndarray) -> np.ndarray:
    """(..., V, V) from query word (row) to output (column): attention and value matrix as one map.

    What the layer answers to each query word in a document that holds every word once (one-hot embeddings, identity
    decoder, no bias), for scores and W_V between words, (..., V, V).
    """
    return word_attention(scores) @ np.swapaxes(np.asarray(W_V, float), -1, -2)


def favourite_keys(scores: np.ndarray) -> np.ndarray:
    """(..., V) the word, counted from 0, that each query word attends to most, for scores (..., V, V)."""
    return np.asarray(scores).argmax(-1)


def attention_entropy(scores: np.ndarray) -> np.ndarray:
    """(..., V) entropy in nats of each row of `word_attention`; its exponential is how many words share it."""
    attention = word_attention(scores)
    return -(attention * np.log(np.where(attention > 0, attention, 1.0))).sum(-1)


def copying_rate(outputs: np.ndarray) -> float | np.ndarray:
    """(...) share of query words whose largest output is the word itself, for outputs (..., V, V), rows = query."""
    outputs = np.asarray(outputs)
    return (outputs.argmax(-1) == np.arange(outputs.shape[-1])).mean(-1)


class MapCounts(NamedTuple):
    """What tells a permutation from a random map, and either from an involution."""

    fixed: int  # words that are their own image
    two_cycles: int  # pairs of words that are each other's image
    distinct: int  # different images


def map_counts(images: np.ndarray) -> MapCounts:
    """Counts of a map from V words to words, such as `favourite_keys`, given by its images (V,), counted from 0.

    Raises:
        ValueError: an image that is not one of the V words.
    """
    images, words = np.asarray(images), np.arange(len(images))
    if images.min(initial=0) < 0 or images.max(initial=0) >= len(words):
        raise ValueError(
            f"images run from {images.min()} to {images.max()}; they must be words from 0 to {len(words) - 1}"
        )
    back = images[images] == words
    fixed = int((images == words).sum())
    return MapCounts(fixed, (int(back.sum()) - fixed) // 2, len(set(images.tolist())))


def attention_by_relation(
    attention: np.ndarray, masked: MaskedDocuments, word_topics: np.ndarray
) -> AttentionRelations:
    """Mean attention over all pairs of positions of all documents, by relation; [MASK] keys take no part.

    A position's attention to itself counts as attention to the same word.

    Args:
        attention: (D, N, N), rows = query, columns = key.
        masked: the documents, in ids.
        word_topics: (V,) the topic of each word.

    Raises:
        ValueError: ids beyond V (say, shifted by the number of special tokens), shapes that do not fit, or rows
            that do not sum to 1 (or 0).
    """
    word_topics = _check_topics(word_topics)
    shown, words = masked.shown, masked.words
    D, N = shown.shape
    if np.shape(attention) != (D, N, N):
        raise ValueError(f"attention has shape {np.shape(attention)}; these documents need {(D, N, N)}")
    _check_ids("shown", shown, len(word_topics), lowest=MASK)
    _check_ids("words", words, len(word_topics), lowest=FIRST_WORD)
    sums = np.asarray(attention).sum(2)
    wrong = masked.present & (abs(sums - 1) > 1e-3) & (abs(sums) > 1e-3)
    if wrong.any():
        raise ValueError(f"attention from a position sums to {sums[wrong][0]:g}; it must be 1 (rows = query)")
    kinds = np.stack([shown >= FIRST_WORD, masked.present & (shown == MASK)])  # word queries, [MASK] queries
    asked = np.where(shown == MASK, words, shown).astype(np.int32)  # the word by which a query is related to its keys
    topic_rows = np.concatenate([np.eye(word_topics.max() + 1)[word_topics], np.zeros((1, word_topics.max() + 1))])

    # The relations "same word" ⊂ "same topic or word" ⊂ "any" are summed; differences give the three classes.
    no_key = PAD - 1  # matches no query, not even a padded one
    totals, pairs = np.zeros((2, 3)), np.zeros((2, 3))
    for start in range(0, D, 16):  # a few documents at a time stay in the cache
        part = slice(start, start + 16)
        weights = np.asarray(attention[part], np.float64)
        keys = np.where(kinds[0, part], shown[part], no_key).astype(np.int32)
        key_topics = topic_rows[np.where(keys == no_key, -1, keys - FIRST_WORD)]  # (16, N, T) one-hot, 0 for no key
        match = np.flatnonzero(asked[part, :, None] == keys[:, None, :])
        at_same_word, its_query = weights.ravel()[match], match // N
        to_topic, number = weights @ key_topics, key_topics.sum(1, keepdims=True)
        for kind, rows in enumerate(kinds[:, part]):
            same_word = rows.ravel()[its_query]
            query_topics = topic_rows[np.where(rows, asked[part] - FIRST_WORD, -1)]
            totals[kind] += at_same_word[same_word].sum(), (to_topic * query_topics).sum(), to_topic[rows].sum()
            pairs[kind] += same_word.sum(), (number * query_topics).sum(), (number * rows[:, :, None]).sum()
    means = _means(np.diff(totals, prepend=0), np.diff(pairs, prepend=0))
    return AttentionRelations(*(Relations(*row) for row in means.tolist()))


def _means(sums, numbers):
    """sums / numbers, NaN where there is nothing to take a mean of (a sum of nothing may be off 0 by rounding)."""
    return np.divide(sums, numbers, out=np.full(np.shape(sums), np.nan), where=numbers > 0)


def attention_by_words(attention: np.ndarray, masked: MaskedDocuments, num_words: int) -> np.ndarray:
    """(V, V) mean attention from positions that show one word to those that show another, over uniform attention.

    Rows = query, columns = key. Attention counts in units of 1 / (number of keys with any attention), so that 1 is
    uniform attention, also in a causal model, whose early queries have few keys; pairs without any take no part.

    Args:
        attention: (D, N, N), rows = query, columns = key.
        masked: the documents, in ids.
        num_words: V.

    Returns:
        NaN for pairs of words that no document shows.

    Raises:
        ValueError: ids beyond V, or shapes that do not fit.
    """
    attention, shown = np.asarray(attention, float), masked.shown
    D, N = shown.shape
    if attention.shape != (D, N, N):
        raise ValueError(f"attention has shape {attention.shape}; these documents need {(D, N, N)}")
    _check_ids("shown", shown, num_words, lowest=MASK)
    word = shown >= FIRST_WORD
    both = word[:, :, None] & word[:, None, :] & (attention > 0)
    pair = ((shown[:, :, None] - FIRST_WORD) * num_words + shown[:, None, :] - FIRST_WORD)[both]
    relative = (attention * (attention > 0).sum(2, keepdims=True))[both]
    sums, pairs = (np.bincount(pair, weights, minlength=num_words**2) for weights in (relative, None))
    return _means(sums, pairs).reshape(num_words, num_words)


def block_share(matrix: np.ndarray, word_topics: np.ndarray) -> float:
    """Share of the variance of a matrix's off-diagonal entries that lies between topic blocks (R² of block means).

    1 for a matrix that is constant on blocks, T × T of them; with topics dealt out at random it is not 0 but about the
    number of blocks over the number of entries. The diagonal takes no part.

    Args:
        matrix: (V, V) between words.
        word_topics: (V,) the topic of each word, or any other partition.

    Raises:
        ValueError: shapes that do not fit, or entries that do not vary.
    """
    matrix, word_topics = np.asarray(matrix, float), _check_topics(word_topics)
    V, T = len(word_topics), word_topics.max() + 1
    if matrix.shape != (V, V):
        raise ValueError(f"matrix has shape {matrix.shape}; for {V} words it must be ({V}, {V})")
    off = ~np.eye(V, dtype=bool)
    block, entries = (word_topics[:, None] * T + word_topics)[off], matrix[off]
    variance = entries.var()
    if not variance > 0:
        raise ValueError(f"the matrix is {entries.flat[0]:g} off its diagonal: there is no variance to explain")
    sums, sizes = (np.bincount(block, w, minlength=T * T) for w in (entries, None))
    return float(1 - (entries - _means(sums, sizes)[block]).var() / variance)


def cluster_words(matrix: np.ndarray, num_clusters: int) -> np.ndarray:
    """(V,) a cluster for each word, from a matrix alone: words whose rows correlate belong together.

    Average linkage on 1 − correlation of rows; diagonal entries are replaced by their rows' means.

    Args:
        matrix: (V, V) between words.
        num_clusters: how many there are to be at most.

    Raises:
        ValueError: no square matrix, a row without variance, or num_clusters below 1.
    """
    matrix = np.array(matrix, float)
    V = len(matrix)
    if matrix.shape != (V, V) or V < 2:
        raise ValueError(f"matrix has shape {matrix.shape}; it must be (V, V), V ≥ 2")
    check_int("num_clusters", num_clusters, 1)
    np.fill_diagonal(matrix, (matrix.sum(1) - np.diag(matrix)) / (V - 1))
    if not (matrix.std(1) > 0).all():
        raise ValueError(f"row {int(np.argmin(matrix.std(1)))} does not vary: it correlates with nothing")
    return fcluster(linkage(matrix, "average", metric="correlation"), num_clusters, "maxclust")


def half_time(steps: np.ndarray, values: np.ndarray) -> float:
    """The step from which a curve stays above half of its largest value: when a structure has formed (stages, §7).

    Args:
        steps: (K,) increasing checkpoints.
        values: (K,) a measure that grows from about 0, such as the gap between block means.

    Returns:
        The step, interpolated between checkpoints; NaN if the curve ends below half of its largest value or never
        rises above 0.

    Raises:
        ValueError: shapes that do not fit, or values that are not finite (topics of one word have no same-topic mean).
    """
    steps, values = np.asarray(steps, float), np.asarray(values, float)
    if steps.shape != values.shape or steps.ndim != 1 or not len(steps):
        raise ValueError(f"steps have shape {steps.shape} and values {values.shape}; both must be (K,), K ≥ 1")
    if not np.isfinite(values).all():
        raise ValueError("values must be finite numbers: a curve of NaN has no half time")
    half = values.max() / 2
    below = np.flatnonzero(values < half)
    if half <= 0 or (len(below) and below[-1] == len(values) - 1):
        return float("nan")
    if not len(below):
        return float(steps[0])
    k = below[-1]
    return float(steps[k] + (half - values[k]) / (values[k + 1] - values[k]) * (steps[k + 1] - steps[k]))


def _check_topics(word_topics):
    word_topics = np.asarray(word_topics)
    if word_topics.ndim != 1 or not np.issubdtype(word_topics.dtype, np.integer) or word_topics.min(initial=0) < 0:
        raise ValueError(f"word_topics = {word_topics} must be whole numbers from 0, one for each word")
    return word_topics


def _check_ids(name, ids, num_words, lowest):
    ids = ids[ids != PAD]
    if ids.size and (ids.min() < lowest or ids.max() > num_words):
        raise ValueError(
            f"{name}: ids run from {ids.min()} to {ids.max()}; they must lie between {lowest} and {num_words}"
        )


def vector_means(vectors: np.ndarray, word_topics: np.ndarray) -> Relations:
    """`block_means` of the inner products of V vectors, without the (V, V) matrix: V·d steps, not V²·d.

    The sum over all pairs of a group is the squared length of its vectors' sum. For cosines, give unit vectors.

    Args:
        vectors: (V, d).
        word_topics: (V,) the topic of each word; or (S, V) for S ways to label them.

    Returns:
        Means, or (S,) means.

    Raises:
        ValueError: shapes that do not fit.
    """
    vectors, labelings = _check_vectors(np.asarray(vectors, float), word_topics)
    V = len(vectors)
    diagonal, all_pairs = (vectors**2).sum(), (vectors.sum(0) ** 2).sum()
    means = []
    for labels in labelings:
        member = csr_matrix((np.ones(V), (_check_topics(labels), np.arange(V))))
        sizes = np.asarray(member.sum(1)).ravel()
        same = ((member @ vectors) ** 2).sum()
        sums = np.array([diagonal, same - diagonal, all_pairs - same])
        means.append(_means(sums, np.array([V, (sizes**2).sum() - V, V**2 - (sizes**2).sum()])))
    means = np.array(means).T
    return Relations(*(means if np.ndim(word_topics) == 2 else means[:, 0].tolist()))


def cosine_counts(vectors: np.ndarray, word_topics: np.ndarray, bins: int = 4000) -> tuple[np.ndarray, np.ndarray]:
    """How many same-topic and different-topic pairs of words there are by the cosine of their vectors.

    Args:
        vectors: (V, d).
        word_topics: (V,) or (S, V), as in `vector_means`.
        bins: B, of equal width from −1 to 1.

    Returns:
        Two arrays, (B,) or (S, B): same topic (but another word), different topic. Each pair counts twice.

    Raises:
        ValueError: shapes that do not fit.
    """
    vectors, labelings = _check_vectors(np.asarray(vectors, np.float32), word_topics)
    vectors = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)

    def counts(some):
        total = np.zeros(bins, int)
        for start in range(0, len(some), 500):  # a part of the (V, V) cosines at a time
            cosines = some[start : start + 500] @ some.T
            number = np.clip((cosines.ravel() + 1) * (bins / 2), 0, bins - 1).astype(np.int32)
            total += np.bincount(number, minlength=bins)
        return total

    every_pair = counts(vectors)
    same = np.array(
        [sum(counts(vectors[labels == t]) for t in np.unique(_check_topics(labels))) for labels in labelings]
    )
    different = every_pair - same
    same[:, -1] -= len(vectors)  # each word with itself
    return (same, different) if np.ndim(word_topics) == 2 else (same[0], different[0])


def cosine_auc(vectors: np.ndarray, word_topics: np.ndarray) -> float | np.ndarray:
    """How often a same-topic pair of words has a larger cosine than a different-topic pair: 1/2 if topics say nothing.

    The area under the curve of true against false positives. Cosines are counted in narrow bins, so that no list of
    pairs is needed; within a bin, half of the pairs count.

    Args:
        vectors, word_topics: as in `cosine_counts`.

    Returns:
        A number, or (S,) numbers; NaN if there are no pairs of one of the two kinds.
    """
    same, different = cosine_counts(vectors, word_topics)
    below = np.cumsum(different, -1) - different / 2
    total = same.sum(-1) * different.sum(-1)
    areas = np.divide((same * below).sum(-1), total, out=np.full(np.shape(total), np.nan), where=total > 0)
    return areas if np.ndim(word_topics) == 2 else float(areas)


def _check_vectors(vectors, word_topics):
    labelings = np.atleast_2d(word_topics)
    if vectors.ndim != 2 or labelings.shape[1] != len(vectors):
        raise ValueError(f"vectors have shape {vectors.shape}; for {labelings.shape[1]} words they must be (V, d)")
    return vectors, labelings
