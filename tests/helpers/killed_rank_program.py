"""Run a program as this rank of an mpiexec; one rank is killed at one of its calls that change files.

mpiexec -n 4 python killed_rank_program.py RANK CALL PROGRAM ARGUMENTS...

The status of the killed rank is KILLED; if it comes to its end first, nobody is killed and the status is 0.
"""

from __future__ import annotations

import os
import sys

KILLED = 9


def main(rank: int, call: int, command: list[str]) -> int:
    """Return the status of this rank, or become the program."""
    own = os.environ.get("PMI_RANK") or os.environ.get("OMPI_COMM_WORLD_RANK")
    assert own is not None, "neither MPICH nor Open MPI has started it"
    if int(own) != rank:
        os.execv(command[0], command)
    from kills import killed

    return KILLED if killed(lambda: os.execv(command[0], command), call) else 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:]))
