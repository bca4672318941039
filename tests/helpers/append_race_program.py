"""One of several processes that append to one file in turn, each by several threads of one handle.

    python append_race_program.py PATH PROCESS RECORDS

Each thread appends so many records, some each time that the file is open; what is refused, because another process
changes the file, or has changed it since it was opened, is appended the next time. A record says who has appended it.
"""

from __future__ import annotations

import errno
import sys
import threading
import time

import numpy as np

import swath

THREADS = 4
RECORDS_AT_ONCE = 10
REFUSALS = (errno.EAGAIN, errno.ESTALE)


def number_of(process: int, thread: int, record: int) -> float:
    """Return what a record holds: no other one holds the same."""
    return float(1_000_000 * process + 100_000 * thread + record)


class Appending:
    """A thread that appends, over all the times that the file is open."""

    def __init__(self, process: int, thread: int, records: int) -> None:
        self.process, self.thread, self.records = process, thread, records
        self.appended = 0
        self.error: BaseException | None = None

    def append_some(self, array: swath.Array) -> None:
        """Append until it is refused, or enough for now."""
        try:
            for _ in range(min(RECORDS_AT_ONCE, self.records - self.appended)):
                array.append(np.full(5, number_of(self.process, self.thread, self.appended)))
                self.appended += 1
        except swath.StoreError as error:
            if error.errno not in REFUSALS:
                self.error = error
        except BaseException as error:  # noqa: BLE001 - the main thread raises it
            self.error = error


def open_once(path: str, all_of_them: list[Appending]) -> None:
    """Let all threads append some, by one handle."""
    with swath.open_file(path, mode="r+") as file:
        array = file["t"]
        threads = [threading.Thread(target=one.append_some, args=(array,)) for one in all_of_them]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()


def main(path: str, process: int, records: int) -> None:
    """Append all records of this process."""
    all_of_them = [Appending(process, thread, records) for thread in range(THREADS)]
    while any(one.appended < records for one in all_of_them):
        try:
            open_once(path, all_of_them)
        except swath.StoreError as error:
            if error.errno not in REFUSALS:
                raise
        for one in all_of_them:
            if one.error is not None:
                raise one.error
        time.sleep(0.001)  # let the others have a turn


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
