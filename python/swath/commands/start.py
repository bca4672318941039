"""Where the command `swath` starts. It has no parser of its own: `cli` has.

`swath mpi-io PROGRAM` stands before each rank of a job, so this process becomes the program at once, without NumPy,
argparse and what else the other subcommands need. What is imported here is imported at each such start.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False  # type checkers take it for true; `typing` would take longer to import than all the rest

if TYPE_CHECKING:
    from collections.abc import Sequence


def main() -> int:
    """Run the command line; returns the exit status."""
    program, report = _program_of_mpi_io(sys.argv[1:])
    if program:
        from swath.mpi_io import preload

        try:
            preload.run(program, report)
        except Exception:  # noqa: BLE001 - `cli` meets the same error, and says it
            pass
    from swath.commands import cli

    return cli.main()


def _program_of_mpi_io(arguments: Sequence[str]) -> tuple[Sequence[str], bool]:
    """Return the program, with its arguments, of `mpi-io [--report] [--] PROGRAM …`, and whether a report is wanted.

    An empty one for all else that `swath` can be asked for: `mpi-io build`, other options, other subcommands.
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
