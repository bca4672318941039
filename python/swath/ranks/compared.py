"""What ranks compare of a call, in words: the same text on all of them where their calls are the same.

    compared.call_signature("open", path, locals(), own=("comm",))

The words are made from all arguments there are. One that ranks need not have in common (their memory, their
communicator) is left out on purpose, by name, so that a new argument is compared unless somebody says otherwise. The
first line says what is done to what; each argument has one of its own, and the error names those that differ
(core/comm/agreement.h).
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
"""Characters of an argument that are compared as they are; of a longer one its begin, and a digest of all of it."""
DIGEST_BYTES = 8
ENGINE_VARIABLE = "SWATH_ENGINE"
_FAULT = "fault"


class InWords(str):
    """An argument that is in words already."""

    __slots__ = ()


def call_signature(doing: str, what: Any, arguments: Mapping[str, Any], *, own: Collection[str] = ()) -> str:
    """Return `arguments` in words, but for those whose names are in `own`. It never raises: others say what is wrong.

    Arguments of these names are taken for what they mean: `dtype`, `shape`, `engine`, … (`MEANINGS`).
    """
    lines = [" ".join(f"{doing} {path_text(what)}".strip().splitlines())]
    if arguments.get("comm", ...) is None:
        return lines[0]  # one rank alone compares nothing
    for name, value in arguments.items():
        if name not in own:
            lines += _lines(name, _meaning(name, value, arguments))
    return "\n".join(lines)


def path_text(path: Any) -> str:
    """Return a path for messages, also of what is none. Names that are not UTF-8 have surrogates for their bytes."""
    if isinstance(path, (str, bytes, os.PathLike)):
        try:
            return os.fsdecode(path)
        except Exception:  # noqa: BLE001 - any class may have a __fspath__
            return type(path).__name__
    return in_words(path)


def effective_engine(engine: str | None) -> str:
    """Return the engine that is given; where none is, the one that the environment names, else "auto"."""
    return engine or os.environ.get(ENGINE_VARIABLE) or "auto"


def dtype_words(dtype: np.dtype[Any]) -> str:
    """Return equal dtypes, however they were spelled, in equal words."""
    if dtype.names is not None and dtype.fields is not None:
        fields = [(name, *dtype.fields[name][:2]) for name in dtype.names]
        each = ", ".join(f"{name!r}: {dtype_words(kind)} at {offset}" for name, kind, offset in fields)
        return f"{{{each}; {dtype.itemsize} bytes}}"
    if dtype.subdtype is not None:
        return f"{dtype_words(dtype.subdtype[0])}{dtype.subdtype[1]}"
    return str(dtype)


def in_words(value: Any) -> str:
    """Return equal values in equal words: numbers of NumPy as Python's, mappings in order. Never raises."""
    try:
        return _in_words(value)
    except Exception:  # noqa: BLE001 - a __repr__ may raise anything; a list may hold itself
        return f"<{type(value).__module__}.{type(value).__qualname__}>"


def short(text: str, characters_max: int = TEXT_MAX) -> str:
    """Return `text`; where it is long, its begin and a digest of all of it."""
    if len(text) <= characters_max:
        return text
    begin = text[:characters_max]
    return f"{begin}... ({len(text)} characters, digest {digest(text.encode('utf-8', 'surrogatepass'))})"


def digest(data: bytes | memoryview) -> str:
    """Return a digest: the same for the same bytes, and for no others that anybody will meet."""
    return hashlib.blake2b(data, digest_size=DIGEST_BYTES).hexdigest()


def _lines(name: str, value: Any) -> list[str]:
    """Return an argument; of a mapping a line for each of its items, so that the error says which of them differs."""
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
    """Return text on one line: names of fields and reprs of strange objects may have more."""
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
    # Of any other kind the repr may be an address, which no two ranks have in common.
    return f"<{type(value).__module__}.{type(value).__qualname__}>"


def _array_words(array: npt.NDArray[Any]) -> str:
    kind = f"array of {dtype_words(array.dtype)} {array.shape}"
    if array.dtype.hasobject:
        return f"{kind} {_in_words(array.tolist())}"
    begin = np.array2string(array.ravel()[:8], separator=", ", threshold=8) if array.dtype.names is None else ""
    return f"{kind} {begin} digest {digest(np.ascontiguousarray(array).tobytes())}"


def _meaning(name: str, value: Any, arguments: Mapping[str, Any]) -> Any:
    """Return what an argument means, where that can be said before it is checked; else the argument as it is."""
    meaning = MEANINGS.get(name)
    if meaning is None:
        return value
    try:
        return meaning(value, arguments)
    except Exception:  # noqa: BLE001 - it cannot be, which whoever needs it says
        return value


def _path(path: Any, arguments: Mapping[str, Any]) -> Any:
    """Return the words of a path, or of an open array."""
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
    """Return an order by its name: (0, 1, 2) is "C", and (2, 1, 0) "F"."""
    if order is None or isinstance(order, str):
        return order
    turned = _lengths(order, arguments)
    ascending = tuple(range(len(turned)))
    return "C" if turned == ascending else "F" if turned == ascending[::-1] else turned


def _dtype(dtype: Any, arguments: Mapping[str, Any]) -> Any:
    del arguments
    return None if dtype is None else InWords(dtype_words(np.dtype(dtype)))


def _fill(fill: Any, arguments: Mapping[str, Any]) -> Any:
    """Return it as it is stored: 0 and 0.0 are the same in an array of floats."""
    if fill is None:
        return None
    with np.errstate(all="ignore"):  # `checked_fill` refuses what the dtype cannot hold
        stored = np.array(fill, np.dtype(arguments["dtype"]))
    return fill if stored.shape != () else InWords(f"{in_words(stored[()])} ({digest(stored.tobytes())})")


def _attributes(attributes: Any, arguments: Mapping[str, Any]) -> Any:
    """Return them as they are stored: their dtypes count, and not whether they are lists, tuples or arrays."""
    del arguments
    if not isinstance(attributes, Mapping):
        return attributes
    return {name: _attribute(value) for name, value in attributes.items()} or None


def _codecs(codecs: Any, arguments: Mapping[str, Any]) -> Any:
    """Return the words of one codec or several."""
    del arguments
    return (codecs,) if isinstance(codecs, (str, Mapping)) else codecs


def _memory(memory: Any, arguments: Mapping[str, Any]) -> Any:
    """Return memory in bytes, but where each rank's machine decides."""
    del arguments
    return None if memory is None else memory_bytes(memory)


def _attribute(value: Any) -> Any:
    if isinstance(value, (str, bytes)):
        return value
    array = np.asarray(value)
    return value if array.dtype.hasobject else InWords(f"{in_words(array.tolist())} as {dtype_words(array.dtype)}")


def _engine(engine: Any, arguments: Mapping[str, Any]) -> Any:
    """Return the engine: of a rule of faults, by which tests break one rank, the one that it is around."""
    del arguments
    effective = effective_engine(engine)
    if isinstance(effective, str) and effective.partition(":")[0] == _FAULT:
        return "uring" if "engine=uring" in effective.partition(":")[2].split(",") else "posix"
    return effective


def _streams(streams: Any, arguments: Mapping[str, Any]) -> Any:
    """Return the streams with what the environment and swath.ini say."""
    del arguments
    return {name: "auto" if value == AUTO else value for name, value in asdict(settings_for(streams)).items()}


def _lock_timeout(lock_timeout: Any, arguments: Mapping[str, Any]) -> Any:
    """Return the time with what the environment says."""
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
"""What arguments of these names mean. It may raise, or not know: then an argument is compared as it is."""
