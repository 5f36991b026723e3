"""Training by masked language modelling (or next-word prediction) on documents that are drawn afresh for each step.

Knows how to turn a model, a topic model and a masking into a `History`; knows nothing of topics' structure.
Letters in shapes: S steps, K checkpoints.
"""

import json
import math
import os
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import torch
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file
from torch import Tensor
from tqdm import tqdm

from .checks import check_choice, check_int, check_not_negative, check_positive
from .deeper import DeeperTransformer
from .documents import Masking, NextWord, TopicModel, mask_documents
from .files import whole_file
from .model import TopicTransformer

LOSSES = ("cross-entropy", "squared")
OPTIMIZERS = ("sgd", "adam", "adamw")


class TrainingDiverged(FloatingPointError):
    """The loss is no longer a finite number; `step` says since when."""

    def __init__(self, step: int, lr: float):
        super().__init__(f"the loss is not finite at step {step}: training diverged; try a learning rate below {lr:g}")
        self.step = step


@dataclass(frozen=True)
class History:
    """What a training run leaves behind.

    Attributes:
        losses: (S,) loss of each step's batch before the step.
        steps: (K,) the checkpoints: how many steps were done.
        matrices: name → (K, ...) float32, the learned parameters at the checkpoints.
        settings: the arguments of the run, in words and numbers.
    """

    losses: np.ndarray
    steps: np.ndarray
    matrices: dict[str, np.ndarray]
    settings: dict = field(default_factory=dict)

    def final(self, name: str) -> np.ndarray:
        """The matrix `name` after the last step."""
        return self.matrices[name][-1]

    def norms(self) -> dict[str, np.ndarray]:
        """name → (K,) Frobenius norms at the checkpoints."""
        return {name: np.sqrt((m.astype(float) ** 2).reshape(len(m), -1).sum(1)) for name, m in self.matrices.items()}

    def save(self, path: str | os.PathLike) -> None:
        """Write a safetensors file, whole or not at all."""
        arrays = {f"matrix.{name}": np.ascontiguousarray(m) for name, m in self.matrices.items()}
        arrays |= {"losses": self.losses, "steps": self.steps}
        with whole_file(path) as temporary:
            save_file(arrays, temporary, metadata={"settings": json.dumps(self.settings)})

    @classmethod
    def load(cls, path: str | os.PathLike) -> "History":
        """Read what `save` wrote.

        Raises:
            FileNotFoundError: there is no such file.
            ValueError: the file is damaged or holds something else.
        """
        if not Path(path).is_file():
            raise FileNotFoundError(f"no history at {path}: there is no such file")
        try:
            with safe_open(path, framework="numpy") as file:
                arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (not a dict)
                settings = json.loads((file.metadata() or {})["settings"])
            losses, steps = arrays.pop("losses"), arrays.pop("steps")
        except (SafetensorError, KeyError, ValueError) as error:
            raise ValueError(f"{path} is damaged or is no saved history: {error}") from error
        return cls(losses, steps, {name.removeprefix("matrix."): m for name, m in arrays.items()}, settings)


def checkpoint_steps(steps: int, count: int = 24) -> np.ndarray:
    """At most `count` steps from 0 to `steps`, dense early, where most of the change is."""
    check_int("steps", steps, 1)
    check_int("count", count, 2)
    return np.unique(np.concatenate([[0], np.round(np.geomspace(1, steps, count - 1)).astype(int)]))


def loss_of(logits: Tensor, row: np.ndarray, target: np.ndarray, loss: str) -> Tensor:
    """Mean loss over selected positions.

    Args:
        logits: (R, V+1).
        row: (Q,) which row of logits predicts each selected position.
        target: (Q,) its true id.
        loss: "cross-entropy" in nats, or "squared": |logits − one-hot of the true id|², summed over the V+1 outputs.
    """
    row, target = (torch.as_tensor(a, device=logits.device) for a in (row, target))
    share = torch.bincount(row, minlength=len(logits)) / len(row)
    at_target = logits[row, target].mean()
    if loss == "cross-entropy":
        return share @ logits.logsumexp(1) - at_target
    return share @ logits.square().sum(1) - 2 * at_target + 1


def train(
    model: TopicTransformer | DeeperTransformer,
    topics: TopicModel,
    masking: Masking | NextWord | None = None,
    *,
    steps: int,
    loss: str = "cross-entropy",
    optimizer: str = "adam",
    lr: float = 0.003,
    decay: bool = False,
    weight_decay: float = 0.0,
    batch_size: int = 64,
    checkpoints: np.ndarray | None = None,
    seed: int = 0,
    device: str = "cpu",
    progress: bool = True,
) -> History:
    """Train `model` in place.

    Args:
        steps: S; each draws and masks `batch_size` new documents.
        loss: "cross-entropy" or "squared".
        optimizer: "sgd", "adam" or "adamw".
        lr: learning rate.
        decay: whether the learning rate falls to 0 along a cosine.
        weight_decay: λ. For "sgd" and "adam" the loss grows by λ/2 · the sum of squares of all matrices (not b),
            and so does its gradient; "adamw" shrinks the matrices directly. Recorded losses leave it out.
        checkpoints: the steps after which matrices are recorded; `checkpoint_steps(steps)` if not given.
        seed: of the documents and their masks. The same call gives the same bits on one machine.
        device: where torch computes.
        progress: whether to show a progress bar.

    Raises:
        ValueError: bad settings, before any work.
        TrainingDiverged: the loss became NaN or infinite.
    """
    masking = masking or Masking()
    check_int("steps", steps, 1)
    check_int("batch_size", batch_size, 1)
    check_choice("loss", loss, LOSSES)
    check_choice("optimizer", optimizer, OPTIMIZERS)
    check_positive("lr", lr)
    check_not_negative("weight_decay", weight_decay)
    if not isinstance(masking, Masking | NextWord):
        raise ValueError(f"masking = {masking!r} must be a Masking or NextWord()")
    if topics.num_words != model.num_words:
        raise ValueError(f"the model knows {model.num_words} words, the topic model has {topics.num_words}")
    if isinstance(masking, NextWord) and not (model.causal and model.see_selected):
        raise ValueError(
            f"next-word prediction needs causal = True and see_selected = True, not {model.causal} and "
            f"{model.see_selected}: the model would see the words that it should predict, or none"
        )
    if isinstance(masking, NextWord) and topics.lengths[0] < 2:
        raise ValueError(f"length = {topics.lengths[0]} must be at least 2: a single word has no next one")
    if not list(model.parameters()):
        raise ValueError("nothing to train: every matrix of the model is frozen")
    checkpoints = checkpoint_steps(steps) if checkpoints is None else np.unique(np.asarray(checkpoints))
    whole = len(checkpoints) > 0 and np.issubdtype(checkpoints.dtype, np.integer)
    if not whole or checkpoints[0] < 0 or checkpoints[-1] > steps:
        raise ValueError(f"checkpoints = {checkpoints} must be whole numbers between 0 and {steps}")

    model.to(device)
    groups = [
        {"params": [p for name, p in model.named_parameters() if name != "b"], "weight_decay": weight_decay},
        {"params": [p for name, p in model.named_parameters() if name == "b"], "weight_decay": 0.0},
    ]
    kind = {"sgd": torch.optim.SGD, "adam": torch.optim.Adam, "adamw": torch.optim.AdamW}[optimizer]
    descent = kind([group for group in groups if group["params"]], lr=lr, fused=True)
    rng = np.random.default_rng(seed)
    losses = np.empty(steps)
    record = {name: [] for name, _ in model.named_parameters()}

    with _few_threads(model):
        for step in tqdm(range(steps + 1), desc="training", disable=not progress, leave=False, mininterval=0.5):
            if step in checkpoints:
                for name, matrix in model.matrices().items():
                    record[name].append(matrix)
            if step == steps:
                break
            value = loss_of(*model.predictions(_draw(topics, masking, batch_size, rng)), loss)
            losses[step] = value.item()
            if not math.isfinite(losses[step]):
                raise TrainingDiverged(step, lr)
            model.zero_grad()
            value.backward()
            if decay:
                for group in descent.param_groups:
                    group["lr"] = lr * (1 + math.cos(math.pi * step / steps)) / 2
            descent.step()

    settings = {
        "topics": repr(topics), "masking": repr(masking), "loss": loss, "optimizer": optimizer, "lr": lr,
        "decay": decay, "weight_decay": weight_decay, "batch_size": batch_size, "seed": seed,
    }  # fmt: skip
    return History(losses, checkpoints, {name: np.stack(stack) for name, stack in record.items()}, settings)


def _draw(topics, masking, batch_size, rng):
    """One batch, drawn again in the rare case (tiny documents) that no position is selected."""
    while True:
        documents = topics.sample(batch_size, rng)
        masked = mask_documents(documents.words, masking, topics.num_words, rng)
        if masked.selected.any():
            return masked


@contextmanager
def _few_threads(model):
    """One thread for small matrices: sharing them out costs more than it saves, and far more on a busy machine."""
    threads = torch.get_num_threads()
    if model.num_words < 500:
        torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)
