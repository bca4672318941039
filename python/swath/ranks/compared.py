"""The text of a call that ranks compare: it is the same on all of them if their calls are the same.

    compared.call_signature("open", path, locals(), own=("comm",))

The text contains all arguments. An argument that may differ between ranks (their memory, their communicator) is left
out by name, so that a new argument is compared by default. The first line has the action and its object; each argument
has a line of its own, and the error names those that differ (core/comm/agreement.h).
"""

from __future__ import annotations

import hashlib
import numbers
import operator
import os
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
import numpy.typing as npt

from swath.base.lock_timeout import lock_seconds
from swath.base.memory_budget import memory_bytes
from swath.base.stream_settings import AUTO, settings_for
from swath.space import Boxes

TEXT_MAX = 4096
"""Characters of an argument that are compared directly; for a longer one, its begin and a digest."""
DIGEST_BYTES = 8
ENGINE_VARIABLE = "SWATH_ENGINE"
_FAULT = "fault"


class InWords(str):
    """An argument that is already text for the comparison."""

    __slots__ = ()


def call_signature(doing: str, what: Any, arguments: Mapping[str, Any], *, own: Collection[str] = ()) -> str:
    """Return `arguments` as text, without those in `own`. Never raises: other code reports invalid arguments.

    Arguments of some names are compared by their meaning: `dtype`, `shape`, `engine`, … (`MEANINGS`).
    """
    lines = [" ".join(f"{doing} {path_text(what)}".strip().splitlines())]
    if arguments.get("comm", ...) is None:
        return lines[0]  # a single rank compares nothing
    for name, value in arguments.items():
        if name not in own:
            lines += _lines(name, _meaning(name, value, arguments))
    return "\n".join(lines)


def path_text(path: Any) -> str:
    """Return a path for messages, also for invalid paths. Bytes that are not UTF-8 become surrogates."""
    if isinstance(path, (str, bytes, os.PathLike)):
        try:
            return os.fsdecode(path)
        except Exception:  # noqa: BLE001 - any class may have a __fspath__
            return type(path).__name__
    return in_words(path)


def effective_engine(engine: str | None) -> str:
    """Return the given engine; without one, the engine of the environment, else "auto"."""
    return engine or os.environ.get(ENGINE_VARIABLE) or "auto"


def dtype_words(dtype: np.dtype[Any]) -> str:
    """Return the same text for equal dtypes, however they were written."""
    if dtype.names is not None and dtype.fields is not None:
        fields = [(name, *dtype.fields[name][:2]) for name in dtype.names]
        each = ", ".join(f"{name!r}: {dtype_words(kind)} at {offset}" for name, kind, offset in fields)
        return f"{{{each}; {dtype.itemsize} bytes}}"
    if dtype.subdtype is not None:
        return f"{dtype_words(dtype.subdtype[0])}{dtype.subdtype[1]}"
    return str(dtype)


def in_words(value: Any) -> str:
    """Return the same text for equal values: NumPy's numbers like Python's, mappings in order. Never raises."""
    try:
        return _in_words(value)
    except Exception:  # noqa: BLE001 - a __repr__ may raise anything; a list may hold itself
        return f"<{type(value).__module__}.{type(value).__qualname__}>"


def short(text: str, characters_max: int = TEXT_MAX) -> str:
    """Return `text`; if it is long, its begin and a digest."""
    if len(text) <= characters_max:
        return text
    begin = text[:characters_max]
    return f"{begin}... ({len(text)} characters, digest {digest(text.encode('utf-8', 'surrogatepass'))})"


def digest(data: bytes | memoryview) -> str:
    """Return a digest: the same for the same bytes, and practically unique."""
    return hashlib.blake2b(data, digest_size=DIGEST_BYTES).hexdigest()


def _lines(name: str, value: Any) -> list[str]:
    """Return the lines of an argument; a mapping has a line for each item: the error names those that differ."""
    items = _items(value) if isinstance(value, Mapping) else []
    if not items:
        return [f"{name}={_line(in_words(value))}"]
    return sorted(f"{name}[{_line(in_words(key))}]={_line(in_words(item))}" for key, item in items)


def _items(mapping: Mapping[Any, Any]) -> list[tuple[Any, Any]]:
    try:
        return list(mapping.items())
    except Exception:  # noqa: BLE001 - any class may be a mapping
        return []


def _line(text: str) -> str:
    """Return text on one line: names of fields and reprs of unusual objects may have several."""
    return short(text.replace("\\", "\\\\").replace("\n", "\\n") if "\n" in text else text)


def _in_words(value: Any) -> str:
    if isinstance(value, InWords):
        return str(value)
    if isinstance(value, np.generic) and value.dtype.names is None:
        value = value.item()
    if isinstance(value, Boxes):
        return "boxes"  # every rank has its own
    if value is None or value is ... or isinstance(value, (bool, int, float, complex, bytes, slice)):
        return repr(value)
    if isinstance(value, str):
        return repr(str(value))
    if isinstance(value, np.dtype):
        return dtype_words(value)
    if isinstance(value, (np.ndarray, np.generic)):
        return _array_words(np.asarray(value))
    if isinstance(value, os.PathLike):
        return repr(os.fsdecode(value))
    if isinstance(value, Mapping):
        items = sorted((_in_words(key), _in_words(item)) for key, item in value.items())
        return f"{{{', '.join(f'{key}: {item}' for key, item in items)}}}"
    if isinstance(value, (set, frozenset)):
        return f"{{{', '.join(sorted(map(_in_words, value)))}}}"
    if isinstance(value, Sequence) and not isinstance(value, memoryview):
        return f"({', '.join(map(_in_words, value))})"
    if isinstance(value, numbers.Number) or type(value).__module__.startswith("swath."):
        return repr(value)
    # For other types the repr may contain an address, which differs between ranks.
    return f"<{type(value).__module__}.{type(value).__qualname__}>"


def _array_words(array: npt.NDArray[Any]) -> str:
    kind = f"array of {dtype_words(array.dtype)} {array.shape}"
    if array.dtype.hasobject:
        return f"{kind} {_in_words(array.tolist())}"
    begin = np.array2string(array.ravel()[:8], separator=", ", threshold=8) if array.dtype.names is None else ""
    return f"{kind} {begin} digest {digest(np.ascontiguousarray(array).tobytes())}"


def _meaning(name: str, value: Any, arguments: Mapping[str, Any]) -> Any:
    """Return the meaning of an argument, if it is known before the check; else the argument itself."""
    meaning = MEANINGS.get(name)
    if meaning is None:
        return value
    try:
        return meaning(value, arguments)
    except Exception:  # noqa: BLE001 - it is invalid: the code that needs it raises the error
        return value


def _path(path: Any, arguments: Mapping[str, Any]) -> Any:
    """Return the text for a path, or for an open array."""
    del arguments
    array = getattr(path, "_identity", None)
    return InWords(array) if isinstance(array, str) else os.fsdecode(path)


def _truth(value: Any, arguments: Mapping[str, Any]) -> bool:
    del arguments
    return bool(value)


def _lengths(shape: Any, arguments: Mapping[str, Any]) -> Any:
    del arguments
    if isinstance(shape, (Sequence, np.ndarray)) and not isinstance(shape, str):
        return tuple(map(operator.index, shape))
    return shape if shape is None else (operator.index(shape),)


def _order(order: Any, arguments: Mapping[str, Any]) -> Any:
    """Return the name of an order: (0, 1, 2) is "C", and (2, 1, 0) is "F"."""
    if order is None or isinstance(order, str):
        return order
    turned = _lengths(order, arguments)
    ascending = tuple(range(len(turned)))
    return "C" if turned == ascending else "F" if turned == ascending[::-1] else turned


def _dtype(dtype: Any, arguments: Mapping[str, Any]) -> Any:
    del arguments
    return None if dtype is None else InWords(dtype_words(np.dtype(dtype)))


def _fill(fill: Any, arguments: Mapping[str, Any]) -> Any:
    """Return the fill value as stored: 0 and 0.0 are the same in an array of floats."""
    if fill is None:
        return None
    with np.errstate(all="ignore"):  # `checked_fill` refuses what the dtype cannot hold
        stored = np.array(fill, np.dtype(arguments["dtype"]))
    return fill if stored.shape != () else InWords(f"{in_words(stored[()])} ({digest(stored.tobytes())})")


def _attributes(attributes: Any, arguments: Mapping[str, Any]) -> Any:
    """Return attributes as stored: their dtypes matter, but not whether they are lists, tuples or arrays."""
    del arguments
    if not isinstance(attributes, Mapping):
        return attributes
    return {name: _attribute(value) for name, value in attributes.items()} or None


def _codecs(codecs: Any, arguments: Mapping[str, Any]) -> Any:
    """Return the text for one codec or several."""
    del arguments
    return (codecs,) if isinstance(codecs, (str, Mapping)) else codecs


def _memory(memory: Any, arguments: Mapping[str, Any]) -> Any:
    """Return memory in bytes, unless it depends on the machine of each rank."""
    del arguments
    return None if memory is None else memory_bytes(memory)


def _attribute(value: Any) -> Any:
    if isinstance(value, (str, bytes)):
        return value
    array = np.asarray(value)
    return value if array.dtype.hasobject else InWords(f"{in_words(array.tolist())} as {dtype_words(array.dtype)}")


def _engine(engine: Any, arguments: Mapping[str, Any]) -> Any:
    """Return the engine; for a fault rule, by which tests make one rank fail, the engine inside."""
    del arguments
    effective = effective_engine(engine)
    if isinstance(effective, str) and effective.partition(":")[0] == _FAULT:
        return "uring" if "engine=uring" in effective.partition(":")[2].split(",") else "posix"
    return effective


def _streams(streams: Any, arguments: Mapping[str, Any]) -> Any:
    """Return the streams, including the settings of the environment and of swath.ini."""
    del arguments
    return {name: "auto" if value == AUTO else value for name, value in asdict(settings_for(streams)).items()}


def _lock_timeout(lock_timeout: Any, arguments: Mapping[str, Any]) -> Any:
    """Return the timeout, including the setting of the environment."""
    del arguments
    return lock_seconds(lock_timeout)


MEANINGS: dict[str, Callable[[Any, Mapping[str, Any]], Any]] = {
    "path": _path,
    "source": _path,
    "target": _path,
    "a": _path,
    "b": _path,
    "dtype": _dtype,
    "shape": _lengths,
    "chunks": _lengths,
    "shards": _lengths,
    "stripe": _lengths,
    "axes": _lengths,
    "order": _order,
    "fill": _fill,
    "attributes": _attributes,
    "codecs": _codecs,
    "memory": _memory,
    "overwrite": _truth,
    "atomic": _truth,
    "decode": _truth,
    "engine": _engine,
    "lock_timeout": _lock_timeout,
    "streams": _streams,
}
"""The meanings of arguments of these names. A function may raise: then the argument itself is compared."""
