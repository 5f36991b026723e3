"""Surgery on trained matrices: what would the layer do if this part were another one?

Pure functions that take numpy arrays and return new ones; knows no model and no training. Matrices over ids are
(V+1, V+1), row and column 0 belonging to [MASK]; scores have rows = query, columns = key; W_V has rows = output,
columns = the id attended to. A word's topic decides what may be exchanged; `word_topics` is (V,).
Letters in shapes: D documents, N positions, V words, Q selected positions, R rows of `WordCounts`.
"""

import numpy as np

from .documents import FIRST_WORD, MaskedDocuments, WordCounts


def attend(scores: np.ndarray, batch: WordCounts) -> np.ndarray:
    """(R, V+1) attention of each row of the batch to ids: softmax of score + log(count); 0 where nothing is visible."""
    counts, rows = np.asarray(batch.counts, float)[batch.document], np.asarray(scores, float)[batch.query]
    top = np.where(counts > 0, rows, -np.inf).max(1, keepdims=True)
    weights = counts * np.exp(np.where(counts > 0, rows - top, 0.0))
    total = weights.sum(1, keepdims=True)
    return weights / np.where(total > 0, total, 1.0)


def outputs(attention: np.ndarray, W_V: np.ndarray) -> np.ndarray:
    """(R, V+1) what the layer answers (one-hot embeddings, identity decoder, no bias) with this attention to ids."""
    return np.asarray(attention, float) @ np.asarray(W_V, float).T


def swap_columns(W_V: np.ndarray, first: int, second: int) -> np.ndarray:
    """W_V with the columns of two ids exchanged: each now says what the other said.

    Raises:
        ValueError: an id that W_V does not have.
    """
    for name, index in (("first", first), ("second", second)):
        if not 0 <= index < len(W_V):
            raise ValueError(f"{name} = {index} must be an id from 0 to {len(W_V) - 1}")
    swapped = np.array(W_V)
    swapped[:, [first, second]] = swapped[:, [second, first]]
    return swapped


def permutation_within_topics(
    word_topics: np.ndarray, seed: int | np.random.Generator, *, move_all: bool = False
) -> np.ndarray:
    """(V+1,) a random permutation of ids that keeps [MASK] and each word's topic.

    Args:
        move_all: draw again, topic by topic, until no word stays where it is (a derangement).

    Raises:
        ValueError: a topic of one word, which cannot move.
    """
    rng, word_topics = np.random.default_rng(seed), np.asarray(word_topics)
    new = np.arange(len(word_topics) + FIRST_WORD)
    for topic in np.unique(word_topics):
        ids = np.flatnonzero(word_topics == topic) + FIRST_WORD
        if move_all and len(ids) == 1:
            raise ValueError(f"topic {topic} has one word, which no permutation moves")
        new[ids] = rng.permutation(ids)
        while move_all and (new[ids] == ids).any():
            new[ids] = rng.permutation(ids)
    return new


def block_average(matrix: np.ndarray, word_topics: np.ndarray) -> np.ndarray:
    """A matrix over ids with each block of two topics replaced by its mean; [MASK]'s row and column stay."""
    member = np.eye(np.max(word_topics) + 1)[word_topics]
    mean = member / member.sum(0)
    averaged = np.array(matrix, float)
    words = averaged[FIRST_WORD:, FIRST_WORD:]
    averaged[FIRST_WORD:, FIRST_WORD:] = member @ (mean.T @ words @ mean) @ member.T
    return averaged


def average_attention(scores: np.ndarray, word_topics: np.ndarray) -> np.ndarray:
    """Scores that keep each query's attention to every topic and spread it evenly over the topic's words.

    The query's r stays what it is in a document that holds every word once (in others it depends on how often its
    favourite stands there); which word of the topic it prefers is gone. [MASK]'s row and column stay.
    """
    member = np.eye(np.max(word_topics) + 1)[word_topics]
    averaged = np.array(scores, float)
    words = averaged[FIRST_WORD:, FIRST_WORD:]
    top = words.max(1, keepdims=True)
    averaged[FIRST_WORD:, FIRST_WORD:] = np.log(np.exp(words - top) @ member / member.sum(0)) @ member.T + top
    return averaged


def ablate(embeddings: np.ndarray, directions: np.ndarray) -> np.ndarray:
    """Embeddings (d, n) without their part in the span of `directions` (d, k): what only they said is gone.

    Raises:
        ValueError: directions of another dimension than the embeddings.
    """
    embeddings, directions = np.asarray(embeddings, float), np.asarray(directions, float)
    if len(directions) != len(embeddings):
        raise ValueError(f"directions have dimension {len(directions)}, embeddings {len(embeddings)}")
    basis, sizes, _ = np.linalg.svd(directions, full_matrices=False)
    basis = basis[:, sizes > 1e-10 * sizes.max(initial=0)]
    return embeddings - basis @ (basis.T @ embeddings)


def topic_directions(embeddings: np.ndarray, word_topics: np.ndarray) -> np.ndarray:
    """(d, T) mean embedding of each topic's words, less the mean of all, for embeddings (d, V+1) of ids."""
    words = np.asarray(embeddings, float)[:, FIRST_WORD:]
    member = np.eye(np.max(word_topics) + 1)[word_topics]
    return words @ (member / member.sum(0)) - words.mean(1, keepdims=True)


def patched_outputs(
    attention: np.ndarray, W_V: np.ndarray, source: MaskedDocuments, selected: np.ndarray
) -> np.ndarray:
    """(Q, V+1) outputs with the attention of some documents and the values of others.

    Query by query the attention over positions is used as it is, but what stands at the positions is read from
    `source`. With the attention's own documents as the source nothing is patched.

    Args:
        attention: (D, N, N), rows = query, columns = key.
        source: D documents of N positions, whose shown ids give the values.
        selected: (D, N) the queries to answer, in row-major order.

    Raises:
        ValueError: shapes that do not fit, or padded positions, which have no value to give.
    """
    attention, values = np.asarray(attention, float), np.asarray(W_V, float).T
    D, N = np.shape(selected)
    if attention.shape != (D, N, N) or source.shown.shape != (D, N):
        raise ValueError(
            f"attention has shape {attention.shape} and the source {source.shown.shape}; "
            f"for {D} documents of {N} positions they must be {(D, N, N)} and {(D, N)}"
        )
    if not source.present.all():
        raise ValueError("the source has padded positions; patching needs documents of one length")
    return np.concatenate([attention[d][selected[d]] @ values[source.shown[d]] for d in range(D)])
