"""The table of docs/mpi-io-suites.md, made from the results."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable

from comparing import Compared
from suite import NOT_BUILT, PASSED

HEAD = """# Suites of other projects, without and with the drop-in

Made by `make mpi-io-suites`, which fetches and builds the suites, and runs each test without and with the
[drop-in](mpi-io.md), and once more without it where something differs. A test that has passed has done so on every
rank. Files are those that the tests make, also those that they delete: they are compared byte for byte. Ranks that wait
let others work, without and with: there are more ranks than cores.

"""
COLUMNS = (
    "suite",
    "version",
    "MPI",
    "ranks",
    "passed without",
    "passed with",
    "files served",
    "given back",
    "files left",
    "what differs, and why",
)


SERVED = re.compile(r": served, \d+ ranks?$")
GIVEN_BACK = re.compile(r"given back to MPI:? (.*)$")
"""The first line at open is one of these; a file given back at a later view has an indented line below SERVED."""


def files_in(report: Iterable[str]) -> tuple[int, Counter[str]]:
    """Return the number of files that these lines name as served, and the count of each reason for giving one back."""
    served, reasons = 0, Counter[str]()
    for line in report:
        served += SERVED.search(line) is not None
        if given_back := GIVEN_BACK.search(line):
            reasons[given_back.group(1)] += 1
            served -= line.startswith(" ")
    return served, reasons


def rows(suite: str, version: str, mpi: str, results: list[Compared], reasons: dict[str, str]) -> list[str]:
    """Return a row for each group of tests."""
    groups: dict[str, list[Compared]] = defaultdict(list)
    for result in results:
        groups[result.group].append(result)
    return [_row(suite, group, version, mpi, members, reasons) for group, members in groups.items()]


def _row(suite: str, group: str, version: str, mpi: str, results: list[Compared], reasons: dict[str, str]) -> str:
    built = [result for result in results if result.is_built()]
    without = sum(len(_passed(result)) for result in built)
    tests = sum(len(result.without.statuses) for result in built)
    not_run = sum(not result.ran_without() for result in built)
    without_told = f"{without} of {tests}" + (f" ({not_run} programs not run)" if not_run else "")
    with_ = sum(list(result.served.statuses.values()).count(PASSED) for result in built if result.served)
    served, reasons_given = files_in(line for result in built if result.served for line in result.served.report)
    ranks = sorted({result.ranks for result in built if result.ran_without() or result.served})
    with_told = str(with_) if any(result.served for result in built) else "–"
    cells = [f"{suite} {group}", version, mpi, _ranks(ranks), without_told, with_told]
    given_back = ", ".join(f"{count}: {reason}" for reason, count in reasons_given.items()) or "0"
    cells += [str(served), given_back, _files(built), _differences(suite, mpi, results, reasons)]
    return "| " + " | ".join(cells) + " |"


def _passed(result: Compared) -> list[str]:
    return [test for test, status in result.without.statuses.items() if status == PASSED]


def _ranks(ranks: list[int]) -> str:
    return str(ranks[0]) if len(ranks) == 1 else f"{ranks[0]} to {ranks[-1]}" if ranks else ""


def _files(results: list[Compared]) -> str:
    counts: dict[str, int] = defaultdict(int)
    for result in results:
        for word in ("DIFFER", "vary", "equal", "identical"):
            if word in result.files:
                counts[{"vary": "vary by themselves", "equal": "equal", "DIFFER": "differ"}.get(word, word)] += 1
                break
    return ", ".join(f"{count} {word}" for word, count in counts.items())


def _differences(suite: str, mpi: str, results: list[Compared], reasons: dict[str, str]) -> str:
    told = []
    for what, tests in (
        ("lost", [_name(result, test) for result in results for test in result.lost()]),
        ("gained", [_name(result, test) for result in results for test in result.gained()]),
        ("files differ", [result.case for result in results if "DIFFER" in result.files]),
    ):
        told += [f"{what}: {', '.join(dict.fromkeys(tests))}"] if tests else []
    not_run = [result.case for result in results if result.is_built() and not result.ran_without()]
    if len(not_run) < len(results):
        told += [f"not run: {', '.join(dict.fromkeys(not_run))}"] if not_run else []
    not_built = [result.case for result in results if not result.is_built()]
    told += [f"not built: {', '.join(not_built)}"] if not_built else []
    failing = [_name(r, t) for r in results for t, s in r.without.statuses.items() if s not in (PASSED, NOT_BUILT)]
    told += [f"fail without: {', '.join(dict.fromkeys(failing))}"] if failing else []
    names = {result.case for result in results}
    told += [why for key, why in reasons.items() if _concerns(key, suite, mpi, names)]
    return "; ".join(told)


def _concerns(key: str, suite: str, mpi: str, cases: set[str]) -> bool:
    """Return whether a reason is for this case: "romio/external32" for all MPIs, "romio@openmpi/external32" for one."""
    where, _, case = key.partition("/")
    name, _, on = where.partition("@")
    return name == suite and case in cases and on in ("", mpi.split(maxsplit=1)[0])


def _name(result: Compared, test: str) -> str:
    return test.rsplit(".", 2)[-1] if test else result.case


def document(all_rows: list[str]) -> str:
    lines = ["| " + " | ".join(COLUMNS) + " |", "|" + "---|" * len(COLUMNS), *all_rows]
    return HEAD + "\n".join(lines) + "\n"
