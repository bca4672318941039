"""Files of other programs, and files for other programs: Swath and their own libraries read the same values, these
libraries read the values that Swath writes, and nothing else in the file changes."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import swath
from cases import METHODS
from real_file_cases import distributions, hdf5, same, share, stored
from swath import Block, Boxes, Cyclic, Distribution, balanced_grid, formats
from swath.formats import ChunkedLayout
from swath.simulated import run_ranks

h5py = pytest.importorskip("h5py")
netCDF4 = pytest.importorskip("netCDF4")


REAL = ("ostia_monthly.nc", "A1B_north_america.nc", "space_weather.nc")

SMALL = {"window_bytes": 1 << 14, "sieve_bytes": 1 << 13, "domain_bytes_min": 1 << 10, "runs_bytes_min": 1 << 9}


def real_file(name: str) -> Path:
    """Return a file of the package iris-sample-data."""
    return Path(pytest.importorskip("iris_sample_data").__file__).parent / "sample_data" / name


def all_stored(path: Path) -> dict[str, np.ndarray]:
    """Return every variable that Swath can read."""
    return {name: stored(path, name) for name in formats.contents(path).variables}


def selections(shape: tuple[int, ...]) -> list[Any]:
    """Return the whole array and, if it has more than one element, a part with steps and a reversed dimension."""
    return [..., (slice(1, None, 2), ..., slice(None, None, -3))[: len(shape) + 1]] if len(shape) > 1 else [...]


def check_reads(path: Path, variable: str | None, values: np.ndarray, ranks: int) -> None:
    """Check that every method, in a few distributions, reads the library's values."""

    def work(comm: Any) -> None:
        with swath.open(path, variable, comm=comm) as a:
            assert a.shape == values.shape
            for selection in selections(values.shape):
                selected = np.asarray(values[selection])
                for d in distributions(selected.shape, ranks):
                    for method in METHODS:
                        got = a.read(d, selection=selection, method=method, tuning=SMALL)
                        if selected.ndim or comm.rank == 0:
                            assert same(got, share(selected, d, comm.rank)), (variable, d, method)
            assert same(np.asarray(a[...]), values)

    run_ranks(ranks, work, seed=ranks)


def element_offsets(path: Path, variable: str | None) -> np.ndarray:
    """Return the file offset of every element, by the definition of its layout."""
    description = formats.describe(path, variable)
    layout, shape = description.layout, description.shape
    index = tuple(np.indices(shape)) if shape else ()
    if isinstance(layout, ChunkedLayout):
        chunk, within = zip(*(np.divmod(i, c) for i, c in zip(index, layout.chunk_shape, strict=True)), strict=True)
        inside = np.ravel_multi_index(within, layout.chunk_shape)
        return layout.offsets[chunk] + inside * description.dtype.itemsize
    return np.asarray(layout.offset + sum(i * s for i, s in zip(index, layout.strides, strict=True)))


def new_values(old: np.ndarray, seed: int) -> np.ndarray:
    """Return other values of the same dtype; each differs from the old one."""
    rng = np.random.default_rng(seed)
    if old.dtype.kind == "S":
        return np.where(old == b"x", b"y", b"x").astype(old.dtype)
    kind = old.dtype.newbyteorder("=")
    new = rng.integers(1, 100, old.shape).astype(kind)
    return np.where(new == old, new + kind.type(1), new).astype(old.dtype)


def write_share(path: Path, variable: str | None, comm: Any, values: np.ndarray, d: Distribution, **how: Any) -> None:
    """Write one rank's part of `values` in place."""
    with swath.open(path, variable, mode="r+", comm=comm) as a:
        a.write(share(values, d, comm.rank).astype(a.dtype), d, **how)


def check_writes(path: Path, variable: str | None, ranks: int) -> None:
    """Check that every method writes its elements and no other byte; the library reads all variables back."""
    others = all_stored(path)
    name = formats.describe(path, variable).variable
    assert name is not None
    expected = others.pop(name).copy()
    offsets = element_offsets(path, variable)
    image = np.fromfile(path, np.uint8)
    work = [(d, s) for s in selections(expected.shape) for d in distributions(np.asarray(expected[s]).shape, ranks)]
    for number, method in enumerate(METHODS):
        d, selection = work[number % len(work)]
        new = new_values(expected, number)
        chosen = np.asarray(new[selection])

        how = {"selection": selection, "method": method, "tuning": SMALL}
        run_ranks(
            ranks, lambda comm, c=chosen, d=d, how=how: write_share(path, variable, comm, c, d, **how), seed=number
        )
        expected[selection] = chosen
        dtype = formats.describe(path, variable).dtype
        at = np.asarray(offsets[selection])[..., None] + np.arange(dtype.itemsize)
        image[at] = np.ascontiguousarray(chosen.astype(dtype)).reshape(-1).view(np.uint8).reshape(at.shape)
        now = np.fromfile(path, np.uint8)
        assert now.size == image.size
        assert (now == image).all(), (name, method, np.flatnonzero(now != image)[:5])
        assert same(stored(path, name), expected), (name, method)
    for other, values in others.items():
        assert same(stored(path, other), values), other


@pytest.mark.parametrize("ranks", [1, 4])
@pytest.mark.parametrize("name", REAL)
def test_every_variable_of_a_real_file_is_read_as_its_library_reads_it(name: str, ranks: int) -> None:
    path = real_file(name)
    found = all_stored(path)
    assert len(found) >= 8
    for variable, values in found.items():
        check_reads(path, variable, values, ranks)


@pytest.mark.parametrize("ranks", [1, 4])
@pytest.mark.parametrize("name", REAL)
def test_every_variable_of_a_real_file_is_written_in_place(tmp_path: Path, name: str, ranks: int) -> None:
    path = tmp_path / name
    shutil.copyfile(real_file(name), path)
    path.chmod(0o644)
    for variable in formats.contents(path).variables:
        layout = formats.describe(path, variable).layout
        if isinstance(layout, ChunkedLayout) and (layout.offsets < 0).any():
            # It is not stored yet: the library first allocates space, and moves metadata.
            others = all_stored(path)
            new = others[variable] = new_values(others[variable], 1)
            run_ranks(ranks, lambda c, n=variable, v=new: write_share(path, n, c, v, Distribution((), ())))
            for other, values in others.items():
                assert same(stored(path, other), values), other
        check_writes(path, variable, ranks)


def classic(flavour: str) -> Callable[[Path], str]:
    def make(path: Path) -> str:
        with netCDF4.Dataset(path, "w", format=flavour) as file:
            for dimension, n in (("time", None), ("y", 13), ("x", 7)):
                file.createDimension(dimension, n)
            file.createVariable("grid", "f8", ("y", "x"))[:] = np.arange(91).reshape(13, 7)
            for variable, kind, dimensions in (
                ("a", "i2", ("time", "x")),
                ("flag", "i1", ("time",)),
                ("b", "f8", ("time", "y", "x")),
                ("c", "f4", ("time", "y")),
            ):
                shape = [6 if d == "time" else len(file.dimensions[d]) for d in dimensions]
                file.createVariable(variable, kind, dimensions)[:] = np.arange(np.prod(shape)).reshape(shape)
            file["b"].units = "K"
        return "b"

    return make


MADE: dict[str, Callable[[Path], str]] = {
    "records-cdf1": classic("NETCDF3_CLASSIC"),
    "records-cdf2": classic("NETCDF3_64BIT_OFFSET"),
    "records-cdf5": classic("NETCDF3_64BIT_DATA"),
    "hdf5-big-endian": hdf5(dtype=">f4"),
    "hdf5-big-endian-chunked": hdf5(dtype=">i2", chunks=(5, 8)),
    "hdf5-ragged-chunks": hdf5(chunks=(5, 8)),
    "hdf5-chunks-of-one": hdf5(chunks=(1, 1)),
    "hdf5-one-chunk-larger-than-the-array": hdf5(chunks=(20, 40), maxshape=(None, None)),
}


@pytest.mark.parametrize("ranks", [1, 4])
@pytest.mark.parametrize("what", MADE)
def test_files_of_every_kind_are_read_and_written(tmp_path: Path, what: str, ranks: int) -> None:
    path = tmp_path / "a.file"
    variable = MADE[what](path)
    for name, values in all_stored(path).items():
        check_reads(path, name, values, ranks)
        check_writes(path, name, ranks)
    with swath.open(path, variable) as a:
        assert a.attributes["units"] == "K"


@pytest.mark.parametrize("ranks", [1, 3])
@pytest.mark.parametrize(("chunks", "stored_chunks"), [(None, ()), ((4, 5), ()), ((4, 5), (0, 3))])
def test_chunks_not_yet_stored_read_as_the_fill_value_and_are_written(
    tmp_path: Path, chunks: tuple[int, int] | None, stored_chunks: tuple[int, ...], ranks: int
) -> None:
    path = tmp_path / "a.h5"
    expected = np.full((10, 12), 2.5)
    with h5py.File(path, "w") as file:
        v = file.create_dataset("v", shape=(10, 12), dtype="<f8", chunks=chunks, fillvalue=2.5)
        file["other"] = np.arange(100)
        for number in stored_chunks:
            box = np.s_[4 * (number // 3) : 4 * (number // 3) + 4, 5 * (number % 3) : 5 * (number % 3) + 5]
            v[box] = number
            expected[box] = number
    check_reads(path, "v", expected, ranks)
    before = path.read_bytes()
    d = Distribution((Block(), Cyclic(2)), balanced_grid((Block(), Cyclic(2)), ranks))
    for method in METHODS:
        path.write_bytes(before)
        chosen = np.arange(4.0 * 6).reshape(4, 6)

        def write(comm: Any, method: str = method, chosen: np.ndarray = chosen) -> None:
            with swath.open(path, "v", mode="r+", comm=comm) as a:
                a.write(share(chosen, d, comm.rank), d, selection=np.s_[3:7, ::2], method=method)
                assert same(a[3:7, ::2], chosen)  # the same open array knows the new places of the chunks

        run_ranks(ranks, write)
        wanted = expected.copy()
        wanted[3:7, ::2] = chosen
        assert same(stored(path, "v"), wanted), method
        assert same(stored(path, "other"), np.arange(100))
        check_reads(path, "v", wanted, ranks)


def compact(path: Path) -> None:
    with h5py.File(path, "w") as file:
        plist = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        plist.set_layout(h5py.h5d.COMPACT)
        space = h5py.h5s.create_simple((13, 29))
        h5py.h5d.create(file.id, b"v", h5py.h5t.IEEE_F64LE, space, plist)
        file["v"][...] = np.arange(13 * 29).reshape(13, 29)


def external(path: Path) -> None:
    with h5py.File(path, "w") as file:
        outside = [(str(path.with_suffix(".bin")), 0, h5py.h5f.UNLIMITED)]
        file.create_dataset("v", data=np.arange(13.0 * 29).reshape(13, 29), external=outside)


def virtual(path: Path) -> None:
    layout = h5py.VirtualLayout(shape=(13, 29), dtype="<f8")
    for half, columns in enumerate((slice(0, 12), slice(12, 29))):
        source = path.with_name(f"half{half}.h5")
        with h5py.File(source, "w") as file:
            file["part"] = np.arange(13.0 * 29).reshape(13, 29)[:, columns]
        layout[:, columns] = h5py.VirtualSource(source, "part", shape=(13, columns.stop - columns.start))
    with h5py.File(path, "w") as file:
        file.create_virtual_dataset("v", layout)


# The function that makes the file, the writer, and the expected text.
OUT_OF_REACH: dict[str, tuple[Callable[[Path], Any], str, str]] = {
    "gzip": (hdf5(chunks=(5, 8), compression="gzip"), "chunks", "chunks of 5 by 8, zlib"),
    "shuffled gzip": (
        hdf5(chunks=(5, 8), compression="gzip", shuffle=True),
        "chunks",
        "chunks of 5 by 8, shuffle, zlib",
    ),
    "checksums": (hdf5(chunks=(5, 8), fletcher32=True), "chunks", "chunks of 5 by 8, fletcher32"),
    "compact": (compact, "library", "compact dataset: its elements lie inside the metadata"),
    "external": (external, "library", "external storage: its elements lie in other files"),
    "virtual": (virtual, "library", "virtual dataset: its elements are those of other datasets"),
}


@pytest.mark.parametrize("ranks", [1, 4])
@pytest.mark.parametrize("what", OUT_OF_REACH)
def test_bytes_out_of_reach_are_moved_by_whole_chunks_or_the_library_and_explain_says_so(
    tmp_path: Path, what: str, ranks: int
) -> None:
    make, method, reason = OUT_OF_REACH[what]
    path = tmp_path / "a.h5"
    make(path)
    expected = np.arange(13.0 * 29).reshape(13, 29)
    check_reads(path, "v", expected, ranks)
    for number, d in enumerate(distributions((13, 29), ranks)):
        selection = (np.s_[::2, ::-3], ..., np.s_[3:11])[number]
        chosen = new_values(expected[selection], number)

        def write(comm: Any, d: Any = d, selection: Any = selection, chosen: Any = chosen) -> None:
            with swath.open(path, "v", mode="r+", comm=comm) as a:
                a.write(share(chosen, d, comm.rank), d, selection=selection)
                assert a.counters.method == method
                plan = a.explain(d, selection=selection, write=True)
                assert plan.method == plan.to_dict()["method"] == method
                told_in = [str(plan), a.layout]
                if method == "library":
                    told_in += [plan.reason, plan.to_dict()["reason"]]
                for text in told_in:
                    assert re.search(reason, text)

        run_ranks(ranks, write)
        expected[selection] = chosen
        assert same(stored(path, "v"), expected)
    boxes = [Boxes([((r, 2), (r + 1, 9)), ((r + 5, 0), (r + 6, 29))]) for r in range(ranks)]

    def write_boxes(comm: Any) -> None:
        with swath.open(path, "v", mode="r+", comm=comm) as a:
            parts = a.read(boxes[comm.rank])
            for part, (low, high) in zip(parts, boxes[comm.rank].boxes, strict=True):
                assert same(part, expected[low[0] : high[0], low[1] : high[1]])
            a.write([-part for part in parts], boxes[comm.rank])
            assert a.explain(boxes[comm.rank], write=True).method == method

    run_ranks(ranks, write_boxes)
    for of_rank in boxes:
        for low, high in of_rank.boxes:
            expected[low[0] : high[0], low[1] : high[1]] *= -1
    assert same(stored(path, "v"), expected)
