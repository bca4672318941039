"""The entry point of the command `swath`. It has no parser: that is in `cli`.

`swath mpi-io PROGRAM` starts each rank of a job. So this process becomes the program at once, without importing NumPy,
argparse and other modules that only other subcommands need. Keep the imports here few.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False  # type checkers take it for true; importing `typing` would take longer than everything else here

if TYPE_CHECKING:
    from collections.abc import Sequence


def main() -> int:
    """Run the command line; returns the exit status."""
    program, report = _program_of_mpi_io(sys.argv[1:])
    if program:
        from swath.mpi_io import preload

        try:
            preload.run(program, report)
        except Exception:  # noqa: BLE001 - `cli` meets the same error, and prints it
            pass
    from swath.commands import cli

    return cli.main()


def _program_of_mpi_io(arguments: Sequence[str]) -> tuple[Sequence[str], bool]:
    """Return PROGRAM with its arguments of `mpi-io [--report] [--] PROGRAM …`, and whether a report is requested.

    The program is empty for all other command lines: `mpi-io build`, other options, other subcommands.
    """
    if not arguments or arguments[0] != "mpi-io":
        return (), False
    rest = arguments[1:]
    report = rest[:1] == ["--report"]
    rest = rest[1:] if report else rest
    if rest[:1] == ["--"]:
        rest = rest[1:]
    elif rest[:1] and rest[0].startswith("-"):
        return (), False
    return ((), False) if rest[:1] == ["build"] else (rest, report)
