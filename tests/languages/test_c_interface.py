"""Swath from C: the headers, the documented programs with an installed library, and other readers of their files."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import installed_library
from installed_library import MPIS, ROOT, Mpi, prefix_for, run, surroundings

EXAMPLES = ROOT / "examples/c"
WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Werror"]
C99 = ["-std=c99", *WARNINGS]
ROWS, COLUMNS = 45, 90

pytestmark = [pytest.mark.slow, pytest.mark.timeout(installed_library.BUILD_SECONDS_MAX + 100)]


@pytest.fixture(params=MPIS, ids=lambda mpi: mpi.name)
def mpi(request: pytest.FixtureRequest) -> Mpi:
    found: Mpi = request.param
    return found


def cc() -> str:
    return os.environ.get("CC", "cc")


def flags(prefix: Path, *options: str) -> list[str]:
    """Return the output of `swath-config`."""
    return run([prefix / "bin/swath-config", *options]).split()


def compiled(source: Path, program: Path, *flags_of_it: str) -> Path:
    run([cc(), *C99, source, *flags_of_it, "-o", program])
    return program


# ---- Headers and the library -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("header", ["swath.h", "swath_mpi.h"])
@pytest.mark.parametrize(
    "compiler", [["cc", "-xc", *C99], ["c++", "-xc++", "-std=c++20", *WARNINGS, "-Wshadow", "-Wconversion"]]
)
def test_headers_compile_alone_with_all_warnings(tmp_path: Path, header: str, compiler: list[str]) -> None:
    prefix = prefix_for()
    (tmp_path / "source").write_text(f"#include <swath/{header}>\n#include <swath/{header}>\n")
    includes = [flag.replace("-I", "-isystem", 1) for flag in flags(prefix, "--mpi", "--cflags")[1:]]
    run([*compiler, "-fsyntax-only", f"-I{prefix}/include", *includes, tmp_path / "source"])


@pytest.mark.parametrize(("header", "library"), [("swath.h", "libswath.so"), ("swath_mpi.h", "libswath_mpi.so")])
def test_the_libraries_export_the_functions_of_their_headers(header: str, library: str) -> None:
    nm = shutil.which("nm")
    if nm is None:
        pytest.skip("nm (binutils) is not installed")
    prefix = prefix_for()
    text = re.sub(
        r"/\*.*?\*/|^#.*?$", "", (prefix / "include/swath" / header).read_text(), flags=re.DOTALL | re.MULTILINE
    )
    declared = set(re.findall(r"\b(swath_\w+)\s*\(", text))
    exported = run([nm, "-D", "--defined-only", prefix / "lib" / library])
    names = {line.split()[2] for line in exported.splitlines()}
    assert {name for name in names if not name.startswith("_Z")} == declared
    assert len(declared) >= 6


def test_swath_config_tells_where_it_is(tmp_path: Path) -> None:
    moved = tmp_path / "a moved one"
    shutil.copytree(prefix_for(), moved, symlinks=True)
    tool = moved / "bin/swath-config"
    assert run([tool, "--prefix"]).strip() == str(moved)
    assert run([tool, "--libdir"]).strip() == str(moved / "lib")
    assert re.fullmatch(r"\d+\.\d+\.\d+\S*", run([tool, "--version"]).strip())
    for arguments, status in ([], 2), (["--what"], 2), (["--help"], 0):
        assert subprocess.run([tool, *arguments], capture_output=True, check=False, timeout=60).returncode == status


# ---- Documented programs ---------------------------------------------------------------------------------------------


def test_the_first_program_is_as_documented(tmp_path: Path) -> None:
    prefix = prefix_for()
    first = compiled(EXAMPLES / "first.c", tmp_path / "first", *flags(prefix, "--cflags", "--libs"))
    assert run([first], cwd=tmp_path) == "column 2: 3 7 11\n"
    expected = np.arange(1.0, 13).reshape(3, 4)
    netcdf4 = pytest.importorskip("netCDF4")
    with netcdf4.Dataset(tmp_path / "first.nc") as file:
        np.testing.assert_array_equal(file["t"][...], expected)
    again = subprocess.run([first], cwd=tmp_path, capture_output=True, text=True, check=False, timeout=60)
    assert "exists" in again.stdout


def built_by_cmake(mpi: Mpi, folder: Path) -> Path:
    prefix = prefix_for(mpi)
    run(["cmake", "-S", EXAMPLES, "-B", folder, f"-DCMAKE_PREFIX_PATH={prefix}"], env=surroundings(prefix))
    run(["cmake", "--build", folder], env=surroundings(prefix))
    return folder


def built_by_config(mpi: Mpi, folder: Path) -> Path:
    folder.mkdir()
    compiled(EXAMPLES / "simulation.c", folder / "simulation", *flags(prefix_for(mpi), "--mpi", "--cflags", "--libs"))
    return folder


def on_ranks(mpi: Mpi, ranks: int, *command: object) -> str:
    return run([*mpi.mpiexec, "-n", ranks, *command], env=surroundings(prefix_for(mpi)))


def states(steps: int) -> np.ndarray:
    """Return the simulation's states, step by step."""
    step, _, column = np.indices((steps, ROWS, COLUMNS))
    return ((step + 1) * (column + 1)).astype("f4")


def read_by_others(path: Path, steps: int) -> None:
    netcdf4, h5py = pytest.importorskip("netCDF4"), pytest.importorskip("h5py")
    zarr, xarray = pytest.importorskip("zarr"), pytest.importorskip("xarray")
    engine = "zarr" if path.suffix == ".zarr" else "netcdf4"
    with xarray.open_dataset(path, engine=engine, decode_times=False) as found:
        assert found.attrs == {"title": "a simulation"}
        assert found["temperature"].attrs == {"units": "K", "start": 0.5}
        assert found["temperature"].dims == ("time", "y", "x")
        np.testing.assert_array_equal(found["temperature"], states(steps))
        np.testing.assert_array_equal(found["time"], 0.5 * np.arange(steps))
    if path.suffix == ".zarr":
        np.testing.assert_array_equal(zarr.open_group(path, mode="r")["temperature"][...], states(steps))
        return
    with netcdf4.Dataset(path) as file:
        np.testing.assert_array_equal(file["temperature"][...], states(steps))
        assert file.dimensions["time"].isunlimited()
    if path.suffix != ".nc3":
        with h5py.File(path) as file:
            stored = file["temperature"]
            np.testing.assert_array_equal(stored[...], states(steps))
            assert (stored.chunks, stored.compression, stored.shuffle) == ((1, ROWS, COLUMNS), "gzip", True)
    if (ncdump := shutil.which("ncdump")) is not None and path.suffix != ".h5":
        shown = run([ncdump, "-v", "time", path])
        assert f"time = UNLIMITED ; // ({steps} currently)" in shown
        assert 'temperature:units = "K"' in shown


@pytest.mark.parametrize(("build", "ranks"), [(built_by_config, 4), (built_by_cmake, 1)])
def test_the_simulation_dumps_and_goes_on(mpi: Mpi, tmp_path: Path, build: object, ranks: int) -> None:
    program = build(mpi, tmp_path / "build") / "simulation"  # type: ignore[operator]
    for suffix in ".nc4", ".zarr", ".nc3", ".h5":
        path = tmp_path / f"run{suffix}"
        assert f"{path}: 3 records of 45 x 90" in on_ranks(mpi, ranks, program, path, 3)
        assert f"{path}: 5 records of 45 x 90" in on_ranks(mpi, 5 - ranks, program, path, 2)
        read_by_others(path, 5)


# ---- All ranks -------------------------------------------------------------------------------------------------------


def test_ranks_redistribute_and_hear_the_same_errors(mpi: Mpi, tmp_path: Path) -> None:
    source = ROOT / "tests/programs/installed/c_calls.c"
    program = compiled(source, tmp_path / "c_calls", *flags(prefix_for(mpi), "--mpi", "--cflags", "--libs"))
    for ranks in (1, 2, 3, 4):
        folder = tmp_path / f"{ranks} ranks"
        folder.mkdir()
        redistributes(mpi, ranks, program, folder)


def redistributes(mpi: Mpi, ranks: int, program: Path, folder: Path) -> None:
    h5py = pytest.importorskip("h5py")
    with h5py.File(folder / "absent.h5", "w") as file:
        file.create_dataset("n", (7, 5), "i4", chunks=(2, 5))
    with h5py.File(folder / "szip.h5", "w") as file:
        szip = h5py.h5z.filter_avail(h5py.h5z.FILTER_SZIP)
        if not szip or not h5py.h5z.get_filter_info(h5py.h5z.FILTER_SZIP) & h5py.h5z.FILTER_CONFIG_ENCODE_ENABLED:
            pytest.skip("this HDF5 has no szip")
        file.create_dataset("v", data=np.zeros((7, 5), "i4"), chunks=(7, 5), compression="szip")
    assert on_ranks(mpi, ranks, program, folder).endswith("right\n")
    np.testing.assert_array_equal(np.load(folder / "blocks.npy"), np.arange(35).reshape(7, 5))
    with h5py.File(folder / "absent.h5") as file:
        np.testing.assert_array_equal(file["n"][...], np.arange(35).reshape(7, 5))
