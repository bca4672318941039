"""Files of random histories, changed by netCDF's library and by Swath in turn; both must read what was written.

netCDF's library alone makes the same history in a twin file. Variables are shorter than their unlimited dimensions;
there may be several of these, in several groups, and at other positions than the first.
"""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any, NamedTuple

import netCDF4
import numpy as np
import xarray as xr

import swath
from swath.formats.netcdf_fills import NETCDF_FILLS
from swath.simulated import run_ranks

LONGEST = 14
"""The longest dimension in these tests."""


@dataclasses.dataclass
class Modelled:
    """A variable and its expected values: the array has room for the longest dimensions, its first elements count.

    `undefined` are elements that netCDF's library has left undefined, if it must never fill.
    """

    name: str
    dimensions: tuple[str, ...]
    values: np.ndarray
    fill: Any
    is_filled: bool = True
    extent: list[int] = dataclasses.field(default_factory=list)
    written: np.ndarray = dataclasses.field(default_factory=lambda: np.zeros(0, bool))
    undefined: np.ndarray = dataclasses.field(default_factory=lambda: np.zeros(0, bool))

    def __post_init__(self) -> None:
        self.extent = [0] * self.values.ndim
        self.written = np.zeros(self.values.shape, bool)
        self.undefined = np.zeros(self.values.shape, bool)


class Step(NamedTuple):
    """A step of a session: a box is written, or records are appended; without values, a variable is added.

    `made` has the arguments of `File.create`, and those of netCDF's library for the same variable.
    """

    name: str
    begin: tuple[int, ...] = ()
    values: np.ndarray | None = None
    is_append: bool = False
    made: tuple[dict[str, Any], dict[str, Any]] = ({"fill": -7}, {"fill_value": -7})


class History:
    """A file, its twin, and their expected contents; `kind` is "netcdf4" or a format of netCDF's classic ones."""

    def __init__(self, folder: Path, seed: int, kind: str) -> None:
        self.random = np.random.default_rng(seed)
        self.kind = kind
        suffix = "nc4" if kind == "netcdf4" else "nc"
        self.path, self.twin = folder / f"{seed}.{suffix}", folder / f"{seed}_twin.{suffix}"
        self.lengths: dict[str, int] = {}
        self.unlimited: set[str] = set()
        self.variables: dict[str, Modelled] = {}

    def number(self, low: int, high: int) -> int:
        return int(self.random.integers(low, high + 1))

    def some(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray:
        return self.random.integers(-100, 100, shape).astype(dtype)

    def write(self, name: str, begin: tuple[int, ...], values: np.ndarray) -> None:
        """Record a write: the dimensions grow with it."""
        variable = self.variables[name]
        box = tuple(slice(b, b + n) for b, n in zip(begin, values.shape, strict=True))
        variable.values[box] = values
        variable.written[box] = True
        variable.undefined[box] = False
        for axis, dimension in enumerate(variable.dimensions):
            if dimension in self.unlimited:
                self.lengths[dimension] = max(self.lengths[dimension], box[axis].stop)

    def leave(self, name: str, end: tuple[int, ...]) -> None:
        """Record that netCDF's library has extended a variable: elements that it never fills are undefined."""
        variable = self.variables[name]
        along = zip(variable.dimensions, variable.extent, end, strict=True)
        variable.extent = [max(a, b) if d in self.unlimited else self.lengths[d] for d, a, b in along]
        if not variable.is_filled:
            inside = np.zeros(variable.values.shape, bool)
            inside[tuple(slice(n) for n in variable.extent)] = True
            variable.undefined |= inside & ~variable.written

    def shape(self, name: str) -> tuple[int, ...]:
        return tuple(self.lengths[dimension] for dimension in self.variables[name].dimensions)

    # ---- by netCDF's library -----------------------------------------------------------------------------------------

    def begin(self) -> None:
        """Make dimensions and variables, in both files."""
        is_new = self.kind == "netcdf4"
        groups = ["", "g", "g/h"] if is_new else [""]
        for number in range(self.number(2, 4) if is_new else 1):
            self.define(f"{groups[self.number(0, len(groups) - 1)]}/u{number}".strip("/"), 0)
        for number in range(2):
            self.define(f"x{number}", self.number(1, 5))
        for number in range(self.number(3, 5)):
            self.add_variable(groups[self.number(0, len(groups) - 1)], f"v{number}")

    def define(self, path: str, length: int) -> None:
        group, _, name = path.rpartition("/")
        self.lengths[path] = length
        self.unlimited |= set() if length else {path}
        for file in (self.path, self.twin):
            with netCDF4.Dataset(file, "a" if file.exists() else "w", format=self.kind.upper()) as dataset:
                (dataset.createGroup(group) if group else dataset).createDimension(name, length or None)

    def seen(self, group: str) -> list[str]:
        return [d for d in self.lengths if f"{group}/".startswith(f"{d.rpartition('/')[0]}/".lstrip("/"))]

    def chosen(self, group: str) -> tuple[str, ...]:
        """Return some dimensions for a variable of a group."""
        found = [str(d) for d in self.random.permutation(self.seen(group))[: self.number(1, 3)]]
        if self.kind != "netcdf4":
            found.sort(key=lambda d: d not in self.unlimited)
        return tuple(found)

    def add_variable(self, group: str, name: str) -> None:
        dimensions = self.chosen(group)
        dtype = np.dtype(("i2", "i4", "f4", "f8")[self.number(0, 3)])
        given: dict[str, Any] = {}
        fill: Any = NETCDF_FILLS[dtype.str[1:]]
        if self.random.random() < 0.5:
            given["fill_value"] = fill = dtype.type(-5)
        elif self.kind == "netcdf4" and self.random.random() < 0.4:
            given["fill_value"] = False
        if self.kind == "netcdf4" and self.random.random() < 0.7:
            lengths = [self.lengths[d] or self.number(1, 4) for d in dimensions]
            given["chunksizes"] = [min(n, self.number(1, 4)) for n in lengths]
            given |= ({}, {"zlib": True}, {"fletcher32": True}, {"zlib": True, "shuffle": False})[self.number(0, 3)]
        room = np.full([LONGEST if d in self.unlimited else self.lengths[d] for d in dimensions], fill, dtype)
        path = f"{group}/{name}".strip("/")
        self.variables[path] = Modelled(path, dimensions, room, fill, given.get("fill_value") is not False)
        self.leave(path, (0,) * len(dimensions))
        for file in (self.path, self.twin):
            with netCDF4.Dataset(file, "a") as dataset:
                names = [d.rpartition("/")[2] for d in dimensions]
                (dataset.createGroup(group) if group else dataset).createVariable(name, dtype, names, **given)

    def write_by_netcdf(self) -> None:
        """Write some boxes, which may begin and end after the last element."""
        for _ in range(self.number(1, 6)):
            name = str(self.random.choice(list(self.variables)))
            variable = self.variables[name]
            begin, counts = [], []
            for dimension in variable.dimensions:
                most = LONGEST // 2 if dimension in self.unlimited else self.lengths[dimension]
                begin.append(self.number(0, most - 1))
                counts.append(self.number(1, most - begin[-1]))
            values = self.some(tuple(counts), variable.values.dtype)
            self.write(name, tuple(begin), values)
            self.leave(name, tuple(b + n for b, n in zip(begin, counts, strict=True)))
            for file in (self.path, self.twin):
                self.write_to(file, name, tuple(begin), values)

    @staticmethod
    def write_to(file: Path, name: str, begin: tuple[int, ...], values: np.ndarray) -> None:
        with netCDF4.Dataset(file, "a") as dataset:
            dataset[name].set_auto_maskandscale(False)
            dataset[name][tuple(slice(b, b + n) for b, n in zip(begin, values.shape, strict=True))] = values

    # ---- by Swath ----------------------------------------------------------------------------------------------------

    def change_by_swath(self, ranks: int) -> None:
        """Append, write and add variables in one session; netCDF's library does the same in the twin."""
        steps = self.planned()
        run_ranks(ranks, lambda comm: self.carry_out(steps, comm, swath.open_file(self.path, mode="r+", comm=comm)))
        self.repeat_by_netcdf(steps)

    def repeat_by_netcdf(self, steps: list[Step]) -> None:
        """Record the steps of Swath, and repeat them in the twin by netCDF's library."""
        for name, variable in self.variables.items():
            variable.extent = list(self.shape(name))  # it is not longer in the file
        for step in steps:
            if step.values is not None:
                self.write_to(self.twin, step.name, step.begin, step.values)
                continue
            variable = self.variables[step.name]
            with netCDF4.Dataset(self.twin, "a") as dataset:
                names = [d.rpartition("/")[2] for d in variable.dimensions]
                dataset.createVariable(step.name, variable.values.dtype, names, **step.made[1])

    def planned(self) -> list[Step]:
        """Return the steps. Each variable counts its rows, and a dimension grows when all along it have more."""
        steps: list[Step] = []
        opened, visible = dict(self.lengths), dict(self.lengths)
        along = {name: v.dimensions[0] for name, v in self.variables.items() if v.dimensions[0] in self.unlimited}
        rows = {name: opened[dimension] for name, dimension in along.items()}
        for _ in range(self.number(1, 6)):
            name = str(self.random.choice(list(self.variables)))
            variable = self.variables[name]
            first = variable.dimensions[0]
            shape = tuple(visible[d] for d in variable.dimensions)
            shape = (max(shape[0], rows.get(name, 0)), *shape[1:])
            what = self.random.random()
            if what < 0.2:
                name = f"w{len(self.variables)}"
                dimensions = (*[d for d in self.chosen("") if d in self.unlimited][:1], "x0")
                room = np.full([LONGEST if d in self.unlimited else self.lengths[d] for d in dimensions], -7, "i4")
                self.variables[name] = Modelled(name, dimensions, room, -7)
                steps.append(Step(name))
                if dimensions[0] in self.unlimited:
                    along[name], rows[name] = dimensions[0], opened[dimensions[0]]
                continue
            if 0 in shape[1:]:
                continue
            if what < 0.7 and name in rows and rows[name] < LONGEST - 3:
                begin: tuple[int, ...] = (rows[name], *(0 for _ in shape[1:]))
                values = self.some((self.number(1, 2), *shape[1:]), variable.values.dtype)
                rows[name] += len(values)
                steps.append(Step(name, begin, values, is_append=True))
                visible[first] = max(visible[first], min(rows[other] for other in rows if along[other] == first))
            else:
                begin = tuple(self.number(0, max(n - 1, 0)) for n in shape)
                counts = tuple(self.number(1, n - b) if n else 0 for n, b in zip(shape, begin, strict=True))
                values = self.some(counts, variable.values.dtype)
                steps.append(Step(name, begin, values))
                rows |= {name: shape[0]} if name in rows else {}
            if values.size:
                self.write(name, begin, values)
        return steps

    def carry_out(self, steps: list[Step], comm: Any, opened: swath.File) -> None:
        """Execute all steps in one session, with a file that is already open."""
        with opened as file:
            for name, begin, values, is_append, given in steps:
                if values is None:
                    variable = self.variables[name]
                    dimensions = [d.rpartition("/")[2] for d in variable.dimensions]
                    shape = tuple(None if d in self.unlimited else self.lengths[d] for d in variable.dimensions)
                    made = file.create(name, shape, variable.values.dtype, dimensions=dimensions, **given[0])
                    assert None not in shape or (made[...] == variable.fill).all()
                    continue
                array = file[name]
                grid = (*(1 for _ in values.shape[1:]), comm.size)
                d = swath.Distribution((*(swath.Whole() for _ in values.shape[1:]), swath.Block()), grid=grid)
                share = values[np.ix_(*d.indices(values.shape, comm.rank))]
                box = tuple(slice(b, b + n) for b, n in zip(begin, values.shape, strict=True))
                if is_append:
                    array.append(share, d, records=len(values))
                else:
                    array.write(share, d, selection=box)
                np.testing.assert_array_equal(array[box], values)

    # ---- checks ------------------------------------------------------------------------------------------------------

    def check(self) -> None:
        with swath.open_file(self.path) as file:
            assert set(file) == set(self.variables)
            for name in self.variables:
                assert file.contents.variables[name].shape == self.shape(name)
                self.compare(name, file[name][...], "swath, of a file")
        for name in self.variables:
            self.compare(name, swath.open(self.path, name)[...], "swath")
        for path in (self.twin, self.path):
            with netCDF4.Dataset(path) as dataset:
                dataset.set_auto_maskandscale(False)
                for name in self.variables:
                    values = read_one_by_one(dataset[name])
                    self.compare(name, values, f"netCDF4, of {path.name}", is_by_netcdf=path == self.twin)
        with xr.open_dataset(self.path, engine="swath", decode_cf=False) as data_set:
            for name in data_set.variables:
                self.compare(str(name), data_set[name].values, "xarray")

    def compare(self, name: str, found: np.ndarray, reader: str, *, is_by_netcdf: bool = False) -> None:
        """Compare values with the expected ones. A file by netCDF's library alone has more undefined elements."""
        variable, shape = self.variables[name], self.shape(name)
        assert found.shape == shape, (name, reader)
        box = tuple(slice(n) for n in shape)
        is_any = ~variable.written if is_by_netcdf and not variable.is_filled else variable.undefined
        expected = np.where(is_any[box], found, variable.values[box])
        np.testing.assert_array_equal(found, expected, f"{name}, by {reader}, seed {self.path}")

    def check_copies(self, folder: Path) -> None:
        for suffix in ("nc4", "h5", "zarr"):
            target = folder / f"copy.{suffix}"
            copy = getattr(swath.copy, "__wrapped__", swath.copy)  # not by `by_library`: undefined elements may differ
            copy(self.path, target, overwrite=True)
            with swath.open_file(target) as file:
                for name in self.variables:
                    self.compare(name, file[name][...], f"swath, of a copy to {suffix}")
        with xr.open_dataset(folder / "copy.zarr", engine="zarr", decode_cf=False) as data_set:
            for name in data_set.variables:
                self.compare(str(name), data_set[name].values, "xarray, of a copy to Zarr")


def read_one_by_one(variable: Any) -> np.ndarray:
    """Return all elements; netCDF 4.10 mixes several up if an unlimited dimension is not the first."""
    if not any(dimension.isunlimited() for dimension in variable.get_dims()[1:]):
        return np.asarray(variable[...])
    found = np.empty(variable.shape, variable.dtype)
    for place in np.ndindex(*variable.shape):
        found[place] = variable[place]
    return found
