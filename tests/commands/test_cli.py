"""The command `swath`: output, refusals, and the message under another MPI's mpiexec."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest

import swath
from mpi_runs import mpiexec, needs_mpi
from swath import _core, formats
from swath.base import units
from swath.commands import arguments, cli, doctor, rados
from swath.errors import ArgumentError, Error, UnsupportedError
from swath.ranks import mpi
from swath.space import Block, Cyclic, Whole

Capture = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def _alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """The tests themselves may run under an mpiexec."""
    for variable in ("PMI_SIZE", "PMI_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK"):
        monkeypatch.delenv(variable, raising=False)


@pytest.fixture
def npy(tmp_path: Path) -> str:
    path = tmp_path / "a.npy"
    np.save(path, np.arange(12 * 20, dtype=">i4").reshape(12, 20))
    return str(path)


@pytest.fixture
def netcdf(tmp_path: Path) -> str:
    h5py = pytest.importorskip("h5py")
    path = tmp_path / "b.nc"
    with h5py.File(path, "w") as file:
        file.create_dataset("sst", data=np.ones((3, 4), "f4")).attrs["units"] = "K"
        file.create_dataset("bad", data=np.ones(5)).attrs["scale"] = float("nan")
        file.create_dataset("zipped", data=np.zeros((100, 100)), chunks=(10, 10), compression="gzip")
    return str(path)


def ran(capsys: Capture, *argv: str) -> tuple[int, str, str]:
    status = cli.main(argv)
    printed = capsys.readouterr()
    return status, printed.out, printed.err


def ran_json(capsys: Capture, *argv: str) -> Any:
    status, out, err = ran(capsys, *argv, "--json")
    assert (status, err) == (0, "")
    return json.loads(out, parse_constant=lambda name: pytest.fail(f"{name} is not JSON"))


def refused(capsys: Capture, *argv: str) -> str:
    """Return the single line of a refused command line."""
    status, out, err = ran(capsys, *argv)
    assert (status, out) == (2, "")
    assert err.startswith("swath: ")
    assert err.count("\n") == 1
    return err


# ---- arguments -------------------------------------------------------------------------------------------------------


def test_a_file_and_its_variable_part_at_the_last_colon() -> None:
    assert arguments.file_and_variable("a.nc") == ("a.nc", None)
    assert arguments.file_and_variable("a.nc:group/v") == ("a.nc", "group/v")
    assert arguments.file_and_variable("run:7.nc:v") == ("run:7.nc", "v")
    assert arguments.file_and_variable("a.nc:") == ("a.nc", None)


def test_a_colon_in_the_name_of_an_existing_file_is_part_of_the_name(tmp_path: Path) -> None:
    path = tmp_path / "run:7"
    path.touch()
    assert arguments.file_and_variable(str(path)) == (str(path), None)
    assert arguments.file_and_variable(f"{path}:v") == (str(path), "v")


def test_distributions_are_read_in_the_terms_of_hpf() -> None:
    assert arguments.rules("block, block(3),cyclic,CYCLIC(4),whole,*") == (
        Block(),
        Block(3),
        Cyclic(1),
        Cyclic(4),
        Whole(),
        Whole(),
    )


@pytest.mark.parametrize("bad", ["blok", "", "block(0)", "cyclic()", "cyclic(-1)", "whole(2)", "*(2)", "block(2)x"])
def test_a_bad_distribution_is_quoted_beside_the_grammar(bad: str) -> None:
    with pytest.raises(ArgumentError) as error:
        arguments.rules(f"block,{bad}")
    assert f'"{bad}", for dimension 1' in str(error.value)
    assert arguments.GRAMMAR in str(error.value)


def test_selections_are_read_as_numpy_slices() -> None:
    assert arguments.selection(None) is ...
    assert arguments.selection("10:20,::4,...,-7") == np.s_[10:20, ::4, ..., -7]
    assert arguments.selection("::-1") == np.s_[::-1,]


@pytest.mark.parametrize("bad", ["x", "1:2:3:4", "1.5", "", "a:b"])
def test_a_bad_selection_is_quoted(bad: str) -> None:
    with pytest.raises(ArgumentError, match="for dimension 1, cannot be: expected an index"):
        arguments.selection(f"0,{bad}")


def test_sizes_are_written_in_binary_units() -> None:
    assert [units.in_bytes(n) for n in (0, 1023, 1024, 1536 << 20)] == ["0 B", "1023 B", "1.0 KiB", "1.5 GiB"]


# ---- info ------------------------------------------------------------------------------------------------------------


def test_info_of_a_file_with_one_array_tells_all_about_it(capsys: Capture, npy: str) -> None:
    status, out, _ = ran(capsys, "info", npy)
    assert status == 0
    for fact in ("npy", "12 × 20", ">i4", "960 B", "C order"):
        assert fact in out


def test_info_lists_every_variable_also_those_that_need_the_library(capsys: Capture, netcdf: str) -> None:
    status, out, _ = ran(capsys, "info", netcdf)
    assert status == 0
    lines = {line.split()[0]: line for line in out.splitlines() if line}
    assert "3 × 4" in lines["sst"]
    assert "zlib" in lines["zipped"]
    facts = ran_json(capsys, "info", netcdf)
    assert {v["name"]: v["shape"] for v in facts["variables"]} == {"sst": [3, 4], "bad": [5], "zipped": [100, 100]}


def test_info_of_a_variable_shows_its_attributes(capsys: Capture, netcdf: str) -> None:
    assert "units = K" in ran(capsys, "info", f"{netcdf}:sst")[1]
    facts = ran_json(capsys, "info", f"{netcdf}:sst")
    assert facts["attributes"] == {"units": "K"}
    assert (facts["format"], facts["dtype"], facts["bytes"]) == ("hdf5", "<f4", 48)


def test_json_has_names_for_what_json_cannot_say(capsys: Capture, netcdf: str) -> None:
    assert ran_json(capsys, "info", f"{netcdf}:bad")["attributes"] == {"scale": "nan"}


def test_info_of_a_raw_file_takes_what_it_does_not_say_of_itself(capsys: Capture, tmp_path: Path) -> None:
    path = tmp_path / "dump.bin"
    path.write_bytes(bytes(16 + 6 * 8))
    asked = ("info", str(path), "--shape", "2,3", "--dtype", "f8", "--order", "F", "--offset", "16")
    facts = ran_json(capsys, *asked)
    assert (facts["shape"], facts["layout"]) == ([2, 3], "F order at offset 16")
    assert ran_json(capsys, *asked[:-3], "1,0", "--offset", "16")["layout"] == "F order at offset 16"
    assert "--offset" in refused(capsys, *asked[:-1], "x")
    assert '"x", for dimension 1' in refused(capsys, "info", str(path), "--shape", "2,x", "--dtype", "f8")
    assert "both shape" in refused(capsys, "info", str(path), "--shape", "2,3")


def test_a_missing_file_or_variable_is_one_line_and_status_2(capsys: Capture, netcdf: str) -> None:
    assert "nosuch.nc" in refused(capsys, "info", "nosuch.nc")
    line = refused(capsys, "info", f"{netcdf}:ssd")
    assert "no variable 'ssd'" in line
    assert "sst" in line


def test_a_truncated_file_is_one_line_and_status_2(capsys: Capture, npy: str) -> None:
    os.truncate(npy, 200)
    assert npy in refused(capsys, "info", npy)


def test_whatever_is_raised_is_one_line_and_status_2(
    capsys: Capture, npy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for error, words in [
        (AttributeError("no such thing"), "AttributeError: no such thing (a bug in Swath: please report it"),
        (RecursionError("too deep"), "RecursionError: too deep (a bug"),
        (MemoryError("Unable to allocate 8 EiB"), "out of memory: Unable to allocate 8 EiB"),
    ]:
        monkeypatch.setattr(formats, "contents", mock.Mock(side_effect=error))
        assert words in refused(capsys, "info", npy)


def test_text_that_is_no_unicode_is_printed_all_the_same(tmp_path: Path) -> None:
    swath.create(tmp_path / "a.zarr", 3, "<f8", attributes={"name": "\ud800"}).close()
    asked = [sys.executable, "-m", "swath.commands.cli", "info", str(tmp_path / "a.zarr")]
    told = subprocess.run(asked, capture_output=True, timeout=60, check=False, env={**os.environ, "LC_ALL": "C.UTF-8"})
    assert (told.returncode, told.stderr) == (0, b"")


def test_traceback_shows_developers_where(npy: str) -> None:
    with pytest.raises(ArgumentError):
        cli.main(["explain", npy, "--dist", "what", "--ranks", "2", "--traceback"])


# ---- explain ---------------------------------------------------------------------------------------------------------


def test_explain_prints_what_the_library_explains(capsys: Capture, npy: str) -> None:
    status, out, _ = ran(capsys, "explain", npy, "--dist", "block,cyclic(4)", "--ranks", "4")
    assert status == 0
    with swath.open(npy) as a:
        assert out == str(a.explain(swath.Distribution((Block(), Cyclic(4)), grid=(2, 2))))


def test_explain_takes_grid_selection_method_and_direction(capsys: Capture, npy: str) -> None:
    asked = ("explain", npy, "--dist", "block,cyclic", "--grid", "1,3", "--select", "::2,...")
    plan = ran_json(capsys, *asked, "--method", "sieve", "--write")
    with swath.open(npy) as a:
        distribution = swath.Distribution((Block(), Cyclic()), grid=(1, 3))
        same = a.explain(distribution, selection=np.s_[::2], method="sieve", write=True).to_dict()
    assert plan == json.loads(json.dumps(same))
    assert (plan["direction"], plan["method"], plan["ranks"]) == ("write", "sieve", 3)


def test_ranks_beyond_the_grid_hold_nothing_and_are_explained(capsys: Capture, npy: str) -> None:
    plan = ran_json(capsys, "explain", npy, "--dist", "block,*", "--grid", "2,1", "--ranks", "3")
    assert [rank["bytes"] for rank in plan["each_rank"]] == [480, 480, 0]


def test_explain_prints_equation_1_for_stripes(capsys: Capture, tmp_path: Path) -> None:
    """The paper's worked example: 1 MiB column-block on 4 processors; stripes of 128 KiB give 2 requests each."""
    path = tmp_path / "m.npy"
    np.save(path, np.zeros((256, 512), order="F"))
    asked = ("explain", str(path), "--dist", "*,block", "--ranks", "4", "--stripe")
    assert ran_json(capsys, *asked, str(512 << 10))["requests_with_stripes"] == 4
    assert ran_json(capsys, *asked, str(128 << 10))["requests_with_stripes"] == 8
    assert "R_trans = 8 requests" in ran(capsys, *asked, str(128 << 10))[1]


def test_explain_of_compressed_chunks_says_that_they_are_decoded(capsys: Capture, netcdf: str) -> None:
    asked = ("explain", f"{netcdf}:zipped", "--dist", "block,*", "--ranks", "2", "--stripe", "4096")
    plan = ran_json(capsys, *asked)
    assert plan["method"] == "chunks"
    assert "requests_with_stripes" not in plan
    assert "R_trans" not in ran(capsys, *asked)[1]


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (("--dist", "block,blok", "--ranks", "4"), '"blok", for dimension 1'),
        (("--dist", "block", "--ranks", "4"), "has 1 dimension"),
        (("--dist", "*,*", "--ranks", "4"), "cannot be divided over 4 ranks"),
        (("--dist", "block,*"), "--ranks 4"),
        (("--dist", "block,*", "--ranks", "four"), '--ranks "four"'),
        (("--dist", "block,*", "--ranks", "0"), "at least 1"),
        (("--dist", "block,block", "--ranks", "4", "--grid", "2,3"), "too many for --ranks 4"),
        (("--dist", "block,block", "--ranks", "4", "--grid", "2"), "grid"),
        (("--dist", "block(2),*", "--ranks", "2"), "Block(2) over 2 processes leaves elements"),
        (("--dist", "block,*", "--ranks", "2", "--select", "99,99,99"), "3 indices"),
        (("--dist", "block,*", "--ranks", "2", "--method", "magic"), "magic"),
        (("--dist", "block,*", "--ranks", "2", "--stripe", "0"), "at least 1 byte"),
    ],
)
def test_explain_refuses_in_one_line(capsys: Capture, npy: str, wrong: tuple[str, ...], said: str) -> None:
    assert said in refused(capsys, "explain", npy, *wrong)


# ---- help and version ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("command", [(), *((name,) for name in cli.COMMANDS)])
def test_help_has_examples_and_says_what_to_read_next(capsys: Capture, command: tuple[str, ...]) -> None:
    with pytest.raises(SystemExit) as done:
        cli.main([*command, "--help"])
    assert done.value.code == 0
    out = capsys.readouterr().out
    assert "examples:" in out
    assert "read next:" in out


def test_the_examples_of_explain_are_distributions() -> None:
    epilog = sys.modules["swath.commands.explain"].EPILOG
    for text in ("*,block,cyclic(4)", "block,block", "cyclic,*", "*,cyclic"):
        assert f'"{text}"' in epilog
        assert arguments.rules(text)


def test_version_is_that_of_the_package(capsys: Capture) -> None:
    with pytest.raises(SystemExit):
        cli.main(["--version"])
    assert capsys.readouterr().out == f"swath {swath.__version__}\n"


# ---- doctor, and other MPIs' mpiexec ---------------------------------------------------------------------------------


def swath_process(*argv: str, launcher: tuple[str, ...] = (), **environment: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "HYDRA_LAUNCHER": "fork", **environment}
    command = [*launcher, sys.executable, "-m", "swath.commands.cli", *argv]
    return subprocess.run(command, env=env, capture_output=True, text=True, timeout=100, check=False)


def test_doctor_looks_at_everything(capsys: Capture) -> None:
    cli.main(["doctor", "--json"])
    findings = {finding["name"]: finding for finding in json.loads(capsys.readouterr().out)["findings"]}
    looked_at = {
        "swath",
        "Python",
        "NumPy",
        "h5py",
        "netCDF4",
        "HDF5",
        "io_uring",
        "shared memory",
        "mpi4py",
        "started by",
    }
    assert looked_at | {"zstd", "blosc", "lz4", "gzip", "modelled disks"} <= set(findings)
    assert findings["started by"]["state"] == "ok"
    assert findings["NumPy"]["found"] == np.__version__


@pytest.mark.parametrize(
    ("version", "library", "found"),
    [
        ("", None, [("RADOS", "without", "install librados2 (as Debian calls it)")]),
        (
            "3.0.0",
            None,
            [
                ("RADOS", "ok", ""),
                (
                    "RADOS object class",
                    "without",
                    "install rados-objclass-dev and libradospp-dev (as Debian calls it), and build Swath again",
                ),
            ],
        ),
        ("3.0.0", "/x/libcls_swath.so", [("RADOS", "ok", ""), ("RADOS object class", "ok", "")]),
    ],
)
def test_doctor_says_what_there_is_of_rados_and_what_to_install(
    version: str, library: str | None, found: list[tuple[str, str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(doctor._core, "librados_version", lambda: version)
    monkeypatch.setattr(rados, "class_library", lambda: library)
    findings = list(doctor._rados())
    assert [(each.name, each.state, each.advice) for each in findings] == found
    assert all(
        each.found.count(text) == 1 for each, text in zip(findings, (version, library or ""), strict=False) if text
    )


def test_doctor_says_that_rados_is_there_exactly_where_names_in_pools_are_not_refused(capsys: Capture) -> None:
    cli.main(["doctor", "--json"])
    findings = {finding["name"]: finding for finding in json.loads(capsys.readouterr().out)["findings"]}
    with pytest.raises(Error) as refused:
        _core.striped_name("rados:pool/name?conf=/nowhere/ceph.conf")
    is_refused = "need librados" in str(refused.value)
    assert findings["RADOS"]["state"] == ("without" if is_refused else "ok")


def test_doctor_starts_ranks_to_see_whether_they_find_each_other() -> None:
    needs_mpi()
    done = swath_process("doctor", "--json", PATH=f"{Path(str(mpiexec())).parent}:{os.environ['PATH']}")
    report = json.loads(done.stdout)
    assert (done.returncode, report["ok"]) == (0, True), report
    assert any("2 ranks start, and find each other" in finding["found"] for finding in report["findings"])


def test_doctor_finds_an_mpiexec_in_path_that_leaves_ranks_alone(tmp_path: Path) -> None:
    needs_mpi()
    other = tmp_path / "mpiexec"
    other.write_text('#!/bin/sh\nshift 2\n"$@"\n"$@"\n')  # starts two, each alone: as another MPI's does
    other.chmod(0o755)
    done = swath_process("doctor", "--json", PATH=f"{tmp_path}:{os.environ['PATH']}")
    wrong = [finding for finding in json.loads(done.stdout)["findings"] if finding["state"] == "wrong"]
    assert done.returncode == 1
    assert [finding["name"] for finding in wrong] == ["mpiexec in PATH"]
    assert str(other) in wrong[0]["found"]
    assert str(mpiexec()) in wrong[0]["advice"]


def test_doctor_says_why_there_is_no_ring(monkeypatch: pytest.MonkeyPatch) -> None:
    class Posix:
        engine = "posix"
        engine_reason = "io_uring refused by the kernel (EPERM)"

    monkeypatch.setattr(doctor._core, "open_file", lambda *given: Posix())
    finding = doctor._io_uring()
    assert (finding.state, finding.found) == ("without", "io_uring refused by the kernel (EPERM)")


@pytest.mark.parametrize("codec", ["zstd", "blosc", "lz4", "gzip"])
def test_doctor_names_the_package_of_a_codec_that_is_missing(codec: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def check(name: str) -> None:
        if name == codec:
            raise UnsupportedError("built without it")

    monkeypatch.setattr(doctor._core, "check_codec", check)
    found = [doctor._codec(*each) for each in doctor._CODECS]
    missing = [finding for finding in found if finding.state == "without"]
    assert [finding.name for finding in missing] == [codec]
    package = {"zstd": "libzstd-dev", "blosc": "libblosc-dev", "lz4": "liblz4-dev", "gzip": "libdeflate-dev"}[codec]
    assert f"install {package} " in missing[0].advice


def test_doctor_outlives_a_program_that_hangs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "TRY_SECONDS_MAX", 0.2)
    assert doctor._try([sys.executable, "-c", "import time; time.sleep(60)"]) == (-1, "no answer after 0.2 s")
    assert doctor._try(["/nowhere/mpiexec"])[0] == -1


@pytest.mark.parametrize(
    "argv", [("info", "a.npy"), ("explain", "a.npy", "--dist", "block", "--ranks", "2"), ("demo",)]
)
def test_every_subcommand_refuses_to_run_under_another_mpi(argv: tuple[str, ...]) -> None:
    needs_mpi()
    done = swath_process(*argv, OMPI_COMM_WORLD_SIZE="4", OMPI_COMM_WORLD_RANK="0")
    assert done.returncode == 1
    assert done.stdout == ""
    assert "started by Open MPI's mpiexec as one of 4" in done.stderr
    assert done.stderr.count("\n") == 1


def test_doctor_under_another_mpi_reports_it_and_fails() -> None:
    needs_mpi()
    done = swath_process("doctor", "--json", OMPI_COMM_WORLD_SIZE="4")
    wrong = [finding for finding in json.loads(done.stdout)["findings"] if finding["state"] == "wrong"]
    assert done.returncode == 1
    assert [finding["name"] for finding in wrong] == ["started by"]
    assert str(mpi.own_mpiexec()) in wrong[0]["advice"]


def test_under_another_mpi_only_one_process_speaks() -> None:
    needs_mpi()
    done = swath_process("info", "a.npy", OMPI_COMM_WORLD_SIZE="4", OMPI_COMM_WORLD_RANK="3")
    assert (done.stdout, done.stderr) == ("", "")


def test_without_mpi4py_a_launcher_is_told_of_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PMI_SIZE", "3")
    monkeypatch.setattr(mpi.sys, "executable", "/bin/false")
    monkeypatch.delitem(sys.modules, "mpi4py.MPI", raising=False)
    said = mpi.foreign_launcher()
    assert said is not None
    assert "MPICH's mpiexec as one of 3" in said
    assert "mpi4py cannot be loaded" in said


def test_under_its_own_mpiexec_rank_0_alone_prints(npy: str) -> None:
    needs_mpi()
    launcher = (str(mpiexec()), "-n", "3")
    assert swath_process("info", npy, "--json", launcher=launcher).stdout.count('"shape"') == 1
    done = swath_process("info", "nosuch", launcher=launcher)
    assert done.returncode == 2
    assert done.stderr.count("swath:") == 1
    assert swath_process("--version", launcher=launcher).stdout == f"swath {swath.__version__}\n"


def test_a_closed_pipe_is_told_by_the_status_alone(npy: str) -> None:
    shell = f'"{sys.executable}" -m swath.commands.cli explain "{npy}" --dist "block,cyclic" --ranks 99 | true'
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", shell], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stderr) == (141, "")
