"""A whole new file: everything that it is to hold but the elements."""

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
    """What a new file is to hold.

    Attributes:
        flavour: what follows the colon of a format, e.g. "cdf5" of "netcdf-classic:cdf5".
        groups: with their attributes and dimensions, "" for the file first, each before the groups in it.
        variables: in the order in which they are made. Unlike those that are added one by one, variables that grow are
            as long as they are to be at first.
    """

    flavour: str | None
    groups: tuple[Group, ...]
    variables: tuple[NewArray, ...]


def refused(attempts: Iterable[tuple[str, Callable[[], Any]]]) -> list[str]:
    """Return in words which attempts a format refuses: what each is about, and why."""
    return [why for what, attempt in attempts for why in tried(what, attempt)[1]]


def tried(what: str, attempt: Callable[[], Made]) -> tuple[Made | None, list[str]]:
    """Return what an attempt makes, or in words why not: what it is about, and why."""
    try:
        return attempt(), []
    except (ArgumentError, ExistsError, UnsupportedError) as error:
        return None, [f"{what}: {error}" if what else str(error)]
