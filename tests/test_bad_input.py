"""Every public function refuses bad input with an error that names the value and the bound."""

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from topiclens import checks, interventions, text
from topiclens.claims import ring_of_topics, train_embeddings
from topiclens.deeper import DeeperTransformer, word_effects
from topiclens.documents import (
    Dirichlet,
    MaskedDocuments,
    Masking,
    NextWord,
    PartnerTopics,
    TauOfT,
    TopicModel,
    mask_documents,
    read_corpus,
    write_corpus,
)
from topiclens.figures import (
    block_panels_figure,
    carrier_figure,
    compare_figure,
    curves_figure,
    document_figure,
    loss_figure,
    matrix_figure,
    slider_figure,
    slider_table_figure,
)
from topiclens.measures import (
    attention_by_relation,
    attention_by_words,
    attention_ratios,
    block_means,
    block_share,
    cluster_words,
    cosine_auc,
    half_time,
    map_counts,
    topic_coordinates,
    vector_means,
)
from topiclens.model import TopicTransformer
from topiclens.theory import (
    AttentionSetting,
    bayes_loss,
    bayes_loss_long,
    finite_value_blocks,
    value_blocks,
    value_optimum,
)
from topiclens.training import History, checkpoint_steps, train
from topiclens.widgets import Playground, explore_training

TOPICS, MASKING = TopicModel(2, 2, mixture=TauOfT(1), length=5), Masking()
WORDS = np.array([[1, 2, 3]])
MASKED = MaskedDocuments(WORDS, WORDS, WORDS > 1)
ORDER = TOPICS.word_topics
EYE = np.eye(4)
CORPUS = text.WordCounts(("red", "blue"), csr_matrix(np.eye(3, 2, dtype=int)))
BY_HAND = text.Topics(CORPUS.words, np.array([[0.9, 0.1], [0.2, 0.3]]), np.ones(2), np.ones(2), np.ones(2), "by hand")


def run(**settings):
    return train(TopicTransformer(4), TOPICS, **({"steps": 1, "progress": False} | settings))


CASES = {
    "τ above T": (lambda: TopicModel(3, mixture=TauOfT(4)), "tau = 4 .* between 1 and 3"),
    "τ of 0": (lambda: TauOfT(0), "tau = 0 .* at least 1"),
    "τ not whole": (lambda: TauOfT(1.5), "tau = 1.5 .* whole number"),
    "α of 0": (lambda: Dirichlet(0.0), "alpha = 0.0 .* positive"),
    "α infinite": (lambda: Dirichlet(np.inf), "alpha = inf .* positive, finite"),
    "partners above 1": (lambda: PartnerTopics(1.1), r"together = 1.1 .* \[0, 1\]"),
    "partners of an odd number": (lambda: TopicModel(5, mixture=PartnerTopics(0.5)), "num_topics = 5 must be even and at least 4"),
    "no topics": (lambda: TopicModel(0), "num_topics = 0 .* at least 1"),
    "no words": (lambda: TopicModel(2, 0), "words_per_topic = 0 .* at least 1"),
    "N of 0": (lambda: TopicModel(length=0), "length = 0 .* at least 1"),
    "lengths the wrong way round": (lambda: TopicModel(length=(9, 3)), "length = 3 .* at least 9"),
    "topic_word of another size": (lambda: TopicModel(2, topic_word=np.eye(3)), r"shape \(3, 3\).*2 rows"),
    "negative topic_word": (lambda: TopicModel(1, topic_word=[[1.5, -0.5]]), "smallest entry -0.5"),
    "topic_word not summing to 1": (lambda: TopicModel(1, topic_word=[[0.5, 0.4]]), "row sums from 0.9"),
    "topic_word with NaN": (lambda: TopicModel(1, topic_word=[[np.nan, 1]]), "must be probabilities"),
    "no documents": (lambda: TOPICS.sample(0, 0), "num_documents = 0 .* at least 1"),
    "mask_prob above 1": (lambda: Masking(1.2), r"mask_prob = 1.2 .* \[0, 1\]"),
    "mask_prob of 0": (lambda: Masking(0.0), "mask_prob = 0 must be above 0"),
    "keep_prob below 0": (lambda: Masking(0.1, -0.1), r"keep_prob = -0.1 .* \[0, 1\]"),
    "random_prob NaN": (lambda: Masking(0.1, 0.1, np.nan), r"random_prob = nan .* \[0, 1\]"),
    "keep + random above 1": (lambda: Masking(0.1, 0.6, 0.6), "keep_prob [+] random_prob = 0.6 [+] 0.6 .* above 1"),
    "id 0 as a word": (lambda: mask_documents(np.array([[0, 1]]), MASKING, 4, 0), "ids run from 0 to 1.*between 1 and 4"),
    "id above V": (lambda: mask_documents(np.array([[5]]), MASKING, 4, 0), "from 5 to 5.*between 1 and 4"),
    "empty document": (lambda: mask_documents(np.array([[1], [-1]]), MASKING, 4, 0), "document 1 is empty"),
    "words not whole": (lambda: mask_documents(np.array([[1.0]]), MASKING, 4, 0), "whole numbers, not float64"),
    "words not 2-D": (lambda: mask_documents(np.array([1]), MASKING, 4, 0), r"\(documents, positions\)"),
    "no next word": (lambda: mask_documents(np.array([[1], [2]]), NextWord(), 4, 0), "document 0 is empty"),
    "writing a bad id": (lambda: write_corpus("x", np.array([[9]]), 4), "from 9 to 9.*between 1 and 4"),
    "no corpus": (lambda: read_corpus("/nonexistent/corpus.txt", 4), "/nonexistent/corpus.txt"),
    "model without words": (lambda: TopicTransformer(0), "num_words = 0 .* at least 1"),
    "dim of 0": (lambda: TopicTransformer(4, dim=0), "dim = 0 .* at least 1"),
    "attention_dim of 0": (lambda: TopicTransformer(4, attention_dim=0), "attention_dim = 0 .* at least 1"),
    "unknown embedding": (lambda: TopicTransformer(4, embedding="onehot"), "embedding = 'onehot' .* 'one-hot'"),
    "unknown attention": (lambda: TopicTransformer(4, attention="none"), "attention = 'none' .* 'uniform'"),
    "unknown value": (lambda: TopicTransformer(4, value="x"), "value = 'x' .* 'identity'"),
    "value of another size": (lambda: TopicTransformer(4, value=EYE), r"shape \(4, 4\).*\(5, 5\)"),
    "unknown decoder": (lambda: TopicTransformer(4, decoder="x"), "decoder = 'x' .* 'tied'"),
    "negative start": (lambda: TopicTransformer(4, init_scale=-1.0), "init_scale = -1.0 .* at least 0"),
    "deeper, no layers": (lambda: DeeperTransformer(4, layers=0), "layers = 0 .* at least 1"),
    "deeper, no heads": (lambda: DeeperTransformer(4, heads=0), "heads = 0 .* at least 1"),
    "deeper, negative positions": (lambda: DeeperTransformer(4, positions=-1), "positions = -1 .* at least 0"),
    "deeper, negative start": (lambda: DeeperTransformer(4, init_scale=-1.0), "init_scale = -1.0 .* at least 0"),
    "deeper, long documents": (lambda: DeeperTransformer(4, positions=2)(MASKED), "3 words are too long .* 2 positions"),
    "effects on one word": (lambda: word_effects(DeeperTransformer(4), np.array([[1]])), r"shape \(1, 1\) .* at least 2"),
    "effects on documents of all lengths": (lambda: word_effects(DeeperTransformer(4), np.array([[1, 2], [1, -1]])), "same number of words"),
    "effects on bad ids": (lambda: word_effects(DeeperTransformer(4), np.array([[1, 9]])), "from 1 to 9.*between 1 and 4"),
    "next word, not causal": (lambda: run(masking=NextWord()), "needs causal = True and see_selected = True, not False and True"),
    "no steps": (lambda: run(steps=0), "steps = 0 .* at least 1"),
    "no batch": (lambda: run(batch_size=0), "batch_size = 0 .* at least 1"),
    "unknown loss": (lambda: run(loss="mse"), "loss = 'mse' .* 'squared'"),
    "unknown optimizer": (lambda: run(optimizer="lion"), "optimizer = 'lion' .* 'adam'"),
    "lr of 0": (lambda: run(lr=0.0), "lr = 0.0 .* positive"),
    "negative decay": (lambda: run(weight_decay=-1.0), "weight_decay = -1.0 .* at least 0"),
    "late checkpoint": (lambda: run(checkpoints=[5]), r"checkpoints = \[5\] .* between 0 and 1"),
    "no checkpoint": (lambda: run(checkpoints=[]), "checkpoints = .* between 0 and 1"),
    "half a checkpoint": (lambda: run(checkpoints=[0.5]), r"checkpoints = \[0.5\] must be whole numbers"),
    "masking by a number": (lambda: run(masking=0.15), "masking = 0.15 must be a Masking"),
    "next word of one": (lambda: train(DeeperTransformer(4, causal=True), TopicModel(2, 2, mixture=TauOfT(1), length=1), NextWord(), steps=1), "length = 1 must be at least 2"),
    "other vocabulary": (lambda: train(TopicTransformer(5), TOPICS, steps=1), "knows 5 words, the topic model has 4"),
    "all frozen": (
        lambda: train(TopicTransformer(4, embedding="one-hot", attention="uniform", value="identity", bias=False), TOPICS, steps=1),
        "every matrix of the model is frozen",
    ),
    "one checkpoint": (lambda: checkpoint_steps(10, 1), "count = 1 .* at least 2"),
    "no history": (lambda: History.load("/nonexistent/run"), "/nonexistent/run"),
    "matrix that does not fit": (lambda: block_means(np.eye(3), ORDER), r"shape \(3, 3\).*\(4, 4\)"),
    "topics without own words": (lambda: topic_coordinates(np.eye(2), np.full((2, 2), 0.5)), "topic 0 has no word of its own"),
    "shared words of weight 0": (lambda: ring_of_topics(0), "weight = 0 .* positive"),
    "negative topics": (lambda: block_means(EYE, np.array([0, 0, 1, -1])), "whole numbers from 0"),
    "attention that does not fit": (lambda: attention_by_relation(EYE, MASKED, ORDER), r"\(4, 4\).*\(1, 3, 3\)"),
    "attention not summing to 1": (lambda: attention_by_relation(np.ones((1, 3, 3)), MASKED, ORDER), "sums to 3; it must be 1"),
    "too few topics": (lambda: attention_by_relation(np.ones((1, 3, 3)) / 3, MASKED, ORDER[:2]), "to 3; .* between 0 and 2"),
    "ratio that does not fit": (lambda: attention_ratios(np.eye(3), ORDER), r"\(3, 3\).*\(4, 4\)"),
    "ratio of one topic": (lambda: attention_ratios(EYE, ORDER * 0), "at least two topics"),
    "attention by words that does not fit": (lambda: attention_by_words(EYE, MASKED, 4), r"\(4, 4\).*\(1, 3, 3\)"),
    "attention by too few words": (lambda: attention_by_words(np.ones((1, 3, 3)) / 3, MASKED, 2), "to 3; .* between 0 and 2"),
    "block share that does not fit": (lambda: block_share(np.eye(3), ORDER), r"\(3, 3\).*\(4, 4\)"),
    "block share of nothing": (lambda: block_share(EYE, ORDER), "0 off its diagonal: there is no variance"),
    "clusters of no matrix": (lambda: cluster_words(np.ones(3), 2), r"shape \(3,\).*\(V, V\)"),
    "no clusters": (lambda: cluster_words(EYE, 0), "num_clusters = 0 .* at least 1"),
    "clusters of constant rows": (lambda: cluster_words(np.ones((3, 3)), 2), "row 0 does not vary"),
    "map to no word": (lambda: map_counts([0, 4, 1]), "images run from 0 to 4; they must be words from 0 to 2"),
    "column of no id": (lambda: interventions.swap_columns(EYE, 1, 4), "second = 4 must be an id from 0 to 3"),
    "a word that cannot move": (
        lambda: interventions.permutation_within_topics(np.array([0, 1, 1]), 0, move_all=True),
        "topic 0 has one word",
    ),
    "directions elsewhere": (lambda: interventions.ablate(EYE, EYE[:3]), "dimension 3, embeddings 4"),
    "patch of other documents": (
        lambda: interventions.patched_outputs(np.ones((1, 2, 2)), EYE, MASKED, MASKED.selected),
        r"attention has shape \(1, 2, 2\)",
    ),
    "carriers that do not fit": (
        lambda: carrier_figure(np.ones((2, 4, 4)), np.ones((1, 4, 4)), [0, 1], ORDER, title="K"),
        "2 attention matrices and 1 of outputs",
    ),
    "half time of NaN": (lambda: half_time([0, 1], [0.0, np.nan]), "values must be finite"),
    "half time of other steps": (lambda: half_time([0, 1], [0.0]), r"shape \(2,\) and values \(1,\)"),
    "value_blocks without topics": (lambda: value_blocks(0, 1, MASKING), "num_topics = 0"),
    "negative l2": (lambda: value_optimum(TOPICS, MASKING, l2=-1.0), "l2 = -1.0 .* at least 0"),
    "values, no own word": (lambda: value_blocks(3, 2, Masking(1.0, 0.0, 0.5)), "share a = 0"),
    "attention setting, nothing visible": (
        lambda: AttentionSetting(3, 2, 2, Masking(1.0, 0.1, 0.5), see_selected=False),
        "no word of the document can be seen",
    ),
    "attention setting, τ above T": (lambda: AttentionSetting(3, 2, 4, MASKING), "tau = 4 .* between 1 and 3"),
    "r of 0": (lambda: AttentionSetting(3, 2, 2, MASKING).loss(0.0), "r = 0.0 must be above 0"),
    "r of one topic": (
        lambda: AttentionSetting(3, 2, 1, MASKING, see_selected=False).optimal_ratio(),
        "tau = 1.* only words of one topic",
    ),
    "r without words shown": (
        lambda: AttentionSetting(3, 2, 2, Masking(0.1, 0.0, 0.0)).optimal_ratio(),
        "keep_prob = 0.0.* no selected position shows a word",
    ),
    "[MASK] of no weight": (lambda: AttentionSetting(3, 2, 2, MASKING).loss(1.0, 0.0), "mask_weight = 0.0 must be above 0"),
    "joint optimum, hidden": (
        lambda: AttentionSetting(3, 2, 2, MASKING, see_selected=False).joint_optimum(),
        "see_selected = False.* needs",
    ),
    "saddle, visible": (lambda: AttentionSetting(3, 2, 2, MASKING).saddle_slope(), "hidden selected positions only"),
    "saddle, one topic": (
        lambda: AttentionSetting(1, 2, 1, MASKING, see_selected=False).saddle_slope(),
        "num_topics = 1 .* at least 2",
    ),
    "finite r, visible": (lambda: AttentionSetting(3, 2, 2, MASKING).optimal_ratio(9), "hidden selected positions only"),
    "finite r, no other word": (
        lambda: AttentionSetting(3, 2, 2, MASKING, see_selected=False).optimal_ratio(2),
        "length = 2 .* at least 3",
    ),
    "finite values, overlapping topics": (
        lambda: finite_value_blocks(TopicModel(2, topic_word=np.full((2, 3), 1 / 3)), MASKING),
        "topics of equally many words",
    ),
    "finite values, one topic": (lambda: finite_value_blocks(TopicModel(1, 2), MASKING), "num_topics = 1"),
    "finite values, no [MASK]": (lambda: finite_value_blocks(TOPICS, Masking(0.15, 0.5, 0.5)), "share c = 0 "),
    "Bayes, τ above T": (lambda: bayes_loss_long(3, 2, 4, MASKING, "squared"), "tau = 4 .* between 1 and 3"),
    "Bayes, unknown loss": (lambda: bayes_loss(TOPICS, MASKING, "mse"), "loss = 'mse' .* 'squared'"),
    "Bayes, one document": (lambda: bayes_loss(TOPICS, MASKING, "squared", num_documents=1), "num_documents = 1 .* at least 2"),
    "Bayes, correlated topics": (
        lambda: bayes_loss(TopicModel(4, mixture=PartnerTopics(0.5)), MASKING, "squared"),
        "without correlation, not PartnerTopics",
    ),
    "Bayes, overlapping topics": (
        lambda: bayes_loss(TopicModel(2, topic_word=np.full((2, 3), 1 / 3)), MASKING, "squared"),
        "share no words",
    ),
    "figure that does not fit": (lambda: matrix_figure(np.eye(3), ORDER, title="M"), r"\(3, 3\).*\(4, 4\)"),
    "panels of nothing": (lambda: block_panels_figure({}, title="P"), "no setting"),
    "panel that is no matrix": (lambda: block_panels_figure({"a": {"M": np.ones(3)}}, title="P"), r"a, M: shape \(3,\)"),
    "figure without limit": (lambda: matrix_figure(EYE, ORDER, title="M", limit=0.0), "limit = 0.0 must be above 0"),
    "slider labels": (lambda: slider_figure(EYE[None], [1, 2], ORDER, title="S"), "2 labels .* 1 matrices"),
    "slider labels twice": (lambda: slider_figure(np.stack([EYE, EYE]), [1, 1], ORDER, title="S"), r"2 labels \(1 different\)"),
    "table slider labels": (
        lambda: slider_table_figure(EYE[None], [1, 2], title="T", slider="k", rows="r", columns="c"),
        "2 labels .* 1 matrices",
    ),
    "table slider limit": (
        lambda: slider_table_figure(EYE[None], [1], title="T", slider="k", rows="r", columns="c", limit=-1.0),
        "limit = -1.0 must be above 0",
    ),
    "comparison that does not fit": (lambda: compare_figure(np.eye(3), np.eye(3), ORDER, title="C"), r"\(3, 3\).*\(4, 4\)"),
    "no curve": (lambda: curves_figure({}, title="L", x_title="x", y_title="y"), "nothing to draw"),
    "x and y": (lambda: curves_figure({"a": ([1], [1, 2])}, title="L", x_title="x", y_title="y"), "a: x has shape"),
    "no losses": (lambda: loss_figure({"a": np.empty(0)}, title="L", y_title="y", references={}), "a: .*S ≥ 1"),
    "document figure": (lambda: document_figure(MASKED, EYE, ORDER, title="D"), r"\(4, 4\).*\(1, 3, 3\)"),
    "document columns": (
        lambda: document_figure(MASKED, np.ones((1, 3, 3)) / 3, ORDER, title="D", columns=0),
        "columns = 0 .* at least 1",
    ),
    "embeddings, unknown loss": (lambda: train_embeddings("mse"), "loss = 'mse'"),
    "playground, unknown preset": (lambda: Playground("claim9"), "preset = 'claim9' must be one of 'claim1'"),
    "playground, unknown setting": (lambda: Playground(width=3), "width = 3 is no setting .* it has see_selected"),
    "playground, learning rate": (lambda: Playground(lr=-1), "lr = -1 must be a positive"),
    "playground, switch": (lambda: Playground(bias="yes"), "bias = 'yes' must be True or False"),
    "playground, lengths": (lambda: Playground(topics=TopicModel(length=(5, 9))), "documents of one length"),
    "playground, mixture": (lambda: Playground(topics=TopicModel(mixture=PartnerTopics(0.5))), "mixtures TauOfT and Dirichlet"),
    "playground, next word": (lambda: Playground(masking=NextWord()), "must be a Masking"),
    "explorer, steps": (lambda: explore_training(0), "steps = 0 .* at least 1"),
    "corpus of one document": (lambda: text.count_words(["one"]), "corpus of 1 documents.*give 2 or more"),
    "corpus with an empty document": (lambda: text.count_words(["one", " "]), "document 1 is empty.*take it out"),
    "corpus without frequent words": (lambda: text.count_words(["one word", "two words"]), "at least 10 and at most 10% of 2.*lower min_documents"),
    "share above 1": (lambda: text.count_words(["one", "two"], max_share=2), r"max_share = 2 .* \[0, 1\]"),
    "folder without texts": (lambda: text.read_folder("/nonexistent"), "/nonexistent holds no .txt file"),
    "one article from the hub": (lambda: text.hub_wikipedia(1), "num_documents = 1 .* at least 2"),
    "more topics than words": (lambda: text.fit_topics(CORPUS, 3, progress=False), "num_topics = 3 is more than the 2 words: ask for fewer"),
    "one topic": (lambda: text.fit_topics(CORPUS, 1), "num_topics = 1 .* at least 2"),
    "no sweeps": (lambda: text.fit_topics(CORPUS, 2, iterations=0), "iterations = 0 .* at least 1"),
    "unknown LDA": (lambda: text.fit_topics(CORPUS, 2, engine="gensim"), "engine = 'gensim' .* 'tomotopy'"),
    "document out of range": (lambda: text.fit_topics(CORPUS, 2, without=[-1, 999]), r"\[-1, 999\]; documents have numbers from 0 to 2"),
    "no document left": (lambda: text.fit_topics(CORPUS, 2, without=[1, 2]), "1 documents are left"),
    "threshold above 1": (lambda: BY_HAND.labels(1.5), r"threshold = 1.5 .* \[0, 1\]"),
    "threshold that leaves one topic": (lambda: BY_HAND.labels(0.8), r"threshold = 0.8 leaves words of 1 topics.*lower one \(the largest share of a word is 0.82\)"),
    "λ above 1": (lambda: BY_HAND.relevance(1.5), r"weight = 1.5 .* \[0, 1\]"),
    "more topics than are clear": (lambda: BY_HAND.clearest(2, 2), "only 0 topics have 2 clear words"),
    "vectors that do not fit": (lambda: vector_means(EYE, ORDER[:2]), r"shape \(4, 4\); for 2 words"),
    "cosines that do not fit": (lambda: cosine_auc(EYE, ORDER[:2]), r"shape \(4, 4\); for 2 words"),
    "bool for a number": (lambda: checks.check_int("x", True, 0), "x = True .* whole number"),
    "text for a number": (lambda: checks.check_probability("x", "0.5"), "x = '0.5' must be a number"),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_bad_input_is_named(case, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    call, complaint = CASES[case]
    with pytest.raises((ValueError, FileNotFoundError), match=complaint):
        call()
    assert not list(tmp_path.iterdir())  # nothing half-written
