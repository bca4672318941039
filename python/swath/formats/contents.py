"""The contents of a whole file: dimensions, groups, variables and attributes, in terms that all formats share.

    found = contents("run.nc")
    found.variables["ocean/t"].dimensions       # ("time", "y", "x")
    found.group("ocean").attributes["source"]

Attributes keep their types: text is `str`, one number a NumPy scalar (an int16 stays an int16), several a
one-dimensional ndarray, several texts a list of `str`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from swath.errors import ArgumentError
from swath.formats.description import Codec, Description, Enumeration, NewArray, text

Attributes = dict[str, Any]


def typed(attributes: Mapping[str, Any]) -> Attributes:
    """Convert a user's attributes to the types in which they are stored; None stays.

    Raises ArgumentError for an argument that is no mapping, and for names that are no text.
    """
    if not isinstance(attributes, Mapping):
        raise ArgumentError(f"attributes must be names with their values, as a dict has them, not {attributes!r}")
    for name in attributes:
        if not isinstance(name, str):
            raise ArgumentError(f"the name of an attribute must be a string, not {name!r}")
    return {name: _typed(value) for name, value in attributes.items()}


def _typed(value: Any) -> Any:
    if value is None or isinstance(value, (str, np.generic)):
        return value
    if isinstance(value, bytes):
        return text(value)
    if isinstance(value, (list, tuple)) and value and all(isinstance(item, str) for item in value):
        return list(value)
    array = np.asarray(value)
    if array.dtype.hasobject:
        return value  # the format decides
    return array.reshape(-1)[0] if array.size == 1 else array


@dataclass(frozen=True)
class Dimension:
    """A named length that variables share.

    Attributes:
        name: without its group.
        length: in elements.
        is_unlimited: whether variables may grow along it.
    """

    name: str
    length: int
    is_unlimited: bool = False


@dataclass(frozen=True)
class Group:
    """A folder of variables.

    Attributes:
        name: its path, "" for the file itself, "ocean/surface" for a group in a group.
        attributes: as stored.
        dimensions: those that are defined in this group, by name. A group can also use those of the groups above it.
        other_attributes: descriptions of those whose types `Attributes` do not hold (structures, references).
    """

    name: str
    attributes: Attributes = field(default_factory=dict)
    dimensions: dict[str, Dimension] = field(default_factory=dict)
    other_attributes: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Variable:
    """An array in a file, also one that Swath cannot read.

    Attributes:
        name: its path in the file, "ocean/t"; "" if the format has one array without a name.
        shape: in elements.
        dtype: as stored, byte order included; object for text of variable length; None if NumPy has none.
        dimensions: their names, without groups, as its group sees them; () if the file has no names.
        attributes: as stored, without those that the format uses itself.
        chunks: elements of a chunk along each dimension; None for none.
        is_coordinate: whether it describes other variables (a coordinate, bounds, a grid mapping) or holds no numbers.
        unsupported: why Swath cannot read it; "" if it can.
        shards: elements of a shard, a file of whole chunks; None for none.
        codecs: the codecs of a chunk, in the order of encoding; None if Swath does not know all of them.
        enumeration: the names of the numbers, if the format has them.
        other_attributes: descriptions of those whose types `Attributes` do not hold (structures, references).
        same_as: the path of the variable that this link leads to; "" for a variable of its own.
        maxshape: HDF5 only: the largest length of each dimension, None for unlimited; () if no dimension can grow.
    """

    name: str
    shape: tuple[int, ...]
    dtype: np.dtype[Any] | None
    dimensions: tuple[str, ...] = ()
    attributes: Attributes = field(default_factory=dict)
    chunks: tuple[int, ...] | None = None
    is_coordinate: bool = False
    unsupported: str = ""
    shards: tuple[int, ...] | None = None
    codecs: tuple[Codec, ...] | None = None
    enumeration: Enumeration | None = None
    other_attributes: dict[str, str] = field(default_factory=dict)
    same_as: str = ""
    maxshape: tuple[int | None, ...] = ()

    @property
    def group(self) -> str:
        """The path of its group, "" for the file."""
        return self.name.rpartition("/")[0]

    @property
    def short_name(self) -> str:
        """Its name without its group."""
        return self.name.rpartition("/")[2]

    @property
    def nbytes(self) -> int:
        """Bytes of all elements, decoded; 0 where the dtype has no size."""
        return 0 if self.dtype is None or self.dtype.hasobject else math.prod(self.shape) * self.dtype.itemsize


@dataclass(frozen=True)
class Contents:
    """Everything that a file holds but the elements.

    Attributes:
        format: "raw", "npy", "netcdf-classic", "netcdf4", "hdf5" or "zarr".
        version: of the format, for people: "CDF-5", "Zarr 3"; "" for none.
        groups: by path; "" is the file itself, which is always there.
        variables: by path, in the order of the file; links come last.
        others: by path, descriptions of what is neither group nor variable: named types, links to groups, to other
            files, or to nothing.
    """

    format: str
    version: str
    groups: dict[str, Group]
    variables: dict[str, Variable]
    others: dict[str, str] = field(default_factory=dict)

    def group(self, name: str) -> Group:
        """Return a group by its path; KeyError if there is none."""
        return self.groups[name.strip("/")]

    def group_of(self, variable: Variable) -> str:
        """Return the path of a variable's group; "" if the slash in its name separates no group (netCDF classic)."""
        return variable.group if variable.group in self.groups else ""

    def dimension(self, group: str, name: str) -> Dimension | None:
        """Return the dimension that `name` means in a group: the group's own, or that of the nearest group above."""
        while True:
            found = self.groups[group].dimensions.get(name) if group in self.groups else None
            if found is not None or not group:
                return found
            group = group.rpartition("/")[0]

    def path_of(self, group: str, name: str) -> str:
        """Return the path of the dimension that `name` means in a group; for a new one, the path that it would get."""
        above = group
        while above and (above not in self.groups or name not in self.groups[above].dimensions):
            above = above.rpartition("/")[0]
        home = above if name in self.groups[above].dimensions else group
        return f"{home}/{name}".lstrip("/")

    def with_variable(self, added: Description) -> Contents:
        """Return the contents with one more variable, its groups, and the dimensions that are new."""
        name = added.variable or ""
        layout = added.layout
        chunks = getattr(layout, "chunk_shape", None)
        short = name.rpartition("/")[2]
        is_coordinate = added.dimensions == (short,) or added.dtype.kind not in "biufc"
        new = Variable(name, added.shape, added.dtype, added.dimensions, added.attributes, chunks, is_coordinate)
        groups = dict(self.groups)
        parts = new.group.split("/") if new.group else []
        for depth in range(len(parts)):
            path = "/".join(parts[: depth + 1])
            groups.setdefault(path, Group(path))
        grown = replace(self, groups=groups, variables={**self.variables, name: new})
        unlimited = added.unlimited or (False,) * len(added.shape)
        for dimension, length, grows in zip(added.dimensions, added.shape, unlimited, strict=False):
            if dimension and grown.dimension(new.group, dimension) is None:
                grown = grown.with_dimension(grown.path_of(new.group, dimension), Dimension(dimension, length, grows))
        return grown

    def fitted(self, new: NewArray) -> NewArray:
        """Return a new array with netCDF's rule: it grows along a growing dimension, and has its length."""
        shape, unlimited = list(new.shape), list(new.unlimited or (False,) * len(new.shape))
        group = new.name.strip("/").rpartition("/")[0]
        for axis, name in enumerate(new.dimensions or ()):
            found = self.dimension(group, name)
            if found is not None and found.is_unlimited and (unlimited[axis] or shape[axis] == found.length):
                shape[axis], unlimited[axis] = found.length, True
        return replace(new, shape=tuple(shape), unlimited=tuple(unlimited) if any(unlimited) else ())

    def with_dimension(self, path: str, dimension: Dimension) -> Contents:
        """Return the contents with a dimension that is new, or has another length."""
        group = self.groups[path.rpartition("/")[0]]
        groups = {**self.groups, group.name: replace(group, dimensions={**group.dimensions, dimension.name: dimension})}
        return replace(self, groups=groups)

    def with_length(self, path: str, length: int) -> Contents:
        """Return the contents with another length of a dimension, and of all variables along it."""
        group, _, name = path.rpartition("/")
        if group not in self.groups or name not in self.groups[group].dimensions:
            return self  # a dimension without a name
        dimension = self.groups[group].dimensions[name]
        along = {
            v.name: replace(
                v, shape=tuple(length if d == name else n for d, n in zip(v.dimensions, v.shape, strict=True))
            )
            for v in self.variables.values()
            if name in v.dimensions and self.path_of(v.group, name) == path
        }
        grown = replace(self, variables={**self.variables, **along})
        return grown.with_dimension(path, replace(dimension, length=length))

    def along_later(self, path: str, variables: Iterable[str]) -> list[str]:
        """Return those of the variables that have a dimension at another position than the first."""
        name = path.rpartition("/")[2]
        found = [self.variables[variable] for variable in variables if variable in self.variables]
        return [v.name for v in found if name in v.dimensions[1:] and self.path_of(v.group, name) == path]

    def with_attributes(self, holder: str, attributes: Attributes) -> Contents:
        """Return the contents with other attributes of a group or a variable; None removes one."""
        if holder in self.variables and holder not in self.groups:
            of = self.variables[holder]
            return replace(self, variables={**self.variables, holder: replace(of, attributes=_with(of, attributes))})
        group = self.groups[holder]
        return replace(self, groups={**self.groups, holder: replace(group, attributes=_with(group, attributes))})


def _with(holder: Group | Variable, attributes: Attributes) -> Attributes:
    return {name: value for name, value in {**holder.attributes, **attributes}.items() if value is not None}


def of_one_array(format: str, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Contents:  # noqa: A002
    """Return the contents of a file whose format has one array without a name."""
    return Contents(format, "", {"": Group("")}, {"": Variable("", shape, dtype)})
