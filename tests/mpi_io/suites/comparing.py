"""Runs without and with the drop-in, held beside each other."""

from __future__ import annotations

import dataclasses
import shutil
import subprocess
from pathlib import Path
from typing import Any

from mpis import Mpi
from running import Outcome, run_case
from suite import FAILED, NOT_BUILT, PASSED, TIMED_OUT, Case
from workshop import Workshop

HDF5, NETCDF_CLASSIC = b"\x89HDF", b"CDF"
KEPT_BYTES_MAX = 1 << 28
"""Files of runs without are kept up to here, to be compared by h5diff and ncmpidiff."""


@dataclasses.dataclass
class Compared:
    """A case, without and with; without once more (else the same) where something differs."""

    case: str
    group: str
    ranks: int
    without: Outcome = dataclasses.field(default_factory=lambda: Outcome({}))
    again: Outcome = dataclasses.field(default_factory=lambda: Outcome({}))
    served: Outcome | None = None
    files: str = ""
    """Of the files: "identical", "equal by h5diff", "vary", or which differ."""

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
        """Tests that pass in both runs without, and not with."""
        if self.served is None:
            return []
        with_ = self.served.statuses
        return [
            test
            for test, status in self.without.statuses.items()
            if status == PASSED == self.again.statuses.get(test) and with_.get(test, FAILED) != PASSED
        ]

    def worse(self) -> bool:
        """With the drop-in: tests lost, or other files."""
        return bool(self.lost()) or "DIFFER" in self.files

    def gained(self) -> list[str]:
        if self.served is None or not self.ran_without():
            return []
        return [t for t, s in self.served.statuses.items() if s == PASSED != self.without.statuses.get(t, FAILED)]


def run_without(case: Case, mpi: Mpi, folder: Path, compared: Compared) -> None:
    compared.without = compared.again = run_case(case, mpi, folder / "without")
    _forget_large(folder / "without")


def run_without_again(case: Case, mpi: Mpi, folder: Path, compared: Compared) -> None:
    """A second run, by which it is known which tests and files vary by themselves."""
    compared.again = run_case(case, mpi, folder / "again")
    shutil.rmtree(folder / "again", ignore_errors=True)


def run_with(case: Case, mpi: Mpi, folder: Path, drop_in: dict[str, str], compared: Compared) -> None:
    compared.served = run_case(case, mpi, folder / "with", drop_in)
    _forget_large(folder / "with")


def compare_files(compared: Compared, folder: Path, workshop: Workshop) -> None:
    """Sets what is told of the files, where there are runs without and with, of which none was ended on its way."""
    compared.files = ""
    runs = (compared.without, compared.again, compared.served)
    if all(run and run.statuses and TIMED_OUT not in run.statuses.values() for run in runs):
        compared.files = _compare_files(compared, folder, workshop)


def _compare_files(compared: Compared, folder: Path, workshop: Workshop) -> str:
    without, again, served = _seen(compared)
    if not without and not served:
        return "none"
    if sorted(served.values()) == sorted(without.values()) or sorted(served.values()) == sorted(again.values()):
        return f"{len(served)} identical"
    same_without = {name for name, digest in without.items() if again.get(name) == digest}
    differ, equal, vary = [], [], []
    for name in sorted(without.keys() | served.keys()):
        if name in served and served[name] in (without.get(name), again.get(name)):
            continue
        tool = _equal_by(folder / "without" / "kept" / name, folder / "with" / "kept" / name, workshop)
        if tool:
            equal.append(f"{name} by {tool}")
        elif name in same_without:
            differ.append(name)
        else:
            vary.append(name)
    told = [f"{len(served) - len(equal) - len(vary) - len([n for n in differ if n in served])} identical"]
    told += [f"equal: {', '.join(equal)}"] if equal else []
    told += [f"vary without, too: {', '.join(vary)}"] if vary else []
    told += [f"DIFFER: {', '.join(differ)}"] if differ else []
    return "; ".join(told)


def _seen(compared: Compared) -> list[dict[str, str]]:
    """Files of the runs; of those that the program deletes only what was seen in all of them."""
    runs = [run or Outcome({}) for run in (compared.without, compared.again, compared.served)]
    missed = {name for run in runs for name in run.deleted if any(name not in other.files for other in runs)}
    return [{name: value for name, value in run.files.items() if name not in missed} for run in runs]


def _equal_by(without: Path, with_: Path, workshop: Workshop) -> str | None:
    """The tool that finds these files equal."""
    if not (without.exists() and with_.exists()):
        return None
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
    """What was written stays to be looked at, but not by the gigabyte."""
    for path in folder.rglob("*"):
        if path.is_file() and path.stat().st_size > KEPT_BYTES_MAX:
            path.unlink()
    shutil.rmtree(folder / "work", ignore_errors=True)
