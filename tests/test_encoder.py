import numpy as np
import pytest
import torch
from tokenizers import Tokenizer, models, pre_tokenizers, processors, trainers
from tokenizers.normalizers import BertNormalizer
from transformers import BertConfig, BertModel, FNetConfig, FNetModel, PreTrainedTokenizerFast

from topiclens import encoder as enc
from topiclens.encoder import AttentionSums, Encoder, WordAttention, find_words, read_attention, sum_by_relation

TEXTS = ["The cat saw a Cat, and cats saw the café.", "A dog-like cat saw dogs!", "cat"]
WORDS = ("cat", "dog", "saw", "cafe", "like")


def tiny_tokenizer(kind):
    """A tokenizer of BERT's, RoBERTa's or ALBERT's kind, trained on the texts."""
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]
    if kind == "wordpiece":
        made = Tokenizer(models.WordPiece({}, unk_token="[UNK]"))
        made.normalizer = BertNormalizer(lowercase=True)
        made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
        trainer = trainers.WordPieceTrainer(vocab_size=60, special_tokens=special)
    elif kind == "byte-level":
        made = Tokenizer(models.BPE())
        made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
        trainer = trainers.BpeTrainer(
            vocab_size=330, special_tokens=special, initial_alphabet=pre_tokenizers.ByteLevel.alphabet()
        )
    else:
        pieces = [*special, "▁", *(f"▁{word}" for word in WORDS), *"acdefghikostw!,.-é"]
        made = Tokenizer(models.Unigram([(piece, -float(len(piece) < 3)) for piece in pieces], unk_id=1))
        made.pre_tokenizer = pre_tokenizers.Metaspace()
    if kind != "sentence-piece":
        made.train_from_iterator([*TEXTS, *[" ".join(WORDS)] * 50], trainer)
    made.post_processor = processors.TemplateProcessing("[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)])
    names = dict(zip(("pad_token", "unk_token", "cls_token", "sep_token"), special, strict=True))
    return PreTrainedTokenizerFast(tokenizer_object=made, **names)


def tiny_encoder(kind="wordpiece"):
    tokenizer = tiny_tokenizer(kind)
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=len(tokenizer), hidden_size=16, num_hidden_layers=2, num_attention_heads=4, intermediate_size=16,
        max_position_embeddings=64, initializer_range=0.5,
    )  # fmt: skip
    return Encoder("tiny", tokenizer, BertModel._from_config(config, attn_implementation="eager"))


TINY = tiny_encoder()


@pytest.mark.parametrize("kind", ["wordpiece", "byte-level", "sentence-piece"])
def test_whole_words_have_a_token_in_each_kind_of_tokenizer(kind):
    encoder = tiny_encoder(kind)
    ids = encoder.piece_ids([*WORDS, "catdog", "xylophone"])
    assert (ids[:5] >= 0).all()
    assert len(set(ids[:5])) == 5
    assert (ids[5:] == -1).all()
    assert "cat" in encoder.tokenizer.convert_ids_to_tokens(int(ids[0]))
    rows = encoder.model.get_input_embeddings().weight.detach().numpy()
    assert np.array_equal(encoder.embeddings(WORDS), rows[ids[:5]])


@pytest.mark.parametrize("kind", ["wordpiece", "byte-level", "sentence-piece"])
def test_words_are_found_where_they_stand_whole(kind):
    encoder = tiny_encoder(kind)
    tokens = encoder.tokenizer(TEXTS[1], return_offsets_mapping=True)
    positions, words = find_words(TEXTS[1], np.array(tokens["offset_mapping"]), {w: i for i, w in enumerate(WORDS)})
    pieces = encoder.tokenizer.convert_ids_to_tokens([tokens["input_ids"][p] for p in positions])
    shown = [WORDS[w] for w in words]
    assert all(word in piece for word, piece in zip(shown, pieces, strict=True))
    assert "saw" in shown
    assert "cat" in shown
    assert shown.count("dog") <= 1  # the one before the hyphen; not the beginning of "dogs"


def test_case_accents_and_pieces():
    text = "Café cats cat"
    offsets = [(0, 0), (0, 4), (5, 8), (8, 9), (9, 13), (0, 0)]  # the last token takes its space along
    positions, words = find_words(text, np.array(offsets), {"cafe": 0, "cat": 1, "s": 2})
    assert positions.tolist() == [1, 4]
    assert words.tolist() == [0, 1]


def test_attention_is_the_models_own_between_whole_words():
    one, two, three = read_attention(TINY, TEXTS, WORDS, batch_size=2, cache=False, progress=False)
    tokens = TINY.tokenizer(TEXTS[1], return_tensors="pt")
    with torch.no_grad():
        whole = torch.stack(TINY.model(**tokens, output_attentions=True).attentions)[:, 0].numpy()
    N = whole.shape[-1]
    assert [WORDS[w] for w in two.words] == ["dog", "like", "cat", "saw"]
    assert [TEXTS[1][start:end] for start, end in two.spans] == ["dog", "like", "cat", "saw"]
    assert two.attention.shape == (2, 4, 4, 4)
    assert two.attention.dtype == np.float16
    expected = N * whole[:, :, two.positions][:, :, :, two.positions]
    assert np.allclose(two.attention, expected, rtol=2e-3, atol=1e-3)
    assert [WORDS[w] for w in one.words] == ["cat", "saw", "cat", "saw", "cafe"]  # not "cats"
    assert [WORDS[w] for w in three.words] == ["cat"]
    averaged = two.averaged().attention
    assert averaged.shape == (1, 1, 4, 4)
    assert np.allclose(averaged[0, 0], expected.mean((0, 1)), rtol=2e-3)


def test_attention_is_read_back(tmp_path, monkeypatch):
    monkeypatch.setenv("TOPICLENS_CACHE", str(tmp_path))
    first = read_attention(TINY, TEXTS, WORDS, progress=False)
    monkeypatch.setattr(enc, "_attend", None)
    for a, b in zip(first, read_attention(TINY, TEXTS, WORDS, progress=False), strict=True):
        assert np.array_equal(a.attention, b.attention)
        assert np.array_equal(a.words, b.words)
        assert np.array_equal(a.positions, b.positions)
    with pytest.raises(TypeError):  # other weights are another result
        read_attention(TINY.random_twin(1), TEXTS, WORDS, progress=False)


def test_a_twin_is_random_and_seeded():
    state = torch.random.get_rng_state()
    one, again, other = TINY.random_twin(1), TINY.random_twin(1), TINY.random_twin(2)
    assert torch.equal(state, torch.random.get_rng_state())
    assert np.array_equal(one.embeddings(WORDS), again.embeddings(WORDS))
    assert not np.allclose(one.embeddings(WORDS), other.embeddings(WORDS))
    assert not np.allclose(one.embeddings(WORDS), TINY.embeddings(WORDS))
    assert one.digest() == again.digest() != other.digest()
    assert "random" in one.name


def some_attentions():
    rng = np.random.default_rng(0)
    documents = []
    for n in (6, 9):
        positions = np.sort(rng.permutation(30)[:n])
        documents.append(
            WordAttention(rng.integers(0, 6, n), positions, None, rng.random((2, 3, n, n)).astype(np.float16))
        )
    return documents


LABELS = np.array([0, 0, 1, 1, 2, -1])


def test_sums_by_hand():
    documents = some_attentions()
    result = sum_by_relation(documents, LABELS)
    groups = {number: [] for number in range(4)}
    for document in documents:
        for q, (i, p) in enumerate(zip(document.words, document.positions, strict=True)):
            for k, (j, at) in enumerate(zip(document.words, document.positions, strict=True)):
                if min(LABELS[i], LABELS[j]) < 0:
                    continue
                number = 0 if q == k else 1 if i == j else 2 if LABELS[i] == LABELS[j] else 3
                groups[number].append((abs(p - at), document.attention[:, :, q, k].astype(float)))
    means = np.stack([np.mean([a for _, a in groups[n]], 0) for n in range(4)])
    assert np.allclose(result.means(), means, rtol=1e-5)
    assert result.pairs.sum((0, 1)).tolist() == [len(groups[n]) for n in range(4)]
    assert np.allclose(result.ratios(), means[2] / means[3], rtol=1e-5)
    assert np.allclose(result.layer_ratios(), means[2].mean(1) / means[3].mean(1), rtol=1e-5)
    assert result.ratio() == pytest.approx(means[2].mean() / means[3].mean(), rel=1e-5)

    def at_distance(number, distance):
        return [a.mean() for far, a in groups[number] if far == distance]

    both = [d for d, _ in groups[2] if at_distance(3, d)]  # each distance as often as same-topic pairs have it
    matched = sum(np.mean(at_distance(2, d)) for d in both) / sum(np.mean(at_distance(3, d)) for d in both)
    assert result.matched_ratio() == pytest.approx(matched, rel=1e-5)
    averaged = sum_by_relation([document.averaged() for document in documents], LABELS)
    assert averaged.ratio() == pytest.approx(result.ratio(), rel=1e-3)


def test_attention_that_only_knows_distance_has_a_matched_ratio_of_one():
    rng = np.random.default_rng(1)
    documents = []
    for _ in range(60):
        words = np.repeat(rng.permutation(6)[:3], 2) * 2 + np.tile([0, 1], 3)  # the two words of a topic side by side
        near = np.exp(-abs(np.subtract.outer(np.arange(6), np.arange(6))) / 2)
        near = near[None, None] * rng.uniform(0.9, 1.1, (1, 1, 6, 6))
        documents.append(WordAttention(words, np.arange(6), None, near.astype(np.float16)))
    result = sum_by_relation(documents, np.repeat(np.arange(6), 2))
    assert result.ratio() > 1.5
    assert result.matched_ratio() == pytest.approx(1, abs=0.02)
    low, high = result.intervals(matched=True)
    assert low < 1 < high


def test_attention_that_only_knows_the_document_has_a_ratio_of_one_within_documents():
    """Half of the documents are about one topic, and there every pair gets twice the attention."""
    rng = np.random.default_rng(2)
    documents = []
    for about in [True, False] * 40:
        words = rng.integers(0, 2 if about else 6, 8) if rng.random() < 0.8 else rng.integers(0, 6, 8)
        documents.append(WordAttention(words, np.arange(8), None, np.full((1, 1, 8, 8), 1.0 + about, np.float16)))
    result = sum_by_relation(documents, np.array([0, 0, 1, 1, 2, 2]))
    assert result.ratio() > 1.1
    assert result.matched_ratio() > 1.1
    assert result.ratio_within_documents() == pytest.approx(1, abs=1e-6)


def test_the_bootstrap_covers_the_truth_about_as_often_as_it_says():
    rng = np.random.default_rng(2)
    hits = 0
    for trial in range(100):
        pairs = np.ones((40, 1, 4))
        sums = rng.exponential(size=(40, 1, 4, 1, 1)) * np.array([1, 1, 2, 1])[:, None, None]
        low, high = AttentionSums(sums, pairs).intervals(samples=300, seed=trial)
        hits += low < 2 < high
    assert 86 <= hits <= 99


def test_the_packaged_encoder_loads_without_a_network(monkeypatch):
    import socket

    def no_network(*_):
        raise OSError("the network was asked")

    monkeypatch.setattr(socket.socket, "connect", no_network)
    encoder = enc.load_encoder()
    assert encoder.embeddings(["music", "physics"]).shape == (2, 384)
    assert encoder.model.config.num_attention_heads == 12


def test_a_saved_encoder_loads_by_its_folder(tmp_path):
    TINY.tokenizer.save_pretrained(tmp_path)
    TINY.model.save_pretrained(tmp_path)
    loaded = enc.load_encoder(tmp_path)
    assert np.array_equal(loaded.embeddings(WORDS), TINY.embeddings(WORDS))
    assert loaded.digest() == enc.load_encoder(tmp_path).digest()


def test_another_vocabulary_is_refused():
    other = tiny_tokenizer("byte-level")
    with pytest.raises(ValueError, match=r"tokenizer has .* tokens and the model embeds .*from the same place"):
        Encoder("mixed", other, TINY.model)
    with pytest.raises(ValueError, match=r"1 of 3 words, 'jazz' the first, .* count the words with this encoder"):
        TINY.embeddings(["cat", "jazz", "dog"])


def test_models_without_attention_are_refused():
    config = FNetConfig(
        vocab_size=len(TINY.tokenizer), hidden_size=8, num_hidden_layers=1, intermediate_size=8, pad_token_id=0
    )
    silent = Encoder("FNet", TINY.tokenizer, FNetModel(config))
    with pytest.raises(ValueError, match="FNet returns no attention: take a model of the BERT kind"):
        read_attention(silent, TEXTS, WORDS, cache=False, progress=False)


def test_nothing_to_attend_to_is_said():
    with pytest.raises(ValueError, match="no texts"):
        read_attention(TINY, [], WORDS)
    with pytest.raises(ValueError, match=r"max_length = 2 .* at least 3"):
        read_attention(TINY, TEXTS, WORDS, max_length=2)
    with pytest.raises(ValueError, match="no two words of these documents are same topic: give more documents"):
        sum_by_relation(some_attentions(), np.array([0, 1, 2, 3, 4, 5]))


def test_an_encoder_that_is_nowhere_is_named(monkeypatch, tmp_path):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(ValueError, match=f"no encoder '{tmp_path}': neither a folder with a model"):
        enc.load_encoder(tmp_path)
