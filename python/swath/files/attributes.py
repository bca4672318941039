"""Attributes of an open file, group or array: a mapping that stores what is put into it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, MutableMapping
from typing import Any, Protocol

from swath.errors import ArgumentError


class FileWithAttributes(Protocol):
    """The file that attributes are stored in."""

    @property
    def final_path(self) -> str:
        """Return the name of the file; a new file gets it when it is complete."""

    def agree_to_change(self, holder: str, given: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        """Return the attributes that `given` returns on every rank; its error is raised on all ranks. Collective."""

    def set_attributes(self, holder: str, attributes: Mapping[str, Any]) -> dict[str, Any]:
        """Add or replace attributes, and return their new values; the value None removes one. Collective."""


class StoredAttributes(MutableMapping[str, Any]):
    """Attributes as the file has them. A new value is stored at once. Changes are collective.

    Raises ArgumentError if the file is open for reading only, or its format cannot store the value.
    """

    def __init__(self, file: FileWithAttributes, holder: str, values: Mapping[str, Any]) -> None:
        self._file = file
        self._holder = holder
        self._values = dict(values)

    def __getitem__(self, name: str) -> Any:
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __setitem__(self, name: str, value: Any) -> None:
        self.update({name: value})

    def __delitem__(self, name: str) -> None:
        if name not in self._values:
            # All ranks agree before the KeyError: a rank that deletes an existing attribute waits for this one.
            self._file.agree_to_change(self._holder, lambda: {name: None})
            raise KeyError(name)
        self._file.set_attributes(self._holder, {name: None})
        del self._values[name]

    def update(self, *others: Any, **more: Any) -> None:
        """Store several attributes at once; the arguments are those of `dict.update`."""
        new = self._file.agree_to_change(self._holder, lambda: self._checked(others, more))
        if new:
            self._values.update(self._file.set_attributes(self._holder, new))

    def _checked(self, others: tuple[Any, ...], more: dict[str, Any]) -> dict[str, Any]:
        where = f"attributes of {self._file.final_path}"
        try:
            new = dict(*others, **more)
        except (TypeError, ValueError) as error:
            raise ArgumentError(f"{where}: expected names and values, as a mapping: {error}") from None
        unnamed = [name for name in new if not isinstance(name, str) or not name]
        missing = [name for name, value in new.items() if value is None]
        if unnamed or missing:
            raise ArgumentError(
                f"{where}: expected names and values, not {(unnamed or missing)[0]!r}"
                + (" = None; `del` removes one" if missing else "")
            )
        return new

    def __repr__(self) -> str:
        return repr(self._values)
