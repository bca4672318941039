"""Open arrays and files are pickled as what opens them again, in another process or in this one.

    pickle.loads(pickle.dumps(a))       # swath.open(path, variable, mode=..., engine=...)

An array that only these ranks, or only this process, can have open is not pickled: one of several ranks, and one in a
new file, which nobody else finds under its name.

Importing this module tells Python's pickle, and all that use its table, about them. It also says how arrays become
objects of dask and xarray: by a module that knows arrays, which is loaded when the first one is converted.
"""

from __future__ import annotations

import copyreg
import importlib
from typing import Any

from swath.array import numpy_protocol, opening
from swath.array.file import File
from swath.array.open_array import Array
from swath.errors import ArgumentError
from swath.files.stored_array import FileOfArrays
from swath.formats import Description, StridedLayout

Reduced = tuple[Any, tuple[Any, ...]]


def _reduced_array(array: Array) -> Reduced:
    array.refuse_closed("pickle")
    raw = _raw_arguments(array._description) if array.format == "raw" else {}
    file = array._stored.file
    return _open_again, (_path_to_reopen(file), array.variable, {**file.options_to_reopen(), **raw})


def _reduced_file(file: File) -> Reduced:
    opened = file._file
    if opened.is_closed:
        raise ArgumentError(f"pickle {file.path}: the file is closed; open it again")
    return _open_file_again, (_path_to_reopen(opened), opened.options_to_reopen())


def _path_to_reopen(file: FileOfArrays) -> str:
    """Return the absolute path of a file that another process can open; else raise ArgumentError."""
    if file.ranks.size > 1:
        raise ArgumentError(
            f"pickle {file.final_path}: opened together by {file.ranks.size} ranks, and what is pickled is for one "
            "process: open it without comm= for that"
        )
    return file.path_to_reopen("pickle")  # the other process may work in another folder


def _raw_arguments(description: Description) -> dict[str, Any]:
    """Return what a raw file does not say of itself."""
    layout = description.layout
    assert isinstance(layout, StridedLayout)
    order = tuple(sorted(range(len(layout.strides)), key=lambda d: -layout.strides[d]))
    return {"shape": description.shape, "dtype": description.dtype, "order": order, "offset": layout.offset}


def _open_again(path: str, variable: str | None, options: dict[str, Any]) -> Array:
    array: Array = opening.open(path, variable, **options)
    return array


def _open_file_again(path: str, options: dict[str, Any]) -> File:
    return opening.open_file(path, **options)


def _load_conversion() -> Any:
    return importlib.import_module("swath.xarray.conversion")


copyreg.pickle(Array, _reduced_array)
copyreg.pickle(File, _reduced_file)
numpy_protocol.convert_by(_load_conversion)
