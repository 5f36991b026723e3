"""Many training runs in one call: all processors of this machine, or a cluster that joblib can reach.

Knows `train` and joblib; what is trained is in the settings. A failed run is reported and takes no other along.
"""

import inspect
import itertools
import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import joblib
from tqdm import tqdm

from .documents import Masking, TopicModel
from .model import TopicTransformer
from .training import History, train

MODEL_SETTINGS = frozenset(inspect.signature(TopicTransformer).parameters) - {"num_words"}
TRAIN_SETTINGS = frozenset(inspect.signature(train).parameters) - {"model"}


@dataclass(frozen=True)
class Run:
    """One run of a grid: its setting, and either its history or what went wrong, in words."""

    setting: dict
    history: History | None
    error: str | None


def settings_grid(**choices: Iterable) -> list[dict]:
    """Every combination of the choices: settings_grid(loss=("squared",), seed=range(3)) has three settings.

    Raises:
        ValueError: a choice without a value.
    """
    choices = {name: list(values) for name, values in choices.items()}
    for name, values in choices.items():
        if not values:
            raise ValueError(f"{name} has no value to choose from; each needs at least one")
    return [dict(zip(choices, values, strict=True)) for values in itertools.product(*choices.values())]


def prepare(setting: dict) -> tuple[TopicTransformer, dict]:
    """The model of a setting, and all other arguments of `train` for it.

    A setting names arguments of `TopicTransformer` and `train` (`topics` is the default `TopicModel` if missing);
    `seed` seeds both the start and the documents.

    Raises:
        ValueError: a name that is neither, or arguments that the model refuses.
    """
    _check_names(setting)
    setting = {"topics": TopicModel()} | setting
    of_model, of_training = (
        {name: value for name, value in setting.items() if name in names} for names in (MODEL_SETTINGS, TRAIN_SETTINGS)
    )
    return TopicTransformer(setting["topics"].num_words, **of_model), of_training


def train_grid(
    settings: list[dict], *, folder: str | os.PathLike | None = None, jobs: int = -1, progress: bool = True
) -> list[Run]:
    """Train one model for each setting, side by side.

    Settings are those of `prepare`. joblib's backend decides where runs go: processes of this machine, or inside
    `joblib.parallel_config(backend="dask")` the workers of a Dask cluster.

    Args:
        folder: where each run's history is saved as soon as it ends; a later call with the same setting reads it (also
            after the code has changed: then take an empty one).
        jobs: how many at a time; −1 for as many as there are processors or workers.

    Returns:
        The runs, in the order of the settings.

    Raises:
        ValueError: no setting, or one with an unknown name; before any run.
        FileNotFoundError: the folder does not exist.
    """
    settings = [dict(setting) for setting in settings]
    if not settings:
        raise ValueError("settings is empty: there is nothing to train")
    for setting in settings:
        _check_names(setting)
    if folder is not None and not Path(folder).is_dir():
        raise FileNotFoundError(f"cannot save runs: there is no folder {folder}")
    tasks = (joblib.delayed(_train_one)(setting, folder) for setting in settings)
    ends = joblib.Parallel(n_jobs=jobs, return_as="generator")(tasks)
    bar = tqdm(ends, total=len(settings), desc="runs", disable=not progress, leave=False)
    return [Run(setting, *end) for setting, end in zip(settings, bar, strict=True)]


def _check_names(setting):
    unknown = set(setting) - MODEL_SETTINGS - TRAIN_SETTINGS
    if unknown:
        raise ValueError(f"setting {setting} names {', '.join(sorted(unknown))}, which no model and no training has")


def _train_one(setting, folder):
    """(history, None), or (None, what went wrong)."""
    path = None if folder is None else Path(folder) / f"{_name(setting)}.safetensors"
    try:
        if path is not None and path.exists():
            return History.load(path), None
        model, options = prepare(setting)
        history = train(model, **(options | {"progress": False}))
        if path is not None:
            history.save(path)
        return history, None
    except Exception as error:  # whatever it is, the other runs go on and the caller is told
        return None, f"{type(error).__name__}: {error}"


def _name(setting):
    """A name that two settings share only if they are the same."""
    parts = {}
    for key, value in setting.items():
        if isinstance(value, TopicModel):
            value = (value.topic_word, repr(value.mixture), value.lengths)
        elif isinstance(value, Masking):
            value = repr(value)
        parts[key] = value
    return joblib.hash(parts)
