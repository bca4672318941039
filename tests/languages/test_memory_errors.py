"""Programs of C, C++ and Fortran with ranks under valgrind: no memory error, and nothing leaks."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

import installed_library
from fortran_programs import HERE, parallel
from installed_library import WHEEL, prefix_for, run, surroundings
from tree import PROGRAMS

SECONDS_MAX = 400
SUPPRESSIONS = PROGRAMS / "installed/valgrind.supp"
FORGETFUL = """#include <mpi.h>
#include <swath/swath_mpi.h>
int main(int count, char** arguments) {
  const swath_rule rule = {SWATH_CYCLIC, 1};
  const int grid[] = {2};
  swath_distribution* forgotten;
  MPI_Init(&count, &arguments);
  const int status = swath_distribution_create(1, &rule, grid, &forgotten);
  forgotten = NULL;
  MPI_Finalize();
  return status;
}
"""

pytestmark = [pytest.mark.slow, pytest.mark.timeout(installed_library.BUILD_SECONDS_MAX + 2 * SECONDS_MAX)]


def built(source: Path, folder: Path) -> Path:
    """Return a program of C or C++ with MPI."""
    flags = run([prefix_for() / "bin/swath-config", "--mpi", "--cflags", "--libs"]).split()
    is_c = source.suffix == ".c"
    compiler = os.environ.get("CC", "cc") if is_c else os.environ.get("CXX", "c++")
    program = folder / source.stem
    run([compiler, "-g", *([] if is_c else ["-std=c++20"]), source, *flags, "-o", program])
    return program


def program_of_c(folder: Path) -> Path:
    return built(PROGRAMS / "installed/everything.c", folder)


def program_of_cpp(folder: Path) -> Path:
    return built(PROGRAMS / "installed/everything.cc", folder)


def program_of_fortran(folder: Path) -> Path:
    return parallel(HERE / "everything.f90", folder, WHEEL)


def reports_of(program: Path, folder: Path, ranks: int) -> tuple[str, str]:
    """Return what a program prints, and what valgrind reports of all its ranks."""
    valgrind = shutil.which("valgrind")
    if valgrind is None:
        pytest.skip("valgrind is not installed")
    command = [valgrind, "--quiet", "--leak-check=full", "--show-leak-kinds=definite,indirect", "--num-callers=40"]
    command += [f"--suppressions={SUPPRESSIONS}", "--child-silent-after-fork=yes", f"--log-file={folder}/report.%p"]
    said = run(
        [*WHEEL.mpiexec, "-n", ranks, *command, program],
        SECONDS_MAX,
        cwd=folder,
        env=surroundings(prefix_for(), {"MPIR_CVAR_POLLS_BEFORE_YIELD": 1}),
    )
    reports = list(folder.glob("report.*"))
    assert len(reports) >= ranks
    # what valgrind says of itself begins with "--", or is a warning: system calls and flags that it does not know
    lines = [line for report in reports for line in report.read_text().splitlines() if line.startswith("==")]
    return said, "\n".join(line for line in lines if "WARNING: valgrind ignores" not in line)


@pytest.mark.parametrize("ranks", [2, pytest.param(4, marks=pytest.mark.exhaustive)])
@pytest.mark.parametrize("build", [program_of_c, program_of_cpp, program_of_fortran])
def test_programs_of_ranks_leak_nothing(tmp_path: Path, build: Callable[[Path], Path], ranks: int) -> None:
    said, reported = reports_of(build(tmp_path), tmp_path, ranks)
    assert said.endswith("right\n")
    assert reported == ""


def test_a_handle_that_a_program_forgets_is_reported(tmp_path: Path) -> None:
    (tmp_path / "forgetful.c").write_text(FORGETFUL)
    _, reported = reports_of(built(tmp_path / "forgetful.c", tmp_path), tmp_path, 2)
    assert "swath_distribution_create" in reported
    assert "definitely lost" in reported
