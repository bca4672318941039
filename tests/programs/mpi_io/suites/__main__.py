"""Run suites of other projects with and without the drop-in, and report the differences: `make mpi-io-suites`."""

from __future__ import annotations

import argparse
import dataclasses
import importlib
import json
import math
import signal
import sys
from pathlib import Path

import drop_in
import table
from comparing import Compared, compare_files, run_with, run_without, run_without_again
from mpis import Mpi, all_mpis, find_mpi
from reasons import REASONS
from running import Outcome
from suite import Case, Suite
from workshop import BuildFailedError, Workshop

SUITES = ("mpi4py", "mpich", "romio", "hdf5", "pnetcdf", "netcdf", "h5py", "programs")
ROOT = Path("build/mpi-io-suites")


def main() -> int:
    options = _options()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that the ranks end, too
    workshop = Workshop(ROOT.resolve(), options.jobs)
    library = None if options.without else Path(options.library or drop_in.installed_library())
    bad = 0
    for suite in [_suite(name) for name in options.suites or SUITES]:
        for name in suite.mpis:
            if options.mpi and name not in options.mpi:
                continue
            try:
                mpi = find_mpi(name, workshop)
                version = suite.prepare(mpi, workshop)
            except BuildFailedError as error:
                print(f"{suite.name} on {name}: NOT BUILT: {error}", flush=True)
                bad += 1
                continue
            if not options.build:
                bad += _run_suite(suite, mpi, version, library, workshop, options)
    if not options.build:
        _write_document(options.document)
    return 1 if bad else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("suites", nargs="*", metavar="SUITE", help=f"{', '.join(SUITES)}; all of them by default")
    parser.add_argument("--mpi", action="append", choices=all_mpis(), help="only on this MPI (may be repeated)")
    parser.add_argument("--case", action="append", help="only programs with this word in their name (may be repeated)")
    parser.add_argument("--ranks", type=int, action="append", help="only with so many ranks (may be repeated)")
    parser.add_argument("--library", help="the drop-in; by default what `swath mpi-io --library` prints")
    parser.add_argument("--without", action="store_true", help="only the runs without the drop-in")
    parser.add_argument("--again", action="store_true", help="run without again, where there are results already")
    parser.add_argument("--missing", action="store_true", help="run with only what has no result with it yet")
    parser.add_argument("--seconds", type=float, default=math.inf, help="end every program after so many")
    patience = "on a busy machine: a program may take so many times as long as usual (1)"
    parser.add_argument("--patience", type=float, default=1, help=patience)
    parser.add_argument("--build", action="store_true", help="only fetch and build")
    parser.add_argument("--jobs", type=int, default=2, help="of make (2)")
    parser.add_argument("--document", default="docs/mpi-io-suites.md", help="written from all results (%(default)s)")
    return parser.parse_args()


def _suite(name: str) -> Suite:
    if name not in SUITES:
        sys.exit(f"{name} is none of {', '.join(SUITES)}")
    suite = importlib.import_module(f"suite_{name}").SUITE
    assert isinstance(suite, Suite)
    return suite


def _run_suite(
    suite: Suite, mpi: Mpi, version: str, library: Path | None, workshop: Workshop, options: argparse.Namespace
) -> int:
    """Return the number of cases that lost a test, or left different files."""
    print(f"{suite.name} {version} on {mpi.name} {mpi.version}", flush=True)
    path = ROOT / "results" / f"{suite.name}-{mpi.name}.json"
    results = _load(path)
    variables = drop_in.variables(library, mpi, workshop) if library else None
    bad = 0
    all_cases = suite.cases(mpi, workshop)
    known = {  # the table also names cases that were not run
        _key(case): results.get(_key(case), Compared(case.name, case.group, case.ranks)) for case in all_cases
    }
    for defined in all_cases:
        if not _is_asked_for(defined, options):
            continue
        case = dataclasses.replace(defined, seconds=min(defined.seconds * options.patience, options.seconds))
        key = _key(case)
        folder = (ROOT / "runs" / suite.name / mpi.name / key.replace(", ", "-")).resolve()
        compared = known[key]
        if options.again or not compared.is_built():
            compared.without = Outcome({})
        if variables is not None and (options.again or not (options.missing and compared.served)):
            run_with(case, mpi, folder, variables, compared)
        if not compared.ran_without():
            run_without(case, mpi, folder, compared)
        compare_files(compared, folder, workshop)
        if compared.worse() and compared.again == compared.without:  # both are the same run
            run_without_again(case, mpi, folder, compared)
            compare_files(compared, folder, workshop)
        bad += _tell(case, known[key])
        _save(path, version, mpi, known)
    return bad


def _key(case: Case) -> str:
    return f"{case.group}/{case.name}/{case.ranks}"


def _is_asked_for(case: Case, options: argparse.Namespace) -> bool:
    is_named = not options.case or any(word in case.name for word in options.case)
    return is_named and (not options.ranks or case.ranks in options.ranks)


def _tell(case: Case, compared: Compared) -> bool:
    """Print one line, and return whether a result is worse with the drop-in."""
    lost, differ = compared.lost(), "DIFFER" in compared.files
    told = [_summary(compared.without) if compared.ran_without() else "not run without"]
    if compared.served:
        served, given_back = table.files_in(compared.served.report)
        told += [_summary(compared.served), f"{served} served, {sum(given_back.values())} given back", compared.files]
    word = "LOST" if lost else "FILES DIFFER" if differ else "ok"
    print(f"  {word:12} {case.group}/{case.name} ×{case.ranks}: {'; '.join(told)}", flush=True)
    for test in filter(None, lost):
        print(f"      lost: {test}", flush=True)
    return compared.worse()


def _summary(outcome: Outcome) -> str:
    statuses = list(outcome.statuses.values())
    counts = ", ".join(f"{statuses.count(status)} {status}" for status in sorted(set(statuses), reverse=True))
    return f"{counts} ({outcome.seconds:.1f} s)"


def _load(path: Path) -> dict[str, Compared]:
    if not path.exists():
        return {}
    return {key: Compared.from_json(value) for key, value in json.loads(path.read_text())["cases"].items()}


def _save(path: Path, version: str, mpi: Mpi, results: dict[str, Compared]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    cases = {key: compared.to_json() for key, compared in results.items()}
    about = {"version": version, "mpi": mpi.name, "mpi_version": mpi.version, "cases": cases}
    new = path.with_suffix(".new")
    new.write_text(json.dumps(about, indent=1))
    new.replace(path)


def _write_document(path: str) -> None:
    all_rows = []
    for suite in SUITES:
        for name in all_mpis():
            results = ROOT / "results" / f"{suite}-{name}.json"
            if results.exists():
                about = json.loads(results.read_text())
                mpi = f"{name} {about['mpi_version']}"
                all_rows += table.rows(suite, about["version"], mpi, list(_load(results).values()), REASONS)
    Path(path).write_text(table.document(all_rows))


if __name__ == "__main__":
    sys.exit(main())
