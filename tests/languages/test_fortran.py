"""Swath from Fortran: the documented programs, all kinds and ranks of arrays, sections of any strides, ranks of MPI."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import installed_library
import swath
from fortran_programs import HERE, compiled, fortran_prefix, parallel, written
from installed_library import MPICH, MPIS, ROOT, Mpi, options_for, run, surroundings, with_ccache

EXAMPLES = ROOT / "examples/fortran"
KINDS = {
    "i1": "integer(int8)",
    "i2": "integer(int16)",
    "i4": "integer(int32)",
    "i8": "integer(int64)",
    "f4": "real(real32)",
    "f8": "real(real64)",
    "c8": "complex(real32)",
    "c16": "complex(real64)",
}
SUFFIXES = {"c8": [".npy"], "c16": [".npy", ".zarr"]}
ALL_SUFFIXES = [".npy", ".nc3", ".nc4", ".h5", ".zarr"]
CASES_A_PROGRAM = 60  # the compiler needs more than twice as long for twice as many
PROGRAMS_A_KIND = int(os.environ.get("SWATH_FORTRAN_PROGRAMS", "2"))
"""21 gives 10,000 cases of all kinds together."""

pytestmark = [pytest.mark.slow, pytest.mark.timeout(installed_library.BUILD_SECONDS_MAX + 100)]


@pytest.fixture(params=MPIS, ids=lambda mpi: mpi.name)
def mpi(request: pytest.FixtureRequest) -> Mpi:
    found: Mpi = request.param
    return found


# ---- Arrays of all kinds and ranks -----------------------------------------------------------------------------------


class Section:
    """A box of a file's array, and the section of a larger array in memory for a write or read."""

    def __init__(self, random_of: random.Random, rank: int) -> None:
        self.shape = [random_of.choice([0, 1, 2, 3, 4]) for _ in range(rank)]
        self.steps = [random_of.choice([1, 1, -1, 2, -2, 3]) for _ in range(rank)]
        self.memory = [
            max(n * abs(step), 1) + random_of.randrange(2) for n, step in zip(self.shape, self.steps, strict=True)
        ]
        self.before = [random_of.randrange(3) for _ in range(rank)]
        self.world = [n + b + random_of.randrange(3) for n, b in zip(self.shape, self.before, strict=True)]
        self.world = [max(n, 1) for n in self.world]

    def triplets(self) -> str:
        """The section in Fortran's notation: "(1:7:2, 3:1:-1)"."""
        found = []
        for n, step in zip(self.shape, self.steps, strict=True):
            first = 1 if step > 0 else 1 + (n - 1) * -step
            last = first + (n - 1) * step
            found.append(f"{first}:{last}:{step}" if n else f"2:1:{abs(step)}")
        return f"({', '.join(found)})" if found else ""

    def slices(self) -> tuple[Any, ...]:
        """The section for NumPy, of an array in Fortran's order."""
        found = []
        for n, step in zip(self.shape, self.steps, strict=True):
            first = 0 if step > 0 else (n - 1) * -step
            found.append([first + i * step for i in range(n)])
        return np.ix_(*found) if found else ()


def integers(values: list[int]) -> str:
    return f"[integer :: {', '.join(map(str, values))}]"


def case_text(kind: str, section: Section, path: str) -> str:
    """Return a case: make a whole array in the file, write a section into it, and read it into another section."""
    deferred = f"({', '.join(':' for _ in section.shape)})" if section.shape else ""
    allocatable = f"{KINDS[kind]}, allocatable :: a{deferred}, b{deferred}"
    bounds = f"({', '.join(map(str, section.memory))})" if section.memory else ""
    start = integers([b + 1 for b in section.before])
    count = int(np.prod(section.memory))
    numbers = f"[(mod(i, 100), i = 1, {count})]"
    made = f"reshape({numbers}, {integers(section.memory)})" if section.shape else "1"
    box = section.triplets()
    name = "" if path.endswith(".npy") else "v"
    some = "any" if section.shape else ""
    return f"""
  block
    {allocatable}
    integer :: i
    allocate (a{bounds}, b{bounds})
    a = {made}
    b = -1
    call swath_write("{path}", "{name}", a{box}, global={integers(section.world)}, start={start})
    call swath_read("{path}", "{name}", b{box}, start={start})
    if ({some}(a{box} /= b{box})) error stop "{path}: other values"
    b{box} = -1
    if ({some}(b /= -1)) error stop "{path}: written beside the section"
  end block
"""


def program_text(cases: str) -> str:
    return f"program kinds\n  use, intrinsic :: iso_fortran_env\n  use swath\n  implicit none\n{cases}end program\n"


@pytest.mark.parametrize("number", range(PROGRAMS_A_KIND))
@pytest.mark.parametrize("kind", KINDS)
def test_sections_of_all_ranks_are_written_and_read(tmp_path: Path, kind: str, number: int) -> None:
    prefix = fortran_prefix()
    random_of = random.Random(f"{kind} {number}")
    cases = {}
    text = ""
    for case in range(CASES_A_PROGRAM):
        section = Section(random_of, case % 6)
        suffixes = SUFFIXES.get(kind, ALL_SUFFIXES)
        path = f"{kind}_{case}{suffixes[case % len(suffixes)]}"
        if kind == "i8" and path.endswith(".nc3"):
            path = path.replace(".nc3", ".npy")
        cases[path] = section
        text += case_text(kind, section, path)
    program = compiled(written(tmp_path, "kinds.f90", program_text(text)), prefix)
    run([program], cwd=tmp_path, env=surroundings(prefix))
    for path, section in cases.items():
        memory = (np.arange(1, np.prod(section.memory) + 1) % 100).reshape(section.memory, order="F")
        with swath.open(tmp_path / path) as array:
            stored = array[...].T
        assert stored.dtype.newbyteorder("=") == np.dtype(kind), path
        assert stored.shape == tuple(section.world), path
        box = tuple(slice(b, b + n) for b, n in zip(section.before, section.shape, strict=True))
        np.testing.assert_array_equal(stored[box], memory[section.slices()], err_msg=path)


# ---- Programs of the documents ---------------------------------------------------------------------------------------


def test_the_first_program(tmp_path: Path) -> None:
    prefix = fortran_prefix()
    program = compiled(Path(shutil.copy(EXAMPLES / "first.f90", tmp_path)), prefix)
    told = run([program], cwd=tmp_path, env=surroundings(prefix))
    assert told.split() == ["3.0", "4.0", "7.0", "8.0", "11.0", "12.0"]
    netCDF4 = pytest.importorskip("netCDF4")
    with netCDF4.Dataset(tmp_path / "first.nc4") as file:
        np.testing.assert_array_equal(file["t"][...], np.arange(1, 13).reshape(3, 4))
        assert file["t"].filters()["zlib"]


@pytest.mark.parametrize("ranks", [1, 2, 4])
def test_a_dump_and_its_restart_by_ranks_of_mpi(tmp_path: Path, mpi: Mpi, ranks: int) -> None:
    prefix = fortran_prefix(mpi)
    program = parallel(EXAMPLES / "dump.f90", tmp_path, mpi)
    told = run([*mpi.mpiexec, "-n", str(ranks), program], cwd=tmp_path, env=surroundings(prefix))
    assert f"wrote and read 3 records by {ranks} ranks" in told
    netCDF4 = pytest.importorskip("netCDF4")
    with netCDF4.Dataset(tmp_path / "run.nc4") as file:
        assert file["t"].dimensions == ("time", "y", "x")
        assert (file["t"].units, float(file.dt)) == ("K", 0.5)
        assert file["t"].filters()["zlib"]
        assert file["t"].filters()["shuffle"]
        owner = np.searchsorted([(rank + 1) * 30 // ranks for rank in range(ranks)], np.arange(30), side="right")
        for step in range(3):
            np.testing.assert_array_equal(file["t"][step], np.broadcast_to(100 * (step + 1) + owner[:, None], (30, 40)))
        np.testing.assert_array_equal(file["mask"][...], np.broadcast_to(np.arange(1, 41), (30, 40)))


@pytest.mark.parametrize("ranks", [1, 3])
def test_shares_selections_and_errors_of_ranks(tmp_path: Path, mpi: Mpi, ranks: int) -> None:
    prefix = fortran_prefix(mpi)
    program = parallel(HERE / "shares.f90", tmp_path, mpi)
    told = run([*mpi.mpiexec, "-n", str(ranks), program], cwd=tmp_path, env=surroundings(prefix))
    lines = [line.split(" ", 1) for line in told.splitlines() if " " in line]
    assert len(lines) == 4 * ranks
    assert {int(rank) for rank, _ in lines} == set(range(ranks))
    assert len({message for _, message in lines}) <= 4  # one a file, the same on all ranks
    assert all("99" in message or "100" in message for _, message in lines)
    x, y, z = np.ogrid[1:8, 1:6, 1:7]
    for suffix in ("nc3", "nc4", "h5", "zarr"):
        with swath.open_file(tmp_path / f"shares.{suffix}") as file:
            np.testing.assert_array_equal(file["v"][...].T, 100 * x + 10 * y + z)
            assert list(file["v"].attributes["valid_range"]) == [0, 999]


def test_an_append_of_a_part_leaves_the_rest_filled(tmp_path: Path) -> None:
    prefix = fortran_prefix()
    suffixes = ["nc3", "nc4", "h5", "zarr"]
    text = "program parts\n  use swath\n  implicit none\n  type(swath_file) :: f\n"
    for suffix in suffixes:
        text += f"""
  call f%create("a.{suffix}")
  call f%define("v", "i4", [4, swath_unlimited], dims=["x", "t"])
  call f%append("v", [1, 2, 3, 4])
  call f%append("v", [7, 8], start=[2])
  call f%append("v", [integer ::])
  call f%close()
"""
    program = compiled(written(tmp_path, "parts.f90", text + "end program\n"), prefix)
    run([program], cwd=tmp_path, env=surroundings(prefix))
    for suffix in suffixes:
        with swath.open_file(tmp_path / f"a.{suffix}") as file:
            values = file["v"][...]
        fill = values[2, 0]
        assert fill not in (1, 2, 3, 4, 7, 8)
        np.testing.assert_array_equal(values, [[1, 2, 3, 4], [fill, 7, 8, fill], [fill] * 4], err_msg=suffix)


def test_an_error_stops_the_program_with_the_message(tmp_path: Path) -> None:
    prefix = fortran_prefix()
    text = "program p\n  use swath\n  real :: a(2)\n  call swath_read('none.nc', 'v', a)\n"
    text += "  print *, 'on'\nend program\n"
    program = compiled(written(tmp_path, "p.f90", text), prefix)
    done = subprocess.run(
        [program], cwd=tmp_path, env=surroundings(prefix), capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode != 0
    assert "none.nc" in done.stderr
    assert done.stdout == ""


# ---- Other ways to build it ------------------------------------------------------------------------------------------


@pytest.mark.exhaustive  # the compiler of LLVM is large
def test_flang_builds_the_module_and_sections_are_right(tmp_path: Path) -> None:
    flang = shutil.which("flang-new-19") or shutil.which("flang-new-20") or shutil.which("flang")
    if flang is None or not MPICH.mpicc.exists():
        pytest.skip("flang 19 (Debian: flang-19), or Debian's MPICH, is not installed")
    options = [one for one in options_for(MPICH) if "FORTRAN" not in one]
    build, prefix = tmp_path / "build", tmp_path / "prefix"
    options += ["-DSWATH_BUILD_FORTRAN=ON", f"-DCMAKE_Fortran_COMPILER={flang}"]
    run(["cmake", "-S", ROOT, "-B", build, *options], env=with_ccache())
    run(
        ["cmake", "--build", build, "--target", "swath_library"], installed_library.BUILD_SECONDS_MAX, env=with_ccache()
    )
    run(["cmake", "--install", build, "--component", "library", "--prefix", prefix])
    flags = run([prefix / "bin/swath-config", "--fflags", "--flibs"]).split()
    random_of = random.Random("flang")
    for kind in ("i2", "f4", "c16"):
        paths = [f"{kind}_{case}.npy" for case in range(24)]
        text = "".join(case_text(kind, Section(random_of, case % 6), path) for case, path in enumerate(paths))
        source = written(tmp_path, f"{kind}.f90", program_text(text))
        run([flang, source, *flags, "-o", tmp_path / kind], cwd=tmp_path)
        run([tmp_path / kind], cwd=tmp_path, env=surroundings(prefix))


@pytest.mark.exhaustive  # fpm comes from PyPI, in an environment of its own
def test_fpm_builds_a_program_with_the_module(tmp_path: Path) -> None:
    fortran_prefix()
    if not MPICH.mpicc.exists():
        pytest.skip("Debian's MPICH is not installed")
    run([sys.executable, "-m", "venv", tmp_path / "fpm"])
    run([tmp_path / "fpm/bin/python", "-m", "pip", "--quiet", "install", "fpm"])
    shutil.copytree(ROOT / "bindings/fortran", tmp_path / "swath")
    (tmp_path / "program/app").mkdir(parents=True)
    shutil.copy(EXAMPLES / "dump.f90", tmp_path / "program/app/main.f90")
    (tmp_path / "program/fpm.toml").write_text(
        'name = "dump"\n[build]\nexternal-modules = ["mpi_f08"]\n[dependencies]\nswath = { path = "../swath" }\n'
    )
    config = fortran_prefix(MPICH) / "bin/swath-config"
    env = surroundings(config.parent.parent) | {
        "FPM_FC": str(MPICH.mpifort),
        "FPM_CC": str(MPICH.mpicc),
        "FPM_FFLAGS": "-DSWATH_FORTRAN_MPI_F08",
        "FPM_CFLAGS": run([config, "--cflags"]).strip(),
        "FPM_LDFLAGS": run([config, "--mpi", "--libs"]).strip(),
    }
    fpm = [tmp_path / "fpm/bin/fpm"]
    run([*fpm, "build"], 300, cwd=tmp_path / "program", env=env)
    run([*fpm, "install", "--prefix", tmp_path / "made"], 300, cwd=tmp_path / "program", env=env)
    told = run([*MPICH.mpiexec, "-n", 3, tmp_path / "made/bin/dump"], cwd=tmp_path, env=env)
    assert "wrote and read 3 records by 3 ranks" in told
