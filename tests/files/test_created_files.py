"""New files: complete and readable by other libraries, or absent."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import swath
from cases import METHODS
from real_file_cases import NEW, OLD, create_all, distributions, same, share, stored
from swath import Cyclic, Distribution, Whole
from swath.simulated import run_ranks

h5py = pytest.importorskip("h5py")
netCDF4 = pytest.importorskip("netCDF4")


NEW_FILES: dict[str, tuple[str, dict[str, Any]]] = {
    "raw-C": ("a.dat", {"order": "C"}),
    "raw-F": ("a.dat", {"order": "F"}),
    "npy-C": ("a.npy", {"order": "C"}),
    "npy-F": ("a.npy", {"order": "F"}),
    "cdf1": ("a.nc", {"format": "netcdf-classic:cdf1", "variable": "v"}),
    "cdf2": ("a.nc", {"format": "netcdf-classic:cdf2", "variable": "v"}),
    "cdf5": (
        "a.nc",
        {"format": "netcdf-classic", "variable": "v", "dimensions": ("y", "x"), "attributes": {"units": "K"}},
    ),
    "hdf5": ("a.h5", {"variable": "v", "attributes": {"units": "K"}}),
}


def load(path: Path, dtype: Any, order: str = "C") -> np.ndarray:
    """Read a file of `swath.create` by another library."""
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
    for suffix in ("dat", "npy", "nc3", "h5"):
        path = tmp_path / f"scalar.{suffix}"
        with swath.create(path, (), "<f4", variable="v" if suffix in ("nc3", "h5") else None) as b:
            b.write(np.float32(2.5))
        got = np.fromfile(path, "<f4")[0] if suffix == "dat" else load(path, "<f4")
        assert got == np.float32(2.5)
        path = tmp_path / f"empty.{suffix}"
        with swath.create(path, (0, 3), "<f4", variable="v" if suffix in ("nc3", "h5") else None) as b:
            b.write(np.zeros((0, 3), "<f4"))
        assert suffix == "dat" or load(path, "<f4").shape == (0, 3)
        assert suffix != "dat" or path.stat().st_size == 0


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
