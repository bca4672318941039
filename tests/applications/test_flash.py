"""FLASH-IO: the libraries of its formats, and NumPy, find all variables; files do not depend on the number of ranks."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from application_programs import mpi_with_fortran, parallel_hdf5, run_application

BLOCKS, SIZE = 22, 4
"""Of all ranks; points of a block along each dimension."""
UNKNOWNS = ["dens", "velx", "vely", "velz", "pres", "ener", "temp", "gamc", "game", "enuc", "gpot"]
UNKNOWNS += [f"f__{i}" for i in range(1, 10)] + [f"f_{i}" for i in range(10, 14)]
PLOTTED = (0, 4, 6, 11)

Variable = Callable[[str], np.ndarray]

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]


def unknown(number: int) -> np.ndarray:
    """(block, z, y, x)"""
    block, z, y, x = np.ogrid[:BLOCKS, :SIZE, :SIZE, :SIZE]
    found: np.ndarray = 1 + number + block / 512 + (z + 2 * y + 4 * x) / 8192
    return found


def at_corners(number: int) -> np.ndarray:
    cells = np.pad(unknown(number), [(0, 0), (1, 1), (1, 1), (1, 1)], mode="edge")
    near = [slice(None, -1), slice(1, None)]
    found: np.ndarray = np.mean([cells[:, z, y, x] for z in near for y in near for x in near], axis=0)
    return found


def check_tree(variable: Variable) -> None:
    block = np.arange(BLOCKS)
    np.testing.assert_array_equal(variable("lrefine"), np.where(block == 0, 1, np.where(block < 9, 2, 3)))
    np.testing.assert_array_equal(variable("nodetype"), np.where(8 * block + 1 < BLOCKS, 2, 1))
    np.testing.assert_array_equal(variable("gid")[1:, 6], (block[1:] - 1) // 8)
    np.testing.assert_array_equal(variable("gid")[:, 7:], 8 * block[:, None] + 1 + np.arange(8))
    low, high = np.moveaxis(variable("bndbox"), 2, 0)
    np.testing.assert_allclose((low + high) / 2, variable("coordinates"), atol=1e-15)
    np.testing.assert_allclose(high - low, variable("blocksize"), atol=1e-15)


def check_checkpoint(variable: Variable) -> None:
    check_tree(variable)
    for number, name in enumerate(UNKNOWNS):
        np.testing.assert_array_equal(variable(name), unknown(number), err_msg=name)


def check_plot(variable: Variable, of: Callable[[int], np.ndarray]) -> None:
    check_tree(variable)
    for number in PLOTTED:
        found = variable(UNKNOWNS[number])
        assert found.dtype == np.float32
        np.testing.assert_array_equal(found, of(number).astype(np.float32), err_msg=UNKNOWNS[number])


def check_files(folder: Path, suffix: str, opened: Callable[[Path], Variable]) -> None:
    check_checkpoint(opened(folder / f"flash_checkpoint.{suffix}"))
    check_plot(opened(folder / f"flash_centres.{suffix}"), unknown)
    check_plot(opened(folder / f"flash_corners.{suffix}"), at_corners)


def by_h5py(path: Path) -> Variable:
    h5py = pytest.importorskip("h5py")
    file = h5py.File(path)
    return lambda name: np.asarray(file[name])


def by_netcdf4(path: Path) -> Variable:
    netcdf4 = pytest.importorskip("netCDF4")
    file = netcdf4.Dataset(path)
    return lambda name: np.asarray(file[name][...])


def by_zarr(path: Path) -> Variable:
    group = pytest.importorskip("zarr").open_group(path, mode="r")
    return lambda name: np.asarray(group[name])


def by_numpy(path: Path) -> Variable:
    """Of the file without a header: variables follow each other."""
    of_tree = [("lrefine", "i4", ()), ("nodetype", "i4", ()), ("gid", "i4", (15,))]
    of_tree += [("coordinates", "f8", (3,)), ("blocksize", "f8", (3,)), ("bndbox", "f8", (3, 2))]
    kind, n = ("f8", SIZE) if "checkpoint" in path.name else ("f4", SIZE + ("corners" in path.name))
    names = UNKNOWNS if kind == "f8" else [UNKNOWNS[number] for number in PLOTTED]
    fields = [(name, dtype, (BLOCKS, *shape)) for name, dtype, shape in of_tree]
    fields += [(name, kind, (BLOCKS, n, n, n)) for name in names]
    (record,) = np.fromfile(path, dtype=np.dtype(fields))
    return lambda name: record[name]


def run(folder: Path, ranks: int, **arguments: object) -> dict[Path, bytes]:
    """The files of a run."""
    run_application("flash", ranks, folder, blocks=BLOCKS, size=SIZE, **arguments)
    return {path.relative_to(folder): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


@pytest.mark.parametrize(
    ("suffix", "codecs", "opened"),
    [("nc4", "shuffle,zlib:1", by_netcdf4), ("h5", "", by_h5py), ("nc3", "", by_netcdf4), ("zarr", "zstd", by_zarr)],
)
def test_the_libraries_of_the_formats_find_what_swath_wrote(
    tmp_path: Path, suffix: str, codecs: str, opened: Callable[[Path], Variable]
) -> None:
    files = [run(tmp_path, ranks, way="swath", suffix=suffix, codecs=codecs) for ranks in (1, 3)]
    assert files[0] == files[1]
    check_files(tmp_path, suffix, opened)


@pytest.mark.parametrize("way", ["mpi", "found"])
def test_mpi_writes_the_same_bytes_with_any_number_of_ranks(tmp_path: Path, way: str) -> None:
    files = [run(tmp_path, ranks, way=way) for ranks in (1, 4)]
    assert files[0] == files[1]
    check_files(tmp_path, "bin", by_numpy)


def test_parallel_hdf5_writes_the_same_variables(tmp_path: Path) -> None:
    if parallel_hdf5(mpi_with_fortran()) is None:
        pytest.skip("no parallel HDF5 for this MPI is installed")
    run(tmp_path, 3, way="hdf5")
    check_files(tmp_path, "h5", by_h5py)


def test_more_ranks_than_blocks_and_unknown_ways(tmp_path: Path) -> None:
    run_application("flash", 3, tmp_path, blocks=2, size=SIZE, way="swath", suffix="nc4")
    with pytest.raises(AssertionError, match="netcdf: unknown; expected swath, mpi, found"):
        run_application("flash", 1, tmp_path, way="netcdf")
