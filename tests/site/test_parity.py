"""The trainer in the page does what topiclens does in torch. The tests run the very script that the page loads."""

import itertools
import math
from importlib.resources import files

import numpy as np
import pytest
import torch
from scipy import stats

from topiclens.documents import Dirichlet, MaskedDocuments, Masking, TauOfT, TopicModel, count_words, mask_documents
from topiclens.measures import attention_ratios, attention_scores, between_words, block_means, gram
from topiclens.model import TopicTransformer
from topiclens.playground import MODULES, source
from topiclens.theory import (
    AttentionSetting,
    bayes_loss,
    bayes_loss_long,
    gram_optimum,
    moments,
    squared_loss,
    value_optimum,
)
from topiclens.training import loss_of

TOPICS, MASKING = TopicModel(5, 6, mixture=TauOfT(2), length=40), Masking(0.3, 0.2, 0.2)
MATRICES = ("W_E", "W_K", "W_Q", "W_V", "b")


@pytest.fixture(scope="module")
def run(browser):
    """run(body, argument) → what the function body returns, in a page that has loaded the trainer."""
    page = browser.new_page()
    page.add_script_tag(content=source())
    yield lambda body, argument=None: page.evaluate(f"(given) => {{ {body} }}", argument)
    page.close()


def in_page(masked):
    """Masked documents as the page's modules hold them."""
    D, N = masked.words.shape
    arrays = {name: getattr(masked, name).astype(int).ravel().tolist() for name in ("words", "shown", "selected")}
    return {"D": D, "N": N, **arrays}


def settings_of(topics=TOPICS, masking=MASKING, **others):
    """The page's settings for a topic model and a masking."""
    tau = topics.mixture.tau if isinstance(topics.mixture, TauOfT) else 1
    alpha = topics.mixture.alpha if isinstance(topics.mixture, Dirichlet) else 1
    return {
        "numTopics": topics.num_topics,
        "wordsPerTopic": topics.words_per_topic,
        "mixture": "tau" if isinstance(topics.mixture, TauOfT) else "dirichlet",
        "tau": tau,
        "alpha": alpha,
        "length": topics.lengths[0],
        "maskProb": masking.mask_prob,
        "keepProb": masking.keep_prob,
        "randomProb": masking.random_prob,
        **others,
    }


def state(model):
    return {name: getattr(model, name).detach().double().ravel().tolist() for name in MATRICES}


# --- Training, step by step ------------------------------------------------------------------------------------------

TRAIN = """
  const {ids, switches, start, batches, optimizer, lr} = given;
  const model = new Model(ids, switches, new Random(0), {frozenValue: start.W_V});
  for (const name of Object.keys(start)) model.matrices[name].set(start[name]);
  const descent = optimizer === "adam" ? new Adam(lr) : new Sgd(lr);
  const losses = [];
  for (const masked of batches) {
    losses.push(model.lossAndGradients(countWords(masked, ids, switches.seeSelected)));
    descent.step(model.matrices, model.gradients);
  }
  const matrices = Object.fromEntries(Object.keys(start).map((name) => [name, Array.from(model.matrices[name])]));
  return {losses, matrices};
"""


def both_trainings(run, loss, optimizer, lr, see_selected, **switches):
    """50 steps from one start on the same batches: (losses, matrices) of torch, those of the page, the start."""
    torch.manual_seed(0)
    model = TopicTransformer(TOPICS.num_words, see_selected=see_selected, init_scale=0.3, **switches)
    start = {name: np.array(values) for name, values in state(model).items()}
    rng = np.random.default_rng(1)
    batches = [mask_documents(TOPICS.sample(16, rng).words, MASKING, TOPICS.num_words, rng) for _ in range(50)]
    given = {
        "ids": TOPICS.num_words + 1,
        "switches": {
            "embedding": "learned", "attention": "learned", "value": "learned", "decoder": "tied", "bias": True,
            **{key: x if isinstance(x, str | bool) else "theory" for key, x in switches.items()},
            "loss": loss, "seeSelected": see_selected, "initScale": 0.3,
        },
        "start": {name: values.tolist() for name, values in start.items()},
        "batches": [in_page(batch) for batch in batches],
        "optimizer": optimizer,
        "lr": lr,
    }  # fmt: skip
    page = run(TRAIN, given)

    descent = {"sgd": torch.optim.SGD, "adam": torch.optim.Adam}[optimizer](model.parameters(), lr=lr)
    losses = []
    for masked in batches:
        batch = count_words(masked, TOPICS.num_words, see_selected)
        value = loss_of(model.forward_counts(batch), batch.row, batch.target, loss)
        losses.append(value.item())
        descent.zero_grad()
        value.backward()
        descent.step()
    return (losses, state(model)), (page["losses"], page["matrices"]), start


def check_parity(ours, page, start, moving):
    np.testing.assert_allclose(page[0], ours[0], atol=1e-5)
    for name in MATRICES:
        np.testing.assert_allclose(page[1][name], ours[1][name], atol=1e-4, err_msg=name)
        moved = np.abs(np.array(ours[1][name]) - start[name]).max()
        assert (moved > 0.002) == (name in moving), (name, moved)  # else the comparison would say nothing


@pytest.mark.parametrize("embedding", ["learned", "one-hot"])
@pytest.mark.parametrize("see_selected", [True, False], ids=["visible", "hidden"])
@pytest.mark.parametrize(("optimizer", "loss", "lr"), [
    ("adam", "squared", 0.01), ("adam", "cross-entropy", 0.01), ("sgd", "squared", 0.1), ("sgd", "cross-entropy", 3.0),
])  # fmt: skip
def test_fifty_steps_are_those_of_torch(run, embedding, see_selected, optimizer, loss, lr):
    ours, page, start = both_trainings(run, loss, optimizer, lr, see_selected, embedding=embedding)
    check_parity(ours, page, start, set(MATRICES) - ({"W_E"} if embedding == "one-hot" else set()))


@pytest.mark.parametrize(("switches", "moving"), [
    ({"attention": "uniform", "value": "identity"}, {"W_E", "b"}),
    ({"attention": "uniform", "embedding": "one-hot", "decoder": "identity", "bias": False}, {"W_V"}),
    ({"embedding": "one-hot", "decoder": "identity", "bias": False,
      "value": value_optimum(TOPICS, MASKING, infinite=True)}, {"W_K", "W_Q"}),
    ({"decoder": "identity"}, set(MATRICES)),
], ids=["claim 1", "claim 2", "claim 3", "decoder of its own"])  # fmt: skip
def test_fifty_steps_with_parts_frozen(run, switches, moving):
    ours, page, start = both_trainings(run, "squared", "adam", 0.01, True, **switches)
    check_parity(ours, page, start, moving)


def test_gradients_are_finite_differences(run):
    """Every entry of every learned matrix, for all switches, in double precision."""
    topics = TopicModel(3, 2, mixture=TauOfT(2), length=12)
    masked = mask_documents(topics.sample(4, 0).words, Masking(0.4, 0.3, 0.3), 6, 1)
    worst, combinations = run(
        """
        let worst = 0, combinations = 0;
        const n = 7, frozenValue = Float64Array.from({length: n * n}, (_, i) => Math.sin(i));
        for (const embedding of ["learned", "one-hot"])
        for (const attention of ["learned", "uniform"])
        for (const value of ["learned", "identity", "theory"])
        for (const decoder of ["tied", "identity"])
        for (const loss of ["cross-entropy", "squared"])
        for (const seeSelected of [true, false]) {
          if (value === "theory" && embedding === "learned") continue;
          const switches = {embedding, attention, value, decoder, loss, bias: true, initScale: 0.7};
          const model = new Model(n, switches, new Random(3), {frozenValue, Real: Float64Array});
          const batch = countWords(given, n, seeSelected), h = 1e-5;
          model.lossAndGradients(batch);
          const gradients = structuredClone(model.gradients);
          combinations++;
          for (const [name, gradient] of Object.entries(gradients)) {
            const W = model.matrices[name];
            for (let i = 0; i < W.length; i++) {
              const was = W[i];
              W[i] = was + h;
              const above = model.lossAndGradients(batch);
              W[i] = was - h;
              const below = model.lossAndGradients(batch);
              W[i] = was;
              const error = Math.abs((above - below) / (2 * h) - gradient[i]);
              if (!(error <= worst)) worst = error;
            }
          }
        }
        return [worst, combinations];
        """,
        in_page(masked),
    )
    assert combinations == 2 * 2 * 3 * 2 * 2 * 2 - 16
    assert worst < 1e-8


def test_a_document_with_all_positions_selected_and_hidden(run):
    """Nothing can be attended to: the logits are the bias."""
    words = np.array([[1, 2, 3], [4, 5, 6]])
    masked = MaskedDocuments(words, np.zeros_like(words), np.array([[True] * 3, [True, False, False]]))
    logits = run(
        """
        const model = new Model(7, {embedding: "learned", attention: "learned", value: "learned", decoder: "tied",
          bias: true, loss: "squared", initScale: 1}, new Random(0));
        model.matrices.b.fill(0.5);
        const batch = countWords(given, 7, false), logits = Array.from(model.forward(batch));
        if (!Number.isFinite(model.lossAndGradients(batch))) throw Error("not finite");
        return logits;
        """,
        in_page(masked),
    )
    assert logits[:7] == [0.5] * 7
    assert logits[7:] != [0.5] * 7


# --- The sampler's laws ----------------------------------------------------------------------------------------------

DRAW = """
  const {settings, D, seed} = given;
  const {words, shown, selected} = drawDocuments({...defaultSettings, ...settings}, D, new Random(seed));
  // One character for each number: much quicker to hand over than a list.
  return [words, shown, selected].map((x) => Array.from(x, (number) => String.fromCharCode(number)).join(""));
"""


def draw(run, topics, masking, D, seed=0):
    N = topics.lengths[0]
    drawn = run(DRAW, {"settings": settings_of(topics, masking), "D": D, "seed": seed})
    return [np.frombuffer(text.encode("latin-1"), np.uint8).reshape(D, N).astype(int) for text in drawn]


def test_tau_topics_and_their_words_are_uniform(run):
    topics = TopicModel(5, 4, mixture=TauOfT(2), length=200)
    words, _, _ = draw(run, topics, MASKING, 3000)
    of_topic = np.stack([((words - 1) // 4 == t).sum(1) for t in range(5)], axis=1)
    assert ((of_topic > 0).sum(1) == 2).all()
    sets = [tuple(np.flatnonzero(row)) for row in of_topic]
    assert stats.chisquare([sets.count(pair) for pair in itertools.combinations(range(5), 2)]).pvalue > 0.001
    # Nor does a document tell of the next one's topics: two sets share 0, 1 or 2 with chances 3, 6 and 1 in 10.
    shared = [len({*one} & {*other}) for one, other in itertools.pairwise(sets)]
    assert stats.chisquare(np.bincount(shared, minlength=3), len(shared) * np.array([0.3, 0.6, 0.1])).pvalue > 0.001
    # Within a document both topics and all their words have the same chance.
    ranks = np.array([row[row > 0][0] for row in of_topic])
    assert stats.kstest((ranks - 100) / math.sqrt(50), "norm").pvalue > 1e-5  # binomial, so only nearly normal
    assert abs(np.var(ranks) / 50 - 1) < 0.1
    places = np.bincount((words.ravel() - 1) % 4, minlength=4)
    assert stats.chisquare(places).pvalue > 0.001
    # Positions do not tell of each other: a word says nothing of the place in its topic of the next one.
    pairs = np.histogram2d(words[:, :-1].ravel() % 4, words[:, 1:].ravel() % 4, bins=4)[0]
    assert stats.chi2_contingency(pairs).pvalue > 0.001


def test_dirichlet_topics_have_their_moments(run):
    topics = TopicModel(4, 3, mixture=Dirichlet(0.3), length=50)
    words, _, _ = draw(run, topics, MASKING, 20_000)
    assert words.min() == 1
    assert words.max() == 12
    n = np.stack([((words - 1) // 3 == t).sum(1) for t in range(4)], axis=1)
    _, second = topics.mixture.moments(4)
    for s, t in itertools.combinations_with_replacement(range(4), 2):
        sample = n[:, s] * (n[:, t] - (s == t)) / (50 * 49)
        assert abs(sample.mean() - second[s, t]) < 4 * sample.std() / math.sqrt(len(sample)), (s, t)


def test_random_numbers_follow_their_laws(run):
    draws = run(
        """
        const random = new Random(5), many = (f, n = 20000) => Array.from({length: n}, f);
        return {
          uniform: many(() => random.uniform()), gaussian: many(() => random.gaussian()),
          small: many(() => random.dirichlet(0.1, 5)[2]), large: many(() => random.dirichlet(3, 5)[4]),
          tiny: many(() => Array.from(random.dirichlet(0.001, 5)), 100),
          bits: many(() => random.bits(), 1000),
        };
        """
    )
    assert stats.kstest(draws["uniform"], "uniform").pvalue > 0.001
    assert stats.kstest(draws["gaussian"], "norm").pvalue > 0.001
    assert stats.kstest(draws["small"], stats.beta(0.1, 0.4).cdf).pvalue > 0.001
    assert stats.kstest(draws["large"], stats.beta(3, 12).cdf).pvalue > 0.001
    np.testing.assert_allclose(np.sum(draws["tiny"], axis=1), 1)
    each_bit = (np.array(draws["bits"])[:, None] >> np.arange(32)) & 1
    assert (abs(each_bit.mean(0) - 0.5) < 4 * 0.5 / math.sqrt(1000)).all()


def test_masking_has_its_shares(run):
    masking = Masking(0.3, 0.2, 0.3)
    words, shown, selected = draw(run, TopicModel(5, 4, mixture=TauOfT(3), length=100), masking, 3000)
    selected = selected.astype(bool)
    assert stats.binomtest(int(selected.sum()), selected.size, 0.3).pvalue > 0.001
    np.testing.assert_array_equal(shown[~selected], words[~selected])
    # A random word is the true one in 1 of 20 cases.
    fates = [(shown == words)[selected].sum(), (shown == 0)[selected].sum()]
    fates = [*fates, selected.sum() - sum(fates)]
    assert stats.chisquare(fates, selected.sum() * np.array([0.2 + 0.3 / 20, 0.5, 0.3 * 19 / 20])).pvalue > 0.001
    changed = selected & (shown != words) & (shown != 0)
    elsewhere = (shown - words)[changed] % 20  # uniform on the 19 other words
    assert stats.chisquare(np.bincount(elsewhere, minlength=20)[1:]).pvalue > 0.001


@pytest.mark.parametrize("see_selected", [True, False], ids=["visible", "hidden"])
def test_counts_are_those_of_count_words(run, see_selected):
    masked = mask_documents(TOPICS.sample(20, 3).words, MASKING, 30, 4)
    ours = count_words(masked, 30, see_selected)
    page = run(
        "const batch = countWords(given.masked, 31, given.see);"
        "return Object.fromEntries(Object.entries(batch).map(([k, x]) => [k, x.length ? Array.from(x) : x]));",
        {"masked": in_page(masked), "see": see_selected},
    )
    counts = np.zeros((20, 31))
    for d in range(20):
        part = slice(page["start"][d], page["start"][d + 1])
        counts[d, page["ids"][part]] = page["counts"][part]
    np.testing.assert_array_equal(counts, ours.counts)
    for name in ("document", "query", "row", "target"):
        np.testing.assert_array_equal(page[name], getattr(ours, name))


# --- Theory ----------------------------------------------------------------------------------------------------------

WORLDS = [
    (TopicModel(), Masking()),
    (TopicModel(5, 3, mixture=TauOfT(5), length=6), Masking(0.4, 0.2, 0.3)),
    (TopicModel(4, 1, mixture=TauOfT(1), length=30), Masking(1.0, 0.2, 0.8)),
    (TopicModel(6, 7, mixture=Dirichlet(0.1), length=100), Masking(0.15, 0.0, 0.0)),
    (TopicModel(20, 2, mixture=Dirichlet(2.0), length=2), Masking(0.15, 0.1, 0.1)),
]
each_world = pytest.mark.parametrize(
    ("topics", "masking", "see_selected"),
    [(*world, see) for world in WORLDS for see in (True, False) if see or world[1].mask_prob < 1],
)


def relations(matrix, topics):
    return [*block_means(between_words(matrix), topics.word_topics), matrix[1:, 0].mean()]


def from_page(found):
    return [found[name] for name in ("sameWord", "sameTopic", "differentTopic", "mask")]


@each_world
@pytest.mark.parametrize("infinite", [False, True], ids=["finite", "long"])
def test_value_optimum(run, topics, masking, see_selected, infinite):
    settings = settings_of(topics, masking, seeSelected=see_selected, bias=False)
    found = run("return valueOptimum(given.settings, given)", {"settings": settings, "infinite": infinite})
    exact = value_optimum(topics, masking, see_selected=see_selected, infinite=infinite)
    check_relations(found, exact, topics)
    # With a bias, the means come out of the moments; what is 0 in C then is rounding of the uncentred matrix.
    second = moments(topics, masking, see_selected=see_selected, infinite=infinite)
    m = second.centred()
    values, Q = np.linalg.eigh(m.C)
    inverse = np.divide(1, values, out=np.zeros_like(values), where=values > 1e-12 * np.trace(second.C))
    settings["bias"] = True
    found = run("return valueOptimum(given.settings, given)", {"settings": settings, "infinite": infinite})
    check_relations(found, m.D @ Q @ np.diag(inverse) @ Q.T, topics)


def check_relations(found, exact, topics):
    expected, found = relations(exact, topics), from_page(found)
    if topics.words_per_topic == 1:  # no other word of the topic
        del expected[1], found[1]
    np.testing.assert_allclose(found, expected, atol=1e-9)


@each_world
@pytest.mark.parametrize("infinite", [False, True], ids=["finite", "long"])
def test_gram_optimum(run, topics, masking, see_selected, infinite):
    settings = settings_of(topics, masking, seeSelected=see_selected, bias=True)
    found = run("return gramOptimum(given.settings, given)", {"settings": settings, "infinite": infinite})
    try:
        exact = gram_optimum(topics, masking, see_selected=see_selected, infinite=infinite)
    except ArithmeticError:
        assert found is None
    else:
        check_relations(found, exact, topics)


def test_optimum_loss_of_linear_layers(run):
    topics, masking = WORLDS[0]
    for see_selected, bias in itertools.product([True, False], [True, False]):
        common = settings_of(topics, masking, seeSelected=see_selected, bias=bias, attention="uniform")
        second = moments(topics, masking, see_selected=see_selected)
        found = run("return theoryLines({...defaultSettings, ...given})", common)
        D, C = (second.centred() if bias else second)[2:]
        W = D @ np.linalg.pinv(C, rcond=1e-12, hermitian=True)
        assert found["optimumLoss"] == pytest.approx(squared_loss(W, second, bias=bias), abs=1e-10)
        assert found["gram"] is None
    embeddings = common | {"embedding": "learned", "value": "identity", "decoder": "tied", "bias": True}
    found = run("return theoryLines({...defaultSettings, ...given})", embeddings | {"seeSelected": True})
    exact = gram_optimum(topics, masking)
    assert found["optimumLoss"] == pytest.approx(squared_loss(exact, moments(topics, masking)), abs=1e-10)
    assert found["gram"]["sameTopic"] == pytest.approx(relations(exact, topics)[1])


@pytest.mark.parametrize("see_selected", [True, False], ids=["visible", "hidden"])
@pytest.mark.parametrize("tau", [1, 2, 4, 9, 10])
def test_attention_optimum(run, tau, see_selected):
    setting = AttentionSetting(10, 10, tau, Masking(), see_selected=see_selected)
    settings = settings_of(TopicModel(mixture=TauOfT(tau)), Masking(), seeSelected=see_selected)
    ratios = [0.2, 1.0, 3.0, 50.0]
    found = run("return given.ratios.map((r) => attentionLoss(given.settings, r))", {
        "settings": settings, "ratios": ratios,
    })  # fmt: skip
    np.testing.assert_allclose(found, setting.loss(np.array(ratios)), atol=1e-12)
    best = run("return optimalRatio(given)", settings)
    if tau == 1 and not see_selected:
        assert best is None
    else:
        assert best == pytest.approx(setting.optimal_ratio(), rel=1e-5)


@pytest.mark.parametrize("see_selected", [True, False], ids=["visible", "hidden"])
def test_attention_optimum_at_the_ends(run, see_selected):
    for kept in (1,) if see_selected else (1, 0.2):
        masking = Masking(0.15, kept, 0)
        assert AttentionSetting(10, 10, 4, masking, see_selected=see_selected).optimal_ratio() == np.inf
        assert run("return optimalRatio(given)", settings_of(TOPICS, masking, seeSelected=see_selected)) == np.inf
    hidden = settings_of(TOPICS, Masking(0.15, 0, 0), seeSelected=see_selected)
    assert run("return optimalRatio(given)", hidden) is None


def test_frozen_value_matrix(run):
    for see_selected in (True, False):
        settings = settings_of(TOPICS, MASKING, seeSelected=see_selected)
        found = run("return Array.from(frozenValueMatrix(given))", settings)
        exact = value_optimum(TOPICS, MASKING, see_selected=see_selected, infinite=True)
        np.testing.assert_allclose(np.reshape(found, (31, 31)), exact, atol=1e-9)


@pytest.mark.parametrize("loss", ["cross-entropy", "squared"])
@pytest.mark.parametrize("use_query", [True, False])
def test_bayes_loss(run, loss, use_query):
    bayes = "return bayesLoss(given.settings, {useQuery: given.useQuery})"
    for T, v, tau in [(10, 10, 4), (5, 2, 5), (7, 3, 1)]:
        settings = settings_of(TopicModel(T, v, mixture=TauOfT(tau)), MASKING, loss=loss)
        found = run(bayes, {"settings": settings, "useQuery": use_query})
        assert found == pytest.approx(bayes_loss_long(T, v, tau, MASKING, loss, use_query=use_query), abs=1e-12)
    # Both are means over sampled documents here, the page's over twice as many.
    topics = TopicModel(mixture=Dirichlet(0.1), length=3000)
    found = run(bayes, {"settings": settings_of(topics, MASKING, loss=loss), "useQuery": use_query})
    estimate = bayes_loss(topics, MASKING, loss, use_query=use_query)
    assert abs(found - estimate.mean) < 4 * math.sqrt(1.5) * estimate.error + 1e-3


# --- The trainer -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("switches", [
    {"embedding": "one-hot", "decoder": "identity", "seeSelected": False},
    {"embedding": "learned", "decoder": "tied", "seeSelected": True, "bias": True},
], ids=["one-hot", "learned"])  # fmt: skip
def test_views_are_those_of_python(run, switches):
    """Matrices, views, attention and carriers of a trained layer, against the package's."""
    settings = settings_of(TOPICS, MASKING, initScale=0.5, lr=0.02, **switches)
    found = run(
        """
        const trainer = new Trainer(given), plain = (x) => (x.length ? Array.from(x) : x);
        while (trainer.stepCount < 60) trainer.step();
        const {means, norms, ratio, ...views} = trainer.views();
        const each = (object) => Object.fromEntries(Object.entries(object).map(([k, x]) => [k, plain(x)]));
        const matrices = Object.fromEntries(
          Object.entries(trainer.matrices()).map(([k, m]) => [k, {...m, data: Array.from(m.data)}]));
        return {means, norms, ratio, views: each(views), attention: each(trainer.attention(3)), matrices,
          carriers: trainer.carriers(), learned: trainer.learned(), stepCount: trainer.stepCount};
        """,
        settings,
    )
    assert found["stepCount"] == 60
    M = {name: np.reshape(m["data"], (m["rows"], m["cols"])).squeeze() for name, m in found["matrices"].items()}
    model = TopicTransformer(
        30,
        embedding=switches["embedding"],
        decoder=switches["decoder"],
        bias=switches.get("bias", False),
        see_selected=switches["seeSelected"],
    )
    assert set(found["learned"]) == {name for name, _ in model.named_parameters()}
    assert set(M) == set(dict(model.named_parameters()) | dict(model.named_buffers()))
    for name, matrix in M.items():
        getattr(model, name).data = torch.as_tensor(matrix, dtype=torch.float32)
    for name in found["learned"]:
        assert found["norms"][name] == pytest.approx(np.linalg.norm(M[name]), rel=1e-5)

    V = TOPICS.num_words
    E = M["W_E"]
    scores = between_words(attention_scores(M["W_K"] @ E, M["W_Q"] @ E))
    expected = {
        "gram": between_words(gram(E)),
        "values": between_words(E.T @ M["W_V"] @ E),
        "composed": between_words(model.outputs_per_id().detach().numpy().T),
        "scores": scores,
    }
    for name, matrix in expected.items():
        np.testing.assert_allclose(np.reshape(found["views"][name], (V, V)), matrix, atol=1e-5, err_msg=name)
        np.testing.assert_allclose(
            [found["means"][name][key] for key in ("sameWord", "sameTopic", "differentTopic")],
            block_means(matrix, TOPICS.word_topics),
            atol=1e-6,
        )
    assert found["ratio"] == pytest.approx(np.median(attention_ratios(scores, TOPICS.word_topics)), rel=1e-4)
    assert abs(scores).max() > 0.5  # the layer has learned something

    one = {name: np.array([found["attention"][name]]) for name in ("words", "shown", "selected")}
    masked = MaskedDocuments(one["words"], one["shown"], one["selected"].astype(bool))
    weights = model.attention(masked).detach().numpy()[0]
    np.testing.assert_allclose(np.reshape(found["attention"]["weights"], (40, 40)), weights, atol=1e-6)

    # A document that shows each word of four topics once, and at a position that is not visible the query.
    for carrier in found["carriers"]:
        query = carrier["query"]
        topics = ((query - 1) // 6 + np.arange(4)) % 5
        keys = np.concatenate([1 + 6 * t + np.arange(6) for t in topics])
        raised = np.exp(scores[query - 1, keys - 1])
        raised /= raised.sum()
        logits = raised @ model.outputs_per_id().detach().numpy()[keys] + M["b"]
        assert carrier["favourite"] == keys[raised.argmax()]
        assert carrier["share"] == pytest.approx(raised.max(), rel=1e-4)
        assert carrier["output"] == 1 + logits[1:].argmax()


def test_the_same_seed_gives_the_same_run(run):
    losses = "const t = new Trainer(given); return [1, 2, 3].map(() => t.step())"
    settings = settings_of()
    assert run(losses, settings) == run(losses, settings)
    assert run(losses, settings) != run(losses, settings | {"seed": 1})


def test_divergence_names_the_step(run):
    error = run(
        """
        const trainer = new Trainer({...given, optimizer: "sgd", lr: 1000, initScale: 1});
        try { for (;;) trainer.step(); } catch (error) {
          return {kind: error instanceof DivergedError, step: error.step, message: error.message,
            count: trainer.stepCount};
        }
        """,
        settings_of(),
    )
    assert error["kind"]
    assert error["step"] == error["count"] > 0
    assert f"step {error['step']}" in error["message"]
    assert "Try the learning rate 10." in error["message"]


@pytest.mark.parametrize(("settings", "field", "message"), [
    ({"tau": 11}, "tau", "tau = 11 must be at most numTopics = 10"),
    ({"tau": 1.5}, "tau", "tau = 1.5 must be a whole number between 1 and 50"),
    ({"numTopics": 1}, "numTopics", "numTopics = 1 must be a whole number between 2"),
    ({"numTopics": 50, "wordsPerTopic": 9}, "wordsPerTopic", "wordsPerTopic = 9 must be at most 6 for 50 topics"),
    ({"keepProb": 0.6, "randomProb": 0.5}, "randomProb", "randomProb = 0.5 must be at most 1 − keepProb = 0.4"),
    ({"maskProb": 0}, "maskProb", "maskProb = 0 must be a number between 0.01 and 1"),
    ({"alpha": -1, "mixture": "dirichlet"}, "alpha", "alpha = -1 must be"),
    ({"lr": "0.1"}, "lr", "lr = 0.1 must be a number"),
    ({"lr": 0}, "lr", "lr = 0 must be"),
    ({"length": 1}, "length", "length = 1 must be a whole number between 2 and 1000"),
    ({"batchSize": 0}, "batchSize", "batchSize = 0 must be"),
    ({"batchSize": 1024, "length": 1000, "wordsPerTopic": 30}, "batchSize", "batchSize = 1024 must be at most"),
    ({"initScale": -1}, "initScale", "initScale = -1 must be"),
    ({"seed": -1}, "seed", "seed = -1 must be"),
    ({"loss": "hinge"}, "loss", "loss = hinge must be one of cross-entropy, squared"),
    ({"bias": 1}, "bias", "bias = 1 must be one of true, false"),
    ({"momentum": 0.9}, "momentum", "momentum is not a setting"),
    ({"embedding": "learned", "value": "theory"}, "value", "value = theory must be learned or identity with learned"),
    ({"value": "theory", "attention": "uniform"}, "value", "value = theory must be learned here"),
])  # fmt: skip
def test_bad_settings_are_refused(run, settings, field, message):
    found = run(
        """
        for (const refused of [() => checkSettings(given), () => new Trainer(given)]) {
          try { refused(); } catch (error) {
            if (!(error instanceof SettingsError)) throw error;
            var found = [error.field, error.message];
          }
        }
        return found;
        """,
        settings,
    )
    assert found[0] == field
    assert message in found[1]


# --- The presets show their claims -----------------------------------------------------------------------------------

AFTER = """
  const trainer = new Trainer(presets[given.preset].settings);
  while (trainer.stepCount < given.steps) trainer.step();
  const {means, ratio} = trainer.views();
  return {means, ratio, theory: trainer.theory(), carriers: trainer.carriers()};
"""


def gap(means):
    return means["sameTopic"] - means["differentTopic"]


def test_default_settings_show_blocks_at_once(run):
    found = run(
        """
        const trainer = new Trainer();
        while (trainer.stepCount < 50) trainer.step();
        return trainer.views().means.values;
        """
    )
    assert found["sameTopic"] > 3 * abs(found["differentTopic"])
    assert found["sameTopic"] > 0.05


def test_preset_of_claim_1(run):
    found = run(AFTER, {"preset": "claim1", "steps": 300})
    assert gap(found["means"]["gram"]) == pytest.approx(gap(found["theory"]["gram"]), rel=0.15)


def test_preset_of_claim_2(run):
    found = run(AFTER, {"preset": "claim2", "steps": 1500})
    for name, value in found["means"]["values"].items():
        assert value == pytest.approx(found["theory"]["values"][name], abs=0.005)


def test_preset_of_claim_3(run):
    found = run(AFTER, {"preset": "claim3", "steps": 500})
    assert found["ratio"] == pytest.approx(found["theory"]["ratio"], rel=0.1)


def test_preset_of_claim_4(run):
    early, late = (run(AFTER, {"preset": "claim4", "steps": steps}) for steps in (50, 300))
    assert gap(early["means"]["values"]) > 0.8 * gap(late["means"]["values"])
    assert gap(early["means"]["scores"]) < 0.1 * gap(late["means"]["scores"])
    assert late["ratio"] > 5


def test_preset_of_the_third_stage(run):
    """Each word query looks at one other word of its topic, and the value matrix sends that one back to the query."""
    carriers = run(AFTER, {"preset": "thirdStage", "steps": 700})["carriers"]
    own_topic = [(c["favourite"] - 1) // 10 == (c["query"] - 1) // 10 for c in carriers]
    assert np.mean(own_topic) > 0.97
    assert np.median([c["share"] for c in carriers]) > 0.9
    assert np.mean([c["favourite"] == c["query"] for c in carriers]) < 0.3
    assert np.mean([c["output"] == c["query"] for c in carriers]) > 0.85


# --- The script ------------------------------------------------------------------------------------------------------


def test_the_files_are_modules(browser):
    """Each file also stands for itself: the last one loads the others, and offers what the page uses."""
    page = browser.new_page()
    modules = {f"http://127.0.0.1/{name}": files("topiclens.playground").joinpath(name).read_text() for name in MODULES}
    page.route(
        "**/*",
        lambda route: route.fulfill(body=modules.get(route.request.url, ""), content_type=(
            "text/javascript" if route.request.url in modules else "text/html")),
    )  # fmt: skip
    page.goto("http://127.0.0.1/")
    names = page.evaluate("import('http://127.0.0.1/trainer.js').then((module) => Object.keys(module).sort())")
    page.close()
    contract = {"DivergedError", "SettingsError", "Trainer", "checkSettings", "defaultSettings", "presets"}
    assert set(names) >= contract


def test_the_script_has_neither_imports_nor_exports():
    lines = source().splitlines()
    assert not [line for line in lines if line.startswith(("import", "export"))]
