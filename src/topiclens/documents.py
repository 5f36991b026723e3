"""Documents drawn from a topic model, and what masking makes of them.

Knows numpy only. Everything random comes from a seed or a numpy Generator that the caller passes.
Letters in shapes: D documents, N positions, V words, T topics, Q selected positions.

Word ids run from 1 to V in topic order; id 0 is [MASK]. Nothing else in the package adds or takes off
that one: matrices over ids have V+1 rows, and `FIRST_WORD` says where the words begin.
"""

import os
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from .checks import check_int, check_positive, check_probability
from .files import whole_file

MASK = 0
FIRST_WORD = 1
PAD = -1  # fills the row of a document beyond its length; never an id


@dataclass(frozen=True)
class TauOfT:
    """θ uniform on τ of the T topics, the τ chosen uniformly (the paper's theory)."""

    tau: int

    def __post_init__(self):
        check_int("tau", self.tau, 1)

    def check(self, num_topics: int) -> None:
        check_int("tau", self.tau, 1, num_topics)

    def sample(self, rng: np.random.Generator, num_documents: int, num_topics: int) -> np.ndarray:
        """Topic mixtures θ, (D, T), rows summing to 1."""
        keys = rng.random((num_documents, num_topics))
        chosen = np.argpartition(keys, self.tau - 1, axis=1)[:, : self.tau]
        theta = np.zeros((num_documents, num_topics))
        np.put_along_axis(theta, chosen, 1 / self.tau, axis=1)
        return theta

    def moments(self, num_topics: int) -> tuple[np.ndarray, np.ndarray]:
        """E[θ], (T,), and E[θ θᵀ], (T, T)."""
        T, tau = num_topics, self.tau
        both = (tau - 1) / (tau * T * (T - 1)) if T > 1 else 0.0
        second = np.full((T, T), both)
        np.fill_diagonal(second, 1 / (tau * T))
        return np.full(T, 1 / T), second


@dataclass(frozen=True)
class Dirichlet:
    """θ ~ Dirichlet(α, …, α): latent Dirichlet allocation (the authors' code: α = 0.1)."""

    alpha: float

    def __post_init__(self):
        check_positive("alpha", self.alpha)

    def check(self, num_topics: int) -> None:
        """Every number of topics will do."""

    def sample(self, rng: np.random.Generator, num_documents: int, num_topics: int) -> np.ndarray:
        """Topic mixtures θ, (D, T), rows summing to 1."""
        return rng.dirichlet(np.full(num_topics, self.alpha), size=num_documents)

    def moments(self, num_topics: int) -> tuple[np.ndarray, np.ndarray]:
        """E[θ], (T,), and E[θ θᵀ], (T, T)."""
        T, alpha = num_topics, self.alpha
        second = np.full((T, T), alpha / (T * (T * alpha + 1)))
        np.fill_diagonal(second, (alpha + 1) / (T * (T * alpha + 1)))
        return np.full(T, 1 / T), second


@dataclass(frozen=True)
class PartnerTopics:
    """Two topics a document, half each; topics come in pairs of partners (first and second, third and fourth, …).

    Args:
        together: the probability that the two topics of a document are partners. They are independent at 1/(T−1).

    Raises:
        ValueError: a probability outside [0, 1].
    """

    together: float

    def __post_init__(self):
        check_probability("together", self.together)

    def check(self, num_topics: int) -> None:
        if num_topics < 4 or num_topics % 2:
            raise ValueError(f"num_topics = {num_topics} must be even and at least 4 for topics with partners")

    def sample(self, rng: np.random.Generator, num_documents: int, num_topics: int) -> np.ndarray:
        """Topic mixtures θ, (D, T), rows summing to 1."""
        first = rng.integers(num_topics, size=num_documents)
        partner = first ^ 1
        # One of the T−2 topics that are neither: both are passed over, which are neighbours.
        other = rng.integers(num_topics - 2, size=num_documents)
        other += 2 * (other >= np.minimum(first, partner))
        second = np.where(rng.random(num_documents) < self.together, partner, other)
        theta = np.zeros((num_documents, num_topics))
        theta[np.arange(num_documents), first] = theta[np.arange(num_documents), second] = 0.5
        return theta

    def moments(self, num_topics: int) -> tuple[np.ndarray, np.ndarray]:
        """E[θ], (T,), and E[θ θᵀ], (T, T)."""
        T = num_topics
        second = np.full((T, T), (1 - self.together) / (2 * T * (T - 2)))
        topic = np.arange(T)
        second[topic, topic ^ 1] = self.together / (2 * T)
        second[topic, topic] = 1 / (2 * T)
        return np.full(T, 1 / T), second


@dataclass(frozen=True)
class Masking:
    """The task: which positions are selected, and what a selected position shows.

    Args:
        mask_prob: p_m, the probability that a position is selected.
        keep_prob: p_c, that a selected position keeps its word.
        random_prob: p_r, that it shows a word drawn uniformly from all V; otherwise it shows [MASK].

    Raises:
        ValueError: a probability outside [0, 1], nothing ever selected, or keep_prob + random_prob > 1.
    """

    mask_prob: float = 0.15
    keep_prob: float = 0.1
    random_prob: float = 0.1

    def __post_init__(self):
        for name in ("mask_prob", "keep_prob", "random_prob"):
            check_probability(name, getattr(self, name))
        if self.mask_prob == 0:
            raise ValueError("mask_prob = 0 must be above 0: with no selected position there is nothing to learn")
        if self.keep_prob + self.random_prob > 1 + 1e-12:
            raise ValueError(f"keep_prob + random_prob = {self.keep_prob} + {self.random_prob} must not be above 1")

    @property
    def hide_prob(self) -> float:
        """The probability 1 − p_c − p_r that a selected position shows [MASK]."""
        return max(0.0, 1 - self.keep_prob - self.random_prob)


@dataclass(frozen=True)
class NextWord:
    """The other task: each position shows its word, and the model must predict the next one."""


@dataclass(frozen=True)
class Documents:
    """Sampled documents: `words` (D, N) ids, PAD beyond a document's length; `theta` (D, T) their mixtures."""

    words: np.ndarray
    theta: np.ndarray


@dataclass(frozen=True)
class MaskedDocuments:
    """Documents as the model sees them. All arrays are (D, N).

    Attributes:
        words: the true ids, PAD beyond a document's length.
        shown: the ids after masking.
        selected: where the model must predict the true id.
    """

    words: np.ndarray
    shown: np.ndarray
    selected: np.ndarray

    @property
    def present(self) -> np.ndarray:
        """(D, N), True at the positions inside a document."""
        return self.words != PAD

    def visible(self, see_selected: bool) -> np.ndarray:
        """(D, N), True where a position may be attended to: all of them, or those that are not selected."""
        return self.present if see_selected else self.present & ~self.selected


@dataclass(frozen=True)
class WordCounts:
    """The same batch without positions: all that a layer without position encoding can use.

    Selected positions of one document that show the same id get the same prediction, so they share a row
    (most of them show [MASK]); R such rows stand for the batch's Q selected positions.

    Attributes:
        counts: (D, V+1) float32, how often a document shows each id among the positions that may be attended to.
        document: (R,) the document of each row.
        query: (R,) the id that it shows.
        row: (Q,) the row of each selected position, in row-major order of the batch.
        target: (Q,) its true id.
    """

    counts: np.ndarray
    document: np.ndarray
    query: np.ndarray
    row: np.ndarray
    target: np.ndarray


class TopicModel:
    """A distribution over documents: θ ~ mixture, then for each position topic ~ θ and word ~ topic_word[topic].

    Args:
        num_topics: T.
        words_per_topic: v; topics share no words and use theirs equally, so V = T·v.
        mixture: `TauOfT(tau)`, `Dirichlet(alpha)` or `PartnerTopics(together)`.
        length: N, or a pair (shortest, longest) between which N is uniform.
        topic_word: (T, V), p(word | topic), for topics of any other kind; replaces `words_per_topic`.

    Raises:
        ValueError: sizes below 1, τ > T, or a `topic_word` whose rows are not probabilities.
    """

    def __init__(self, num_topics=10, words_per_topic=10, *, mixture=None, length=128, topic_word=None):
        self.num_topics = check_int("num_topics", num_topics, 1)
        self.mixture = TauOfT(min(4, num_topics)) if mixture is None else mixture
        self.mixture.check(num_topics)
        low, high = length if isinstance(length, tuple | list) else (length, length)
        self.lengths = check_int("length", low, 1), check_int("length", high, low)
        self.words_per_topic = None
        if topic_word is None:
            self.words_per_topic = check_int("words_per_topic", words_per_topic, 1)
            topic_word = np.kron(np.eye(num_topics), np.full((1, words_per_topic), 1 / words_per_topic))
        self.topic_word = np.asarray(topic_word, float)
        if self.topic_word.ndim != 2 or len(self.topic_word) != num_topics:
            raise ValueError(
                f"topic_word has shape {self.topic_word.shape}; it must be (num_topics, V), {num_topics} rows"
            )
        sums = self.topic_word.sum(1)
        if not ((self.topic_word >= 0).all() and np.allclose(sums, 1)):
            raise ValueError(
                f"topic_word's rows must be probabilities: smallest entry {self.topic_word.min():g}, "
                f"row sums from {sums.min():g} to {sums.max():g}, not ≥ 0 and 1"
            )

    def __repr__(self) -> str:
        low, high = self.lengths
        kind = "overlapping topics" if self.words_per_topic is None else f"{self.words_per_topic} words each"
        return (
            f"TopicModel({self.num_topics} topics, {kind}, {self.mixture}, N = {low if low == high else self.lengths})"
        )

    @property
    def num_words(self) -> int:
        """V."""
        return self.topic_word.shape[1]

    @cached_property
    def word_topics(self) -> np.ndarray:
        """(V,) the topic of each word: with overlapping topics, the one that uses it most."""
        return self.topic_word.argmax(0)

    @cached_property
    def length_weights(self) -> dict[int, float]:
        """How large a share of all positions lies in documents of each length N."""
        lengths = np.arange(self.lengths[0], self.lengths[1] + 1)
        return dict(zip(lengths.tolist(), (lengths / lengths.sum()).tolist(), strict=True))

    @cached_property
    def word_moments(self) -> tuple[np.ndarray, np.ndarray]:
        """E[p], (V,), and E[p pᵀ], (V, V), of a document's word distribution p = θ · topic_word."""
        mean, second = self.mixture.moments(self.num_topics)
        return mean @ self.topic_word, self.topic_word.T @ second @ self.topic_word

    def sample(self, num_documents: int, seed: int | np.random.Generator) -> Documents:
        """Draw documents, all positions of all documents at once.

        Raises:
            ValueError: num_documents < 1.
        """
        check_int("num_documents", num_documents, 1)
        rng = np.random.default_rng(seed)
        theta = self.mixture.sample(rng, num_documents, self.num_topics)
        shortest, longest = self.lengths
        shape = (num_documents, longest)

        # The topic of a position is the number of thresholds of cumulated θ that a uniform number passes.
        thresholds = np.cumsum(theta, axis=1)
        thresholds = (thresholds / thresholds[:, -1:]).astype(np.float32)
        uniform = rng.random(shape, dtype=np.float32)
        topics = np.zeros(shape, np.min_scalar_type(self.num_topics))
        for t in range(self.num_topics - 1):
            topics += uniform >= thresholds[:, t : t + 1]

        if self.words_per_topic is not None:
            words = topics.astype(np.int64) * self.words_per_topic
            words += rng.integers(
                self.words_per_topic, size=shape, dtype=np.uint16 if self.words_per_topic < 2**16 else np.int64
            )
        else:
            # One sorted list serves all topics: topic t's cumulated word probabilities, moved to [t, t+1].
            # float32 numbers below 1, as a topic plus the largest of them is still below the next topic.
            used = [np.flatnonzero(row) for row in self.topic_word]
            steps = np.concatenate(
                [
                    t + np.cumsum(row[u]) / row.sum()
                    for t, (row, u) in enumerate(zip(self.topic_word, used, strict=True))
                ]
            )
            words = np.concatenate(used)[
                np.searchsorted(steps, topics + rng.random(shape, dtype=np.float32).astype(float), side="right")
            ]
        words += FIRST_WORD
        if shortest < longest:
            lengths = rng.integers(shortest, longest + 1, size=(num_documents, 1))
            words[np.arange(longest) >= lengths] = PAD
        return Documents(words, theta)


def mask_documents(
    words: np.ndarray, masking: Masking | NextWord, num_words: int, seed: int | np.random.Generator
) -> MaskedDocuments:
    """Select positions and decide what they show (paper, section on the training task).

    For `NextWord` position n shows word n, and its true word is word n+1: one position less, all of them selected.

    Args:
        words: (D, N) ids from 1 to V, PAD beyond a document's length.
        num_words: V.

    Raises:
        ValueError: an id outside 1 … V, or a document without words (for `NextWord`: without a second one).
    """
    words = check_words(words, num_words)
    if isinstance(masking, NextWord):
        following = check_words(words[:, 1:], num_words)
        return MaskedDocuments(following, np.where(following == PAD, PAD, words[:, :-1]), following != PAD)
    rng = np.random.default_rng(seed)
    selected = (rng.random(words.shape, dtype=np.float32) < masking.mask_prob) & (words != PAD)
    shown = words.copy()
    where = np.flatnonzero(selected)
    fate = rng.random(len(where))
    drawn = rng.integers(FIRST_WORD, FIRST_WORD + num_words, size=len(where))
    shown.flat[where] = np.where(
        fate < masking.keep_prob,
        words.flat[where],
        np.where(fate < masking.keep_prob + masking.random_prob, drawn, MASK),
    )
    return MaskedDocuments(words, shown, selected)


def count_words(masked: MaskedDocuments, num_words: int, see_selected: bool) -> WordCounts:
    """Forget the positions of a batch: counts of the ids that may be attended to, and the queries.

    Args:
        see_selected: whether selected positions may be attended to (as what they show).
    """
    visible = masked.visible(see_selected)
    size = num_words + FIRST_WORD
    rows = np.arange(len(masked.words))[:, None] * size
    document_and_id = masked.shown + rows
    counts = np.bincount(document_and_id[visible], minlength=len(masked.words) * size)
    asked = document_and_id[masked.selected]
    is_row = np.zeros(len(masked.words) * size, bool)
    is_row[asked] = True
    document, query = np.divmod(np.flatnonzero(is_row), size)
    return WordCounts(
        counts.reshape(-1, size).astype(np.float32),
        document,
        query,
        (np.cumsum(is_row) - 1)[asked],
        masked.words[masked.selected],
    )


def check_words(words: np.ndarray, num_words: int) -> np.ndarray:
    """Return `words` as an int64 array if it is (D, N) with ids from 1 to V and at least one word a document."""
    words = np.asarray(words)
    if words.ndim != 2 or not np.issubdtype(words.dtype, np.integer):
        raise ValueError(
            f"words must be a (documents, positions) array of whole numbers, not {words.dtype} {words.shape}"
        )
    present = words != PAD
    if not present.any(1).all():
        raise ValueError(f"document {int(np.argmin(present.any(1)))} is empty: it must hold at least one word")
    inside = words[present]
    if inside.min() < FIRST_WORD or inside.max() >= FIRST_WORD + num_words:
        raise ValueError(
            f"word ids run from {inside.min()} to {inside.max()}; they must lie between {FIRST_WORD} and "
            f"{num_words} (0 is [MASK], {PAD} fills up)"
        )
    return words.astype(np.int64, copy=False)


def write_corpus(path: str | os.PathLike, words: np.ndarray, num_words: int) -> None:
    """Write documents as text, one a line: word numbers counted from 0, separated by blanks, then END.

    This is the form in which the paper's authors publish their corpora; there, numbers start at 0 as no id is
    set apart for [MASK].
    """
    words = check_words(words, num_words)
    with whole_file(path) as temporary, open(temporary, "w", encoding="ascii") as file:
        for row in words:
            file.write(" ".join(map(str, row[row != PAD] - FIRST_WORD)) + " END\n")


def read_corpus(path: str | os.PathLike, num_words: int) -> np.ndarray:
    """Read what `write_corpus` writes (END may be missing) as ids, (D, N), PAD beyond a document's length.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: a token that is no word number below V, or a document without words; names file, line, token.
    """
    documents = []
    with open(path, encoding="utf-8", errors="replace") as file:
        for number, line in enumerate(file, start=1):
            tokens = line.split()
            if tokens and tokens[-1] == "END":
                tokens.pop()
            if not tokens:
                raise ValueError(f"{path}, line {number}: a document without words")
            for token in tokens:
                if not (token.isascii() and token.isdigit() and int(token) < num_words):
                    raise ValueError(
                        f"{path}, line {number}: {token!r} is not a word number between 0 and {num_words - 1}"
                    )
            documents.append(np.array(tokens, np.int64) + FIRST_WORD)
    if not documents:
        raise ValueError(f"{path}: no document in this file")
    words = np.full((len(documents), max(map(len, documents))), PAD)
    for row, document in zip(words, documents, strict=True):
        row[: len(document)] = document
    return words
