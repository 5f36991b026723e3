import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from topiclens.documents import PAD, MaskedDocuments, Masking, TopicModel, count_words, mask_documents
from topiclens.model import TopicTransformer


@given(
    embedding=st.sampled_from(["learned", "one-hot"]),
    attention=st.sampled_from(["learned", "uniform"]),
    value=st.sampled_from(["learned", "identity", "given"]),
    decoder=st.sampled_from(["tied", "identity", "free"]),
    bias=st.booleans(),
    see_selected=st.booleans(),
    mask_prob=st.floats(0.05, 1),
    length=st.integers(1, 12),
    seed=st.integers(0, 10**6),
)
@settings(max_examples=150, deadline=None)
def test_word_counts_give_the_logits_of_positions(value, see_selected, mask_prob, length, seed, **switches):
    topics = TopicModel(3, 4, length=(1, length))
    ids = topics.num_words + 1
    if value == "given":
        value = np.random.default_rng(seed).normal(size=(ids, ids))
    model = TopicTransformer(
        topics.num_words, value=value, see_selected=see_selected, init_scale=1.0, seed=seed, **switches
    )
    masked = mask_documents(topics.sample(3, seed).words, Masking(mask_prob), topics.num_words, seed)
    batch = count_words(masked, topics.num_words, see_selected)
    by_position, by_count = model(masked), model.forward_counts(batch)[torch.as_tensor(batch.row)]
    assert by_position.shape == (masked.selected.sum(), ids)
    scale = max(1.0, by_position.abs().max().item() if by_position.numel() else 0)
    assert torch.allclose(by_position, by_count, atol=2e-5 * scale)
    rows = model.attention(masked).sum(2)
    visible = model.visible(masked).any(1)
    assert torch.allclose(rows, visible[:, None].float().expand_as(rows), atol=1e-5)  # 1, or 0 with all keys hidden


def test_the_layer_is_the_papers_formula():
    """Columns as positions, as in the paper, in float64, for one document."""
    model = TopicTransformer(8, dim=5, attention_dim=3, decoder="free", init_scale=0.7, seed=4)
    masked = mask_documents(np.array([[3, 1, 4, 1, 5, 8, 2, 6]]), Masking(0.5), 8, 1)
    W = {name: p.astype(float) for name, p in model.matrices().items()}
    Z = W["W_E"] @ np.eye(9)[masked.shown[0]].T
    scores = (W["W_K"] @ Z).T @ (W["W_Q"] @ Z) / math.sqrt(3)  # [key, query]
    A = np.exp(scores) / np.exp(scores).sum(0)
    logits = W["W_D"] @ W["W_V"] @ Z @ A + W["b"][:, None]
    assert np.allclose(model(masked).detach().numpy(), logits.T[masked.selected[0]], atol=1e-5)
    assert np.allclose(model.attention(masked)[0].detach().numpy(), A.T, atol=1e-6)  # rows = query
    pairs = masked.shown[0][:, None], masked.shown[0]
    assert np.allclose(model.scores().detach().numpy()[pairs], scores.T, atol=1e-5)


def test_a_query_with_all_keys_hidden_gets_the_bias_and_a_gradient_without_nan():
    model = TopicTransformer(5, see_selected=False, init_scale=1.0)
    with torch.no_grad():
        model.b.copy_(torch.arange(6.0))
    words = np.array([[1, 2, PAD], [3, 4, 5]])
    masked = MaskedDocuments(words, np.array([[0, 2, PAD], [3, 0, 5]]), np.array([[1, 1, 0], [0, 1, 0]], bool))
    assert (model.attention(masked)[0] == 0).all()
    for logits in (model(masked), model.forward_counts(count_words(masked, 5, False))):
        assert torch.equal(logits[0], model.b.detach())
        assert torch.equal(logits[1], model.b.detach())
        model.zero_grad()
        logits.square().sum().backward()
        assert all(p.grad.isfinite().all() for p in model.parameters())


def test_scores_far_apart_do_not_overflow():
    model = TopicTransformer(5, embedding="one-hot", decoder="identity", init_scale=100.0)
    batch = count_words(mask_documents(np.array([[1, 2], [3, 3]]), Masking(1.0), 5, 0), 5, True)
    assert model.forward_counts(batch).isfinite().all()


def test_frozen_matrices_are_what_they_should_be():
    value = np.random.default_rng(0).normal(size=(6, 6))
    model = TopicTransformer(5, embedding="one-hot", attention="uniform", value=value, decoder="identity", bias=False)
    assert model.matrices() == {}
    assert torch.equal(model.W_E, torch.eye(6))
    assert np.linalg.matrix_rank(model.W_V.numpy()) == 6
    assert np.allclose(model.W_V.numpy(), value)
    assert not model.scores().any()


def test_padding_beyond_a_document_does_not_matter():
    model = TopicTransformer(5, init_scale=1.0)
    short = MaskedDocuments(np.array([[1, 2]]), np.array([[0, 2]]), np.array([[True, False]]))
    long = MaskedDocuments(np.array([[1, 2, PAD]]), np.array([[0, 2, PAD]]), np.array([[True, False, False]]))
    assert torch.allclose(model(short), model(long), atol=1e-6)


@pytest.mark.parametrize("switches", [{"embedding": "one-hot"}, {"decoder": "identity"}])
def test_widths_that_do_not_fit_are_named(switches):
    with pytest.raises(ValueError, match=r"needs dim = num_words \+ 1 = 6, not 4"):
        TopicTransformer(5, dim=4, **switches)
