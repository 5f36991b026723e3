import sys
import types

import numpy as np
import pytest
import scipy.sparse

from topiclens import text
from topiclens.documents import Dirichlet, TopicModel

# Documents whose topics are known: the words of the third one are caa, cab, …
MODEL = TopicModel(4, 6, mixture=Dirichlet(0.3), length=40)
NAMES = ["abcd"[i // 6] + "a" + "abcdef"[i % 6] for i in range(24)]


def sampled(num_documents=300):
    return [" ".join(NAMES[i - 1] for i in row) for row in MODEL.sample(num_documents, 0).words]


@pytest.fixture(scope="module")
def corpus():
    return text.count_words(sampled(), max_share=1.0)


@pytest.mark.parametrize("engine", text.ENGINES)
def test_known_topics_are_found(corpus, engine, capsys):
    topics = text.fit_topics(corpus, 4, iterations=100, engine=engine, cache=False, progress=False)
    assert topics.words == tuple(NAMES)
    assert topics.topic_word.shape == (4, 24)
    assert np.allclose(topics.topic_word.sum(1), 1)
    assert (topics.topic_word > 0).all()
    found = topics.word_topics.reshape(4, 6)
    assert (found == found[:, :1]).all()  # six words of a topic stay together
    assert len(set(found[:, 0])) == 4
    assert topics.clarity.min() > 0.9
    assert (np.diff(topics.weights) <= 0).all()
    assert topics.weights.sum() == pytest.approx(1)
    assert ("coherence" in capsys.readouterr().out) == (engine == "scikit-learn")


def test_a_seed_and_the_cache_give_the_same_topics(corpus, tmp_path, monkeypatch):
    monkeypatch.setenv("TOPICLENS_CACHE", str(tmp_path))

    def fit(**settings):
        return text.fit_topics(corpus, 4, iterations=20, progress=False, **settings).topic_word

    first = fit(cache=False)
    assert np.array_equal(first, fit(cache=False))
    assert np.array_equal(first, fit())
    assert np.array_equal(first, fit())  # read back
    assert not np.array_equal(first, fit(seed=1))
    assert not np.array_equal(first, fit(without=[0, 1]))


def test_topics_do_not_see_what_is_left_out():
    odd = " ".join(["zzz"] * 50)
    corpus = text.count_words([*sampled(40), odd], min_documents=1, max_share=1.0)
    seen, unseen = (
        text.fit_topics(corpus, 4, iterations=20, without=without, cache=False, progress=False)
        for without in ([], [40])
    )
    word = corpus.words.index("zzz")
    assert seen.clarity[word] > 0.9
    assert unseen.clarity[word] == pytest.approx(1 / 4, abs=1e-3)


def test_scikit_learn_takes_over_where_tomotopy_is_missing(corpus, monkeypatch, capsys):
    find = text.importlib.util.find_spec
    monkeypatch.setattr(text.importlib.util, "find_spec", lambda name: None if name == "tomotopy" else find(name))
    topics = text.fit_topics(corpus, 4, iterations=3, cache=False, progress=False)
    assert topics.engine == "scikit-learn"
    assert "mean coherence" in capsys.readouterr().out


def test_words_are_counted_without_stop_words_rare_ones_and_case():
    texts = ["The Café café, naïve! or the 12th", "A cafe: musician's x9 NAÏVE", "unique word"]
    corpus = text.count_words(texts, min_documents=2, max_share=1.0)
    assert corpus.words == ("cafe", "naive")
    assert corpus.counts.toarray().tolist() == [[2, 1], [1, 1], [0, 0]]


def test_words_that_are_everywhere_are_left_out():
    corpus = text.count_words(
        [f"planet {w} {w}" for w in ("red", "red", "blue", "blue")], min_documents=1, max_share=0.5
    )
    assert corpus.words == ("blue", "red")


def test_npmi_by_hand():
    # a and b always together in half of the documents, c in the other half: log(.5/.25)/−log(.5) = 1; with c: never
    counts = scipy.sparse.csr_matrix([[1, 1, 0], [2, 1, 0], [0, 0, 1], [0, 0, 3]])
    topic_word = np.array([[0.5, 0.4, 0.1], [0.1, 0.2, 0.7]])
    assert text.npmi(topic_word, counts, 2) == pytest.approx([1.0, -1.0])
    assert text.npmi(topic_word, counts, 3) == pytest.approx([-1 / 3, -1 / 3])
    independent = scipy.sparse.csr_matrix([[1, 1], [1, 0], [0, 1], [0, 0]])
    assert text.npmi(np.array([[0.5, 0.5]]), independent) == pytest.approx([0.0], abs=1e-12)
    always = scipy.sparse.csr_matrix([[1, 1], [1, 1]])
    assert text.npmi(np.array([[0.5, 0.5]]), always) == pytest.approx([1.0])


def topics_of(topic_word, marginal=None):
    topic_word = np.asarray(topic_word, float)
    K, V = topic_word.shape
    words = tuple(f"w{i}" for i in range(V))
    marginal = topic_word.mean(0) if marginal is None else np.asarray(marginal)
    return text.Topics(words, topic_word, np.full(K, 1 / K), marginal, np.linspace(0.5, 0.1, K), "by hand")


def test_shares_and_labels():
    topics = topics_of([[0.6, 0.3, 0.1], [0.2, 0.3, 0.5]])
    assert topics.shares == pytest.approx(np.array([[0.75, 0.5, 1 / 6], [0.25, 0.5, 5 / 6]]))
    assert topics.clarity == pytest.approx([0.75, 0.5, 5 / 6])
    assert topics.labels(0.0).tolist() == [0, 0, 1]
    assert topics.labels(0.7).tolist() == [0, -1, 1]


def test_relevance_runs_from_frequency_to_lift():
    topics = topics_of([[0.7, 0.3, 0.0], [0.7, 0.0, 0.3]], marginal=[0.7, 0.1, 0.2])
    frequency, lift = topics.relevance(1.0), topics.relevance(0.0)
    assert np.isfinite(frequency).all()  # no logarithm of 0
    assert np.exp(frequency) == pytest.approx(topics.topic_word, abs=1e-6)
    assert frequency[0].argmax() == 0
    assert lift[0].argmax() == 1
    assert topics.relevance(0.3) == pytest.approx(0.3 * frequency + 0.7 * lift)


def test_the_clearest_words_come_by_topic():
    topics = topics_of(np.eye(3)[[0, 0, 0, 1, 1, 2]].T * [0.2, 0.5, 0.3, 0.6, 0.4, 1.0] + 1e-6)
    assert topics.clearest(2, 2).tolist() == [1, 2, 3, 4]
    assert topics.clearest(1, 3).tolist() == [1, 3, 5]
    with pytest.raises(ValueError, match="only 2 topics have 2 clear words"):
        topics.clearest(2, 3)


def test_a_folder_of_texts(tmp_path):
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "two.txt").write_text("Zwei\n\n  Wörter", encoding="utf-8")
    (tmp_path / "one.txt").write_text("one", encoding="utf-8")
    (tmp_path / "other.md").write_text("not read")
    assert text.read_folder(tmp_path) == [
        ("two", "Zwei Wörter", "b"),
        ("one", "one", tmp_path.name),
    ]


def test_the_leads_are_read_as_data_and_their_package_never_imported():
    leads = text.wikipedia_leads()
    assert len(leads) > 9000
    assert {lead.title for lead in leads} > {"Algebra", "Jazz"}
    assert all(lead.text and lead.subject for lead in leads)
    assert text.LEADS not in sys.modules


def test_articles_from_the_hub(monkeypatch):
    class Stream(list):
        def take(self, n):
            return Stream(self[:n])

    hub = types.ModuleType("datasets")
    articles = Stream({"title": f"T{i}", "text": f"First\nparagraph {i}.\n\nSecond."} for i in range(9))
    hub.load_dataset = lambda *names, split, streaming: articles
    monkeypatch.setitem(sys.modules, "datasets", hub)
    assert text.hub_wikipedia(2) == [
        ("T0", "First paragraph 0.", "Wikipedia"),
        ("T1", "First paragraph 1.", "Wikipedia"),
    ]
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(ImportError, match="pip install datasets"):
        text.hub_wikipedia(2)


def test_missing_packages_are_named(monkeypatch):
    monkeypatch.setattr(text.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(FileNotFoundError, match=r"topiclens\[text\]"):
        text.wikipedia_leads()
    monkeypatch.setitem(sys.modules, "sklearn.decomposition", None)
    monkeypatch.delitem(sys.modules, "topiclens.text")
    with pytest.raises(ImportError, match=r"topiclens\[text\]"):
        __import__("topiclens.text")


@pytest.mark.parametrize(
    ("content", "complaint"),
    [(b" \n", "empty.txt is empty: take it out"), (b"caf\xe9", r"empty.txt is not UTF-8 \(byte 3\): save it")],
)
def test_files_that_cannot_be_read_are_named(tmp_path, content, complaint):
    (tmp_path / "good.txt").write_text("good")
    (tmp_path / "empty.txt").write_bytes(content)
    with pytest.raises(ValueError, match=complaint):
        text.read_folder(tmp_path)
