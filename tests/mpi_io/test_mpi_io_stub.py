"""The stub of MPI-IO with a fake MPI and a fake backend: the target of each call, and the messages."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

import swath
from swath.errors import UnsupportedError
from swath.mpi_io import backends, preload
from tree import PROGRAMS, ROOT

HERE = PROGRAMS / "mpi_io"
INCLUDE = ROOT / "bindings" / "mpi_io"
LISTED = re.findall(r"^SWATH_MPI_(LARGE_)?FUNCTION\((\w+)\)$", (INCLUDE / "functions.h").read_text(), re.MULTILINE)
FUNCTIONS = [f"{name}{'_c' if large else ''}" for large, name in LISTED]
NAMES = [f"{prefix}_{name}" for name in FUNCTIONS for prefix in ("MPI", "PMPI")]

TO_EACH = [f"{name}: {name}" for name in NAMES]
SERVED = "MPI_File_open"
THREADS = 8


@pytest.fixture(scope="module")
def stub() -> Path:
    try:
        return Path(preload.library())
    except UnsupportedError as error:
        pytest.skip(str(error))


class Built:
    """Programs and libraries, compiled in a separate folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.compiler = shutil.which("cc") or shutil.which("gcc") or ""
        if not self.compiler:
            pytest.skip("no C compiler")

    def make(self, name: str, source: str, *flags: str) -> Path:
        made = self.folder / name
        if not made.exists():
            command = [self.compiler, "-O1", "-o", made, HERE / source, f"-I{INCLUDE}", *flags, "-ldl", "-pthread"]
            subprocess.run(list(map(str, command)), check=True)
        return made

    def mpi(self, *defined: str) -> Path:
        """Make libmpi.so of fake_mpi.c, in a folder whose name lists the definitions."""
        (self.folder / "-".join(["mpi", *defined])).mkdir(exist_ok=True)
        flags = (f"-D{each}" for each in defined)
        name = "/".join(["-".join(["mpi", *defined]), "libmpi.so.12"])
        return self.make(name, "fake_mpi.c", "-shared", "-fPIC", "-Wl,-soname,libmpi.so.12", *flags)

    def program(self, mpi: Path | None) -> Path:
        """every_entry.c, linked to an MPI or to none."""
        if mpi is None:
            return self.make("every_entry", "every_entry.c")
        linked = (str(mpi), f"-Wl,--no-as-needed,-rpath,{mpi.parent}")
        return self.make(f"every_entry-{mpi.parent.name}", "every_entry.c", "-Wl,--no-as-needed", *linked)

    def backends(self, folder: str, build: str | None = None) -> Path:
        """A folder with a backend of the fake MPI."""
        (self.folder / folder).mkdir(exist_ok=True)
        defined = (f'-DSERVED="{SERVED}"', f'-DBUILD="{build or backends.build_id()}"')
        self.make(f"{folder}/libswath-mpi-io-mpich.so", "fake_backend.c", "-shared", "-fPIC", *defined)
        return self.folder / folder


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    return Built(tmp_path_factory.mktemp("stub"))


@pytest.fixture
def run(stub: Path, tmp_path: Path) -> Run:
    return Run(stub, tmp_path)


class Run:
    """Runs programs with the stub preloaded, and only with the given backends."""

    def __init__(self, stub: Path, folder: Path) -> None:
        # A copy: no backend lies beside it.
        self.stub = Path(shutil.copy(stub, folder))
        self.home = folder

    def __call__(self, *command: object, preload: bool = True, **more: object) -> subprocess.CompletedProcess[str]:
        env = {
            key: value for key, value in os.environ.items() if not key.startswith(("SWATH_", "PMI", "OMPI_", "XDG_"))
        }
        env.update({"HOME": str(self.home), **{name: str(value) for name, value in more.items()}})
        if preload:
            env["LD_PRELOAD"] = str(self.stub)
        return subprocess.run(list(map(str, command)), env=env, capture_output=True, text=True, timeout=60, check=False)


def test_every_function_of_files_is_there_as_mpi_and_as_pmpi(stub: Path) -> None:
    assert len(FUNCTIONS) == len(set(FUNCTIONS)) == 98
    some = {"File_open", "File_write_at_all", "File_iread_shared", "File_write_ordered_begin", "File_read_c"}
    assert some | {"File_iwrite_at_all_c", "File_read_all_begin_c", "File_get_type_extent_c"} <= set(FUNCTIONS)
    if shutil.which("nm") is None:
        pytest.skip("nm (binutils) is not installed")
    defined = subprocess.run(["nm", "-D", "--defined-only", stub], capture_output=True, text=True, check=True).stdout
    assert sorted(line.split()[-1] for line in defined.splitlines()) == sorted(NAMES)


@pytest.mark.parametrize("preload", [False, True])
def test_each_call_reaches_the_function_of_its_name_with_its_arguments(built: Built, run: Run, preload: bool) -> None:
    ended = run(built.program(built.mpi()), THREADS, preload=preload)
    assert (ended.returncode, ended.stdout.splitlines()) == (0, TO_EACH), ended.stderr


@pytest.mark.parametrize(
    ("mode", "words"), [("on", "MPI-IO is left to"), ("trace", "no MPI-IO call is traced of")], ids=["served", "traced"]
)
def test_an_mpi_of_no_family_is_left_alone_and_told_of_once(built: Built, run: Run, mode: str, words: str) -> None:
    ended = run(built.program(built.mpi()), THREADS, SWATH_MPI_IO=mode)
    assert (ended.returncode, ended.stdout.splitlines()) == (0, TO_EACH)
    (line,) = ended.stderr.splitlines()
    assert line.startswith(f"swath: {words} {built.mpi()}: it is neither MPICH")


def test_without_a_backend_the_mpi_serves_and_one_line_of_one_rank_says_what_to_do(built: Built, run: Run) -> None:
    program = built.program(built.mpi("AS_MPICH"))
    ended = run(program, THREADS)
    assert (ended.returncode, ended.stdout.splitlines()) == (0, TO_EACH)
    (line,) = ended.stderr.splitlines()
    assert "there is no backend of the family mpich" in line
    assert "swath mpi-io build" in line
    assert "SWATH_MPI_IO=off" in line
    for variable in ("PMI_RANK", "OMPI_COMM_WORLD_RANK"):
        assert run(program, 1, **{variable: 0}).stderr.count("\n") == 1
        ended = run(program, 1, **{variable: 3})
        assert (ended.returncode, ended.stderr) == (0, "")


@pytest.mark.parametrize("off", ["off", "0"])
def test_switched_off_the_mpi_serves_and_nothing_is_said(built: Built, run: Run, off: str) -> None:
    ended = run(
        built.program(built.mpi("AS_MPICH")), THREADS, SWATH_MPI_IO=off, SWATH_MPI_IO_BACKENDS=built.backends("on")
    )
    assert (ended.returncode, ended.stdout.splitlines(), ended.stderr) == (0, TO_EACH, "")


def served_lines(stdout: str) -> list[str]:
    return [line for line in stdout.splitlines() if not line.startswith(("begun", "asked"))]


def expected_where_served() -> list[str]:
    return [f"{name}: {'P' + SERVED if name.removeprefix('P') == SERVED else name}" for name in NAMES]


@pytest.mark.parametrize("local", [False, True])
def test_a_backend_serves_what_it_has_and_the_mpi_the_rest(built: Built, run: Run, local: bool) -> None:
    mpi = built.mpi("AS_MPICH")
    arguments = (built.program(None), THREADS, "--local", mpi) if local else (built.program(mpi), THREADS)
    ended = run(*arguments, SWATH_MPI_IO_BACKENDS=built.backends("on"))
    assert (ended.returncode, ended.stderr) == (0, "")
    assert served_lines(ended.stdout) == expected_where_served()
    assert "begun, last called: ''" in ended.stdout.splitlines()
    # A resolved entry stays resolved; threads may resolve it at the same time.
    asked = [line.removeprefix("asked for ") for line in ended.stdout.splitlines() if line.startswith("asked")]
    assert set(asked) == {name for name in NAMES if not name.startswith("P")}
    one_thread = run(built.program(mpi), 1, SWATH_MPI_IO_BACKENDS=built.backends("on")).stdout
    assert one_thread.count("begun") == 1
    assert one_thread.count("asked") == len(NAMES)


@pytest.mark.parametrize("place", ["beside", "home", "data"])
def test_a_backend_is_found_beside_the_stub_and_in_the_users_folder(
    built: Built, run: Run, place: str, tmp_path: Path
) -> None:
    more = {"data": {"XDG_DATA_HOME": tmp_path / "data"}}.get(place, {})
    folder = {
        "beside": run.stub.parent,
        "home": run.home / ".local/share/swath/mpi_io" / swath.__version__,
        "data": tmp_path / "data/swath/mpi_io" / swath.__version__,
    }[place]
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copy(built.backends("on") / backends.file_name("mpich"), folder)
    ended = run(built.program(built.mpi("AS_MPICH")), 1, **more)
    assert served_lines(ended.stdout) == expected_where_served()


def test_the_python_side_looks_where_the_stub_does(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    assert backends.user_folder() == tmp_path / ".local/share/swath/mpi_io" / swath.__version__
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    assert backends.user_folder() == tmp_path / "data/swath/mpi_io" / swath.__version__
    monkeypatch.setenv("SWATH_MPI_IO_BACKENDS", str(tmp_path / "given"))
    assert backends.folders() == [tmp_path / "given", backends.PACKAGE, backends.user_folder()]


def test_a_backend_of_another_build_is_not_taken(built: Built, run: Run) -> None:
    ended = run(built.program(built.mpi("AS_MPICH")), THREADS, SWATH_MPI_IO_BACKENDS=built.backends("old", "0.1.0-old"))
    assert (ended.returncode, served_lines(ended.stdout)) == (0, TO_EACH)
    (line,) = ended.stderr.splitlines()
    assert f"is of Swath 0.1.0-old, and this is Swath {backends.build_id()}" in line


def test_a_backend_that_cannot_be_opened_is_told_of(built: Built, run: Run, tmp_path: Path) -> None:
    (tmp_path / backends.file_name("mpich")).write_text("no library")
    ended = run(built.program(built.mpi("AS_MPICH")), THREADS, SWATH_MPI_IO_BACKENDS=tmp_path)
    assert (ended.returncode, served_lines(ended.stdout)) == (0, TO_EACH)
    (line,) = ended.stderr.splitlines()
    assert "its backend cannot be opened" in line
    assert "file too short" in line or "invalid ELF header" in line


def test_large_counts_of_an_mpi_older_than_mpi_4_are_done_by_its_ints(built: Built, run: Run) -> None:
    program = built.program(built.mpi("WITHOUT_LARGE_COUNTS"))
    ended = run(program, THREADS, "--six", 300, SWATH_MPI_IO="off")
    by_int = [f"P{name.removeprefix('P').removesuffix('_c')}" if name.endswith("_c") else name for name in NAMES]
    assert ended.stdout.splitlines() == [f"{name}: {reached}" for name, reached in zip(NAMES, by_int, strict=True)]
    assert (ended.returncode, ended.stderr) == (0, "")
    for name in ("MPI_File_read_at_c", "MPI_File_iwrite_c", "MPI_File_read_all_begin_c"):
        refused = run(program, 1, "--six", 1 << 31, name, SWATH_MPI_IO="off")
        assert refused.stdout == f"{name}: PMPI_File_call_errhandler\n"
        assert f"{name}: 2 instead of" in refused.stderr  # MPI_ERR_COUNT


def test_a_function_that_the_mpi_has_not_is_missed_when_it_is_called_only(built: Built, run: Run) -> None:
    program = built.program(built.mpi("WITHOUT_IREAD_AT_ALL"))
    assert run(program, 1, "MPI_File_iread_at", SWATH_MPI_IO="off").stdout == "MPI_File_iread_at: MPI_File_iread_at\n"
    ended = run(program, 1, "MPI_File_iread_at_all", SWATH_MPI_IO="off")
    assert ended.returncode < 0
    assert re.fullmatch(r"swath: MPI_File_iread_at_all was called, but .*libmpi.so.12 has no such.*\n", ended.stderr)


def test_without_an_mpi_a_call_is_refused_and_nothing_else_changes(built: Built, run: Run, tmp_path: Path) -> None:
    (tmp_path / "a").write_text("here\n")
    for command in (("cat", tmp_path / "a"), ("sh", "-c", "exit 7"), ("env", "-i", "true")):
        with_stub, without = run(*command), run(*command, preload=False)
        assert with_stub.args == without.args
        for ended in (with_stub, without):
            assert (ended.stdout, ended.stderr, ended.returncode) == (without.stdout, "", without.returncode)
    ended = run(built.program(None), 1, "MPI_Init")
    assert ended.returncode < 0
    assert "swath: MPI_Init was called, but this process has loaded no MPI" in ended.stderr


def test_the_report_names_a_program_that_mpi_is_linked_into(built: Built, run: Run) -> None:
    program = built.make("linked", "every_entry.c", str(HERE / "fake_mpi.c"), "-rdynamic")
    ended = run(program, 1, SWATH_MPI_IO_REPORT=1)
    assert (ended.returncode, ended.stdout.splitlines()) == (0, TO_EACH)
    (line,) = ended.stderr.splitlines()
    assert line.startswith(f"swath mpi-io: no file was served: this process has loaded {program}")
    assert "linked into it statically" in line
    assert run(program, 1).stderr == ""


def test_the_report_says_nothing_at_the_end_of_a_program_that_is_served_or_has_no_mpi(built: Built, run: Run) -> None:
    served = {"SWATH_MPI_IO_BACKENDS": built.backends("on"), "SWATH_MPI_IO_REPORT": 1}
    for name in "MPI_Init_thread", "PMPI_File_open":
        assert run(built.program(built.mpi("AS_MPICH")), 1, name, **served).stderr == ""
    assert run("true", SWATH_MPI_IO_REPORT=1).stderr == ""
    assert "no file was served" in run(built.program(built.mpi("AS_MPICH")), 1, "MPI_Wait", **served).stderr


def test_the_trampolines_of_aarch64_keep_every_argument_too(tmp_path: Path) -> None:
    compiler, emulator = shutil.which("aarch64-linux-gnu-gcc"), shutil.which("qemu-aarch64")
    if compiler is None or emulator is None:
        pytest.skip("no compiler for aarch64 or no emulator of it (gcc-aarch64-linux-gnu, qemu-user)")

    def make(name: str, *sources: Path, flags: tuple[object, ...]) -> Path:
        command = [compiler, "-O2", "-o", tmp_path / name, *sources, f"-I{INCLUDE}", *flags]
        subprocess.run(list(map(str, command)), check=True)
        return tmp_path / name

    version = f'-DSWATH_VERSION="{swath.__version__}"'
    exported = f"-Wl,--version-script={INCLUDE / 'stub' / 'stub.map'}"
    sources = (INCLUDE / "stub" / "stub.c", INCLUDE / "stub" / "trampolines.S")
    generated = f"-I{backends.SOURCE / 'bindings'}"
    stub = make("stub.so", *sources, flags=("-fPIC", "-shared", "-fvisibility=hidden", version, generated, exported))
    mpi = make("libmpi.so.12", HERE / "fake_mpi.c", flags=("-fPIC", "-shared", "-Wl,-soname,libmpi.so.12"))
    linked = ("-Wl,--no-as-needed", mpi, f"-Wl,-rpath,{tmp_path}", "-ldl", "-pthread")
    program = make("every_entry", HERE / "every_entry.c", flags=linked)
    command = [emulator, "-L", "/usr/aarch64-linux-gnu", "-E", f"LD_PRELOAD={stub}", program, THREADS]
    ended = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=60, check=False)
    assert (ended.returncode, ended.stdout.splitlines()) == (0, TO_EACH), ended.stderr
    assert "it is neither MPICH" in ended.stderr
