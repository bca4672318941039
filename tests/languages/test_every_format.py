"""Programs of C, C++ and Fortran, with ranks of each MPI, make files of every format, which other libraries read."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import numpy as np
import pytest

import installed_library
from fortran_programs import HERE, parallel
from installed_library import MPIS, Mpi, prefix_for, run, surroundings
from tree import PROGRAMS

ROWS, COLUMNS, RECORDS = 11, 7, 3
A = 100.0 * np.arange(ROWS)[:, None] + np.arange(COLUMNS)
R = np.arange(RECORDS)[:, None] + np.arange(COLUMNS) / 8
WARNINGS = ["-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror"]

pytestmark = [pytest.mark.slow, pytest.mark.timeout(installed_library.BUILD_SECONDS_MAX + 100)]


def program_of_c(folder: Path, mpi: Mpi) -> Path:
    source = PROGRAMS / "installed/everything.c"
    flags = run([prefix_for(mpi) / "bin/swath-config", "--mpi", "--cflags", "--libs"]).split()
    run([os.environ.get("CC", "cc"), *WARNINGS, source, *flags, "-o", folder / "everything"])
    return folder / "everything"


def program_of_cpp(folder: Path, mpi: Mpi) -> Path:
    source = PROGRAMS / "installed/everything.cc"
    flags = run([prefix_for(mpi) / "bin/swath-config", "--mpi", "--cflags", "--libs"]).split()
    run([os.environ.get("CXX", "c++"), "-std=c++20", "-Wall", "-Wextra", source, *flags, "-o", folder / "everything"])
    return folder / "everything"


def program_of_fortran(folder: Path, mpi: Mpi) -> Path:
    return parallel(HERE / "everything.f90", folder, mpi)


@pytest.mark.parametrize(
    ("language", "build"), [("c", program_of_c), ("cpp", program_of_cpp), ("fortran", program_of_fortran)]
)
@pytest.mark.parametrize("mpi", MPIS, ids=lambda mpi: mpi.name)
def test_files_of_every_format_are_read_by_everybody(mpi: Mpi, tmp_path: Path, language: str, build: object) -> None:
    program = build(tmp_path, mpi)  # type: ignore[operator]
    for ranks in (1, 2, 3, 4):
        folder = tmp_path / f"{ranks} ranks"
        folder.mkdir()
        env = surroundings(prefix_for(mpi))
        assert run([*mpi.mpiexec, "-n", ranks, program], cwd=folder, env=env).endswith("right\n")
        by_python(folder / language)
        by_ncdump(folder / language)
        by_netcdf_fortran(tmp_path, folder / language)


def by_python(files: Path) -> None:
    """NumPy, h5py, netCDF4, zarr and xarray."""
    np.testing.assert_array_equal(np.fromfile(files.with_suffix(".raw")).reshape(ROWS, COLUMNS), A)
    np.testing.assert_array_equal(np.load(files.with_suffix(".npy")), A)
    h5py, netcdf4 = pytest.importorskip("h5py"), pytest.importorskip("netCDF4")
    zarr, xarray = pytest.importorskip("zarr"), pytest.importorskip("xarray")
    for suffix in (".nc3", ".nc4"):
        with netcdf4.Dataset(files.with_suffix(suffix)) as file:
            assert file.title == "everything"
            for name, values in (("a", A), ("b", -A), ("r", R)):
                file[name].set_auto_mask(False)
                np.testing.assert_array_equal(file[name][...], values)
    for suffix in (".nc4", ".h5"):
        with h5py.File(files.with_suffix(suffix)) as file:
            assert (file["a"].chunks, file["a"].compression, file["a"].shuffle) == ((3, 2), "gzip", True)
            assert file["r"].maxshape == (None, COLUMNS)
            for name, values in (("a", A), ("b", -A), ("r", R)):
                np.testing.assert_array_equal(file[name][...], values)
    store = zarr.open_group(files.with_suffix(".zarr"), mode="r")
    assert (store["a"].metadata.zarr_format, store["a"].chunks, store["a"].shards) == (3, (3, 2), (6, 4))
    for name, values in (("a", A), ("b", -A), ("r", R)):
        np.testing.assert_array_equal(store[name][...], values)
    for suffix, engine in ((".nc3", "netcdf4"), (".nc4", "netcdf4"), (".zarr", "zarr")):
        with xarray.open_dataset(files.with_suffix(suffix), engine=engine) as found:
            assert (found.attrs, found["b"].attrs["units"]) == ({"title": "everything"}, "K")
            assert found["r"].dims == ("t", "x")
            np.testing.assert_array_equal(found["a"], A)


def by_ncdump(files: Path) -> None:
    if (ncdump := shutil.which("ncdump")) is None:
        return
    for suffix in (".nc3", ".nc4"):
        shown = run([ncdump, "-v", "r", files.with_suffix(suffix)])
        assert "t = UNLIMITED ; // (3 currently)" in shown
        assert "b:valid_range = -9999, 0 ;" in shown
        assert "2, 2.125, 2.25, 2.375, 2.5, 2.625, 2.75 ;" in shown


def by_netcdf_fortran(folder: Path, files: Path) -> None:
    if (config := shutil.which("nf-config")) is None:
        return
    program = folder / "by_netcdf"
    if not program.exists():
        flags = run([config, "--fflags", "--flibs"]).split()
        run(["gfortran", HERE / "by_netcdf.f90", "-J", folder, *flags, "-o", program])
    assert run([program, files.with_suffix(".nc3"), files.with_suffix(".nc4")]) == "right\n"
