"""The installed C++ library: found by CMake and pkg-config; other libraries read the files of its programs."""

from __future__ import annotations

import filecmp
import os
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import installed_library
import swath
from installed_library import MPIS, ROOT, WHEEL, Mpi, compiled, prefix_for, run, surroundings
from tree import PROGRAMS

STEPS = 3
ROWS, COLUMNS = 45, 90

pytestmark = [pytest.mark.slow, pytest.mark.timeout(installed_library.BUILD_SECONDS_MAX + 100)]


@pytest.fixture(
    params=[WHEEL, *(pytest.param(one, marks=pytest.mark.exhaustive) for one in MPIS if one is not WHEEL)],
    ids=lambda mpi: mpi.name,
)
def mpi(request: pytest.FixtureRequest) -> Mpi:
    found: Mpi = request.param
    return found


# ---- Installed -------------------------------------------------------------------------------------------------------


def is_right(program: Path, folder: Path, prefix: Path) -> None:
    told = run([program, folder / "a.npy"], env=surroundings(prefix))
    assert "its elements are float64, those in memory int32" in told
    assert "right of" in told
    np.testing.assert_array_equal(np.load(folder / "a.npy"), np.arange(12).reshape(3, 4) + 0.5)


def test_a_program_finds_it_by_pkg_config(tmp_path: Path) -> None:
    prefix = prefix_for()
    is_right(compiled(PROGRAMS / "installed/numbers.cc", tmp_path / "numbers", prefix), tmp_path, prefix)


def test_a_program_finds_it_by_cmake_wherever_it_was_moved_to(tmp_path: Path) -> None:
    moved = tmp_path / "moved"
    shutil.copytree(prefix_for(), moved, symlinks=True)
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.22)\n"
        "project(outside LANGUAGES CXX)\n"
        "find_package(Swath 0.1 REQUIRED)\n"
        "set(CMAKE_CXX_STANDARD 20)\n"
        "add_executable(numbers numbers.cc)\n"
        "target_link_libraries(numbers PRIVATE swath::swath)\n"
    )
    shutil.copy(PROGRAMS / "installed/numbers.cc", tmp_path)
    env = surroundings(tmp_path / "nothing")
    run(["cmake", "-S", tmp_path, "-B", tmp_path / "build", f"-DCMAKE_PREFIX_PATH={moved}"], env=env)
    run(["cmake", "--build", tmp_path / "build"], env=env)
    is_right(tmp_path / "build/numbers", tmp_path, tmp_path / "nothing")


def test_every_header_compiles_alone_and_includes_only_installed_ones(tmp_path: Path) -> None:
    prefix = prefix_for()
    headers = sorted((prefix / "include").rglob("*.h*"))
    names = {str(header.relative_to(prefix / "include")) for header in headers}
    assert {"swath/swath.h", "swath/swath_mpi.h", "swath/swath.hpp", "swath/swath_mpi.hpp"} <= names
    for header in headers:
        assert set(re.findall(r'#include "(swath/.*)"', header.read_text())) <= names
    source = tmp_path / "each.cc"
    flags = [f"-I{prefix / 'include'}", "-std=c++20", "-fsyntax-only", "-Wall", "-Wextra", "-Werror"]
    for name in sorted(names - {"swath/swath_mpi.h", "swath/swath_mpi.hpp", "swath/comm/mpi_ranks.h"}):
        source.write_text(f"#include <{name}>\n")
        run([os.environ.get("CXX", "c++"), *flags, "-Wno-missing-field-initializers", source])


def test_the_library_exports_its_own_names_only() -> None:
    nm = shutil.which("nm")
    if nm is None:
        pytest.skip("nm (binutils) is not installed")
    exported = run([nm, "-DC", "--defined-only", prefix_for() / "lib/libswath.so"])
    names = [line.split(maxsplit=2)[2] for line in exported.splitlines()]
    own = re.compile(r"(typeinfo for |typeinfo name for |vtable for |VTT for |guard variable for )?swath(::|_\w+$)")
    assert [name for name in names if not own.match(name)] == []
    assert any(name.startswith("swath::DataFile::open(") for name in names)


# ---- Examples --------------------------------------------------------------------------------------------------------


class Examples:
    """The programs of examples/, built with the installed library for one MPI."""

    def __init__(self, mpi: Mpi, folder: Path) -> None:
        self.mpi = mpi
        self.prefix = prefix_for(mpi)
        self.folder = folder
        env = surroundings(self.prefix)
        prefix = f"-DCMAKE_PREFIX_PATH={self.prefix}"
        run(["cmake", "-S", ROOT / "examples", "-B", folder, prefix, "-DCMAKE_BUILD_TYPE=Release"], env=env)
        run(["cmake", "--build", folder], 300, env=env)

    def __call__(self, ranks: int, name: str, *arguments: object, **more: object) -> str:
        """Return the output of an example on this many ranks, with additional environment variables; 0: without MPI."""
        env = surroundings(self.prefix, more)
        if ranks == 0:
            return run([self.folder / name, *arguments], env=env)
        return run([*self.mpi.mpiexec, "-n", ranks, self.folder / f"{name}_mpi", *arguments], env=env)


@pytest.fixture(scope="module")
def examples_of(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Examples]:
    return {}


@pytest.fixture
def example(mpi: Mpi, examples_of: dict[str, Examples], tmp_path_factory: pytest.TempPathFactory) -> Examples:
    if mpi.name not in examples_of:
        examples_of[mpi.name] = Examples(mpi, tmp_path_factory.mktemp(mpi.name))
    return examples_of[mpi.name]


def field(scale: float) -> np.ndarray:
    """Return the content of the dump, element by element."""
    step, row, column = np.indices((STEPS, ROWS, COLUMNS))
    return (scale * (step * 10000 + row * 100 + column)).astype("f4")


def by_xarray(path: Path) -> None:
    xarray = pytest.importorskip("xarray")
    engine = "zarr" if path.suffix == ".zarr" else "netcdf4"
    with xarray.open_dataset(path, engine=engine, decode_times=False) as found:
        assert dict(found.attrs) == {"title": "a simulation", "Conventions": "CF-1.11"}
        assert found.sizes == {"time": STEPS, "y": ROWS, "x": COLUMNS}
        assert path.suffix == ".zarr" or found.encoding["unlimited_dims"] == {"time"}
        for name, scale, units in (("temperature", 1, "K"), ("pressure", 0.5, "Pa")):
            assert found[name].attrs["units"] == units
            assert found[name].dtype == np.float32
            np.testing.assert_array_equal(found[name], field(scale))
        np.testing.assert_array_equal(found["time"], 0.5 * np.arange(STEPS))
        np.testing.assert_array_equal(found["y"], 1000.0 * np.arange(ROWS))
        assert found["y"].attrs["units"] == "m"


def by_h5py(path: Path) -> None:
    h5py = pytest.importorskip("h5py")
    text = (lambda value: value.decode()) if path.suffix == ".nc4" else str
    with h5py.File(path) as file:
        assert text(file.attrs["title"]) == "a simulation"
        for name, scale, units in (("temperature", 1, "K"), ("pressure", 0.5, "Pa")):
            stored = file[name]
            np.testing.assert_array_equal(stored[...], field(scale))
            assert text(stored.attrs["units"]) == units
            assert (stored.chunks, stored.compression, stored.shuffle) == ((1, ROWS, COLUMNS), "gzip", True)
            assert stored.maxshape == (None, ROWS, COLUMNS)
            assert [along[0].name for along in stored.dims] == ["/time", "/y", "/x"]
        np.testing.assert_array_equal(file["time"][...], 0.5 * np.arange(STEPS))


def by_library(path: Path) -> None:
    """The format's own library, and netCDF4 for HDF5."""
    if path.suffix in (".nc4", ".h5"):
        by_h5py(path)
    if path.suffix == ".zarr":
        zarr = pytest.importorskip("zarr")
        group = zarr.open_group(path, mode="r")
        assert dict(group.attrs)["title"] == "a simulation"
        np.testing.assert_array_equal(group["temperature"][...], field(1))
        assert group["temperature"].chunks == (1, ROWS, COLUMNS)
    else:
        netcdf4 = pytest.importorskip("netCDF4")
        with netcdf4.Dataset(path) as file:
            assert file.title == "a simulation"
            assert file.dimensions["time"].isunlimited()
            np.testing.assert_array_equal(file["temperature"][...], field(1))
            assert file["pressure"].units == "Pa"
            if path.suffix != ".nc3":
                assert file["temperature"].filters()["complevel"] == 4
                assert file["temperature"].filters()["shuffle"]


@pytest.mark.parametrize("ranks", [0, 1, 4])
@pytest.mark.parametrize("suffix", [".nc3", ".zarr", ".nc4", ".h5"])
def test_a_dump_of_ranks_is_read_by_everybody(example: Examples, tmp_path: Path, suffix: str, ranks: int) -> None:
    path = tmp_path / f"run{suffix}"
    example(ranks, "dump", path, STEPS)
    by_library(path)
    by_xarray(path)
    with swath.open_file(str(path)) as file:
        np.testing.assert_array_equal(file["pressure"][...], field(0.5))
    shown = example(ranks, "describe", path, "pressure")
    stored = ">f4" if suffix == ".nc3" else "float32"
    assert f"variable pressure ({STEPS}, {ROWS}, {COLUMNS}) {stored}" in shown
    assert "  :units = Pa" in shown
    assert f"dimension time = {STEPS}" in shown
    found = re.search(r"pressure: (\d+) elements, smallest (\S+), largest (\S+), mean (\S+)", shown)
    assert found is not None, shown
    values = field(0.5).astype("f8")
    assert int(found[1]) == values.size
    assert [float(found[i]) for i in (2, 3)] == [values.min(), values.max()]
    assert float(found[4]) == pytest.approx(values.mean(), rel=1e-12)


@pytest.mark.parametrize("ranks", [1, 3])
def test_files_that_others_made_are_described_and_read(example: Examples, tmp_path: Path, ranks: int) -> None:
    h5py = pytest.importorskip("h5py")
    values = np.arange(700, dtype=">i4").reshape(70, 10)
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file.create_dataset("g/v", data=values, chunks=(20, 10), compression="gzip").attrs["units"] = "m"
    np.save(tmp_path / "a.npy", values)
    for name, variable in (("a.h5", "g/v"), ("a.npy", "")):
        shown = example(ranks, "describe", tmp_path / name, variable)
        assert "700 elements, smallest 0, largest 699, mean 349.5" in shown
        assert "(70, 10) >i4" in shown
    assert "  :units = m" in example(ranks, "describe", tmp_path / "a.h5")


@pytest.mark.parametrize("ranks", [0, 1, 4])
def test_raw_arrays_are_planned_and_ranks_that_differ_are_told_so(
    example: Examples, tmp_path: Path, ranks: int
) -> None:
    told = example(ranks, "raw_array", tmp_path / "a.raw")
    assert "read " in told
    assert ("They differ in" in told) == (ranks > 1)
    rows = np.fromfile(tmp_path / "a.raw").reshape(1000, 300)
    np.testing.assert_array_equal(rows, np.repeat(np.arange(1000) % max(ranks, 1), 300).reshape(1000, 300))


def test_errors_are_those_of_all_ranks(example: Examples, tmp_path: Path) -> None:
    command = [*example.mpi.mpiexec, "-n", "3", str(example.folder / "describe_mpi"), str(tmp_path / "none.nc")]
    ended = subprocess.run(
        command, env=surroundings(example.prefix), capture_output=True, text=True, timeout=60, check=False
    )
    assert ended.returncode != 0
    assert ended.stderr.count("error: ") == 1
    assert "none.nc" in ended.stderr


# ---- The same from Python --------------------------------------------------------------------------------------------


def dump_from_python(path: Path) -> None:
    """Make the calls of examples/dump.cc."""
    codecs = ["shuffle", {"name": "zlib", "configuration": {"level": 4}}]
    more = {} if path.suffix == ".nc3" else {"chunks": (1, ROWS, COLUMNS), "codecs": codecs}
    with swath.create_file(str(path), attributes={"title": "a simulation", "Conventions": "CF-1.11"}) as file:
        y = file.create("y", (ROWS,), "f8", dimensions=("y",), attributes={"units": "m"})
        time = file.create("time", (None,), "f8", dimensions=("time",), attributes={"units": "s"})
        fields = [
            file.create(
                name, (None, ROWS, COLUMNS), "f4", dimensions=("time", "y", "x"), attributes={"units": units}, **more
            )
            for name, units in (("temperature", "K"), ("pressure", "Pa"))
        ]
        y[...] = 1000.0 * np.arange(ROWS)
        file.sync()
        for step in range(STEPS):
            time.append(0.5 * step)
            for scale, one in zip((1, 0.5), fields, strict=True):
                one.append(field(scale)[step])


def hdf5_of_python() -> dict[str, object]:
    """Return the variables by which a program without Python uses the HDF5 of this process."""
    from swath import _core

    return {"SWATH_HDF5": _core.hdf5_library()["path"]}


def files_below(path: Path) -> list[str]:
    return sorted(str(one.relative_to(path)) for one in path.rglob("*") if one.is_file()) if path.is_dir() else [""]


@pytest.mark.parametrize("suffix", [".nc3", ".zarr", ".nc4", ".h5"])
def test_the_same_calls_from_python_make_the_same_bytes(example: Examples, tmp_path: Path, suffix: str) -> None:
    """For HDF5, only if both use one library: another version writes other metadata."""
    python, cpp = tmp_path / f"python{suffix}", tmp_path / f"cpp{suffix}"
    dump_from_python(python)
    library = hdf5_of_python() if suffix in (".nc4", ".h5") else {}
    example(3, "dump", cpp, STEPS, **library)
    names = files_below(python)
    assert names == files_below(cpp)
    assert [name for name in names if not filecmp.cmp(python / name, cpp / name, shallow=False)] == []


def test_the_same_npy_from_python_has_the_same_bytes(tmp_path: Path) -> None:
    prefix = prefix_for()
    program = compiled(PROGRAMS / "installed/numbers.cc", tmp_path / "numbers", prefix)
    run([program, tmp_path / "cpp.npy"], env=surroundings(prefix))
    with swath.create(str(tmp_path / "python.npy"), (3, 4), "f8") as array:
        array[...] = np.arange(12).reshape(3, 4) + 0.5
    assert (tmp_path / "cpp.npy").read_bytes() == (tmp_path / "python.npy").read_bytes()
