import importlib
import sys
import warnings

import numpy as np
import pytest

from topiclens.cache import cache_folder, cached

CODE = """
from topiclens.cache import cached
calls = []
def result(**settings):
    def compute():
        calls.append(settings)
        return {"x": np.arange(5) + 1}
    return cached(compute, settings, inputs={"a": np.ones(2)})
"""


@pytest.fixture
def module(tmp_path, monkeypatch):
    monkeypatch.setenv("TOPICLENS_CACHE", str(tmp_path / "kept"))
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    path = tmp_path / "computes_something.py"
    path.write_text("import numpy as np\n" + CODE)
    yield importlib.import_module("computes_something")
    del sys.modules["computes_something"]


def test_the_second_call_computes_nothing(module):
    first, second = module.result(seed=0), module.result(seed=0)
    assert len(module.calls) == 1
    assert first.keys() == second.keys() == {"x"}
    assert np.array_equal(first["x"], second["x"])
    assert first["x"].dtype == second["x"].dtype
    module.result(seed=1)
    assert len(module.calls) == 2
    assert len(list(cache_folder().iterdir())) == 2  # and nothing half-written


def test_other_inputs_are_another_result(tmp_path, monkeypatch):
    monkeypatch.setenv("TOPICLENS_CACHE", str(tmp_path))
    for inputs in ({"a": np.ones(2)}, {"a": np.ones((2, 1))}, {"a": np.ones(2, int)}, {"b": np.ones(2)}):
        assert cached(lambda: {"x": np.zeros(1)}, {}, inputs=inputs)
    assert len(list(tmp_path.iterdir())) == 4


def test_changed_code_never_reads_an_old_result(module):
    module.result(seed=0)
    with open(module.__file__, "a") as file:
        file.write("# a change\n")
    module.result(seed=0)
    assert len(module.calls) == 2


@pytest.mark.parametrize("damage", ["cut", "flip", "empty"])
def test_damage_is_seen_and_mended(module, damage):
    right = module.result(seed=0)["x"]
    (path,) = cache_folder().iterdir()
    data = bytearray(path.read_bytes())
    data[-3] ^= 1  # one bit of the last number
    path.write_bytes({"cut": data[:-9], "flip": data, "empty": b""}[damage])
    with pytest.warns(UserWarning, match="damaged.*computed anew"):
        again = module.result(seed=0)["x"]
    assert np.array_equal(right, again)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        module.result(seed=0)
    assert len(module.calls) == 2


def test_without_cache_no_file_is_touched(tmp_path, monkeypatch):
    monkeypatch.setenv("TOPICLENS_CACHE", str(tmp_path / "kept"))
    assert cached(lambda: {"x": 1}, {"anything": object()}, use=False) == {"x": 1}
    assert not (tmp_path / "kept").exists()


def test_a_folder_that_cannot_be_written_to_is_reported(tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    monkeypatch.setenv("TOPICLENS_CACHE", str(tmp_path / "file" / "kept"))
    with pytest.warns(UserWarning, match="not kept for next time"):
        assert cached(lambda: {"x": np.ones(1)}, {})["x"] == 1


def test_the_user_names_the_folder(monkeypatch, tmp_path):
    monkeypatch.delenv("TOPICLENS_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_folder() == tmp_path / "topiclens"
