"""Metadata in JSON: a file that is read within bounds, and fields that are taken as what they are expected to be.

    array = json_file("a.zarr/zarr.json")
    array.of("chunk_grid").of("configuration").of("chunk_shape").integers(least=1)

Whatever is there instead is a FormatError that names the file, the field, what was expected and what was found.
"""

from __future__ import annotations

import json
import operator
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any

from swath.errors import FormatError
from swath.formats.description import DIMENSIONS_MAX, OFFSET_LIMIT
from swath.formats.files import opened

BYTES_MAX = 1 << 26
"""The largest file that is read: a lie in a large file must not take its size in memory."""

DEPTH_MAX = 64
"""Of objects and lists in each other: what walks over them, here and in other modules, calls itself for each."""

SHOWN_MAX = 100
"""Characters of a value in a message."""


@dataclass(frozen=True)
class Field:
    """A value of a JSON file, and where it stands. One that is missing, or null, has the value None."""

    value: Any
    file: str
    key: str = ""

    def wrong(self, expected: str) -> FormatError:
        """Return what to raise where the value is not `expected`."""
        found = "nothing" if self.value is None else repr(self.value)
        if len(found) > SHOWN_MAX:
            found = f"{found[:SHOWN_MAX]} ..."
        where = ": ".join(part for part in (self.file, self.key) if part)
        return FormatError(f"{where}: expected {expected}, found {found}")

    def of(self, key: str) -> Field:
        """Return what an object has under a key; nothing where there is no object either."""
        return Field(self.members().get(key), self.file, f"{self.key}.{key}" if self.key else key)

    def members(self) -> dict[str, Any]:
        """Return the values of an object by their keys; none where it is missing."""
        if self.value is None:
            return {}
        if not isinstance(self.value, dict):
            raise self.wrong("an object")
        return self.value

    def items(self) -> Iterator[Field]:
        """The fields of a list; none where it is missing."""
        if not isinstance(self.value, list | None):
            raise self.wrong("a list")
        for place, item in enumerate(self.value or ()):
            yield Field(item, self.file, f"{self.key}[{place}]")

    def named(self) -> tuple[str, Field]:
        """Return the name and the configuration of what Zarr's version 3 calls an extension; a name alone has none."""
        if isinstance(self.value, str):
            return self.text(), Field(None, self.file, f"{self.key}.configuration")
        settings = self.of("configuration")
        settings.members()
        return self.of("name").text(), settings

    def text(self, allowed: Collection[str] = (), *, default: str | None = None) -> str:
        """Return a string, one of those allowed where any are named; `default` where it is missing."""
        if self.value is None and default is not None:
            return default
        expected = f"one of {', '.join(map(repr, allowed))}" if allowed else "a string"
        if not isinstance(self.value, str) or (allowed and self.value not in allowed):
            raise self.wrong(expected)
        if not self.value.isascii() and any("\ud800" <= c <= "\udfff" for c in self.value):
            raise self.wrong("a string of Unicode, without halves of surrogate pairs")
        return self.value

    def integer(self, least: int, most: int, *, default: int | None = None) -> int:
        """Return an integer from `least` to `most`; `default` where it is missing."""
        if self.value is None and default is not None:
            return default
        number = None if isinstance(self.value, bool) else _integer(self.value)
        if number is None or not least <= number <= most:
            raise self.wrong(f"an integer from {least} to {most}" if least < most else str(least))
        return number

    def flag(self) -> bool:
        """True or false, which may be written 1 or 0; false where it is missing."""
        if self.value is None:
            return False
        if not isinstance(self.value, bool | int) or self.value not in (0, 1):
            raise self.wrong("true or false")
        return bool(self.value)

    def lengths(self, least: int) -> tuple[int, ...]:
        """Return a list of integers from `least` on, one a dimension of an array."""
        if not isinstance(self.value, list) or len(self.value) > DIMENSIONS_MAX:
            raise self.wrong(f"a list of integers, one a dimension, of which there are at most {DIMENSIONS_MAX}")
        return tuple(item.integer(least, OFFSET_LIMIT - 1) for item in self.items())


def json_file(path: str) -> Field:
    """Return the object that a file of JSON holds.

    Raises FormatError for what is no JSON, or more than metadata can be, StoreError where the system refuses.
    """
    with opened(path) as (file, size):
        raw = file.read(BYTES_MAX + 1)
    if len(raw) > BYTES_MAX:
        raise FormatError(f"{path}: {size} bytes are more than metadata take (at most {BYTES_MAX})")
    try:
        # Infinity and NaN, which are no JSON, are what other libraries write for attributes.
        value = json.loads(raw.decode("utf-8-sig"), object_pairs_hook=_object)
    except RecursionError:
        raise _too_deep(path) from None
    except ValueError as error:  # also an integer of thousands of digits
        raise FormatError(f"{path}: not JSON: {error}") from None
    if not isinstance(value, dict):
        raise FormatError(f"{path}: expected an object of JSON, not {type(value).__name__}")
    level: list[Any] = [value]
    for _ in range(DEPTH_MAX):
        level = [item for outer in level for item in _inside(outer) if isinstance(item, dict | list)]
    if level:
        raise _too_deep(path)
    return Field(value, path)


def mentions(path: str, word: str) -> bool:
    """Return whether a file of JSON may have a word of ASCII in it, without the time that parsing takes."""
    with opened(path) as (file, _):
        return word.encode() in file.read(BYTES_MAX)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise ValueError(f"an object has the key {key!r} more than once: readers differ in which they take")
        found[key] = value
    return found


def _inside(value: dict[str, Any] | list[Any]) -> Collection[Any]:
    return value.values() if isinstance(value, dict) else value


def _too_deep(path: str) -> FormatError:
    return FormatError(f"{path}: objects and lists are nested more than {DEPTH_MAX} deep")


def _integer(value: Any) -> int | None:
    try:
        return operator.index(value)
    except TypeError:
        return None
