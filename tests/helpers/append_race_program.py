"""One of several processes that append to one file in turn, each with several threads of one handle.

    python append_race_program.py PATH PROCESS RECORDS

Each thread appends a number of records, some in each period in which the file is open. If another process changes the
file, or has changed it since the open, an append is refused, and is repeated later. A record identifies its writer.
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
    """Return the content of a record: it is unique."""
    return float(1_000_000 * process + 100_000 * thread + record)


class Appending:
    """A thread that appends, over all periods in which the file is open."""

    def __init__(self, process: int, thread: int, records: int) -> None:
        self.process, self.thread, self.records = process, thread, records
        self.appended = 0
        self.error: BaseException | None = None

    def append_some(self, array: swath.Array) -> None:
        """Append until an append is refused, or until there are enough for now."""
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
    """Let all threads append some records by one handle."""
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
