"""The contents of a whole new file, without the elements."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, TypeVar

from swath.errors import ArgumentError, ExistsError, UnsupportedError
from swath.formats.contents import Group
from swath.formats.description import NewArray

Made = TypeVar("Made")


@dataclass(frozen=True)
class NewFile:
    """The contents of a new file.

    Attributes:
        flavour: the text after the colon of a format, e.g. "cdf5" of "netcdf-classic:cdf5".
        groups: with their attributes and dimensions, "" for the file first, each before the groups in it.
        variables: in the order of their creation. Unlike variables that are added one by one, variables that grow have
            their first length here.
    """

    flavour: str | None
    groups: tuple[Group, ...]
    variables: tuple[NewArray, ...]


def refused(attempts: Iterable[tuple[str, Callable[[], Any]]]) -> list[str]:
    """Return descriptions of the attempts that a format refuses: the subject, and the reason."""
    return [why for what, attempt in attempts for why in tried(what, attempt)[1]]


def tried(what: str, attempt: Callable[[], Made]) -> tuple[Made | None, list[str]]:
    """Return the result of an attempt, or a description of its failure: the subject, and the reason."""
    try:
        return attempt(), []
    except (ArgumentError, ExistsError, UnsupportedError) as error:
        return None, [f"{what}: {error}" if what else str(error)]
