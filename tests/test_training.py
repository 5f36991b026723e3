import json
import math

import numpy as np
import pytest
import torch
from safetensors.numpy import save_file

from topiclens.documents import Masking, TauOfT, TopicModel, count_words, mask_documents
from topiclens.measures import between_words, block_means
from topiclens.model import TopicTransformer
from topiclens.theory import moments, squared_loss, value_optimum
from topiclens.training import History, TrainingDiverged, checkpoint_steps, loss_of, train

TOPICS = TopicModel(3, 4, mixture=TauOfT(2), length=30)


def quick(seed=0, model_seed=0, **settings):
    model = TopicTransformer(12, embedding="one-hot", decoder="identity", init_scale=0.1, seed=model_seed)
    settings = {"steps": 20, "batch_size": 8, "seed": seed, "progress": False} | settings
    return model, train(model, TOPICS, **settings)


def test_losses_are_torchs_own():
    rng = np.random.default_rng(0)
    logits = torch.as_tensor(rng.normal(size=(5, 7)), dtype=torch.float32)
    row, target = np.array([0, 0, 1, 3, 4, 4, 4, 2]), np.array([1, 2, 6, 0, 3, 3, 5, 4])
    each = logits[torch.as_tensor(row)]
    one_hot = torch.nn.functional.one_hot(torch.as_tensor(target), 7)
    expected = torch.nn.functional.cross_entropy(each, torch.as_tensor(target))
    assert loss_of(logits, row, target, "cross-entropy").item() == pytest.approx(expected.item())
    squared = ((each - one_hot) ** 2).sum(1).mean()
    assert loss_of(logits, row, target, "squared").item() == pytest.approx(squared.item())


@pytest.mark.parametrize("optimizer", ["sgd", "adam", "adamw"])
@pytest.mark.parametrize("loss", ["cross-entropy", "squared"])
def test_the_same_call_gives_the_same_bits(loss, optimizer):
    (_, first), (_, again), (_, other) = (
        quick(loss=loss, optimizer=optimizer, seed=seed, decay=True) for seed in (0, 0, 1)
    )
    assert (first.losses == again.losses).all()
    for name in first.matrices:
        assert (first.matrices[name] == again.matrices[name]).all()
    assert (first.losses != other.losses).any()


def test_training_finds_the_exact_value_matrix():
    """Real training: uniform attention, squared loss; the loss ends at the theory's and W_V near its optimum."""
    model = TopicTransformer(
        12, embedding="one-hot", attention="uniform", decoder="identity", bias=False, init_scale=0.01
    )
    history = train(model, TOPICS, steps=1500, loss="squared", lr=0.01, decay=True, batch_size=128, progress=False)
    optimum = value_optimum(TOPICS, Masking())
    second = moments(TOPICS, Masking())
    excess = squared_loss(history.final("W_V"), second, bias=False) - squared_loss(optimum, second, bias=False)
    start = squared_loss(history.matrices["W_V"][0], second, bias=False) - squared_loss(optimum, second, bias=False)
    assert 0 <= excess < 0.001 * start
    for learned, exact in zip(
        *(block_means(between_words(W), TOPICS.word_topics) for W in (history.final("W_V"), optimum)), strict=True
    ):
        assert learned == pytest.approx(exact, rel=0.02, abs=0.002)


def test_gradients_of_counts_equal_gradients_of_positions():
    masked = mask_documents(TOPICS.sample(5, 0).words, Masking(0.4), 12, 1)
    for loss in ("cross-entropy", "squared"):
        gradients = []
        for by_counts in (True, False):
            model = TopicTransformer(12, see_selected=False, init_scale=0.5)
            batch = count_words(masked, 12, False)
            if by_counts:
                value = loss_of(model.forward_counts(batch), batch.row, batch.target, loss)
            else:
                value = loss_of(model(masked), np.arange(len(batch.target)), batch.target, loss)
            value.backward()
            gradients.append([p.grad for p in model.parameters()])
        for one, other in zip(*gradients, strict=True):
            assert torch.allclose(one, other, atol=1e-6)


def test_weight_decay_has_a_gradient():
    """One SGD step with λ differs from one without by −lr·λ·W for matrices, and not at all for the bias."""
    lr, strength = 0.1, 0.5
    (model, without), (_, with_decay) = (
        quick(steps=1, optimizer="sgd", lr=lr, weight_decay=w, checkpoints=[0, 1]) for w in (0.0, strength)
    )
    for name in model.matrices():
        start = without.matrices[name][0]
        difference = with_decay.final(name) - without.final(name)
        expected = 0 if name == "b" else -lr * strength * start
        assert np.allclose(difference, expected, atol=1e-6), name


def test_decay_brings_the_learning_rate_to_zero():
    _, history = quick(steps=100, optimizer="sgd", lr=0.5, decay=True, checkpoints=[0, 1, 99, 100])
    first, last = (abs(np.diff(history.matrices["W_V"][[k, k + 1]], axis=0)).max() for k in (0, 2))
    assert last < first / 100


def test_a_diverging_run_says_at_which_step():
    with pytest.raises(TrainingDiverged, match=r"not finite at step \d+.*learning rate below 1e\+20") as error:
        quick(optimizer="sgd", lr=1e20, loss="squared")
    assert 0 < error.value.step < 20


def test_checkpoints_are_dense_early():
    steps = checkpoint_steps(3000, 24)
    assert steps[0] == 0
    assert steps[-1] == 3000
    assert len(steps) <= 24
    assert (np.diff(steps)[:4] == 1).all()
    assert (steps < 300).sum() > len(steps) / 2


def test_history_records_what_was_asked():
    model, history = quick(checkpoints=[0, 7, 20])
    assert history.steps.tolist() == [0, 7, 20]
    assert set(history.matrices) == {"W_K", "W_Q", "W_V", "b"}
    assert (history.final("W_V") == model.matrices()["W_V"]).all()
    norms = history.norms()["W_V"]
    assert norms == pytest.approx([np.linalg.norm(m) for m in history.matrices["W_V"]])
    assert history.settings["lr"] == 0.003


def test_a_saved_history_comes_back(tmp_path):
    _, history = quick()
    path = tmp_path / "run.safetensors"
    history.save(path)
    back = History.load(path)
    assert (back.losses == history.losses).all()
    assert (back.steps == history.steps).all()
    assert back.settings == json.loads(json.dumps(history.settings))
    for name, stack in history.matrices.items():
        assert (back.matrices[name] == stack).all()
    assert [p.name for p in tmp_path.iterdir()] == ["run.safetensors"]


def test_a_damaged_or_missing_history_is_named(tmp_path):
    _, history = quick()
    path = tmp_path / "run.safetensors"
    history.save(path)
    whole = path.read_bytes()
    for damaged in (whole[: len(whole) // 2], b"", b"\xff" * 100, whole[8:]):
        path.write_bytes(damaged)
        with pytest.raises(ValueError, match="damaged or is no saved history") as error:
            History.load(path)
        assert str(path) in str(error.value)
    save_file({"x": np.zeros(2)}, path)
    with pytest.raises(ValueError, match="damaged or is no saved history"):
        History.load(path)
    with pytest.raises(FileNotFoundError, match="there is no such file"):
        History.load(tmp_path / "none.safetensors")


def test_a_failed_save_leaves_the_old_file(tmp_path):
    _, history = quick()
    path = tmp_path / "run.safetensors"
    path.write_text("old")
    broken = History(history.losses, history.steps, history.matrices, {"not json": object()})
    with pytest.raises(TypeError):
        broken.save(path)
    assert path.read_text() == "old"
    assert len(list(tmp_path.iterdir())) == 1


def test_a_batch_without_selected_positions_is_drawn_again():
    model = TopicTransformer(12, embedding="one-hot", decoder="identity")
    tiny = TopicModel(3, 4, mixture=TauOfT(2), length=1)
    history = train(model, tiny, Masking(0.05), steps=30, batch_size=1, progress=False)
    assert all(map(math.isfinite, history.losses))
