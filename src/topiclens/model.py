"""A one-layer, one-head transformer without positions, residual or normalisation (paper, section on the model).

    Z = W_E X        A = softmax over keys of (W_Q Z)ᵀ (W_K Z) / √d_a        logits = W_D W_V Z A + b

Knows torch and how a batch of documents looks; knows nothing of topics, losses or training.
Letters in shapes: D documents, N positions, V words, Q selected positions, R rows of
`WordCounts`, d and d_a the two widths.
Attention is always written rows = query ("from"), columns = key ("to"), each row summing to 1.
"""

import math

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from .checks import check_choice, check_int, check_not_negative
from .documents import FIRST_WORD, PAD, MaskedDocuments, WordCounts, count_words


class TopicTransformer(nn.Module):
    """The paper's transformer and its simplifications, each a switch.

    Learned matrices are parameters named as in the paper, frozen ones are buffers:
    W_E (d, V+1), W_K and W_Q (d_a, d), W_V (d, d), W_D (V+1, d), b (V+1,).

    Args:
        num_words: V.
        dim: d; V+1 if not given.
        attention_dim: d_a; d if not given.
        embedding: "learned", or "one-hot" (W_E = I, frozen).
        attention: "learned", or "uniform" (W_K = W_Q = 0, frozen: every visible position counts the same).
        value: "learned", "identity" (W_V = I), or a (d, d) matrix to freeze W_V at.
        decoder: "tied" (W_D = W_Eᵀ), "identity" (W_D = I), or "free".
        bias: whether b is learned; without, it is 0.
        see_selected: whether selected positions may be attended to. The paper's formulas let them; its
            released code hides them.
        init_scale: standard deviation of the entries of learned matrices at the start.
        seed: of the start.

    Raises:
        ValueError: an unknown switch, or widths that do not fit (one-hot embeddings and the identity decoder
            need d = V+1).
    """

    causal = False  # every position may attend to later ones

    def __init__(
        self,
        num_words: int,
        *,
        dim: int | None = None,
        attention_dim: int | None = None,
        embedding: str = "learned",
        attention: str = "learned",
        value: str | np.ndarray = "learned",
        decoder: str = "tied",
        bias: bool = True,
        see_selected: bool = True,
        init_scale: float = 0.02,
        seed: int = 0,
    ):
        super().__init__()
        ids = check_int("num_words", num_words, 1) + FIRST_WORD
        d = ids if dim is None else check_int("dim", dim, 1)
        d_a = d if attention_dim is None else check_int("attention_dim", attention_dim, 1)
        check_choice("embedding", embedding, ("learned", "one-hot"))
        check_choice("attention", attention, ("learned", "uniform"))
        check_choice("decoder", decoder, ("tied", "identity", "free"))
        check_not_negative("init_scale", init_scale)
        for switch in [f"embedding = {embedding!r}"] * (embedding == "one-hot") + [f"decoder = {decoder!r}"] * (
            decoder == "identity"
        ):
            if d != ids:
                raise ValueError(f"{switch} needs dim = num_words + 1 = {ids}, not {d}")

        self.num_words = num_words
        self.see_selected = see_selected
        self.uniform_attention = attention == "uniform"
        generator = torch.Generator().manual_seed(seed)

        def learned(*shape: int) -> nn.Parameter:
            return nn.Parameter(init_scale * torch.randn(shape, generator=generator))

        def frozen(name: str, matrix: Tensor) -> None:
            self.register_buffer(name, matrix)

        if embedding == "learned":
            self.W_E = learned(d, ids)
        else:
            frozen("W_E", torch.eye(ids))
        if self.uniform_attention:
            frozen("W_K", torch.zeros(d_a, d))
            frozen("W_Q", torch.zeros(d_a, d))
        else:
            self.W_K, self.W_Q = learned(d_a, d), learned(d_a, d)
        if isinstance(value, str):
            if check_choice("value", value, ("learned", "identity")) == "learned":
                self.W_V = learned(d, d)
            else:
                frozen("W_V", torch.eye(d))
        else:
            if np.shape(value) != (d, d):
                raise ValueError(f"value has shape {np.shape(value)}; a frozen W_V must be {(d, d)}")
            frozen("W_V", torch.as_tensor(np.array(value), dtype=torch.float32))
        if decoder == "free":
            self.W_D = learned(ids, d)
        elif decoder == "identity":
            frozen("W_D", torch.eye(ids))
        self.one_hot, self.identity_value = embedding == "one-hot", isinstance(value, str) and value == "identity"
        self.tied, self.identity_decoder = decoder == "tied", decoder == "identity"
        if bias:
            self.b = nn.Parameter(torch.zeros(ids))
        else:
            frozen("b", torch.zeros(ids))

    def matrices(self) -> dict[str, np.ndarray]:
        """Copies of all learned parameters by name, as numpy arrays."""
        return {name: p.detach().cpu().numpy().copy() for name, p in self.named_parameters()}

    def scores(self) -> Tensor:
        """(V+1, V+1) attention scores between ids before the softmax, rows = query, columns = key."""
        # Products with an identity matrix are left out, here and below: at this size they are most of the arithmetic.
        queries, keys = (W if self.one_hot else W @ self.W_E for W in (self.W_Q, self.W_K))
        return queries.T @ keys / math.sqrt(len(self.W_Q))

    def outputs_per_id(self) -> Tensor:
        """(V+1, V+1): row i is W_D W_V W_E[:, i], what attending to id i alone adds to the logits."""
        outputs = self.W_E if self.identity_value else self.W_V if self.one_hot else self.W_V @ self.W_E
        if self.identity_decoder or (self.tied and self.one_hot):
            return outputs.T
        return ((self.W_E.T if self.tied else self.W_D) @ outputs).T

    def visible(self, masked: MaskedDocuments) -> Tensor:
        """(D, N), True where a position may be attended to."""
        return torch.as_tensor(masked.visible(self.see_selected), device=self.W_E.device)

    def attention(self, masked: MaskedDocuments) -> Tensor:
        """(D, N, N) attention, rows = query, columns = key; the definition, position by position.

        A query whose keys are all hidden attends to nothing: its row is 0.
        """
        embeddings = embed(self.W_E, masked)
        queries, keys = embeddings @ self.W_Q.T, embeddings @ self.W_K.T
        scores = queries @ keys.transpose(1, 2) / math.sqrt(len(self.W_Q))
        return masked_softmax(scores, self.visible(masked)[:, None, :])

    def forward(self, masked: MaskedDocuments) -> Tensor:
        """(Q, V+1) logits at the selected positions, in row-major order; the definition, position by position."""
        context = self.attention(masked) @ embed(self.W_E, masked)
        context = context[torch.as_tensor(masked.selected, device=context.device)]
        return context @ self.W_V.T @ (self.W_E if self.tied else self.W_D.T) + self.b

    def forward_counts(self, batch: WordCounts) -> Tensor:
        """(R, V+1) logits of the batch's rows, from word counts: softmax over ids of score + log(count).

        Positions that show the same id get the same attention, so N positions are as good as V+1 counts;
        one table of scores and one of outputs serve the whole batch. `forward` equals this at `batch.row`.
        """
        device = self.W_E.device
        if self.uniform_attention:  # all queries of a document see the same average
            counts = torch.as_tensor(batch.counts, device=device)
            average = counts / counts.sum(1, keepdim=True).clamp(min=1)
            outputs = average @ self.outputs_per_id() + self.b
            return outputs.index_select(0, torch.as_tensor(batch.document, device=device))
        counts, document = (torch.as_tensor(a, device=device) for a in (batch.counts, batch.document))
        absent, empty = counts == 0, ~counts.any(1, keepdim=True)
        # The logarithm of 0 is slow to compute.
        log_counts = counts.clamp(min=1).log().masked_fill(absent & ~empty, -math.inf)
        scores = F.embedding(torch.as_tensor(batch.query, device=device), self.scores())
        weights = (scores + log_counts.index_select(0, document)).softmax(1)
        if empty.any():
            weights = weights.masked_fill(empty[document], 0.0)
        return weights @ self.outputs_per_id() + self.b

    def predictions(self, masked: MaskedDocuments) -> tuple[Tensor, np.ndarray, np.ndarray]:
        """What `training.loss_of` wants: (R, V+1) logits, (Q,) the row of each selected position, (Q,) its true id."""
        batch = count_words(masked, self.num_words, self.see_selected)
        return self.forward_counts(batch), batch.row, batch.target


def embed(W_E: Tensor, masked: MaskedDocuments) -> Tensor:
    """(D, N, d) columns of W_E; a padded position borrows an id, as it is never visible and never selected."""
    shown = np.where(masked.shown == PAD, FIRST_WORD, masked.shown)
    return F.embedding(torch.as_tensor(shown, device=W_E.device), W_E.T)


def masked_softmax(scores: Tensor, visible: Tensor) -> Tensor:
    """Softmax over the last axis among the visible entries; all zeros where none is visible."""
    empty = ~visible.any(-1, keepdim=True)
    hidden = torch.zeros(visible.shape, device=scores.device).masked_fill(~(visible | empty), -math.inf)
    weights = (scores + hidden).softmax(-1)
    return weights.masked_fill(empty, 0.0) if empty.any() else weights
