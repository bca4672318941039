"""Programs of each installed MPI, in C and Fortran, with the stub and the real backends."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import sysconfig
from dataclasses import dataclass
from pathlib import Path

import pytest

from mpi_io_runs import backend_folder
from mpi_runs import needs_mpi
from swath.errors import UnsupportedError
from swath.mpi_io import backends, building, preload
from tree import PROGRAMS

HERE = PROGRAMS / "mpi_io"
RANKS = 2
SINGLE = 0
"""MPI_THREAD_SINGLE; the programs print the value of MPI_THREAD_MULTIPLE."""


@dataclass(frozen=True)
class Mpi:
    """An MPI for tests: the family of its backend, and its programs, some of which may not be installed."""

    name: str
    family: str
    mpicc: str
    mpicxx: str
    mpifort: str
    mpiexec: tuple[str, ...]


def _system(name: str, family: str, *options: str) -> Mpi:
    """An MPI that Debian installs besides others."""
    programs = (f"/usr/bin/{each}.{name}" for each in ("mpicc", "mpicxx", "mpifort"))
    return Mpi(f"debian-{name}", family, *programs, (f"/usr/bin/mpiexec.{name}", *options))


SCRIPTS = Path(sysconfig.get_path("scripts"))
WHEEL = (str(SCRIPTS / "mpiexec"),)
MPIS = [
    Mpi("wheel", "mpich", *(str(SCRIPTS / each) for each in ("mpicc", "mpicxx", "mpifort")), WHEEL),
    Mpi("wheel-abi", "mpiabi", *(str(SCRIPTS / f"{each}_abi") for each in ("mpicc", "mpicxx", "mpifort")), WHEEL),
    _system("mpich", "mpich"),
    _system("openmpi", "openmpi", "--oversubscribe"),
]
FORTRAN = ("F77", "F90", "F08")


@pytest.fixture(params=MPIS, ids=lambda mpi: str(mpi.name))
def mpi(request: pytest.FixtureRequest) -> Mpi:
    found: Mpi = request.param
    for program in (found.mpicc, found.mpiexec[0]):
        if not Path(program).exists():
            pytest.skip(f"{program} is not installed")
    return found


@pytest.fixture(scope="module")
def backend_of(tmp_path_factory: pytest.TempPathFactory) -> BackendOf:
    try:
        preload.library()
    except UnsupportedError as error:
        pytest.skip(str(error))
    return BackendOf(tmp_path_factory.mktemp("backends"))


class BackendOf:
    """The folder of a real backend for an MPI: the installed one, or one that is built once for these tests."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __call__(self, mpi: Mpi) -> Path:
        return backend_folder(mpi.family, mpi.mpicxx, self.folder)


def compiled(mpi: Mpi, folder: Path, language: str, *flags: object) -> Path:
    """Compile program.c, or program.F90 with one of Fortran's interfaces."""
    made = folder / f"program-{language}"
    if language == "C":
        command = [mpi.mpicc, HERE / "program.c", *flags, "-o", made]
    else:
        if not Path(mpi.mpifort).exists() or shutil.which("gfortran") is None:
            pytest.skip(f"{mpi.mpifort} or gfortran is not installed")
        command = [mpi.mpifort, f"-D{language}", HERE / "program.F90", *flags, "-o", made]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return made


def ran(mpi: Mpi, command: list[object], folder: Path | None, **more: object) -> subprocess.CompletedProcess[str]:
    """Run on RANKS ranks, with the stub; without, if there is no folder of backends."""
    launchers = ("PMI", "OMPI_", "SWATH_MPI_IO")
    env = {key: value for key, value in os.environ.items() if not key.startswith(launchers)}
    env.update({"HYDRA_LAUNCHER": "fork", "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"})
    env.update({name: str(value) for name, value in more.items()})
    if folder is not None:
        env = {**preload.environment(env), backends.VARIABLE: str(folder)}
    command = [*mpi.mpiexec, "-n", RANKS, *command]
    return subprocess.run(list(map(str, command)), env=env, capture_output=True, text=True, timeout=90, check=False)


def levels(stdout: str) -> tuple[int, int]:
    """Return (granted level, MPI_THREAD_MULTIPLE) of a program whose data were right on all ranks."""
    found = re.search(r"level (\d+) of (\d+), (\d+) right", stdout)
    assert found is not None, stdout
    assert int(found[3]) == RANKS
    return int(found[1]), int(found[2])


@pytest.mark.slow  # a backend may have to be built
@pytest.mark.timeout(400)
@pytest.mark.parametrize("language", ["C", *FORTRAN])
def test_a_program_reads_and_writes_the_same_and_mpi_serves_its_threads(
    mpi: Mpi, backend_of: BackendOf, tmp_path: Path, language: str
) -> None:
    program = compiled(mpi, tmp_path, language)
    folder = backend_of(mpi)
    plain = ran(mpi, [program, tmp_path / "plain"], None)
    granted, multiple = levels(plain.stdout)
    for more, expected in (
        ({}, multiple),
        ({"SWATH_MPI_IO_THREADS": "off"}, granted),
        ({"SWATH_MPI_IO": "off"}, granted),
    ):
        served = ran(mpi, [program, tmp_path / "served"], folder, **more)
        assert (served.returncode, levels(served.stdout)) == (0, (expected, multiple)), served.stderr
        assert "swath" not in served.stderr
        assert (tmp_path / "served").read_bytes() == (tmp_path / "plain").read_bytes()
        (tmp_path / "served").unlink()


@pytest.mark.slow
@pytest.mark.timeout(400)
@pytest.mark.parametrize("language", ["C", *FORTRAN])
def test_every_call_that_a_language_makes_arrives(mpi: Mpi, tmp_path: Path, language: str) -> None:
    program = compiled(mpi, tmp_path, language)
    build = f'-DBUILD="{backends.build_id()}"'
    made = tmp_path / backends.file_name(mpi.family)
    compiler = shutil.which("cc") or "gcc"
    subprocess.run([compiler, "-shared", "-fPIC", build, "-o", made, HERE / "fake_backend.c", "-ldl"], check=True)
    ended = ran(mpi, [program, tmp_path / "a"], tmp_path)
    levels(ended.stdout)
    files = ("open", "set_view", "write_at_all", "sync", "read_at", "close")
    called = {"MPI_Init", "MPI_Finalize", *(f"MPI_File_{name}" for name in files)}
    assert called <= set(re.findall(r"asked for (\w+)", ended.stdout))


def symbols(library: Path, which: str) -> set[str]:
    listed = subprocess.run(["nm", "-D", which, library], capture_output=True, text=True, check=True).stdout
    return {line.split()[-1].partition("@")[0] for line in listed.splitlines()}


@pytest.mark.slow
@pytest.mark.timeout(400)
def test_a_backend_needs_nothing_that_an_mpi_of_its_family_has_not(
    mpi: Mpi, backend_of: BackendOf, tmp_path: Path
) -> None:
    if shutil.which("nm") is None or shutil.which("ldd") is None:
        pytest.skip("nm or ldd is not installed")
    linked = subprocess.run(["ldd", compiled(mpi, tmp_path, "C")], capture_output=True, text=True, check=True).stdout
    libraries = re.findall(r"=> (/\S*/libmpi\S*)", linked)
    needed = symbols(backend_of(mpi) / backends.file_name(mpi.family), "--undefined-only")
    of_mpi = {name for name in needed if re.match("P?MPI|ompi", name)}
    assert of_mpi
    assert of_mpi <= set().union(*(symbols(Path(library), "--defined-only") for library in libraries))


@pytest.mark.slow
@pytest.mark.timeout(400)
def test_a_tool_in_front_sees_every_call_and_the_backend_still_serves(
    mpi: Mpi, backend_of: BackendOf, tmp_path: Path
) -> None:
    program = compiled(mpi, tmp_path, "C")
    tool = tmp_path / "tool.so"
    subprocess.run([mpi.mpicc, "-shared", "-fPIC", HERE / "tool.c", "-o", tool], check=True)
    ended = ran(mpi, [program, tmp_path / "a"], backend_of(mpi), LD_PRELOAD=tool)
    granted, multiple = levels(ended.stdout)
    assert granted == multiple
    assert "tool: 1 opened, 1 written" in ended.stdout


@pytest.mark.slow
@pytest.mark.timeout(400)
@pytest.mark.parametrize("language", ["C", *FORTRAN])
def test_a_program_that_is_linked_to_the_stub_needs_no_preload(
    mpi: Mpi, backend_of: BackendOf, tmp_path: Path, language: str
) -> None:
    program = compiled(mpi, tmp_path, language, f"-Wl,--no-as-needed,{preload.library()}")
    ended = ran(mpi, [program, tmp_path / "a"], None, **{backends.VARIABLE: backend_of(mpi)})
    granted, multiple = levels(ended.stdout)
    assert (granted, ended.stderr) == (multiple, "")


def test_the_report_names_a_program_that_finds_mpi_by_dlsym(tmp_path: Path) -> None:
    wheel = MPIS[0]
    if not Path(wheel.mpicc).exists():
        pytest.skip("no MPI beside this Python")
    libmpi = next(Path(sys.prefix, "lib").glob("libmpi.so.*"))
    flags = building.find_mpi(wheel.mpicxx).flags
    program = tmp_path / "found_by_dlsym"
    subprocess.run(["cc", HERE / "found_by_dlsym.c", *flags, "-o", program, "-ldl"], check=True)
    told = ran(wheel, [program, libmpi, tmp_path / "a"], backends.PACKAGE, SWATH_MPI_IO_REPORT=1)
    assert (told.returncode, (tmp_path / "a").read_text()) == (0, "written")
    (line,) = told.stderr.splitlines()  # of two ranks one
    assert line.startswith("swath mpi-io: no file was served: this process has loaded ")
    assert libmpi.name in line
    assert "dlopen and dlsym" in line
    for more in {}, {"SWATH_MPI_IO_REPORT": 0}, {"SWATH_MPI_IO_REPORT": 1, "SWATH_MPI_IO": "off"}:
        ended = ran(wheel, [program, libmpi, tmp_path / "a"], backends.PACKAGE, **more)
        assert (ended.returncode, ended.stderr) == (0, "")


@pytest.mark.parametrize("required", range(4))
def test_provided_is_what_mpi_granted(tmp_path: Path, required: int) -> None:
    wheel = MPIS[0]
    if not Path(wheel.mpicc).exists():
        pytest.skip("no MPI beside this Python")
    program = compiled(wheel, tmp_path, "C")
    for more, expected in ({}, 3), ({"SWATH_MPI_IO_THREADS": "off"}, required):
        ended = ran(wheel, [program, tmp_path / "a", required], backends.PACKAGE, **more)
        assert "provided" not in ended.stdout
        assert levels(ended.stdout) == (expected, 3)


READS_AND_WRITES = """
import sys
import mpi4py
mpi4py.rc.threads = False
from mpi4py import MPI
import numpy as np
comm = MPI.COMM_WORLD
file = MPI.File.Open(comm, sys.argv[1], MPI.MODE_CREATE | MPI.MODE_RDWR)
file.Write_at_all(80 * comm.rank, np.arange(10.0) + comm.rank)
back = np.zeros(10)
file.Read_at_all(80 * comm.rank, back)
file.Close()
right = comm.allreduce(int((back == np.arange(10.0) + comm.rank).all()))
if comm.rank == 0:
    print(f"level {MPI.Query_thread()} of {MPI.THREAD_MULTIPLE}, {right} right")
"""


def test_mpi4py_is_served_though_it_loads_its_mpi_for_itself(tmp_path: Path) -> None:
    needs_mpi()
    script = tmp_path / "reads_and_writes.py"
    script.write_text(READS_AND_WRITES)
    for more, expected in ({}, 3), ({"SWATH_MPI_IO": "off"}, SINGLE), ({"SWATH_MPI_IO_THREADS": "off"}, SINGLE):
        ended = ran(MPIS[0], [sys.executable, script, tmp_path / "a"], backends.PACKAGE, **more)
        assert (ended.returncode, levels(ended.stdout), ended.stderr) == (0, (expected, 3), "")


@pytest.mark.slow
@pytest.mark.timeout(400)
def test_mpi4py_does_without_large_counts_where_the_mpi_has_none(backend_of: BackendOf, tmp_path: Path) -> None:
    needs_mpi()
    openmpi = MPIS[-1]
    library = Path("/usr/lib/x86_64-linux-gnu/libmpi.so.40")
    if not library.exists() or not Path(openmpi.mpiexec[0]).exists():
        pytest.skip("Open MPI is not installed")
    script = tmp_path / "reads_and_writes.py"
    script.write_text(READS_AND_WRITES)
    its = {"MPI4PY_MPIABI": "openmpi", "MPI4PY_LIBMPI": library}
    for more in {}, {"SWATH_MPI_IO": "off"}:
        ended = ran(openmpi, [sys.executable, script, tmp_path / "a"], backend_of(openmpi), **its, **more)
        assert ended.returncode == 0, ended.stderr
        levels(ended.stdout)


@pytest.mark.slow  # a backend may have to be built
@pytest.mark.timeout(400)
def test_a_nonblocking_call_outlives_its_view(mpi: Mpi, backend_of: BackendOf, tmp_path: Path) -> None:
    program = tmp_path / "program"
    subprocess.run([mpi.mpicc, HERE / "replaced_view.c", "-o", program], check=True)
    done = ran(mpi, [program, tmp_path / "data"], backend_of(mpi), SWATH_MPI_IO_REPORT=1)
    assert done.stdout == "right\n", done.stderr
    assert f"data: served, {RANKS} ranks" in done.stderr


def openmpi_with_sessions() -> Mpi:
    """Open MPI 5: the one whose folder of programs SWATH_OPENMPI names, else Debian's. MPICH opens no such files."""
    folder = os.environ.get("SWATH_OPENMPI", "")
    if not folder:
        return MPIS[-1]
    programs = (str(Path(folder, each)) for each in ("mpicc", "mpicxx", "mpifort"))
    return Mpi("openmpi-5", "openmpi", *programs, (str(Path(folder, "mpiexec")), "--oversubscribe"))


@pytest.mark.slow  # a backend has to be built
@pytest.mark.timeout(400)
def test_a_file_of_a_program_that_has_sessions_only_is_given_back(tmp_path: Path) -> None:
    openmpi = openmpi_with_sessions()
    program = tmp_path / "sessions"
    if not Path(openmpi.mpicc).exists():
        pytest.skip(f"{openmpi.mpicc} is not installed")
    made = subprocess.run([openmpi.mpicc, HERE / "sessions.c", "-o", program], capture_output=True, check=False)
    if made.returncode != 0 or b"implicit declaration" in made.stderr:
        pytest.skip("this MPI has no sessions")
    backend = BackendOf(tmp_path / "backends")
    for more in {"SWATH_MPI_IO": "off"}, {"SWATH_MPI_IO_REPORT": 1}:
        done = ran(openmpi, [program, tmp_path / "data"], backend(openmpi), **more)
        assert (done.returncode, done.stdout) == (0, "right\n"), done.stderr
    assert "data: given back to MPI: MPI was started by sessions only" in done.stderr, done.stderr


LARGE_TYPES = [f"PMPI_Type_{name}_c" for name in ("get_envelope", "get_contents", "get_extent", "size")]
"""What MPI-4 says of datatypes."""


@pytest.mark.parametrize("family", ["mpich", "mpiabi"])
def test_a_backend_needs_nothing_that_an_mpi_older_than_mpi_4_has_not(family: str) -> None:
    """A library of MPI-3.1 with the ABI of the headers has no functions with large counts."""
    backend = backends.PACKAGE / backends.file_name(family)
    if shutil.which("nm") is None or not backend.exists():
        pytest.skip("nm is not installed, or there is no such backend")
    needed = symbols(backend, "--undefined-only")
    assert "MPI_Type_dup" in needed
    assert not {name for name in needed if re.fullmatch(r"P?MPI_\w+_c", name)}


def test_an_mpi_older_than_mpi_4_is_served(tmp_path: Path) -> None:
    wheel = MPIS[0]
    if not Path(wheel.mpicc).exists():
        pytest.skip("no MPI beside this Python")
    program, older = tmp_path / "program", tmp_path / "older_mpi.so"
    subprocess.run([wheel.mpicc, HERE / "replaced_view.c", "-o", program], check=True)
    compiler = shutil.which("cc") or "gcc"
    subprocess.run([compiler, "-shared", "-fPIC", "-O2", HERE / "older_mpi.c", "-o", older, "-ldl"], check=True)
    done = ran(wheel, [program, tmp_path / "data"], backends.PACKAGE, LD_PRELOAD=older, SWATH_MPI_IO_REPORT=1)
    assert done.stdout == "right\n", done.stderr
    assert f"data: served, {RANKS} ranks" in done.stderr
    assert set(re.findall(r"older_mpi: no (\w+)", done.stderr)) == set(LARGE_TYPES)
