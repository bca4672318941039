"""Every copy of a test is also verified by the libraries of its formats: the copy must have listed all differences.

`conftest.py` uses it in all tests, and programs that copy in separate processes use it themselves. A copy whose source
or target has no library (raw files, pools) is not verified, nor is one whose values change (a dtype that cannot hold
all of them).
"""

from __future__ import annotations

import functools
import importlib.util
import os
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import swath
from swath.ranks.ranks import ranks_of

READ_BY = {"hdf5": ("h5py", "netCDF4"), "netcdf-classic": ("netCDF4",), "zarr": ("zarr",), "npy": ("numpy",)}
"""The libraries that read each format."""
OF_ONE_ARRAY = ("target_variable", "dtype")
BY_NAME_OR_NUMBER = ("axes", "order", "chunks", "shards")
"""With names of dimensions these apply to all variables, otherwise to one array."""

Pair = tuple[str | None, str | None, tuple[int, ...] | None]
"""A variable of the source, its name in the target, and the order of its dimensions there."""


def verified(copy: Callable[..., Any]) -> Callable[..., Any]:
    """Return `swath.copy` that fails, on all ranks, if a library finds a difference that the copy did not list."""

    @functools.wraps(copy)
    def copied(source: Any, target: Any, **how: Any) -> Any:
        result = copy(source, target, **how)
        ranks = ranks_of(how.get("comm"))
        if ranks.size == 1:
            check(source, target, result, how)
        else:
            rank_0_checks = functools.partial(check, source, target, result, how)
            ranks.run_collectively("verify a copy by library", rank_0_checks if ranks.rank == 0 else lambda: None)
        return result

    return copied


def check(source: Any, target: Any, copied: Any, how: dict[str, Any]) -> None:
    """Assert that libraries find source and target equal, except for what the copy listed."""
    if isinstance(source, swath.Array):
        source, how = source.path, {**how, "variable": source.variable or None}
    if not (is_read_by_a_library(source) and is_read_by_a_library(target)):
        return
    if is_of_one_array(source, target, how) or not isinstance(how.get("variable"), str | None) or how.get("axes"):
        for name, other, axes in pairs(source, target, how):
            found = swath.verify(source, target, variable=name, other_variable=other, axes=axes, by_library=True)
            assert found, f"by the libraries of {source}:{name} and {target}:{other}: {found}"
    else:
        check_files(source, target, copied, how)


def is_read_by_a_library(path: Any) -> bool:
    libraries = READ_BY.get(swath.formats.recognised(path) or "", ())
    is_local = not str(path).startswith("rados:")
    try:
        os.fsdecode(path).encode()
    except UnicodeEncodeError:
        return False  # netCDF4 cannot open a name that is not UTF-8
    return is_local and bool(libraries) and all(importlib.util.find_spec(name) is not None for name in libraries)


def is_of_one_array(source: Any, target: Any, how: dict[str, Any]) -> bool:
    """Return whether a single array was copied: with numbers of its dimensions, or its name or dtype."""
    if "npy" in map(swath.formats.recognised, (source, target)) or isinstance(how.get("variable"), str):
        return True
    if any(how.get(name) is not None for name in OF_ONE_ARRAY):
        return True
    return any(how.get(name) not in (None, ()) and not names_dimensions(how[name]) for name in BY_NAME_OR_NUMBER)


def names_dimensions(value: Any) -> bool:
    """Return whether an argument applies to all variables: names, or "C" and "F"."""
    return isinstance(value, dict | str) or (np.iterable(value) and all(isinstance(one, str) for one in value))


def pairs(source: Any, target: Any, how: dict[str, Any]) -> Iterator[Pair]:
    """Return the variables and their copies, without those whose values may have changed."""
    axes = how.get("axes")
    if is_of_one_array(source, target, how):
        variable = how.get("variable")
        with swath.open(source, variable if isinstance(variable, str | None) else variable[0]) as array:
            name, dimensions = array.variable, array.dimensions
            keeps_values = how.get("dtype") is None or np.can_cast(array.dtype, np.dtype(how["dtype"]), "safe")
        other = how.get("target_variable") or (name or "data").rpartition("/")[2]
        if swath.formats.recognised(target) == "npy" or list(swath.formats.contents(target).variables) == [""]:
            other = None  # the file is the array
        if not name and not other:  # whole files are compared, and their types, too
            keeps_values = how.get("dtype") is None
        if keeps_values:
            yield name or None, other, turned(dimensions, axes) if axes and names_dimensions(axes) else axes
        return
    one, found = swath.formats.contents(source).variables, swath.formats.contents(target).variables
    for name in how.get("variable") or one:
        if name in found:
            yield name, name, turned(one[name].dimensions, axes or ())


def turned(dimensions: tuple[str, ...], axes: Any) -> tuple[int, ...] | None:
    """Return the order of dimensions, if those in `axes` take this order, and the others stay."""
    named = iter([one for one in axes if one in dimensions])
    places = tuple(dimensions.index(next(named)) if one in axes else place for place, one in enumerate(dimensions))
    return places or None


def check_files(source: Any, target: Any, copied: Any, how: dict[str, Any]) -> None:
    """Assert that libraries find both files equal, except for what the copy listed."""
    found = swath.verify(source, target, by_library=True)
    if isinstance(found, swath.Comparison):
        assert found, f"by the libraries of {source} and {target}: {found}"
        return
    said = " ".join(copied.left_out)
    wrong = {
        name: str(one) for name, one in found.variables.items() if not one and f"{name}: references to" not in said
    }
    assert not wrong, f"by the libraries of {source} and {target}: {wrong}"
    said += " ".join(said.replace(f"{one.same_as}:", f"{name}:") for name, one in linked(source))
    untold = [words for words in found.differences if not is_told(words, said, how.get("exclude", ()))]
    assert not untold, f"by the libraries of {source} and {target}: {untold}; the copy said: {said!r}"


def linked(path: Any) -> list[tuple[str, Any]]:
    """Return the variables with several names: Swath and a library may use different ones."""
    return [(name, one) for name, one in swath.formats.contents(path).variables.items() if one.same_as]


def is_told(words: str, said: str, excluded: Any) -> bool:
    """Return whether a difference is about something that the copy listed."""
    subject = words.removeprefix("only in the first: ").removeprefix("type ")
    names = [part.strip() for part in subject.replace(",", ":").split(":")]
    attribute = next((name for name in names if name.startswith("attribute ")), None)
    about = attribute or names[0].removeprefix("group ").removeprefix("dimension ").split(" of length")[0]
    if any(words.endswith(f" link to the dataset /{name}") for name in excluded):
        return True
    return about in said or any(about == name or about.startswith(f"{name}/") for name in excluded)
