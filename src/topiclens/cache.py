"""Results on disk, so that what takes long is computed once.

A result is a dict of arrays. Its file's name is a hash of all that it depends on: settings and input arrays, versions
of the libraries, and the code that computes it, so that changed code never reads an old result.
"""

import hashlib
import importlib.metadata
import inspect
import json
import os
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from .files import whole_file


def cache_folder() -> Path:
    """Where results are kept: $TOPICLENS_CACHE if set, else topiclens/ in the user's folder of caches."""
    user = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(os.environ.get("TOPICLENS_CACHE") or Path(user, "topiclens"))


def cached(
    compute: Callable[[], dict[str, np.ndarray]],
    settings: dict,
    *,
    inputs: dict[str, np.ndarray] | None = None,
    libraries: tuple[str, ...] = (),
    use: bool = True,
) -> dict[str, np.ndarray]:
    """`compute()`, or what an earlier call with the same code, settings, inputs and libraries kept.

    A damaged file is reported, computed anew and replaced; a folder that cannot be written to is reported.

    Args:
        compute: takes nothing; the module that it is written in is the code that the key covers.
        settings: all that `compute` depends on and that JSON can say.
        inputs: the arrays that it depends on.
        libraries: packages whose version may change the result.
        use: False computes, and touches no file.
    """
    if not use:
        return compute()
    path = cache_folder() / f"{_key(compute, settings, inputs or {}, libraries)}.safetensors"
    if path.is_file():
        try:
            return _load(path)
        except ValueError as error:
            warnings.warn(f"{error}; it is computed anew", stacklevel=2)
    arrays = {name: np.ascontiguousarray(array) for name, array in compute().items()}
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with whole_file(path) as temporary:
            save_file(arrays, temporary, metadata={"checksum": _checksum(arrays)})
    except OSError as error:
        warnings.warn(f"the result is not kept for next time: {error}", stacklevel=2)
    return arrays


def _load(path):
    try:
        with safe_open(path, framework="numpy") as file:
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (no dict)
            checksum = (file.metadata() or {}).get("checksum")
    except (SafetensorError, OSError, ValueError) as error:
        raise ValueError(f"the kept result {path} is damaged ({error})") from error
    if checksum != _checksum(arrays):
        raise ValueError(f"the kept result {path} is damaged (its checksum does not fit)")
    return arrays


def _key(compute, settings, inputs, libraries):
    parts = {
        "settings": settings,
        "libraries": {name: importlib.metadata.version(name) for name in (*libraries, "numpy")},
        "code": hashlib.sha256(Path(inspect.getsourcefile(compute)).read_bytes()).hexdigest(),
        "inputs": _checksum(inputs),
    }
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:32]


def _checksum(arrays):
    digest = hashlib.sha256()
    for name, array in sorted(arrays.items()):
        array = np.ascontiguousarray(array)
        digest.update(f"{name} {array.dtype.str} {array.shape} ".encode())
        digest.update(array.data if array.size else b"")
    return digest.hexdigest()
