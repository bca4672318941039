"""One run of a program of a suite."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import re
import shutil
import signal
import subprocess
import time
import uuid
from pathlib import Path
from typing import Any

import keeping
from mpis import Mpi
from suite import FAILED, NOT_BUILT, PASSED, Case, Finished

MARK = "SWATH_SUITES_RUN"
"""An environment variable that marks all processes of a run, so that they can be ended after its time limit."""
REPORT_LINE = re.compile(r"^(?:\[[^\]]*\] ?)?swath mpi-io: (.*)$", re.MULTILINE)
TALK_CHARACTERS_MAX = 3000


@dataclasses.dataclass
class Outcome:
    """The result of a run.

    Attributes:
        statuses: the results of its tests: name to "passed", "failed", "timed out", "not built".
        seconds: its duration.
        files: the files that it made, name to digest.
        deleted: the names of files that it deleted: some are deleted before they are seen.
        report: the lines of the drop-in.
        talk: the end of the output, if a test failed.
    """

    statuses: dict[str, str]
    seconds: float = 0
    files: dict[str, str] = dataclasses.field(default_factory=dict)
    report: list[str] = dataclasses.field(default_factory=list)
    talk: str = ""
    deleted: list[str] = dataclasses.field(default_factory=list)

    def passed(self) -> bool:
        return all(status == PASSED for status in self.statuses.values())

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Outcome:
        return cls(**value)


def run_case(case: Case, mpi: Mpi, folder: Path, drop_in: dict[str, str] | None = None) -> Outcome:
    """Run a case in a new folder, with the drop-in if its variables are given; `folder`/kept has its files."""
    if not shutil.which(case.command[0]):
        return Outcome({"": NOT_BUILT})
    shutil.rmtree(folder, ignore_errors=True)
    work = folder / "work"
    work.mkdir(parents=True)
    for path in case.inputs:
        shutil.copy(path, work)
    started = time.monotonic()
    with keeping.Keeper(work, folder / "kept"):
        finished = _run_ranks(case, mpi, folder, drop_in or {})
    statuses = case.judge(finished)
    talk = _end_of_talk(finished)
    if case.after and statuses.get("") == PASSED:
        checked = subprocess.run(
            case.after,
            check=False,
            cwd=work,
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
            timeout=case.seconds,
        )
        if checked.returncode != 0:
            statuses[""] = FAILED
            talk += f"\nafterwards, {Path(case.after[0]).name}: {(checked.stdout + checked.stderr)[-800:]}"
    seconds = time.monotonic() - started
    inputs = {Path(path).name for path in case.inputs}
    files = keeping.files_of(folder / "kept", work, inputs) if case.keeps_files else {}
    report = REPORT_LINE.findall(finished.stderr + "\n" + finished.stdout)
    outcome = Outcome(statuses, round(seconds, 2), files, report)
    outcome.talk = "" if outcome.passed() else talk
    outcome.deleted = keeping.deleted_of(folder / "kept", work)
    return outcome


def _run_ranks(case: Case, mpi: Mpi, folder: Path, drop_in: dict[str, str]) -> Finished:
    """Run the ranks; the drop-in is preloaded into the program only, not into mpiexec."""
    work = folder / "work"
    mark = uuid.uuid4().hex
    variables = {"TMPDIR": str(work), MARK: mark, **dict(case.environment), **drop_in}
    if mpi.preload:
        variables["LD_PRELOAD"] = ":".join(filter(None, (drop_in.get("LD_PRELOAD"), mpi.preload)))
    ranks = [*mpi.launch(case.ranks), "env", *(f"{name}={value}" for name, value in variables.items()), *case.command]
    stdout, stderr = folder / "stdout", folder / "stderr"
    with stdout.open("wb") as out, stderr.open("wb") as err:
        process = subprocess.Popen(
            ranks,
            cwd=work,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=err,
            start_new_session=True,
            env=os.environ | mpi.environment | {MARK: mark},
        )
        try:
            exit_code: int | None = process.wait(case.seconds)
        except subprocess.TimeoutExpired:
            exit_code = None
        finally:
            end_marked(mark)
            process.wait()
    return Finished(exit_code, stdout.read_text(errors="replace"), stderr.read_text(errors="replace"), work, case.ranks)


def end_marked(mark: str) -> None:
    """End all processes of a run, also those that mpiexec has detached."""
    wanted = f"{MARK}={mark}".encode()
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if entry.name.isdigit() and wanted in (entry / "environ").read_bytes().split(b"\0"):
                os.kill(int(entry.name), signal.SIGKILL)


def _end_of_talk(finished: Finished) -> str:
    lines = [line for line in (finished.stdout + "\n" + finished.stderr).splitlines() if not REPORT_LINE.match(line)]
    return "\n".join(lines)[-TALK_CHARACTERS_MAX:]
