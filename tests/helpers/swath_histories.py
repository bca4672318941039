"""Files of random histories that Swath begins, and netCDF's library and Swath continue in turn.

Swath makes the file, its dimensions, variables, chunks, codecs and attributes. netCDF's library alone makes the same in
a twin file. Both are compared as that library reads them.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import netCDF4
import numpy as np

import swath
from netcdf_histories import LONGEST, History, Modelled, Step, read_one_by_one
from swath.formats.netcdf_fills import NETCDF_FILLS
from swath.simulated import run_ranks

FORMATS = {
    "netcdf4": "netcdf4",
    "netcdf3_classic": "netcdf-classic:cdf1",
    "netcdf3_64bit_offset": "netcdf-classic:cdf2",
    "netcdf3_64bit_data": "netcdf-classic:cdf5",
}
"""Swath's formats, by the names of netCDF's library."""
CODECS: list[tuple[Any, dict[str, Any]]] = [
    (None, {}),
    ("zlib", {"zlib": True, "complevel": 4, "shuffle": False}),
    (["shuffle", {"name": "zlib", "configuration": {"level": 2}}], {"zlib": True, "complevel": 2}),
    ("fletcher32", {"fletcher32": True}),
    ("zstd", {"compression": "zstd", "complevel": 3}),
]
"""The arguments of Swath, and those of netCDF's library for the same."""


class BegunBySwath(History):
    """A history whose first session is Swath's; `attributes` are those of the file, its groups and its variables."""

    def __init__(self, folder: Path, seed: int, kind: str) -> None:
        super().__init__(folder, seed, kind)
        self.attributes: dict[str, dict[str, Any]] = {"": {}}
        self.is_new = kind == "netcdf4"
        self.chunked: set[str] = set()

    # ---- The first session -------------------------------------------------------------------------------------------

    def begin_by_swath(self, ranks: int) -> None:
        """Make the file, and write into it before it is closed."""
        self.lengths["x0"] = self.number(1, 5)
        steps = [self.made("", "first", ("x0",))]
        groups = ["", "g", "g/h"] if self.is_new else [""]
        for number in range(self.number(2, 5)):
            group = groups[self.number(0, len(groups) - 1)]
            self.note_group(group)
            name, dimensions = self.wanted(group, f"v{number}")
            steps.append(self.made(group, name, dimensions))
        steps += self.planned()
        self.attributes[""] = self.some_attributes()
        self.begin_twin()

        def make(comm: Any) -> None:
            made = swath.create_file(
                self.path, format=FORMATS[self.kind], comm=comm, attributes=dict(self.attributes[""])
            )
            self.carry_out(steps, comm, made)

        run_ranks(ranks, make)
        self.repeat_by_netcdf(steps)
        for holder in self.attributes:
            self.set_by_netcdf(self.twin, holder, self.attributes[holder])
        for name in self.variables:
            self.attributes.setdefault(name, {})

    def wanted(self, group: str, name: str) -> tuple[str, tuple[str, ...]]:
        """Return the name of a variable, and some dimensions that exist, or are made with it."""
        if self.random.random() < 0.2:  # a coordinate variable, whose dimension is made with it
            return f"c{len(self.lengths)}", (self.new_dimension(f"{group}/c{len(self.lengths)}".strip("/")),)
        found: list[str] = []
        if not self.is_new and self.random.random() < 0.6:
            found.append("time")
            self.lengths.setdefault("time", 0)
            self.unlimited.add("time")
        for _ in range(self.number(1, 3 - len(found))):
            seen = [d for d in self.seen(group) if d not in found and (self.is_new or d not in self.unlimited)]
            if seen and self.random.random() < 0.5:
                found.append(str(self.random.choice(seen)))
            else:
                found.append(self.new_dimension(f"{group}/d{len(self.lengths)}".strip("/")))
        return name, tuple(found)

    def new_dimension(self, path: str) -> str:
        """Record a dimension, which grows in half of the cases where several may grow."""
        self.lengths[path] = self.number(1, 5)
        if self.is_new and self.random.random() < 0.5:
            self.lengths[path] = 0
            self.unlimited.add(path)
        return path

    def note_group(self, group: str) -> None:
        parts = group.split("/") if group else []
        for count in range(len(parts)):
            self.attributes.setdefault("/".join(parts[: count + 1]), {})

    def made(self, group: str, name: str, dimensions: tuple[str, ...]) -> Step:
        """Record a variable, and return the step that makes it."""
        dtype = np.dtype(("i2", "i4", "f4", "f8", "i1")[self.number(0, 4)])
        fill: Any = NETCDF_FILLS[dtype.str[1:]]
        by_swath: dict[str, Any] = {}
        by_netcdf: dict[str, Any] = {}
        if self.random.random() < 0.5:
            by_swath["fill"] = by_netcdf["fill_value"] = fill = dtype.type(-5)
        path = f"{group}/{name}".strip("/")
        if self.is_new and self.random.random() < 0.7:
            chunks = tuple(min(self.lengths[d] or self.number(1, 4), self.number(1, 4)) for d in dimensions)
            codecs, same = CODECS[self.number(0, len(CODECS) - 1)]
            by_swath |= {"chunks": chunks, "codecs": codecs}
            by_netcdf |= {"chunksizes": chunks, **same}
            self.chunked.add(path)
        by_swath["attributes"] = self.some_attributes()
        self.attributes[path] = dict(by_swath["attributes"])
        room = np.full([LONGEST if d in self.unlimited else self.lengths[d] for d in dimensions], fill, dtype)
        self.variables[path] = Modelled(path, dimensions, room, fill)
        return Step(path, made=(by_swath, by_netcdf))

    def begin_twin(self) -> None:
        with netCDF4.Dataset(self.twin, "w", format=self.kind.upper()) as dataset:
            for group in self.attributes:
                if group and group not in self.variables:
                    dataset.createGroup(group)
            for path, length in self.lengths.items():
                group, _, name = path.rpartition("/")
                (dataset[group] if group else dataset).createDimension(name, None if path in self.unlimited else length)

    # ---- Attributes --------------------------------------------------------------------------------------------------

    def some_attributes(self) -> dict[str, Any]:
        """Return some attributes of types that the format has."""
        values: list[Any] = [
            "K",
            "größe",
            "two\nlines",
            "x" * 300,
            np.int32(-3),
            np.float64(0.1),
            np.array([1, 2, 3], "i2"),
            np.array([0.5, np.nan], "f4"),
        ]
        if self.kind in ("netcdf4", "netcdf3_64bit_data"):
            values += [np.uint64(2**63), np.array([2**40, -1], "i8"), np.uint8(200)]
        if self.is_new:
            values.append(["Ann", "Bob"])
        names = self.random.permutation(["units", "long_name", "höhe", "valid_range", "a b", "note"])
        return {str(name): values[self.number(0, len(values) - 1)] for name in names[: self.number(0, 4)]}

    def some_holder(self) -> str:
        return str(self.random.choice(list(self.attributes)))

    def change_attributes(self, *, by_swath: bool, ranks: int = 1) -> None:
        """Set some attributes of one holder, and remove one that it has."""
        holder = self.some_holder()
        known = self.attributes[holder]
        gone = [str(self.random.choice(list(known)))] if known and self.random.random() < 0.4 else []
        new = {name: value for name, value in self.some_attributes().items() if name not in gone}
        if by_swath:
            run_ranks(ranks, lambda comm: self.set_by_swath(holder, new, gone, comm))
        else:
            self.set_by_netcdf(self.path, holder, new, gone)
        self.set_by_netcdf(self.twin, holder, new, gone)
        self.attributes[holder] = {name: value for name, value in {**known, **new}.items() if name not in gone}

    def set_by_swath(self, holder: str, new: dict[str, Any], gone: list[str], comm: Any) -> None:
        with swath.open_file(self.path, mode="r+", comm=comm) as file:
            found = file if not holder else file[holder] if holder in self.variables else file.groups[holder]
            found.attributes.update(new)
            for name in gone:
                del found.attributes[name]

    @staticmethod
    def set_by_netcdf(file: Path, holder: str, new: dict[str, Any], gone: Any = ()) -> None:
        with netCDF4.Dataset(file, "a") as dataset:
            found = dataset[holder] if holder else dataset
            for name, value in new.items():
                found.setncattr_string(name, value) if isinstance(value, list) else found.setncattr(name, value)
            for name in gone:
                found.delncattr(name)

    # ---- Going on ----------------------------------------------------------------------------------------------------

    def go_on(self, turn: int, ranks: int) -> None:
        """Change the file by netCDF's library in even turns, and by Swath in odd ones."""
        if turn % 2:
            self.change_by_swath(ranks)
            self.change_attributes(by_swath=True, ranks=ranks)
        else:
            groups = [name for name in self.attributes if name not in self.variables]
            self.add_variable(str(self.random.choice(groups)), f"n{turn}")
            self.write_by_netcdf()
            self.change_attributes(by_swath=False)
        for name in self.variables:
            self.attributes.setdefault(name, {})

    def check(self) -> None:
        super().check()
        with netCDF4.Dataset(self.path) as one, netCDF4.Dataset(self.twin) as other:
            for holder, attributes in self.attributes.items():
                pair = [dataset[holder] if holder else dataset for dataset in (one, other)]
                found = [{name: each.getncattr(name) for name in each.ncattrs()} for each in pair]
                assert_same(found[0], found[1], holder)
                assert found[0].keys() - {"_FillValue"} == attributes.keys()
            for path, length in self.lengths.items():
                group, _, name = path.rpartition("/")
                for dataset in (one, other):
                    dimension = (dataset[group] if group else dataset).dimensions[name]
                    assert (len(dimension), dimension.isunlimited()) == (length, path in self.unlimited), path
            for path in self.variables:
                a, b = one[path], other[path]
                assert (a.dtype, a.dimensions, a.endian()) == (b.dtype, b.dimensions, b.endian())
                if path in self.chunked:
                    assert a.chunking() == b.chunking(), (path, a.chunking(), b.chunking(), a.shape, b.filters())
                    assert a.filters() == b.filters(), (path, a.filters(), b.filters())
                a.set_auto_maskandscale(False)
                self.compare(path, read_one_by_one(a), "netCDF4")
        with swath.open_file(self.path) as file:
            for holder, attributes in self.attributes.items():
                found_by_swath = file if not holder else file[holder] if holder in file else file.groups[holder]
                own = {name: value for name, value in found_by_swath.attributes.items() if name != "_FillValue"}
                assert_same(own, attributes, holder)


def assert_same(found: dict[str, Any], expected: dict[str, Any], holder: str) -> None:
    """Assert that attributes are the same, the types of numbers, too."""
    assert found.keys() == expected.keys(), holder
    for name, value in expected.items():
        one = found[name]
        if isinstance(value, str | list):
            assert one == value, (holder, name)
            continue
        assert np.asarray(one).dtype == np.asarray(value).dtype, (holder, name)
        np.testing.assert_array_equal(one, value, f"{holder}: {name}")
