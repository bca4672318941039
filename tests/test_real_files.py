"""Files of other programs, and files for other programs: what Swath reads is what their own libraries read, what it
writes they read back, and nothing else in the file changes."""

from __future__ import annotations

import os
import re
import shutil
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import swath
from cases import METHODS
from swath import Block, Boxes, Cyclic, Distribution, Whole, balanced_grid, formats
from swath.formats import ChunkedLayout, LibraryLayout
from swath.simulated import run_ranks

h5py = pytest.importorskip("h5py")
netCDF4 = pytest.importorskip("netCDF4")

REAL = ("ostia_monthly.nc", "A1B_north_america.nc", "space_weather.nc")
SMALL = {"window_bytes": 1 << 14, "sieve_bytes": 1 << 13, "domain_bytes_min": 1 << 10, "runs_bytes_min": 1 << 9}


def real_file(name: str) -> Path:
    """A file of the package iris-sample-data."""
    return Path(pytest.importorskip("iris_sample_data").__file__).parent / "sample_data" / name


def stored(path: Path, variable: str) -> np.ndarray:
    """The values as stored, by the format's own library."""
    if h5py.is_hdf5(path):
        with h5py.File(path, "r") as file:
            return np.asarray(file[variable][()])
    with netCDF4.Dataset(path) as file:
        file.set_auto_maskandscale(False)
        file.set_auto_chartostring(False)
        return np.asarray(file[variable][...])


def all_stored(path: Path) -> dict[str, np.ndarray]:
    """Every variable that Swath knows of."""
    return {name: stored(path, name) for name in formats.contents(path).variables}


def same(a: np.ndarray, b: np.ndarray) -> bool:
    """The same values bit for bit, in whatever byte order."""
    return a.shape == b.shape and a.astype(b.dtype, copy=False).tobytes() == b.tobytes()


def distributions(shape: tuple[int, ...], ranks: int) -> Iterator[Distribution]:
    """A few that fit."""
    ndim = len(shape)
    if ndim == 0:
        yield Distribution((), ())
        return
    yield Distribution((Block(), *[Whole()] * (ndim - 1)), (ranks,))
    yield Distribution((*[Whole()] * (ndim - 1), Cyclic()), (ranks,))
    mixed = [(Cyclic(2), Block(), Cyclic(3))[d % 3] for d in range(ndim)]
    yield Distribution(mixed, balanced_grid(mixed, ranks))


def share(array: np.ndarray, d: Distribution, rank: int) -> np.ndarray:
    """What NumPy gives `rank`."""
    return array[np.ix_(*d.indices(array.shape, rank))] if array.ndim else array


def selections(shape: tuple[int, ...]) -> list[Any]:
    """All of it; and, where there is more than one element, a part with steps and a reversed dimension."""
    return [..., (slice(1, None, 2), ..., slice(None, None, -3))[: len(shape) + 1]] if len(shape) > 1 else [...]


def check_reads(path: Path, variable: str | None, values: np.ndarray, ranks: int) -> None:
    """Every method, in a few distributions, reads what the library reads."""

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
    """The file offset of every element, by the definition of its layout."""
    description = formats.describe(path, variable)
    layout, shape = description.layout, description.shape
    index = tuple(np.indices(shape)) if shape else ()
    if isinstance(layout, ChunkedLayout):
        chunk, within = zip(*(np.divmod(i, c) for i, c in zip(index, layout.chunk_shape, strict=True)), strict=True)
        inside = np.ravel_multi_index(within, layout.chunk_shape)
        return layout.offsets[chunk] + inside * description.dtype.itemsize
    return np.asarray(layout.offset + sum(i * s for i, s in zip(index, layout.strides, strict=True)))


def new_values(old: np.ndarray, seed: int) -> np.ndarray:
    """Other values of the same dtype, none of which is what it was."""
    rng = np.random.default_rng(seed)
    if old.dtype.kind == "S":
        return np.where(old == b"x", b"y", b"x").astype(old.dtype)
    kind = old.dtype.newbyteorder("=")
    new = rng.integers(1, 100, old.shape).astype(kind)
    return np.where(new == old, new + kind.type(1), new).astype(old.dtype)


def write_share(path: Path, variable: str | None, comm: Any, values: np.ndarray, d: Distribution, **how: Any) -> None:
    """One rank's part of writing `values` in place."""
    with swath.open(path, variable, mode="r+", comm=comm) as a:
        a.write(share(values, d, comm.rank).astype(a.dtype), d, **how)


def check_writes(path: Path, variable: str | None, ranks: int) -> None:
    """Every method writes its elements and no other byte; the library reads them, and all other variables, back."""
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
            # Not stored yet: the library makes room first, and moves metadata about.
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


def hdf5(**options: Any) -> Callable[[Path], str]:
    def make(path: Path) -> str:
        with h5py.File(path, "w") as file:
            file["before"] = np.arange(5)
            values = np.arange(13 * 29).reshape(13, 29).astype(options.get("dtype", "<f8"))
            file.create_dataset("v", data=values, **{k: v for k, v in options.items() if k != "dtype"})
            file["v"].attrs["units"] = "K"
            file["after"] = np.arange(7.0)
        return "v"

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
                assert same(a[3:7, ::2], chosen)  # the same open array sees where the chunks are now

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


# How the file is made, what writes it, and what is said of it.
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


NEW_FILES: dict[str, tuple[str, dict[str, Any]]] = {
    "raw-C": ("a.dat", {"order": "C"}),
    "raw-F": ("a.dat", {"order": "F"}),
    "npy-C": ("a.npy", {"order": "C"}),
    "npy-F": ("a.npy", {"order": "F"}),
    "cdf1": ("a.nc", {"format": "netcdf-classic:cdf1", "variable": "v"}),
    "cdf2": ("a.nc", {"format": "netcdf-classic:cdf2", "variable": "v"}),
    "cdf5": ("a.nc", {"variable": "v", "dimensions": ("y", "x"), "attributes": {"units": "K"}}),
    "hdf5": ("a.h5", {"variable": "v", "attributes": {"units": "K"}}),
}


def load(path: Path, dtype: Any, order: str = "C") -> np.ndarray:
    """The array in a file that `swath.create` made, by another library."""
    if path.suffix == ".npy":
        return np.load(path)
    if path.suffix == ".dat":
        return np.fromfile(path, dtype).reshape((12, 11), order=order)  # type: ignore[call-overload]
    return stored(path, "v")


@pytest.mark.parametrize("ranks", [1, 2, 3, 4])
@pytest.mark.parametrize("what", NEW_FILES)
def test_other_libraries_read_what_was_created(tmp_path: Path, what: str, ranks: int) -> None:
    name, options = NEW_FILES[what]
    for number, method in enumerate(METHODS):
        path = tmp_path / f"{number}" / name
        path.parent.mkdir()
        values = np.random.default_rng(number).integers(-1000, 1000, (12, 11)).astype(("<f8", "<i4")[number % 2])

        def work(comm: Any, path: Path = path, values: np.ndarray = values, method: str = method) -> None:
            with swath.create(path, values.shape, values.dtype, comm=comm, **options) as b:
                d = list(distributions(values.shape, ranks))[len(method) % 3]
                b.write(share(values, d, comm.rank), d, method=method)
                assert same(b[...] if ranks == 1 else values, values)

        run_ranks(ranks, work)
        got = load(path, values.dtype, options.get("order", "C"))
        assert same(got, values)
        assert got.dtype == values.dtype or path.suffix == ".nc"
        assert got.flags.f_contiguous == (options.get("order") == "F")
        assert os.listdir(path.parent) == [name]
        raw = {"shape": (12, 11), "dtype": values.dtype, "order": options.get("order")}
        with swath.open(path, **(raw if path.suffix == ".dat" else {})) as a:
            assert same(a[...], values)
            assert a.attributes == options.get("attributes", {})
        umask = os.umask(0)
        os.umask(umask)
        assert stat.S_IMODE(path.stat().st_mode) == 0o666 & ~umask


@pytest.mark.parametrize("ranks", [1, 3])
@pytest.mark.parametrize("fill", [None, 0, 7, np.nan])
@pytest.mark.parametrize("what", NEW_FILES)
def test_elements_never_written_are_the_fill_value(tmp_path: Path, what: str, fill: Any, ranks: int) -> None:
    name, options = NEW_FILES[what]
    default = netCDF4.default_fillvals["f8"] if name.endswith(".nc") else 0.0
    filled = np.full((12, 11), default if fill is None else fill, "<f8")
    d = Distribution((Cyclic(), Whole()), (ranks,))
    first, second = np.s_[2:9, 3:10:2], np.s_[::5, ::-4]
    for number, parts in enumerate([[], [first], [first, second]]):
        path = tmp_path / f"{number}" / name
        path.parent.mkdir()
        expected = filled.copy()
        for part in parts:
            expected[part] = 1.5

        def work(comm: Any, path: Path = path, parts: list[Any] = parts) -> None:
            with swath.create(path, (12, 11), "<f8", fill=fill, comm=comm, **options) as b:
                for part in parts:
                    mine = np.full(d.local_shape(filled[part].shape, comm.rank), 1.5)
                    b.write(mine, d, selection=part)
                assert same(np.asarray(b.fill_value), filled[0, 0])

        run_ranks(ranks, work)
        assert same(load(path, "<f8", options.get("order", "C")), expected)


def test_scalars_and_empty_arrays_are_created(tmp_path: Path) -> None:
    for suffix in ("dat", "npy", "nc", "h5"):
        path = tmp_path / f"scalar.{suffix}"
        with swath.create(path, (), "<f4", variable="v" if suffix in ("nc", "h5") else None) as b:
            b.write(np.float32(2.5))
        got = np.fromfile(path, "<f4")[0] if suffix == "dat" else load(path, "<f4")
        assert got == np.float32(2.5)
        path = tmp_path / f"empty.{suffix}"
        with swath.create(path, (0, 3), "<f4", variable="v" if suffix in ("nc", "h5") else None) as b:
            b.write(np.zeros((0, 3), "<f4"))
        assert suffix == "dat" or load(path, "<f4").shape == (0, 3)
        assert suffix != "dat" or path.stat().st_size == 0


def create_all(path: Path, values: np.ndarray, **options: Any) -> None:
    with swath.create(path, values.shape, values.dtype, **options) as b:
        b.write(values)


OLD, NEW = np.arange(12.0).reshape(3, 4), np.arange(12.0).reshape(3, 4) * 7


@pytest.mark.parametrize("ranks", [1, 3])
def test_an_existing_file_is_replaced_only_when_asked_and_only_at_the_end(tmp_path: Path, ranks: int) -> None:
    path = tmp_path / "a.npy"
    np.save(path, OLD)
    d = Distribution((Cyclic(), Whole()), (ranks,))

    def refused(comm: Any) -> None:
        with pytest.raises(swath.ExistsError, match=r"create .*a\.npy: the file exists; give overwrite=True"):
            swath.create(path, (3, 4), "<f8", comm=comm)

    run_ranks(ranks, refused)
    assert sorted(os.listdir(tmp_path)) == ["a.npy"]

    def replaced(comm: Any) -> None:
        with swath.create(path, (3, 4), "<f8", comm=comm, overwrite=True) as b:
            b.write(share(NEW, d, comm.rank), d)
            b.sync()
            assert same(np.load(path), OLD)
            comm.barrier()
        assert same(np.load(path), NEW)

    run_ranks(ranks, replaced)
    assert sorted(os.listdir(tmp_path)) == ["a.npy"]


@pytest.mark.parametrize("atomic", [True, False])
@pytest.mark.parametrize("who", ["one", "all"])
@pytest.mark.parametrize("ranks", [1, 3])
def test_an_exception_inside_leaves_nothing_behind(tmp_path: Path, ranks: int, who: str, atomic: bool) -> None:
    path = tmp_path / "a.npy"
    np.save(path, OLD)
    d = Distribution((Cyclic(), Whole()), (ranks,))

    def make(comm: Any) -> None:
        with swath.create(path, (3, 4), "<f8", comm=comm, overwrite=True, atomic=atomic) as b:
            b.write(share(NEW, d, comm.rank), d)
            if who == "all" or comm.rank == ranks - 1:
                raise ZeroDivisionError("mistake")

    def work(comm: Any) -> str:
        with pytest.raises((ZeroDivisionError, swath.Error)) as raised:
            make(comm)
        return str(raised.value)

    assert all("mistake" in text for text in run_ranks(ranks, work))
    if atomic:
        assert same(np.load(path), OLD)
    assert os.listdir(tmp_path) == (["a.npy"] if atomic else [])


def test_a_file_that_need_not_be_atomic_is_written_under_its_name(tmp_path: Path) -> None:
    path = tmp_path / "a.npy"
    with swath.create(path, (3, 4), "<f8", atomic=False) as b:
        b.write(NEW)
        assert same(np.load(path), NEW)
        assert os.listdir(tmp_path) == ["a.npy"]
    with pytest.raises(swath.ExistsError, match="the file exists"):
        swath.create(path, (3, 4), "<f8", atomic=False)
    assert same(np.load(path), NEW)


@pytest.mark.parametrize("atomic", [True, False])
def test_a_symbolic_link_goes_on_being_one(tmp_path: Path, atomic: bool) -> None:
    (tmp_path / "elsewhere").mkdir()
    target, link = tmp_path / "elsewhere" / "a.npy", tmp_path / "link.npy"
    np.save(target, OLD)
    link.symlink_to(target)
    with pytest.raises(swath.ExistsError):
        swath.create(link, (3, 4), "<f8", atomic=atomic)
    create_all(link, NEW, overwrite=True, atomic=atomic)
    assert link.is_symlink()
    assert same(np.load(target), NEW)
    target.unlink()
    with pytest.raises(swath.ExistsError):  # a link to nowhere is something with that name, too
        swath.create(link, (3, 4), "<f8", atomic=atomic)
    create_all(link, OLD, overwrite=True, atomic=atomic)
    assert link.is_symlink()
    assert same(np.load(target), OLD)
    assert os.listdir(target.parent) == ["a.npy"]
    with swath.open(link, mode="r+") as a:
        a[0] = 1
    assert np.load(target)[0, 0] == 1
    assert link.is_symlink()


@pytest.mark.parametrize("dtype", ["<f8", ">f8", "<i2", ">c16", [("a", ">i4"), ("b", "<f4")]])
@pytest.mark.parametrize("suffix", ["dat", "npy", "h5"])
def test_values_and_out_may_have_the_other_byte_order(tmp_path: Path, suffix: str, dtype: Any) -> None:
    kind = np.dtype(dtype)
    values = np.zeros((12, 11), kind)
    for field in kind.names or [...]:
        values[field] = np.arange(132).reshape(12, 11)
    swapped = values.astype(kind.newbyteorder())
    kept = swapped.copy()
    path = tmp_path / f"a.{suffix}"
    with swath.create(path, (12, 11), kind, variable="v" if suffix == "h5" else None) as b:
        b.write(swapped)
        assert swapped.tobytes() == kept.tobytes()
        out = np.zeros((12, 11), kind.newbyteorder())
        assert b.read(out=out) is out
        assert (out == values).all()
        out = np.zeros((24, 11), kind, order="F")[::2]
        assert b.read(out=out) is out
        assert (out == values).all()
        with pytest.raises(swath.ArgumentError, match=r"dtype float16, but the file holds .*; convert with astype"):
            b.write(np.zeros((12, 11), "f2"))
    assert (load(path, kind) == values).all()
    assert load(path, kind).dtype == kind


def test_wrong_memory_is_refused_before_anything_moves(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", OLD)
    frozen = np.zeros((3, 4))
    frozen.flags.writeable = False
    folded = np.lib.stride_tricks.as_strided(np.zeros(4), (3, 4), (0, 8))
    box = Boxes([((0, 0), (1, 2)), ((1, 0), (3, 4))])
    with swath.open(tmp_path / "a.npy", mode="r+") as a:
        for arguments, options, message in (
            ((), {"out": np.zeros((4, 3))}, r"out: shape \(4, 3\), but this rank's share has shape \(3, 4\)"),
            ((), {"out": np.zeros((3, 4), "f4")}, "out: dtype float32, but the file holds float64; convert"),
            ((), {"out": [0.0] * 12}, "out: expected an ndarray, not list"),
            ((), {"out": frozen}, "out: the array is read-only"),
            ((), {"out": folded}, "several elements share one place"),
            ((box,), {"out": np.zeros((3, 4))}, "out: expected a list of 2 ndarrays, one a box; got not a list"),
            ((box,), {"out": [np.zeros((1, 2))]}, "out: expected a list of 2 ndarrays, one a box; got 1 of them"),
            ((box,), {"out": [np.zeros((1, 2)), np.zeros((3, 4))]}, r"out\[1\]: shape \(3, 4\), .* has shape \(2, 4\)"),
        ):
            with pytest.raises(swath.ArgumentError, match=message):
                a.read(*arguments, **options)
        for values, who, message in (
            (np.zeros((4, 3)), None, r"values: shape \(4, 3\), but this rank's share has shape \(3, 4\)"),
            (np.zeros((3, 4), "i4"), None, r"dtype int32, but the file holds float64; .*\('float64'\)"),
            ("text", None, r"values: shape \(\)"),
            (np.zeros((3, 4), object), None, "values: dtype object"),
            ([np.zeros((1, 2)), np.zeros((2, 3))], box, r"values\[1\]: shape \(2, 3\)"),
            (np.zeros((1, 2)), box, "expected a list of 2 ndarrays"),
        ):
            with pytest.raises(swath.ArgumentError, match=message):
                a.write(values, who)
        for method in ("fast", ""):
            with pytest.raises(swath.ArgumentError, match=f'method "{method}" is not known; expected "auto"'):
                a.read(method=method)
    with (
        swath.open(tmp_path / "a.npy") as a,
        pytest.raises(swath.ArgumentError, match=r'a\.npy: opened for reading; open it with mode="r\+"'),
    ):
        a.write(NEW)
    assert same(np.load(tmp_path / "a.npy"), OLD)


def test_a_closed_array_moves_nothing(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", OLD)
    a = swath.open(tmp_path / "a.npy", mode="r+")
    a.close()
    a.close()
    assert "closed" in repr(a)
    for use in (a.read, lambda: a.write(NEW), lambda: a[0], lambda: a.__setitem__(0, 1), a.sync):
        with pytest.raises(swath.ArgumentError, match=r"a\.npy: the (array|file) is closed"):
            use()
    assert same(np.load(tmp_path / "a.npy"), OLD)


def fails_alike(ranks: int, work: Callable[[Any], Any]) -> swath.Error:
    """The one error that every rank raises."""

    def catch(comm: Any) -> swath.Error:
        with pytest.raises(swath.Error) as raised:
            work(comm)
        return raised.value

    errors = run_ranks(ranks, catch)
    assert len({(type(error), str(error)) for error in errors}) == 1, errors
    return errors[0]


@pytest.mark.parametrize("ranks", [1, 3])
@pytest.mark.parametrize("what", ["npy", "raw", "cdf5", "hdf5"])
def test_truncated_files_are_refused_with_both_sizes(tmp_path: Path, what: str, ranks: int) -> None:
    path = tmp_path / ("a." + {"npy": "npy", "raw": "dat", "cdf5": "nc", "hdf5": "h5"}[what])
    create_all(path, OLD, variable=None if what in ("npy", "raw") else "v")
    described = {"shape": (3, 4), "dtype": "<f8"} if what == "raw" else {}
    full = path.stat().st_size
    os.truncate(path, full - 9)
    error = fails_alike(ranks, lambda comm: swath.open(path, comm=comm, **described))
    assert isinstance(error, swath.FormatError)
    assert str(path) in str(error)
    if what != "hdf5":
        assert f"{full - 9} bytes" in str(error)
    assert "truncated" in str(error)


@pytest.mark.parametrize("ranks", [1, 3])
@pytest.mark.parametrize("method", METHODS)
def test_a_file_that_shrinks_meanwhile_is_an_error_that_says_where(tmp_path: Path, method: str, ranks: int) -> None:
    path = tmp_path / "a.dat"
    path.write_bytes(bytes(8 * 1200))
    d = Distribution((Cyclic(), Whole()), (ranks,))

    def work(comm: Any) -> None:
        with swath.open(path, shape=(30, 40), dtype="<f8", comm=comm) as a:
            comm.barrier()
            os.truncate(path, 5000)
            comm.barrier()
            a.read(d, method=method)

    error = fails_alike(ranks, work)
    path.write_bytes(bytes(8 * 1200))
    assert isinstance(error, swath.StoreError)
    assert re.search(rf"read {re.escape(str(path))} at \d+: wanted \d+ bytes, got \d+: end of file", str(error)), error


@pytest.mark.parametrize("ranks", [1, 3])
def test_what_cannot_be_opened_or_created_says_why(tmp_path: Path, ranks: int) -> None:
    np.save(tmp_path / "a.npy", OLD)
    (tmp_path / "folder").mkdir()
    (tmp_path / "text").write_text("not an array at all, but long enough to have been one")
    hdf5(chunks=(5, 8))(tmp_path / "a.h5")
    closed = tmp_path / "no folder" / "a.npy"
    raw = {"shape": 3, "dtype": "<f8"}
    text, a_npy, a_h5, b_npy, b_nc = (tmp_path / name for name in ("text", "a.npy", "a.h5", "b.npy", "b.nc"))
    folder = tmp_path / "folder"
    for use, kind, message in (
        (
            lambda c: swath.open(tmp_path / "none.npy", comm=c),
            swath.NotFoundError,
            "none.npy: cannot open: No such file",
        ),
        (lambda c: swath.open(folder, comm=c), swath.StoreError, "folder: it is a directory, and no Zarr store"),
        (lambda c: swath.open(folder, comm=c, **raw), swath.StoreError, "Is a directory"),
        (lambda c: swath.open(text, comm=c), swath.FormatError, "Swath knows .npy, netCDF classic"),
        (lambda c: swath.open(a_h5, "w", comm=c), swath.ArgumentError, "before"),
        (lambda c: swath.open(a_h5, comm=c), swath.ArgumentError, "after"),
        (lambda c: swath.open(a_npy, "v", comm=c), swath.ArgumentError, "variable"),
        (lambda c: swath.open(a_npy, mode="w", comm=c), swath.ArgumentError, 'expected "r" or "r+"'),
        (lambda c: swath.open(a_npy, shape=3, comm=c), swath.ArgumentError, "shape"),
        (lambda c: swath.open(text, shape=9, dtype="<f8", comm=c), swath.FormatError, "72"),
        (lambda c: swath.open(3, comm=c), swath.ArgumentError, "path must be a string or a path, not 3"),
        (lambda c: swath.open(a_npy, format="zip", comm=c), swath.ArgumentError, "expected one of raw, npy"),
        (lambda c: swath.create(3, 3, "<f8", comm=c), swath.ArgumentError, "path must be a string or a path, not 3"),
        (lambda c: swath.create(closed, 3, "<f8", comm=c), swath.NotFoundError, f"there is no folder {closed.parent}"),
        (lambda c: swath.create(folder, 3, "<f8", comm=c), swath.StoreError, "it is a directory"),
        (lambda c: swath.create(folder, 3, "<f8", overwrite=True, comm=c), swath.StoreError, "it is a directory"),
        (lambda c: swath.create(b_npy, -3, "<f8", comm=c), swath.ArgumentError, "shape (-3,) has a negative"),
        (lambda c: swath.create(b_npy, 3, "O", comm=c), swath.ArgumentError, "dtype object has no fixed"),
        (lambda c: swath.create(b_nc, 3, "<c8", comm=c), swath.ArgumentError, "cannot store dtype complex64"),
        (lambda c: swath.create(b_nc, (3, 4), "<f8", order="F", comm=c), swath.ArgumentError, "order"),
        (lambda c: swath.create(b_npy, 3, "<f8", fill="x", comm=c), swath.ArgumentError, "fill"),
        (lambda c: swath.create(b_npy, 3, "<f8", variable="v", comm=c), swath.ArgumentError, "variable"),
    ):
        error = fails_alike(ranks, use)
        assert isinstance(error, kind), (error, kind)
        assert message in str(error), error
    assert sorted(os.listdir(tmp_path)) == ["a.h5", "a.npy", "folder", "text"]
    for wrong in (3, "world", object()):
        with pytest.raises(swath.ArgumentError, match="comm: expected None or an mpi4py communicator, not"):
            swath.open(a_npy, comm=wrong)


def test_reading_leaves_no_file_open(tmp_path: Path) -> None:
    """h5py and netCDF4 are shut while the engines work; ours is shut on close."""
    hdf5(chunks=(5, 8))(tmp_path / "a.h5")

    def open_here() -> list[str]:
        links = [f"/proc/self/fd/{fd}" for fd in os.listdir("/proc/self/fd")]
        return [os.readlink(link) for link in links if os.path.islink(link) and "a.h5" in os.readlink(link)]

    with swath.open(tmp_path / "a.h5", "v", mode="r+") as a:
        a.read()
        assert len(open_here()) == 1
        a.write(np.zeros((13, 29)))
        assert len(open_here()) == 1
        assert not isinstance(a._description.layout, LibraryLayout)
    assert open_here() == []
