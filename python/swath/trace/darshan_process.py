"""Reads a Darshan log with the package `darshan`, in a process of its own: a damaged log can crash Darshan's library.

    python -m swath.trace.darshan_process LOG

Standard output gets the length of a JSON text in bytes (8 bytes, little-endian), the text, and the arrays that the
text lists.
"""

from __future__ import annotations

import json
import struct
import sys
from typing import Any, BinaryIO

import numpy as np

NO_PACKAGE = 3
"""The exit status if the package is not installed."""
NO_LOG = 4
"""The exit status if the file is not a log of Darshan; the reason is on standard error."""
SEGMENT = np.dtype([("offset", "i8"), ("length", "i8"), ("began", "f8"), ("ended", "f8")])
ROW = np.dtype([("id", "u8"), ("rank", "i8"), ("writes", "i8"), ("reads", "i8")])
TRACED = ("DXT_POSIX", "DXT_MPIIO")
NOT_COUNTERS = {*TRACED, "LUSTRE", "HEATMAP", "APMPI", "APXC", "BG/Q", "NULL", "MDHIM"}
"""Modules whose records do not count calls on files."""


class Log:
    """An open log: its facts, and arrays by their names."""

    def __init__(self, path: str) -> None:
        from darshan.backend import cffi_backend

        self.backend: Any = cffi_backend
        self.log: Any = cffi_backend.log_open(path)
        if self.log["handle"] == cffi_backend.ffi.NULL:
            raise ValueError("Darshan's library cannot open it")
        self.said: dict[str, Any] = {
            "job": cffi_backend.log_get_job(self.log),
            "exe": cffi_backend.log_get_exe(self.log),
            "modules": cffi_backend.log_get_modules(self.log),
            "names": {str(key): name for key, name in cffi_backend.log_get_name_records(self.log).items()},
            "counters": {},
            "unread": {},
        }
        self.arrays: dict[str, np.ndarray[Any, Any]] = {}

    def read(self) -> None:
        """Read all modules, and record the names of those that cannot be read."""
        for module in self.said["modules"]:
            why = self._read_module(module)
            if why:
                self.said["unread"][module] = why

    def _read_module(self, module: str) -> str:
        try:
            if module in TRACED:
                self._read_segments(module)
            elif module == "LUSTRE":
                self.said["stripes"] = self._stripes()
            elif module not in NOT_COUNTERS:
                self._read_counters(module)
        except Exception as error:  # noqa: BLE001  the package raises whatever comes
            return repr(error)
        return ""

    def _read_counters(self, module: str) -> None:
        records = []
        while (record := self.backend.log_get_record(self.log, module, "numpy")) is not None:
            records.append(record)
        names = [self.backend.counter_names(module), self.backend.fcounter_names(module)]
        self.said["counters"][module] = names
        self.arrays[f"{module} id"] = np.array([one["id"] for one in records], np.uint64)
        self.arrays[f"{module} rank"] = np.array([one["rank"] for one in records], np.int64)
        for part, listed in zip(("counters", "fcounters"), names, strict=True):
            rows = [one[part] for one in records]
            self.arrays[f"{module} {part}"] = np.array(rows).reshape(len(records), len(listed))

    def _read_segments(self, module: str) -> None:
        """Read the same as `log_get_dxt_record`, without an object for each request."""
        ffi, library = self.backend.ffi, self.backend.libdutil
        index, size = self.said["modules"][module]["idx"], ffi.sizeof("struct dxt_file_record")
        rows, segments = [], []
        buffer = ffi.new("void **")
        while library.darshan_log_get_record(self.log["handle"], index, buffer) >= 1:
            record = ffi.cast("struct dxt_file_record *", buffer[0])
            rows.append((record.base_rec.id, record.base_rec.rank, record.write_count, record.read_count))
            count = record.write_count + record.read_count
            stored = ffi.buffer(ffi.cast("char *", buffer[0]) + size, count * SEGMENT.itemsize)
            segments.append(np.frombuffer(stored, SEGMENT).copy())
            library.darshan_free(buffer[0])
            buffer = ffi.new("void **")
        self.arrays[f"{module} rows"] = np.array(rows, ROW)
        self.arrays[f"{module} segments"] = np.concatenate([np.zeros(0, SEGMENT), *segments])

    def _stripes(self) -> dict[str, Any]:
        found = {}
        while (record := self.backend.log_get_record(self.log, "LUSTRE", "dict")) is not None:
            components = record["components"]
            if len(components) == 1:  # of several components, the bytes of each are not known
                one = components[0]
                stripe = int(one["counters"]["LUSTRE_COMP_STRIPE_SIZE"])
                found[str(record["id"])] = [stripe, [int(server) for server in one["ost_ids"]]]
        return found


def _write(log: Log, out: BinaryIO) -> None:
    log.said["arrays"] = {name: [one.dtype.descr, list(one.shape)] for name, one in log.arrays.items()}
    text = json.dumps(log.said, default=str).encode()
    out.write(struct.pack("<q", len(text)) + text)
    out.writelines(np.ascontiguousarray(one).tobytes() for one in log.arrays.values())


def main() -> int:
    """Read the log that the command line names."""
    try:
        import darshan  # noqa: F401
    except ImportError as error:
        print(error, file=sys.stderr)
        return NO_PACKAGE
    try:
        log = Log(sys.argv[1])
    except Exception as error:  # noqa: BLE001  the package raises whatever comes
        print(error, file=sys.stderr)
        return NO_LOG
    log.read()
    _write(log, sys.stdout.buffer)
    return 0


if __name__ == "__main__":
    sys.exit(main())
