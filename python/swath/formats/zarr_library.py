"""What Swath has not in Zarr stores, through zarr-python: text of variable length, rare codecs. Reading only.

Never what runs code that is stored in the file: pickled objects are refused, whoever could read them.
"""

from __future__ import annotations

import errno
import importlib.util
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import numpy.typing as npt

from swath.errors import Error, FormatError, UnsupportedError, store_error
from swath.formats.description import Description, LibraryLayout, without_metadata
from swath.formats.forward_index import forward_only
from swath.formats.zarr_nodes import Node, folder_of

_OBJECT = np.dtype(object)
_TEXTS_OF_V3 = {"string": "text", "variable_length_utf8": "text", "bytes": "bytes", "variable_length_bytes": "bytes"}
_MISSING = "it can be read through zarr-python, which is not installed: pip install zarr"
_TEXTS_OF_V2 = {"vlen-utf8": "text", "vlen-bytes": "bytes"}


def glance(node: Node, why: UnsupportedError) -> tuple[np.dtype[Any] | None, LibraryLayout | None, str]:
    """Return what `stored` does, for text without importing the library; None, and why, where that cannot read it."""
    if (text := _text_of(node)) and not _names_pickle(node.metadata.value):
        if importlib.util.find_spec("zarr") is None:
            return _OBJECT, None, f"{text} of variable length; {_MISSING}"
        return _OBJECT, LibraryLayout(f"{text} of variable length", _chunks_of(node)), ""
    try:
        return *stored(node, why), ""
    except UnsupportedError as error:
        return None, None, str(error)


def stored(node: Node, why: UnsupportedError) -> tuple[np.dtype[Any], LibraryLayout]:
    """Return the dtype and how the library reads an array that Swath cannot, for the reason `why`.

    Raises UnsupportedError where the library cannot either, or is not installed.
    """
    text = _text_of(node)
    reason = f"{text} of variable length" if text else str(why).removeprefix(f"{node.metadata.file}: ")
    array = _array(node, reason)
    dtype = np.dtype(array.dtype)
    if dtype.kind == "T" or (text and dtype.hasobject):
        dtype = _OBJECT
    elif dtype.hasobject or dtype.itemsize == 0 or dtype.subdtype is not None:
        raise UnsupportedError(f"{node.metadata.file}: {reason}; elements of dtype {dtype} are no numbers and no text")
    return without_metadata(dtype), LibraryLayout(reason, tuple(array.chunks))


def library_read(description: Description, index: tuple[slice | int, ...]) -> npt.NDArray[Any]:
    """Return the selected elements through zarr-python, in the stored dtype. Integers drop their dimension."""
    forward, flips, _ = forward_only(index, description)
    array = _opened(folder_of(description.path, description.variable or ""))
    with _translated(description.name):
        values = np.asarray(array[forward])
    values = values.astype(description.dtype, copy=False)  # text has a type of NumPy's own in zarr-python
    return np.ascontiguousarray(values[flips]).reshape(values.shape)


def library_write(description: Description, index: tuple[slice | int, ...], values: npt.ArrayLike) -> None:
    """Raise UnsupportedError: Swath writes nothing through zarr-python."""
    del index, values
    reason = description.layout.reason if isinstance(description.layout, LibraryLayout) else ""
    raise UnsupportedError(
        f"{description.name}: Swath reads this array through zarr-python ({reason}), and does not write it; write it "
        "with zarr, or into a new array of a dtype and codecs that Swath has"
    )


def _text_of(node: Node) -> str:
    """Return "text" or "bytes" for elements of variable length, else ""."""
    if node.version == 3:
        data_type = node.metadata.of("data_type").value
        name = data_type.get("name") if isinstance(data_type, dict) else data_type
        return _TEXTS_OF_V3.get(name, "") if isinstance(name, str) else ""
    filters = node.metadata.of("filters").value
    if node.metadata.of("dtype").value != "|O" or not isinstance(filters, list) or not filters:
        return ""
    name = filters[0].get("id") if isinstance(filters[0], dict) else None
    return _TEXTS_OF_V2.get(name, "") if isinstance(name, str) else ""


def _chunks_of(node: Node) -> tuple[int, ...] | None:
    """Return the shape of a chunk; None where it is not told as it is mostly."""
    if node.version == 2:
        return node.metadata.of("chunks").lengths(least=1)
    grid, settings = node.metadata.of("chunk_grid").named()
    return settings.of("chunk_shape").lengths(least=1) if grid == "regular" else None


def _array(node: Node, reason: str) -> Any:
    """Return zarr-python's array; UnsupportedError, with the reason why it is needed, where there is none."""
    if _names_pickle(node.metadata.value):
        raise UnsupportedError(
            f"{node.metadata.file}: {reason}; its elements are pickled objects, which can run any code when they are "
            "read: Swath never does"
        )
    try:
        return _opened(node.folder)
    except Error as error:
        raise UnsupportedError(f"{node.metadata.file}: {reason}; {error}") from None


def _names_pickle(metadata: Any) -> bool:
    """Return whether a codec, anywhere in the metadata, is the one that pickles."""
    waiting = [metadata]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            waiting += value.values()
        elif isinstance(value, list):
            waiting += value
        elif isinstance(value, str) and value.removeprefix("numcodecs.") == "pickle":
            return True
    return False


def _opened(folder: str) -> Any:
    try:
        import zarr
    except ImportError:
        raise UnsupportedError(_MISSING) from None
    with _translated(folder):
        return zarr.open_array(zarr.storage.LocalStore(folder, read_only=True), mode="r")


@contextmanager
def _translated(name: str) -> Iterator[None]:
    """What is damaged, and what zarr-python has not either, comes as whatever it, or a codec, happens to raise."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that a codec, or a dtype, is not in the specification yet
            yield
    except Error:
        raise
    except MemoryError as error:  # also of damaged text, which says itself how many elements it has
        raise store_error(f"{name}: no memory for what zarr-python reads: {error}", errno.ENOMEM) from None
    except OSError as error:
        raise store_error(f"{name}: zarr-python cannot read it: {error.strerror or error}", error.errno) from None
    except Exception as error:  # noqa: BLE001
        raise FormatError(f"{name}: zarr-python cannot read it: {error or type(error).__name__}") from None
