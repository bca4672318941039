"""Ends the ranks of a replay and removes its folder when the replay itself has ended, however it ended.

It runs as a script, by its path, and imports only Python's standard library, so it starts fast:

    python -I -S cleaner.py FOLDER

Its standard input is a pipe that the replay holds open, with a line for each process group: "+123" when it starts,
"-123" when it has ended.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import sys
import time

RANKS_SECONDS_MAX = 10.0
"""A rank that is being ended may still make a file."""


def main(folder: str) -> None:
    """Wait for the end of standard input, then end the process groups and remove the folder."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    running: set[int] = set()
    with os.fdopen(0, encoding="ascii") as lines:
        for line in lines:
            (running.add if line[0] == "+" else running.discard)(int(line[1:]))
    for group in running:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(group, signal.SIGKILL)
    until = time.monotonic() + RANKS_SECONDS_MAX
    while os.path.lexists(folder) and time.monotonic() < until:
        shutil.rmtree(folder, ignore_errors=True)
        time.sleep(0.05)


if __name__ == "__main__":
    main(sys.argv[1])
