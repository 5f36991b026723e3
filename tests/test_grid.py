import joblib
import numpy as np
import pytest

from topiclens.documents import Masking, TauOfT, TopicModel
from topiclens.grid import settings_grid, train_grid
from topiclens.model import TopicTransformer
from topiclens.training import train

TOPICS = TopicModel(3, 4, mixture=TauOfT(2), length=30)
SETTINGS = settings_grid(
    topics=[TOPICS], steps=[10], batch_size=[8], loss=["squared", "cross-entropy"], seed=range(2), embedding=["one-hot"]
)


def same(one, other):
    return all((one.history.matrices[m] == other.history.matrices[m]).all() for m in one.history.matrices)


def test_a_grid_is_every_combination():
    assert len(SETTINGS) == 4
    assert settings_grid(a=[1, 2], b=[3]) == [{"a": 1, "b": 3}, {"a": 2, "b": 3}]


def test_runs_are_those_that_train_would_make_one_by_one():
    runs = train_grid(SETTINGS, progress=False)
    assert [run.setting for run in runs] == SETTINGS
    for run in runs:
        model = TopicTransformer(12, embedding="one-hot", seed=run.setting["seed"])
        alone = train(
            model, TOPICS, steps=10, batch_size=8, loss=run.setting["loss"], seed=run.setting["seed"], progress=False
        )
        assert run.error is None
        assert (run.history.losses == alone.losses).all()
        assert (run.history.final("W_V") == alone.final("W_V")).all()


def test_a_failed_run_is_told_and_takes_none_along():
    settings = [*SETTINGS, SETTINGS[0] | {"lr": 1e20, "optimizer": "sgd"}, SETTINGS[0] | {"steps": 0}]
    runs = train_grid(settings, jobs=2, progress=False)
    assert [run.error is None for run in runs] == [True] * 4 + [False] * 2
    assert runs[4].error.startswith("TrainingDiverged: the loss is not finite at step")
    assert "steps = 0" in runs[5].error
    assert runs[4].setting["lr"] == 1e20


def test_results_so_far_are_kept(tmp_path, monkeypatch):
    first = train_grid(SETTINGS[:3], folder=tmp_path, jobs=1, progress=False)
    assert len(list(tmp_path.iterdir())) == 3

    def trained_again(*_, **__):
        raise RuntimeError("trained again")

    monkeypatch.setattr("topiclens.grid.train", trained_again)
    again = train_grid(SETTINGS[:3], folder=tmp_path, jobs=1, progress=False)
    assert all(same(*pair) for pair in zip(first, again, strict=True))
    new = train_grid(SETTINGS[3:], folder=tmp_path, jobs=1, progress=False)
    assert "trained again" in new[0].error  # it was not read from another setting's file


def test_settings_that_differ_in_data_alone_are_kept_apart(tmp_path):
    other = TopicModel(3, topic_word=np.roll(TOPICS.topic_word, 1, axis=1), mixture=TauOfT(2), length=30)
    settings = [SETTINGS[0], SETTINGS[0] | {"topics": other}, SETTINGS[0] | {"masking": Masking(0.3)}]
    train_grid(settings, folder=tmp_path, jobs=1, progress=False)
    assert len(list(tmp_path.iterdir())) == 3


def test_a_damaged_file_is_told(tmp_path):
    train_grid(SETTINGS[:1], folder=tmp_path, jobs=1, progress=False)
    (file,) = tmp_path.iterdir()
    file.write_bytes(b"half")
    (run,) = train_grid(SETTINGS[:1], folder=tmp_path, jobs=1, progress=False)
    assert "damaged" in run.error
    assert file.name in run.error


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning", "ignore::FutureWarning")
def test_the_same_call_runs_on_a_dask_cluster():
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
    ):
        assert len(client.scheduler_info(n_workers=-1)["workers"]) == 2
        with joblib.parallel_config(backend="dask", wait_for_workers_timeout=60):
            there = train_grid(SETTINGS, progress=False)
    here = train_grid(SETTINGS, jobs=1, progress=False)
    assert [run.error for run in there] == [None] * 4
    assert all(same(*pair) for pair in zip(there, here, strict=True))


@pytest.mark.parametrize(
    ("call", "complaint"),
    [
        (lambda: train_grid([]), "settings is empty"),
        (lambda: train_grid([{"learning_rate": 1}]), "names learning_rate"),
        (lambda: settings_grid(seed=[]), "seed has no value"),
        (lambda: train_grid(SETTINGS, folder="/nonexistent"), "no folder /nonexistent"),
    ],
)
def test_bad_grids_are_refused_before_any_run(call, complaint):
    with pytest.raises((ValueError, FileNotFoundError), match=complaint):
        call()
