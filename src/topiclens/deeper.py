"""A transformer with the parts that the paper's layer leaves out, each a switch; all off, it is `TopicTransformer`.

    stream = W_E X (+ W_P)
    in each layer:  stream ← (stream +) Σ over heads  W_V n(stream) A
                    stream ← (stream +) W_2 relu(W_1 n(stream))
    logits = W_Eᵀ n(stream) + b

n(·) is layer normalisation or nothing. Works position by position: with positions or a second layer, word counts no
longer say all. Knows what `model` knows, and nothing of topics, losses or training.
Letters in shapes: D documents, N positions, V words, Q selected positions, L layers, H heads, d and d_a the widths.
Attention is written rows = query, columns = key.
"""

import math

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from .checks import check_int, check_not_negative
from .documents import FIRST_WORD, MASK, MaskedDocuments, check_words
from .model import embed, masked_softmax


class DeeperTransformer(nn.Module):
    """Layers of attention with tied embeddings; all matrices are learned.

    Parameters: W_E (d, V+1), W_K and W_Q (L, H, d_a, d), W_V (L, H, d, d), b (V+1,); with `mlp` W_1 (L, 4d, d) and
    W_2 (L, d, 4d), with `positions` W_P (d, positions). A head's W_V is its value and its output matrix in one.

    Args:
        num_words: V.
        dim: d; V+1 if not given.
        attention_dim: d_a, of each head; d if not given.
        layers, heads: L and H.
        residual: whether each part adds to the stream or replaces it.
        layer_norm: whether each part, and the decoder, reads the stream normalised (mean 0, variance 1, no gain).
        mlp: whether attention is followed by two matrices with a relu between them.
        positions: the longest document if its positions are to be told apart, or 0.
        causal: whether a position attends only to itself and those before it.
        see_selected: whether selected positions may be attended to.
        init_scale: standard deviation of the entries of all matrices at the start.
        seed: of the start.

    Raises:
        ValueError: a size below its bound.
    """

    def __init__(
        self,
        num_words: int,
        *,
        dim: int | None = None,
        attention_dim: int | None = None,
        layers: int = 1,
        heads: int = 1,
        residual: bool = False,
        layer_norm: bool = False,
        mlp: bool = False,
        positions: int = 0,
        causal: bool = False,
        see_selected: bool = True,
        init_scale: float = 0.02,
        seed: int = 0,
    ):
        super().__init__()
        ids = check_int("num_words", num_words, 1) + FIRST_WORD
        d = ids if dim is None else check_int("dim", dim, 1)
        d_a = d if attention_dim is None else check_int("attention_dim", attention_dim, 1)
        L, H = check_int("layers", layers, 1), check_int("heads", heads, 1)
        check_int("positions", positions, 0)
        check_not_negative("init_scale", init_scale)
        self.num_words, self.causal, self.see_selected = num_words, causal, see_selected
        self.residual, self.layer_norm, self.mlp, self.positions = residual, layer_norm, mlp, positions
        generator = torch.Generator().manual_seed(seed)

        def learned(*shape: int) -> nn.Parameter:
            return nn.Parameter(init_scale * torch.randn(shape, generator=generator))

        self.W_E = learned(d, ids)
        self.W_K, self.W_Q, self.W_V = learned(L, H, d_a, d), learned(L, H, d_a, d), learned(L, H, d, d)
        if mlp:
            self.W_1, self.W_2 = learned(L, 4 * d, d), learned(L, d, 4 * d)
        if positions:
            self.W_P = learned(d, positions)
        self.b = nn.Parameter(torch.zeros(ids))

    def matrices(self) -> dict[str, np.ndarray]:
        """Copies of all learned parameters by name, as numpy arrays."""
        return {name: p.detach().cpu().numpy().copy() for name, p in self.named_parameters()}

    def run(self, masked: MaskedDocuments) -> tuple[Tensor, Tensor]:
        """(D, N, d) the stream that the decoder reads, and (L, D, H, N, N) attention.

        Raises:
            ValueError: documents longer than the model has positions.
        """
        stream, attention = self._run(masked)
        return stream, torch.stack(attention)

    def forward(self, masked: MaskedDocuments) -> Tensor:
        """(Q, V+1) logits at the selected positions, in row-major order."""
        selected, asked = masked.selected, None
        if not selected.all():
            # The last layer is read there only: P positions of each document are enough, its selected ones first.
            asked = np.argsort(~selected, axis=1, kind="stable")[:, : selected.sum(1).max()]  # (D, P)
            selected = np.take_along_axis(selected, asked, axis=1)
        stream, _ = self._run(masked, asked)
        return stream[torch.as_tensor(selected, device=stream.device)] @ self.W_E + self.b

    def _run(self, masked, asked=None):
        """What `run` does, as a list of attentions; in the last layer at the positions `asked` (D, P), if given."""
        stream = embed(self.W_E, masked)
        D, N, _ = stream.shape
        if self.positions:
            if self.positions < N:
                raise ValueError(f"documents of {N} words are too long for a model with {self.positions} positions")
            stream = stream + self.W_P[:, :N].T
        visible = torch.as_tensor(masked.visible(self.see_selected), device=stream.device)
        visible = visible[:, None].expand(D, N, N)  # rows = query
        if self.causal:
            visible = visible & torch.ones(N, N, dtype=torch.bool, device=stream.device).tril()
        attention = []
        for layer, (W_K, W_Q, W_V) in enumerate(zip(self.W_K, self.W_Q, self.W_V, strict=True)):
            read = asking = self._normalised(stream)
            if asked is not None and layer == len(self.W_V) - 1:
                at = torch.as_tensor(asked + N * np.arange(D)[:, None], device=stream.device)
                stream, asking, visible = (x.flatten(0, 1)[at] for x in (stream, read, visible))
            keys, queries = split_heads(read, W_K), split_heads(asking, W_Q)
            scores = queries @ keys.transpose(2, 3) / math.sqrt(keys.shape[3])
            attention.append(masked_softmax(scores, visible[:, None]))
            heads = attention[-1].flatten(1, 2) @ read  # (D, H·N, d)
            heads = heads.unflatten(1, scores.shape[1:3]).transpose(1, 2).flatten(2)  # (D, N, H·d)
            stream = self._added(stream, heads @ W_V.transpose(1, 2).flatten(0, 1))
            if self.mlp:
                hidden = F.relu(self._normalised(stream) @ self.W_1[layer].T)
                stream = self._added(stream, hidden @ self.W_2[layer].T)
        return self._normalised(stream), attention

    def predictions(self, masked: MaskedDocuments) -> tuple[Tensor, np.ndarray, np.ndarray]:
        """What `training.loss_of` wants: (Q, V+1) logits, (Q,) their rows, (Q,) the true ids."""
        target = masked.words[masked.selected]
        return self(masked), np.arange(len(target)), target

    def _normalised(self, stream):
        return F.layer_norm(stream, stream.shape[-1:]) if self.layer_norm else stream

    def _added(self, stream, part):
        return stream + part if self.residual else part


def split_heads(read: Tensor, W: Tensor) -> Tensor:
    """(D, H, N, d_a) keys or queries from (D, N, d) and (H, d_a, d)."""
    return (read @ W.flatten(0, 1).T).unflatten(2, W.shape[:2]).transpose(1, 2)


def word_effects(model: DeeperTransformer, words: np.ndarray) -> np.ndarray:
    """(V, V): row i is what word i at one place of a document does to the logits at its last position.

    In each document one place, in turn another one, is set to every word; the last position shows [MASK], or in a
    causal model its own word. Mean over documents, relative to the mean over words (columns sum to 0). For one layer
    with uniform attention this is W_Eᵀ W_V W_E over N, centred; for any other model, it is what has become of it.

    Args:
        words: (D, N) documents of one length N ≥ 2.

    Raises:
        ValueError: ids outside 1 … V, or documents without two words.
    """
    words = check_words(words, model.num_words)
    D, N = words.shape
    if N < 2 or (words < FIRST_WORD).any():
        raise ValueError(f"documents of shape {words.shape} must all have the same number of words, at least 2")
    V = model.num_words
    words = np.tile(words, (V, 1, 1))  # (V, D, N)
    words[:, np.arange(D), np.arange(D) % (N - 1)] = np.arange(FIRST_WORD, FIRST_WORD + V)[:, None]
    words = words.reshape(V * D, N)
    shown = words.copy()
    if not model.causal:
        shown[:, -1] = MASK
    last = np.zeros(words.shape, bool)
    last[:, -1] = True
    with torch.no_grad():
        logits = model(MaskedDocuments(words, shown, last)).cpu().numpy().astype(float)
    effects = logits.reshape(V, D, -1).mean(1)[:, FIRST_WORD:]
    return effects - effects.mean(0)
