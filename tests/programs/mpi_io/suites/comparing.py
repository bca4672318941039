"""Comparison of runs without and with the drop-in."""

from __future__ import annotations

import dataclasses
import shutil
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

from mpis import Mpi
from running import Outcome, run_case
from suite import FAILED, NOT_BUILT, PASSED, TIMED_OUT, Case
from workshop import Workshop

HDF5, NETCDF_CLASSIC = b"\x89HDF", b"CDF"
KEPT_BYTES_MAX = 1 << 28
"""The size up to which files of runs without the drop-in are kept, for h5diff and ncmpidiff."""


@dataclasses.dataclass
class Compared:
    """A case without and with the drop-in; without it once more if something differs, else the first run again."""

    case: str
    group: str
    ranks: int
    without: Outcome = dataclasses.field(default_factory=lambda: Outcome({}))
    again: Outcome = dataclasses.field(default_factory=lambda: Outcome({}))
    served: Outcome | None = None
    files: str = ""
    """The result for the files: "identical", "equal by h5diff", "vary", or the files that differ."""

    def to_json(self) -> dict[str, Any]:
        return dataclasses.asdict(self)

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Compared:
        runs = {name: Outcome(**value[name]) if value[name] else None for name in ("without", "again", "served")}
        return cls(**(value | runs))

    def ran_without(self) -> bool:
        return bool(self.without.statuses)

    def is_built(self) -> bool:
        return NOT_BUILT not in (self.without.statuses.get(""), self.served and self.served.statuses.get(""))

    def lost(self) -> list[str]:
        """Return the tests that pass in both runs without the drop-in, but not with it."""
        if self.served is None:
            return []
        with_ = self.served.statuses
        return [
            test
            for test, status in self.without.statuses.items()
            if status == PASSED == self.again.statuses.get(test) and with_.get(test, FAILED) != PASSED
        ]

    def worse(self) -> bool:
        """Return whether the drop-in loses tests, or makes other files."""
        return bool(self.lost()) or "DIFFER" in self.files

    def gained(self) -> list[str]:
        if self.served is None or not self.ran_without():
            return []
        return [t for t, s in self.served.statuses.items() if s == PASSED != self.without.statuses.get(t, FAILED)]


def run_without(case: Case, mpi: Mpi, folder: Path, compared: Compared) -> None:
    compared.without = compared.again = run_case(case, mpi, folder / "without")
    _forget_large(folder / "without")


def run_without_again(case: Case, mpi: Mpi, folder: Path, compared: Compared) -> None:
    """Run without the drop-in again: this shows the tests and files that vary by themselves."""
    compared.again = run_case(case, mpi, folder / "again")
    shutil.rmtree(folder / "again", ignore_errors=True)


def run_with(case: Case, mpi: Mpi, folder: Path, drop_in: dict[str, str], compared: Compared) -> None:
    compared.served = run_case(case, mpi, folder / "with", drop_in)
    _forget_large(folder / "with")


def compare_files(compared: Compared, folder: Path, workshop: Workshop) -> None:
    """Set the result for the files, if there are complete runs without and with the drop-in."""
    compared.files = ""
    runs = (compared.without, compared.again, compared.served)
    if all(run and run.statuses and TIMED_OUT not in run.statuses.values() for run in runs):
        compared.files = _compare_files(compared, folder, workshop)


def _compare_files(compared: Compared, folder: Path, workshop: Workshop) -> str:
    runs = [run or Outcome({}) for run in (compared.without, compared.again, compared.served)]
    without, again, served = (_seen(run, runs) for run in runs)
    if not without and not served:
        return "none"
    same_without = {name for name, file in without.items() if name in again and again[name].digest == file.digest}
    identical, differ, equal, vary = 0, [], [], []
    for name in sorted(without.keys() | served.keys()):
        found = [files[name] for files in (without, again, served) if name in files]
        if name in served and served[name].digest in [file.digest for file in found[:-1]]:
            identical += 1
            continue
        both = name in without and name in served
        kept = [
            folder / run / "kept" / files[name].name for run, files in (("without", without), ("with", served)) if both
        ]
        tool = _equal_by(kept, workshop)
        if tool:
            equal.append(f"{name} by {tool}")
        elif name in same_without:
            differ.append(name)
        else:
            vary.append(name)
    told = [f"{identical} identical"]
    told += [f"equal: {', '.join(equal)}"] if equal else []
    told += [f"vary without, too: {', '.join(vary)}"] if vary else []
    told += [f"DIFFER: {', '.join(differ)}"] if differ else []
    return "; ".join(told)


@dataclasses.dataclass(frozen=True)
class Seen:
    """A file of a run.

    Attributes:
        name: in the run's folder of kept files: "data#1" is the second that was made as "data".
        digest: of its bytes.
    """

    name: str
    digest: str


def _seen(run: Outcome, runs: list[Outcome]) -> dict[str, Seen]:
    """Return the files to compare: remaining ones by name, and deleted ones by number, if no run missed any."""
    deleted = [Counter(name.split("#")[0] for name in other.deleted) for other in runs]
    found = {}
    for name, digest in run.files.items():
        base = name.split("#")[0]
        if name not in run.deleted:
            found[base] = Seen(name, digest)
        elif all(counts[base] == deleted[0][base] for counts in deleted):
            found[name] = Seen(name, digest)
    return found


def _equal_by(files: list[Path], workshop: Workshop) -> str | None:
    """Return the tool that finds these two files equal."""
    if not files or not all(path.exists() for path in files):
        return None
    without, with_ = files
    with without.open("rb") as file:
        head = file.read(4)
    if head == HDF5:
        tools = ["h5diff"]
    elif head[:3] == NETCDF_CLASSIC:
        tools = [str(path) for path in workshop.root.glob("pnetcdf-*/src/utils/ncmpidiff/cdfdiff")]
    else:
        return None
    for tool in filter(shutil.which, tools[:1]):
        done = subprocess.run([tool, str(without), str(with_)], check=False, capture_output=True, timeout=120)
        if done.returncode == 0 and b"DIFF" not in done.stdout:
            return Path(tool).name
    return None


def _forget_large(folder: Path) -> None:
    """Remove large files; small ones stay for inspection."""
    for path in folder.rglob("*"):
        if path.is_file() and path.stat().st_size > KEPT_BYTES_MAX:
            path.unlink()
    shutil.rmtree(folder / "work", ignore_errors=True)
