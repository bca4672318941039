"""Prints as JSON what the core reads of HDF5 files, without h5py in the process: the library, then each file.

Arguments: the paths. The texts are the same for equal values.
"""

from __future__ import annotations

import dataclasses
import json
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from swath import _core
from swath.errors import Error


def plain(value: Any) -> Any:
    """Return a value in JSON's types, with its own types as text."""
    if isinstance(value, np.ndarray | np.generic):
        return [value.dtype.str, list(value.shape), [str(one) for one in np.ravel(value).tolist()]]
    if isinstance(value, np.dtype):
        return str(value)
    if dataclasses.is_dataclass(value):
        return {field.name: plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, dict):
        return [[name, plain(one)] for name, one in value.items()]
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    return value.hex() if isinstance(value, bytes) else value


def attempt(read: Callable[[], Any]) -> Any:
    """Return what was read, or the error as text."""
    try:
        return plain(read())
    except Error as error:
        return [type(error).__name__, str(error)]


def read_file(path: str) -> dict[str, Any]:
    """Return its contents, and the description of each of its variables."""
    found: dict[str, Any] = {"contents": attempt(lambda: _core.hdf5_contents(path))}
    if isinstance(found["contents"], dict):
        for name, _ in found["contents"]["variables"]:
            found[name] = attempt(lambda name=name: _core.hdf5_describe(path, [name], {})[0])
    return found


if __name__ == "__main__":
    said = {"library": _core.hdf5_library(), "files": {path: read_file(path) for path in sys.argv[1:]}}
    said["has_h5py"] = "h5py" in sys.modules
    print(json.dumps(said))
