"""Parses the arguments of subcommands: FILE[:VARIABLE], shapes, distributions and selections."""

from __future__ import annotations

import argparse
import os
import re
from collections.abc import Callable
from typing import Any, TypeVar

from swath import formats
from swath.array import opening
from swath.array.open_array import Array
from swath.base import stored_path
from swath.errors import ArgumentError
from swath.ranks import mpi
from swath.space import Block, Cyclic, Rule, Shape, Whole

T = TypeVar("T")

GRAMMAR = "block | block(k) | cyclic | cyclic(k) | whole | *"

_RULE = re.compile(r"(?P<kind>block|cyclic|whole|\*)(?:\((?P<size>\d+)\))?", re.IGNORECASE)
_SELECTED = re.compile(r"(?P<index>-?\d+)|(?P<slice>-?\d*:-?\d*(?::-?\d*)?)|(?P<rest>\.\.\.)")


def add_file(parser: argparse.ArgumentParser) -> None:
    """Add FILE[:VARIABLE], and options for what a raw file does not say about itself."""
    parser.add_argument(
        "file", metavar="FILE[:VARIABLE]", help=".npy, netCDF classic, netCDF-4, HDF5, Zarr, or a raw file"
    )
    raw = parser.add_argument_group("raw files", "a file without a header; say what it holds")
    raw.add_argument("--shape", metavar="N,M,...", help="elements along each dimension: 5000,5000")
    raw.add_argument("--dtype", metavar="TYPE", help='as NumPy writes it, byte order included: f8, ">i4"')
    raw.add_argument("--order", metavar="ORDER", help='"C" (default), "F", or the dimensions slowest first: 2,0,1')
    raw.add_argument("--offset", metavar="BYTES", help="before the first element (default 0)")


def add_file_and_variable(parser: argparse.ArgumentParser) -> None:
    """Add FILE[:VARIABLE] or FILE VARIABLE, and options for what a raw file does not say about itself."""
    add_file(parser)
    parser.add_argument(
        "named", metavar="VARIABLE", nargs="?", help="its name in the file, as FILE:VARIABLE says it, too"
    )


def add_raw_source(parser: argparse.ArgumentParser) -> None:
    """Add options for what a raw source does not say about itself, for commands where --shape means something else."""
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
    """Split FILE[:VARIABLE] after the longest name of an existing file; if no such file exists, at the last colon.

    >>> file_and_variable("sst.nc:surface_temperature")
    ('sst.nc', 'surface_temperature')

    So the name of a variable may have colons: "sst.nc:air:2m" is "air:2m" of sst.nc if there is no file "sst.nc:air".
    """
    in_pool = stored_path.with_variable(text)
    if in_pool is not None:
        return in_pool
    parts = text.split(":")
    for count in range(len(parts), 0, -1):
        path = ":".join(parts[:count])
        if os.path.exists(path):
            return path, ":".join(parts[count:]) or None
    path, colon, variable = text.rpartition(":")
    return (path, variable or None) if colon else (text, None)


def named_file(options: argparse.Namespace) -> tuple[str, str | None]:
    """Return the file, and the variable that FILE:VARIABLE or FILE VARIABLE names; None if no variable is named.

    Raises ArgumentError if both name a variable.
    """
    named = getattr(options, "named", None)
    if named is None:
        return file_and_variable(options.file)
    if os.path.exists(options.file) or not stored_path.of(options.file).is_local:
        return options.file, named
    path, variable = file_and_variable(options.file)
    if variable is not None and os.path.exists(path):
        raise ArgumentError(f"{options.file} {named}: two variables are named; leave out one of them")
    return options.file, named


def variables_of(path: str, text: str | None) -> list[str]:
    """Return the names in VARIABLE[,VARIABLE...]. A name with commas is one name if the file has such a variable.

    Raises the errors of reading the file.
    """
    if text is None:
        return []
    if "," not in text:
        return [text]
    contents = formats.contents_of_many(path)
    if contents is not None and text.strip("/") in contents.variables:
        return [text]
    return [name.strip() for name in text.split(",")]


def by_dimension(option: str, text: str) -> Any:
    """Return "600,45" as numbers, and "time=600,lat=45" as lengths by names; else raise ArgumentError.

    >>> by_dimension("--chunks", "time=600,lat=45")
    {'time': 600, 'lat': 45}
    """
    if "=" not in text:
        return integers(option, text)
    found: dict[str, int] = {}
    for part in text.split(","):
        name, equals, length = part.rpartition("=")
        if not equals or not name.strip():
            raise ArgumentError(
                f'{option} "{text}": "{part}" cannot be: expected NAME=N for each dimension, or all numbers'
            )
        found[name.strip()] = whole_number(option, length)
    return found


def names_or_integers(option: str, text: str) -> Any:
    """Return "1,0,2" as numbers, and "lat,lon,time" as names; else raise ArgumentError, which quotes the wrong part."""
    parts = [part.strip() for part in text.split(",")]
    numbers = [part.lstrip("-").isdigit() for part in parts]
    if any(numbers):
        return integers(option, text)
    if not all(parts):
        raise ArgumentError(f'{option} "{text}": expected numbers of dimensions, or their names, separated by commas')
    return tuple(parts)


def raw_description(options: argparse.Namespace) -> dict[str, Any]:
    """Return the arguments of `swath.open` for a raw file; an empty dict if no option was given."""
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
    """Return the array that the command line names. By default this process alone opens it, for reading."""
    path, variable = named_file(options)
    array: Array = opening.open(path, variable, mode=mode, comm=comm, **raw_description(options))
    return array


def whole_number(option: str, text: str) -> int:
    """Return `text` as an integer (underscores may group digits); else raise ArgumentError."""
    try:
        return int(text)
    except ValueError:
        raise ArgumentError(f'{option} "{text}": expected a whole number') from None


def integers(option: str, text: str) -> Shape:
    """Return the comma-separated integers in `text`; else raise ArgumentError, which quotes the wrong part."""
    return tuple(_each(option, text, int, "a whole number"))


def rules(text: str) -> tuple[Rule, ...]:
    """Return the rule of every dimension, from `--dist`.

    >>> rules("block,cyclic(4),*")
    (Block(), Cyclic(4), Whole())

    Raises ArgumentError, which quotes the wrong part and states the grammar.
    """
    return tuple(_each("--dist", text, _rule, GRAMMAR))


def selection(text: str | None) -> Any:
    """Return NumPy basic slicing from `--select`: "10:20,::4,7"; everything if it is not given.

    Raises ArgumentError, which quotes the wrong part.
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
