"""`swath mpi-io`: the program gets the stub and all its arguments; backends are built; doctor reports."""

from __future__ import annotations

import dataclasses
import json
import os
import signal
import subprocess
import sys
import sysconfig
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from mpi_runs import needs_mpi
from swath import _core
from swath.commands import cli, start
from swath.errors import UnsupportedError
from swath.mpi_io import backends, building, preload
from swath.store import profile
from swath.store.profile import StoredProfile

Capture = pytest.CaptureFixture[str]


@pytest.fixture(scope="module")
def stub() -> str:
    try:
        return preload.library()
    except UnsupportedError as error:
        pytest.skip(str(error))


def mpi_io(*arguments: object, **more: object) -> subprocess.CompletedProcess[str]:
    """`swath mpi-io ARGUMENTS`, alone."""
    env = {key: value for key, value in os.environ.items() if not key.startswith(("SWATH_MPI_IO", "PMI_", "OMPI_"))}
    env.update({name: str(value) for name, value in more.items()})
    command = [sys.executable, "-m", "swath.commands.cli", "mpi-io", *map(str, arguments)]
    return subprocess.run(command, env=env, capture_output=True, text=True, timeout=300, check=False)


SHOW = 'echo "$LD_PRELOAD ${SWATH_MPI_IO_REPORT-no}"; exit 3'


def test_the_program_gets_the_stub_and_its_status_is_ours(stub: str) -> None:
    ended = mpi_io("sh", "-c", SHOW)
    assert (ended.stdout, ended.stderr, ended.returncode) == (f"{stub} no\n", "", 3)
    assert mpi_io("--report", "sh", "-c", SHOW).stdout == f"{stub} 1\n"


def test_a_tool_that_is_preloaded_stays_in_front(stub: str) -> None:
    assert mpi_io("sh", "-c", SHOW, LD_PRELOAD="libm.so.6").stdout == f"libm.so.6:{stub} no\n"
    assert preload.environment({"LD_PRELOAD": f"{stub} a.so:b.so"})["LD_PRELOAD"] == f"a.so:b.so:{stub}"


def test_arguments_that_begin_with_dashes_are_the_programs(stub: str) -> None:
    arguments = ["--report", "-n", "4", "--library", "--traceback", "--help", "--", "x", "--", "build"]
    show = [sys.executable, "-c", "import sys; print(sys.argv[1:])"]
    for before in ([], ["--"], ["--report"], ["--report", "--"]):
        ended = mpi_io(*before, *show, *arguments)
        assert (ended.stdout, ended.returncode) == (f"{arguments}\n", 0), ended.stderr


def test_signals_that_python_ignores_end_the_program(stub: str) -> None:
    """A test runner may ignore other signals than Python; the program inherits these."""
    ended = mpi_io("grep", "SigIgn", "/proc/self/status")
    ignored = int(ended.stdout.split()[1], 16)
    assert not [name for name in ("SIGPIPE", "SIGXFSZ") if ignored >> getattr(signal, name) - 1 & 1]


def test_every_rank_of_any_mpiexec_becomes_the_program(stub: str) -> None:
    for variables in ({"OMPI_COMM_WORLD_RANK": 1, "OMPI_COMM_WORLD_SIZE": 2}, {"PMI_RANK": 1, "PMI_SIZE": 2}):
        assert mpi_io("sh", "-c", SHOW, **variables).stdout == f"{stub} no\n"


def test_a_program_that_is_not_there_is_one_line_and_status_2(stub: str) -> None:
    ended = mpi_io("/nowhere/program", "-n", 1)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr.startswith("swath: ")
    assert "/nowhere/program" in ended.stderr
    assert ended.stderr.count("\n") == 1


def test_library_is_what_ld_preload_names(stub: str, capsys: Capture) -> None:
    assert cli.main(["mpi-io", "--library"]) == 0
    assert capsys.readouterr().out == f"{stub}\n"
    assert Path(stub).exists()


def test_without_a_program_help_is_shown(capsys: Capture) -> None:
    assert cli.main(["mpi-io"]) == 0
    assert "swath mpi-io mpiexec -n 4 ./program" in capsys.readouterr().out


def test_a_stub_that_ld_preload_cannot_name_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(preload, "library", lambda: "/my programs/libswath-mpi-io.so")
    with pytest.raises(UnsupportedError, match="a space or a colon"):
        preload.environment({})


# ---- how it starts ---------------------------------------------------------------------------------------------------

OF_THE_START = {
    "swath",
    "swath.commands",
    "swath.commands.start",
    "swath.mpi_io",
    "swath.mpi_io.measured",
    "swath.mpi_io.preload",
    "swath.base",
    "swath.base.cache_folder",
    "swath.base.preload",
}
TAKE_LONG = {"argparse", "dataclasses", "inspect", "json", "pathlib", "platform", "subprocess", "tempfile", "typing"}


def started(*arguments: object, **more: object) -> subprocess.CompletedProcess[str]:
    """Run `swath ARGUMENTS` by the installed script, as in a job."""
    script = Path(sysconfig.get_path("scripts"), "swath")
    command = [sys.executable, script, *map(str, arguments)]
    env = {**os.environ, **{name: str(value) for name, value in more.items()}}
    return subprocess.run(command, env=env, capture_output=True, text=True, timeout=100, check=False)


def imported(command: Sequence[object], **more: object) -> set[str]:
    """Return the imports of a Python until it ends or becomes another program."""
    env = {**os.environ, "PYTHONPROFILEIMPORTTIME": "1", **{name: str(value) for name, value in more.items()}}
    done = subprocess.run([sys.executable, *map(str, command)], env=env, capture_output=True, text=True, check=True)
    lines = [line for line in done.stderr.splitlines() if line.startswith("import time:")]
    return {line.rpartition("|")[2].strip() for line in lines}


def imported_by_a_start(**more: object) -> set[str]:
    """Return the imports of `swath mpi-io true` that Python alone does not have."""
    script = Path(sysconfig.get_path("scripts"), "swath")
    return imported([script, "mpi-io", "true"], **more) - imported(["-c", "pass"])


@pytest.fixture
def calibrated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make a cache folder with a profile of the tests' store, as `swath calibrate` does."""
    monkeypatch.delenv(profile.VARIABLE, raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    store = profile.store_of(tmp_path)
    file = profile.file_of(store)
    numbers = {**_core.default_profile().to_dict(), "sync_seconds": 0.125}
    StoredProfile(file, store, profile.machine(), "Linux", "2026-01-01", numbers, {}, {}, []).save()
    return tmp_path / "cache"


def handed_over(cache: Path) -> str:
    """Return the profiles that a program gets."""
    ended = started("mpi-io", "sh", "-c", 'cat "$SWATH_MPI_IO_PROFILES"', XDG_CACHE_HOME=cache)
    assert (ended.returncode, ended.stderr) == (0, "")
    return ended.stdout


def test_a_start_imports_next_to_nothing(stub: str, tmp_path: Path) -> None:
    modules = imported_by_a_start(XDG_CACHE_HOME=tmp_path)
    assert {name for name in modules if name.partition(".")[0] == "swath"} == OF_THE_START
    assert not {name.partition(".")[0] for name in modules} - {"swath", *sys.stdlib_module_names}
    assert not modules & TAKE_LONG


def test_profiles_that_have_not_changed_are_handed_over_without_importing_what_made_them(
    stub: str, calibrated: Path
) -> None:
    sections = handed_over(calibrated)
    assert imported_by_a_start(XDG_CACHE_HOME=calibrated) & ({"numpy", "swath._core"} | TAKE_LONG) == set()
    assert handed_over(calibrated) == sections
    first, mount, *numbers = sections.splitlines()
    assert first.startswith("# made of ")
    assert mount == f"mount {profile.store_of(calibrated).mount_point}"
    assert "sync_seconds 0.125" in numbers


def test_a_profile_that_is_changed_or_added_or_removed_changes_what_is_handed_over(stub: str, calibrated: Path) -> None:
    assert "sync_seconds 0.125" in handed_over(calibrated)
    found = profile.for_path(calibrated)
    assert found is not None
    dataclasses.replace(found, numbers={**found.numbers, "sync_seconds": 0.25}).save()
    assert "sync_seconds 0.25" in handed_over(calibrated)
    other = dataclasses.replace(found.machine, cores=found.machine.cores + 1)
    dataclasses.replace(found, machine=other).save()
    assert len(handed_over(calibrated).splitlines()) == 1  # of another machine: none, and that is kept, too
    os.unlink(found.file)
    ended = started("mpi-io", "sh", "-c", 'echo "${SWATH_MPI_IO_PROFILES-none}"', XDG_CACHE_HOME=calibrated)
    assert ended.stdout == "none\n"


def test_profiles_that_cannot_be_written_down_are_not_handed_over(stub: str, calibrated: Path) -> None:
    Path(calibrated, "swath", f"mpi-io-profiles-{os.uname().nodename}").mkdir()
    ended = started("mpi-io", "sh", "-c", 'echo "${SWATH_MPI_IO_PROFILES-none}"', XDG_CACHE_HOME=calibrated)
    assert (ended.stdout, ended.stderr) == ("none\n", "")


@pytest.mark.parametrize(
    ("arguments", "program", "report"),
    [
        (["mpi-io", "a", "--report", "b"], ["a", "--report", "b"], False),
        (["mpi-io", "--report", "a", "--", "b"], ["a", "--", "b"], True),
        (["mpi-io", "--report", "--", "--a"], ["--a"], True),
        (["mpi-io", "--", "a"], ["a"], False),
        (["mpi-io", "build", "--mpicxx", "a"], [], False),
        (["mpi-io", "--", "build"], [], False),
        (["mpi-io", "--library"], [], False),
        (["mpi-io", "--traceback", "a"], [], False),
        (["mpi-io", "--report"], [], True),
        (["mpi-io"], [], False),
        (["info", "mpi-io"], [], False),
        ([], [], False),
    ],
)
def test_a_start_reads_the_command_line_as_the_parser_does(
    arguments: list[str], program: list[str], report: bool
) -> None:
    found, is_wanted = start._program_of_mpi_io(arguments)
    assert (list(found), is_wanted) == (program, report)
    if program:
        options = cli.parser().parse_args(arguments)
        parsed = options.program[1:] if options.program[:1] == ["--"] else options.program
        assert (parsed, options.report) == (program, report)


def test_an_error_of_a_start_is_one_line_and_status_2(stub: str) -> None:
    ended = started("mpi-io", "/nowhere/program")
    assert (ended.returncode, ended.stdout, ended.stderr.count("\n")) == (2, "", 1)
    assert "/nowhere/program" in ended.stderr


# ---- build -----------------------------------------------------------------------------------------------------------


def mpicxx_beside_python() -> str:
    beside = Path(sysconfig.get_path("scripts"), "mpicxx")
    if not beside.exists():
        pytest.skip("no mpicxx beside this Python")
    return str(beside)


def mpicxx_that(folder: Path, does: str) -> str:
    made = folder / "mpicxx"
    made.write_text(f"#!/bin/sh\n{does}\n")
    made.chmod(0o755)
    return str(made)


def test_the_family_is_told_by_the_headers(stub: str) -> None:
    found = building.find_mpi(mpicxx_beside_python())
    assert found.family == "mpich"
    assert not [flag for flag in found.flags if not flag.startswith(("-I", "-D"))]
    if Path(f"{mpicxx_beside_python()}_abi").exists():
        assert building.find_mpi(f"{mpicxx_beside_python()}_abi").family == "mpiabi"


@pytest.mark.parametrize(
    ("does", "said"),
    [
        ("echo what is -show >&2; exit 4", "-show ended with status 4: what is -show"),
        ("echo c++ -I$(dirname $0)", "its MPI is neither MPICH, nor Open MPI, nor of the MPI ABI"),
        ("echo /nowhere/c++", "'/nowhere/c++' cannot be run: No such file or directory"),
    ],
)
def test_an_mpi_that_nothing_can_be_built_for_is_refused(stub: str, tmp_path: Path, does: str, said: str) -> None:
    (tmp_path / "mpi.h").write_text("#define MPI_VERSION 3\n")
    ended = mpi_io("build", "--mpicxx", mpicxx_that(tmp_path, does))
    assert (ended.returncode, ended.stdout) == (2, "")
    assert said in ended.stderr
    assert ended.stderr.count("\n") == 1


def test_what_the_compiler_says_is_shown(stub: str, tmp_path: Path) -> None:
    (tmp_path / "mpi.h").write_text("#define OPEN_MPI 1\n#define MPI_VERSION 3\n")
    mpicxx = mpicxx_that(tmp_path, "echo c++ -I$(dirname $0)")
    ended = mpi_io("build", "--mpicxx", mpicxx, SWATH_MPI_IO_BACKENDS=tmp_path / "made")
    assert ended.returncode == 2
    assert " error: " in ended.stderr
    assert list((tmp_path / "made").iterdir()) == []


def test_without_mpicxx_in_path_its_name_is_asked_for(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UnsupportedError, match="--mpicxx PATH"):
        building.find_mpi()


def test_help_of_build_is_its_own(stub: str) -> None:
    ended = mpi_io("build", "--help")
    assert ended.returncode == 0
    assert "usage: swath mpi-io build" in ended.stdout


@pytest.mark.parametrize(("writable", "place"), [(True, "package"), (False, "user")])
def test_a_backend_is_put_where_one_may_write(
    writable: bool, place: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("SWATH_MPI_IO_BACKENDS", raising=False)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "user"))
    monkeypatch.setattr(backends, "PACKAGE", tmp_path / "package")
    (tmp_path / "package").mkdir()
    monkeypatch.setattr(building.os, "access", lambda path, mode: writable)
    assert tmp_path / place in [building._writable_folder(), *building._writable_folder().parents]


@pytest.mark.slow
@pytest.mark.timeout(400)
def test_a_built_backend_serves_mpi4py(stub: str, tmp_path: Path) -> None:
    needs_mpi()
    given = {"SWATH_MPI_IO_BACKENDS": tmp_path / "made"}
    ended = mpi_io("build", "--mpicxx", mpicxx_beside_python(), **given)
    made = tmp_path / "made" / backends.file_name("mpich")
    assert ended.returncode == 0, ended.stderr
    assert str(made) in ended.stdout
    assert [path.name for path in made.parent.iterdir()] == [made.name]
    ask = "from mpi4py import MPI; print(open('/proc/self/maps').read())"
    assert backends.loaded(mpi_io(sys.executable, "-c", ask, **given).stdout) == [made]


def test_a_backend_of_another_build_counts_for_none(stub: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SWATH_MPI_IO_BACKENDS", str(tmp_path))
    made = tmp_path / backends.file_name("mpich")
    made.write_bytes(b"0.1.0-of-another-build")
    assert backends.installed().get("mpich") != made
    made.write_bytes(backends.build_id().encode())
    assert backends.installed()["mpich"] == made


# ---- doctor ----------------------------------------------------------------------------------------------------------


def findings(**more: object) -> list[dict[str, Any]]:
    env = {**os.environ, "HYDRA_LAUNCHER": "fork", **{name: str(value) for name, value in more.items()}}
    command = [sys.executable, "-m", "swath.commands.cli", "doctor", "--json"]
    ended = subprocess.run(command, env=env, capture_output=True, text=True, timeout=100, check=False)
    return [each for each in json.loads(ended.stdout)["findings"] if each["name"].startswith("MPI-IO")]


def test_doctor_tries_whether_mpi4py_is_served(stub: str) -> None:
    needs_mpi()
    (tried,) = (each for each in findings() if each["name"] == "MPI-IO of mpi4py")
    assert (tried["state"], backends.file_name("mpich") in tried["found"]) == ("ok", True)
    (tried,) = (each for each in findings(SWATH_MPI_IO="off") if each["name"] == "MPI-IO of mpi4py")
    assert (tried["state"], tried["found"]) == ("without", "switched off by SWATH_MPI_IO")


def test_doctor_says_for_which_mpi_there_is_no_backend(stub: str, tmp_path: Path) -> None:
    if "openmpi" in backends.installed():
        pytest.skip("there is a backend for Open MPI")
    (tmp_path / "mpi.h").write_text("#define OPEN_MPI 1\n")
    mpicxx = mpicxx_that(tmp_path, "echo c++ -I$(dirname $0)")
    found = [each for each in findings(PATH=f"{tmp_path}:{os.environ['PATH']}") if mpicxx in each["found"]]
    assert [(each["state"], each["advice"]) for each in found] == [("without", f"swath mpi-io build --mpicxx {mpicxx}")]
