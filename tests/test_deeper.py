import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from topiclens.deeper import DeeperTransformer, word_effects
from topiclens.documents import PAD, MaskedDocuments, Masking, NextWord, TauOfT, TopicModel, mask_documents
from topiclens.model import TopicTransformer
from topiclens.training import train

TOPICS = TopicModel(3, 4, mixture=TauOfT(2), length=(3, 9))
ALL_ON = {"layers": 2, "heads": 3, "residual": True, "layer_norm": True, "mlp": True}
MASKED = mask_documents(TOPICS.sample(6, 0).words, Masking(0.5), 12, 1)


def shuffled(masked, order):
    return MaskedDocuments(masked.words[:, order], masked.shown[:, order], masked.selected[:, order])


@given(see_selected=st.booleans(), seed=st.integers(0, 10**6), mask_prob=st.floats(0.05, 1))
@settings(max_examples=25, deadline=None)
def test_with_all_switches_off_it_is_the_papers_layer(see_selected, seed, mask_prob):
    common = {"dim": 5, "attention_dim": 3, "see_selected": see_selected, "init_scale": 1.0, "seed": seed}
    deeper, plain = DeeperTransformer(12, **common), TopicTransformer(12, **common)
    with torch.no_grad():
        for name in ("W_K", "W_Q", "W_V"):
            getattr(plain, name).copy_(getattr(deeper, name)[0, 0])
        plain.W_E.copy_(deeper.W_E)
        plain.b.copy_(torch.arange(13.0))
        deeper.b.copy_(torch.arange(13.0))
    masked = mask_documents(TOPICS.sample(4, seed).words, Masking(mask_prob), 12, seed)
    assert torch.allclose(deeper(masked), plain(masked), atol=1e-4)
    assert torch.allclose(deeper.run(masked)[1][0, :, 0], plain.attention(masked), atol=1e-5)
    (one, row, target), (other, other_row, other_target) = deeper.predictions(masked), plain.predictions(masked)
    assert torch.allclose(one[row], other[other_row], atol=1e-4)
    assert (target == other_target).all()


def test_the_same_seed_gives_the_same_start():
    one, other = (DeeperTransformer(4, **ALL_ON, positions=3, seed=seed).matrices() for seed in (0, 1))
    assert all(
        (one[name] == same).all() for name, same in DeeperTransformer(4, **ALL_ON, positions=3).matrices().items()
    )
    assert not (one["W_2"] == other["W_2"]).any()
    assert set(one) == {"W_E", "W_K", "W_Q", "W_V", "W_1", "W_2", "W_P", "b"}


def test_shapes():
    model = DeeperTransformer(12, dim=6, attention_dim=2, positions=9, **ALL_ON)
    shapes = {name: matrix.shape for name, matrix in model.matrices().items()}
    assert shapes == {
        "W_E": (6, 13), "W_K": (2, 3, 2, 6), "W_Q": (2, 3, 2, 6), "W_V": (2, 3, 6, 6), "W_1": (2, 24, 6),
        "W_2": (2, 6, 24), "W_P": (6, 9), "b": (13,),
    }  # fmt: skip
    stream, attention = model.run(MASKED)
    assert stream.shape == (6, 9, 6)
    assert attention.shape == (2, 6, 3, 9, 9)
    assert model(MASKED).shape == (MASKED.selected.sum(), 13)
    assert torch.allclose(attention.sum(-1), torch.ones(2, 6, 3, 9), atol=1e-5)
    assert (attention[..., ~MASKED.present[0]][:, 0] == 0).all()


@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize("see_selected", [True, False])
def test_logits_are_read_from_the_stream_at_the_selected_positions(causal, see_selected):
    model = DeeperTransformer(
        12, dim=5, **ALL_ON, positions=9, causal=causal, see_selected=see_selected, init_scale=1.0
    )
    stream = model.run(MASKED)[0][torch.as_tensor(MASKED.selected)]
    assert torch.allclose(model(MASKED), stream @ model.W_E + model.b, atol=1e-4)


def test_one_head_is_the_sum_of_two_halves():
    """Two heads with equal scores and W_V/2 each are one head with W_V."""
    one, two = DeeperTransformer(12, dim=5, init_scale=1.0), DeeperTransformer(12, dim=5, heads=2)
    with torch.no_grad():
        two.W_E.copy_(one.W_E)
        for name, share in (("W_K", 1), ("W_Q", 1), ("W_V", 0.5)):
            getattr(two, name).copy_(share * getattr(one, name).repeat(1, 2, 1, 1))
    assert torch.allclose(one(MASKED), two(MASKED), atol=1e-4)


def test_a_part_of_zeros_leaves_a_residual_stream_alone():
    model = DeeperTransformer(12, dim=5, residual=True, mlp=True, init_scale=1.0)
    with torch.no_grad():
        model.W_V.zero_()
        model.W_2.zero_()
    shown = torch.as_tensor(MASKED.shown[MASKED.selected])
    assert torch.allclose(model(MASKED), (model.W_E.T @ model.W_E)[shown], atol=1e-5)


def test_layer_norm_makes_the_scale_of_embeddings_irrelevant_to_attention():
    for layer_norm in (True, False):
        model = DeeperTransformer(12, dim=5, layer_norm=layer_norm, init_scale=1.0)
        before = model.run(MASKED)[1]
        with torch.no_grad():
            model.W_E.mul_(3)
        assert torch.allclose(before, model.run(MASKED)[1], atol=1e-3) == layer_norm


@pytest.mark.parametrize("positions", [0, 9])
def test_order_matters_only_with_positions(positions):
    model = DeeperTransformer(12, dim=5, **ALL_ON, positions=positions, init_scale=1.0)
    order = np.random.default_rng(0).permutation(9)
    stream, mixed = model.run(MASKED)[0], model.run(shuffled(MASKED, order))[0]
    assert torch.allclose(mixed[MASKED.present[:, order]], stream[:, order][MASKED.present[:, order]], atol=1e-4) == (
        not positions
    )


@pytest.mark.parametrize("causal", [True, False])
def test_a_causal_model_does_not_see_what_comes_later(causal):
    model = DeeperTransformer(12, dim=5, **ALL_ON, positions=9, causal=causal, init_scale=1.0)
    words = np.array([[1, 5, 9, 2, 3]])
    masked = mask_documents(words, NextWord(), 12, 0)
    changed = masked.shown.copy()
    changed[0, 2] = 7
    before, after = model(masked), model(MaskedDocuments(masked.words, changed, masked.selected))
    assert torch.allclose(before[:2], after[:2], atol=1e-5) == causal
    assert not torch.isclose(before[2:], after[2:]).all(1).any()
    later = torch.ones(4, 4, dtype=torch.bool).triu(1)
    assert (model.run(masked)[1][..., later] == 0).all() == causal


def test_next_word_shows_a_word_and_asks_for_the_following():
    masked = mask_documents(np.array([[3, 1, 4, 2], [2, 2, PAD, PAD]]), NextWord(), 4, 0)
    assert masked.shown.tolist() == [[3, 1, 4], [2, PAD, PAD]]
    assert masked.words.tolist() == [[1, 4, 2], [2, PAD, PAD]]
    assert (masked.selected == masked.present).all()


def test_padding_does_not_matter():
    model = DeeperTransformer(12, dim=5, **ALL_ON, positions=9, causal=True, init_scale=1.0)
    short = MaskedDocuments(np.array([[1, 2]]), np.array([[0, 2]]), np.array([[True, False]]))
    long = MaskedDocuments(np.array([[1, 2, PAD]]), np.array([[0, 2, PAD]]), np.array([[True, False, False]]))
    assert torch.allclose(model(short), model(long), atol=1e-5)


@pytest.mark.parametrize("task", [Masking(), NextWord()])
def test_every_matrix_learns(task):
    model = DeeperTransformer(12, dim=6, **ALL_ON, positions=9, causal=isinstance(task, NextWord), init_scale=0.3)
    history = train(model, TOPICS, task, steps=150, lr=0.01, batch_size=16, checkpoints=[0, 150], progress=False)
    assert history.losses[-20:].mean() < history.losses[:20].mean() - 0.1
    for name, (start, end) in history.matrices.items():
        assert abs(end - start).max() > 0.01, name


def test_effects_of_words_are_the_composed_matrices_if_attention_is_uniform():
    model = DeeperTransformer(12, dim=5, init_scale=1.0)
    with torch.no_grad():
        model.W_K.zero_()
    E, V = (model.matrices()[name].astype(float) for name in ("W_E", "W_V"))
    composed = ((E.T @ V[0, 0] @ E) / 7)[1:, 1:].T  # row i: what attending to i adds to the logits
    words = TopicModel(3, 4, length=7).sample(5, 0).words
    assert np.allclose(word_effects(model, words), composed - composed.mean(0), atol=1e-4)


def test_effects_in_a_causal_model_come_from_words_before():
    model = DeeperTransformer(12, dim=5, causal=True, positions=7, residual=True, init_scale=1.0)
    effects = word_effects(model, TopicModel(3, 4, length=7).sample(5, 0).words)
    assert effects.shape == (12, 12)
    assert effects.std(0).min() > 0
    assert np.allclose(effects.sum(0), 0, atol=1e-4)
