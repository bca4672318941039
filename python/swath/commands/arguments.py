"""What subcommands are given: FILE[:VARIABLE], shapes, distributions and selections, as text."""

from __future__ import annotations

import argparse
import os
import re
from collections.abc import Callable
from typing import Any, TypeVar

from swath.array import opening
from swath.array.open_array import Array
from swath.errors import ArgumentError
from swath.formats import pools
from swath.ranks import mpi
from swath.space import Block, Cyclic, Rule, Shape, Whole

T = TypeVar("T")

GRAMMAR = "block | block(k) | cyclic | cyclic(k) | whole | *"

_RULE = re.compile(r"(?P<kind>block|cyclic|whole|\*)(?:\((?P<size>\d+)\))?", re.IGNORECASE)
_SELECTED = re.compile(r"(?P<index>-?\d+)|(?P<slice>-?\d*:-?\d*(?::-?\d*)?)|(?P<rest>\.\.\.)")


def add_file(parser: argparse.ArgumentParser) -> None:
    """Add FILE[:VARIABLE], and what a raw file does not say of itself."""
    parser.add_argument(
        "file", metavar="FILE[:VARIABLE]", help=".npy, netCDF classic, netCDF-4, HDF5, Zarr, or a raw file"
    )
    raw = parser.add_argument_group("raw files", "a file without a header; say what it holds")
    raw.add_argument("--shape", metavar="N,M,...", help="elements along each dimension: 5000,5000")
    raw.add_argument("--dtype", metavar="TYPE", help='as NumPy writes it, byte order included: f8, ">i4"')
    raw.add_argument("--order", metavar="ORDER", help='"C" (default), "F", or the dimensions slowest first: 2,0,1')
    raw.add_argument("--offset", metavar="BYTES", help="before the first element (default 0)")


def add_raw_source(parser: argparse.ArgumentParser) -> None:
    """Add what a raw source does not say of itself, where --shape and the like would mean something else."""
    raw = parser.add_argument_group("a raw source", "a file without a header; say what it holds")
    raw.add_argument("--source-shape", metavar="N,M,...", help="elements along each dimension: 5000,5000")
    raw.add_argument("--source-dtype", metavar="TYPE", help='as NumPy writes it, byte order included: f8, ">i4"')
    raw.add_argument(
        "--source-order", metavar="ORDER", help='"C" (default), "F", or the dimensions slowest first: 2,0,1'
    )
    raw.add_argument("--source-offset", metavar="BYTES", help="before the first element (default 0)")


def opened_source(options: argparse.Namespace) -> Array:
    """Return the array that FILE[:VARIABLE] and the options of `add_raw_source` name, opened by this process alone."""
    names = ("shape", "dtype", "order", "offset")
    given = argparse.Namespace(**{name: getattr(options, f"source_{name}") for name in names})
    path, variable = file_and_variable(options.file)
    array: Array = opening.open(path, variable, **raw_description(given))
    return array


def source_of_copy(options: argparse.Namespace) -> tuple[Any, str | None]:
    """Return FILE and its VARIABLE, or the array that the options of `add_raw_source` describe, opened, and None."""
    names = ("source_shape", "source_dtype", "source_order", "source_offset")
    if any(getattr(options, name) is not None for name in names):
        return opened_source(options), None
    return file_and_variable(options.file)


def started_comm() -> Any:
    """Return the communicator of the ranks that mpiexec started; None for one process alone."""
    if mpi.launcher()[0] is None or mpi.launcher()[1] == 1:
        return None
    from mpi4py import MPI

    return MPI.COMM_WORLD


def file_and_variable(text: str) -> tuple[str, str | None]:
    """FILE[:VARIABLE] taken apart at its last colon, unless the whole of it is an existing file.

    >>> file_and_variable("sst.nc:surface_temperature")
    ('sst.nc', 'surface_temperature')
    """
    if pools.is_in_pool(text):
        return pools.with_variable(text)
    if os.path.exists(text) or ":" not in text:
        return text, None
    path, _, variable = text.rpartition(":")
    return path, variable or None


def raw_description(options: argparse.Namespace) -> dict[str, Any]:
    """Return the arguments of `swath.open` for a raw file; none where nothing was given."""
    given: dict[str, Any] = {}
    if options.shape is not None:
        given["shape"] = integers("--shape", options.shape)
    if options.dtype is not None:
        given["dtype"] = options.dtype
    if options.order is not None:
        given["order"] = options.order if options.order in ("C", "F") else integers("--order", options.order)
    if options.offset is not None:
        given["offset"] = whole_number("--offset", options.offset)
    return given


def open_array(options: argparse.Namespace, mode: str = "r", comm: Any = None) -> Array:
    """Return the array that the command line names, opened for reading by this process alone unless otherwise said."""
    path, variable = file_and_variable(options.file)
    array: Array = opening.open(path, variable, mode=mode, comm=comm, **raw_description(options))
    return array


def whole_number(option: str, text: str) -> int:
    """Return `text` as an integer, digits possibly grouped by underscores; else ArgumentError."""
    try:
        return int(text)
    except ValueError:
        raise ArgumentError(f'{option} "{text}": expected a whole number') from None


def integers(option: str, text: str) -> Shape:
    """Return `text` as comma-separated integers; else ArgumentError quoting the one that is not."""
    return tuple(_each(option, text, int, "a whole number"))


def rules(text: str) -> tuple[Rule, ...]:
    """Return the rule of every dimension, from `--dist`.

    >>> rules("block,cyclic(4),*")
    (Block(), Cyclic(4), Whole())

    Raises ArgumentError that quotes the part that is none, with the grammar.
    """
    return tuple(_each("--dist", text, _rule, GRAMMAR))


def selection(text: str | None) -> Any:
    """NumPy basic slicing from `--select`: "10:20,::4,7"; everything where it is not given.

    Raises ArgumentError that quotes the part that is none.
    """
    if text is None:
        return ...
    return tuple(_each("--select", text, _selected, 'an index, a slice "start:stop:step" or "..."'))


def _each(option: str, text: str, convert: Callable[[str], T], expected: str) -> list[T]:
    def one(place: int, part: str) -> T:
        try:
            return convert(part)
        except ValueError:
            raise ArgumentError(
                f'{option} "{text}": "{part}", for dimension {place}, cannot be: expected {expected} '
                "(one for each dimension, separated by commas)"
            ) from None

    return [one(place, part.strip()) for place, part in enumerate(text.split(","))]


def _rule(text: str) -> Rule:
    match = _RULE.fullmatch(text)
    if match is None:
        raise ValueError
    kind, size = match["kind"].lower(), match["size"]
    if kind == "block":
        return Block(None if size is None else _block_size(size))
    if kind == "cyclic":
        return Cyclic(1 if size is None else _block_size(size))
    if size is not None:
        raise ValueError
    return Whole()


def _block_size(digits: str) -> int:
    size = int(digits)
    if size < 1:
        raise ValueError
    return size


def _selected(text: str) -> Any:
    match = _SELECTED.fullmatch(text)
    if match is None:
        raise ValueError
    if match["rest"]:
        return ...
    if match["index"]:
        return int(text)
    return slice(*(int(part) if part else None for part in text.split(":")))
