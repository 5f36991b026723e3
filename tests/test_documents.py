import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare

from topiclens.documents import (
    FIRST_WORD,
    MASK,
    PAD,
    Dirichlet,
    Masking,
    PartnerTopics,
    TauOfT,
    TopicModel,
    count_words,
    mask_documents,
    read_corpus,
    write_corpus,
)

OVERLAPPING = np.array([[0.5, 0.3, 0.2, 0.0], [0.0, 0.1, 0.1, 0.8]])


def test_words_of_a_topic_model_follow_theta_and_topic_word():
    topics = TopicModel(5, 4, mixture=TauOfT(2), length=400)
    documents = topics.sample(50, 0)
    for words, theta in zip(documents.words, documents.theta, strict=True):
        expected = 400 * theta @ topics.topic_word
        observed = np.bincount(words - FIRST_WORD, minlength=20)
        assert (observed[expected == 0] == 0).all()
        assert chisquare(observed[expected > 0], expected[expected > 0]).pvalue > 1e-5


def test_words_of_overlapping_topics_follow_the_matrix():
    documents = TopicModel(2, topic_word=OVERLAPPING, mixture=Dirichlet(0.5), length=50).sample(4000, 1)
    expected = 50 * (documents.theta @ OVERLAPPING).sum(0)
    assert chisquare(np.bincount(documents.words.ravel() - FIRST_WORD, minlength=4), expected).pvalue > 1e-4


@pytest.mark.parametrize(
    "mixture", [TauOfT(1), TauOfT(3), TauOfT(6), Dirichlet(0.1), Dirichlet(3.0), PartnerTopics(0.7)]
)
def test_moments_of_mixtures_agree_with_samples(mixture):
    mean, second = mixture.moments(6)
    theta = mixture.sample(np.random.default_rng(0), 40_000, 6)
    assert np.allclose(theta.sum(1), 1)
    products = theta[:, :, None] * theta[:, None]
    error = products.std(0) / np.sqrt(len(theta)) + 1e-12
    assert (abs(products.mean(0) - second) < 5 * error).all()
    assert np.allclose(theta.mean(0), mean, atol=0.01)


def test_tau_of_t_has_tau_equal_topics_chosen_uniformly():
    theta = TauOfT(3).sample(np.random.default_rng(0), 9000, 5)
    assert (np.sort(theta, axis=1) == [0, 0, 1 / 3, 1 / 3, 1 / 3]).all()
    sets, counts = np.unique(theta > 0, axis=0, return_counts=True)
    assert len(sets) == 10
    assert chisquare(counts).pvalue > 1e-4


@pytest.mark.parametrize("together", [0.0, 0.3, 1.0])
def test_partners_meet_as_often_as_they_should(together):
    theta = PartnerTopics(together).sample(np.random.default_rng(0), 12_000, 6)
    assert (np.sort(theta, axis=1) == [0, 0, 0, 0, 0.5, 0.5]).all()
    first, second = np.nonzero(theta)[1].reshape(-1, 2).T
    expected = 12_000 * np.array(
        [[together / 3 if s // 2 == t // 2 else (1 - together) / 12 for t in range(6)] for s in range(6)]
    )
    observed = np.zeros((6, 6))
    np.add.at(observed, (first, second), 1)
    pairs = np.triu(expected, 1) > 0
    assert observed[~pairs].sum() == 0
    assert chisquare(observed[pairs], expected[pairs]).pvalue > 1e-4


def test_lengths_are_uniform_and_padding_comes_last():
    topics = TopicModel(length=(3, 7))
    words = topics.sample(7000, 0).words
    lengths = (words != PAD).sum(1)
    assert chisquare(np.bincount(lengths, minlength=8)[3:]).pvalue > 1e-4
    assert ((words != PAD) == (np.arange(7) < lengths[:, None])).all()
    weights = topics.length_weights
    assert weights[7] / weights[3] == pytest.approx(7 / 3)
    assert sum(weights.values()) == pytest.approx(1)


def test_a_seed_gives_the_same_documents_again():
    topics = TopicModel()
    assert (topics.sample(5, 3).words == topics.sample(5, 3).words).all()
    assert (topics.sample(5, 3).words != topics.sample(5, 4).words).any()


def test_masking_selects_keeps_replaces_and_hides_in_its_shares():
    masking = Masking(0.3, 0.2, 0.1)
    words = TopicModel(4, 5, mixture=TauOfT(2), length=(60, 100)).sample(2000, 0).words
    masked = mask_documents(words, masking, 20, 1)
    assert not (masked.selected & (words == PAD)).any()
    assert (masked.shown[~masked.selected] == words[~masked.selected]).all()
    present, selected = (words != PAD).sum(), masked.selected.sum()
    assert chisquare([selected, present - selected], [0.3 * present, 0.7 * present]).pvalue > 1e-4
    shown, true = masked.shown[masked.selected], words[masked.selected]
    hidden, same = (shown == MASK).sum(), (shown == true).sum()
    expected = np.array([0.7, 0.2 + 0.1 / 20, 0.1 * 19 / 20])  # a random word may happen to be the true one
    assert chisquare([hidden, same, selected - hidden - same], expected * selected).pvalue > 1e-4
    replaced = shown[(shown != true) & (shown != MASK)]
    assert chisquare(np.bincount(replaced - FIRST_WORD, minlength=20)).pvalue > 1e-4


def test_each_masking_of_the_same_documents_is_a_new_one():
    words = TopicModel().sample(4, 0).words
    rng = np.random.default_rng(0)
    first, second = (mask_documents(words, Masking(), 100, rng) for _ in range(2))
    assert (first.selected != second.selected).any()


@given(
    st.integers(1, 4), st.integers(1, 4), st.integers(1, 9), st.integers(0, 10**6), st.booleans(), st.floats(0.05, 1)
)
@settings(max_examples=60, deadline=None)
def test_counts_forget_positions_and_nothing_else(num_topics, per_topic, length, seed, see_selected, mask_prob):
    topics = TopicModel(num_topics, per_topic, length=(1, length))
    words = topics.sample(4, seed).words
    masked = mask_documents(words, Masking(mask_prob), topics.num_words, seed)
    batch = count_words(masked, topics.num_words, see_selected)
    for d in range(4):
        visible = [
            i
            for i, w, s in zip(masked.shown[d], words[d], masked.selected[d], strict=True)
            if w != PAD and (see_selected or not s)
        ]
        assert (batch.counts[d] == np.bincount(np.array(visible, int), minlength=topics.num_words + 1)).all()
    document, position = np.nonzero(masked.selected)
    assert (batch.document[batch.row] == document).all()
    assert (batch.query[batch.row] == masked.shown[document, position]).all()
    assert (batch.target == words[document, position]).all()
    assert len(set(zip(batch.document, batch.query, strict=True))) == len(batch.document)  # no row twice


def test_a_corpus_comes_back_as_it_was_written(tmp_path):
    words = TopicModel(length=(2, 9)).sample(30, 0).words
    write_corpus(tmp_path / "corpus.txt", words, 100)
    assert (read_corpus(tmp_path / "corpus.txt", 100) == words).all()
    first = (tmp_path / "corpus.txt").read_text().splitlines()[0]
    assert first == " ".join(str(w - 1) for w in words[0] if w != PAD) + " END"


def test_a_corpus_without_end_is_read_too(tmp_path):
    (tmp_path / "corpus.txt").write_text("0 4\n4 END\n")
    assert read_corpus(tmp_path / "corpus.txt", 5).tolist() == [[1, 5], [5, PAD]]


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("1 2 END\n3 x END\n", "line 2: 'x'"),
        ("1 5\n", "line 1: '5' is not a word number between 0 and 4"),
        ("1 -2\n", "line 1: '-2'"),
        ("1 ²\n", "line 1: '²'"),
        ("1 2\nEND\n", "line 2: a document without words"),
        ("1 2\n\n3\n", "line 2: a document without words"),
        ("", "no document"),
        ("1 END 2\n", "line 1: 'END'"),
    ],
)
def test_a_bad_corpus_is_named_by_file_line_and_token(tmp_path, text, complaint):
    path = tmp_path / "corpus.txt"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match=complaint) as error:
        read_corpus(path, 5)
    assert str(path) in str(error.value)


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path):
    path = tmp_path / "corpus.txt"
    path.write_text("old")
    with pytest.raises(ValueError, match="word ids run from 7 to 7"):
        write_corpus(path, np.array([[7]]), 5)
    assert path.read_text() == "old"
    with pytest.raises(FileNotFoundError, match="there is no folder"):
        write_corpus(tmp_path / "no" / "corpus.txt", np.array([[1]]), 5)
    assert [p.name for p in tmp_path.iterdir()] == ["corpus.txt"]
