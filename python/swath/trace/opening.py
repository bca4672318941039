"""Reads the log of a run, of any tracer."""

from __future__ import annotations

import errno
import os

from swath.errors import FormatError, NotFoundError, StoreError, UnsupportedError
from swath.trace.chrome_events import read_chrome_events
from swath.trace.darshan_logs import read_darshan
from swath.trace.lines import GZIP_MAGIC
from swath.trace.log import Log
from swath.trace.reading import SUFFIXES

RECORDER_METADATA = "recorder.mt"
"""The file by which a folder is recognised as a trace of Recorder."""


def read_log(path: str) -> Log:
    """Return the log of a run.

    Args:
        path: a folder with traces of Swath or DFTracer (`.pfw.gz`), one of these files, or a Darshan log.

    Raises:
        NotFoundError: there is no such file or folder.
        StoreError: the system refuses to read it.
        FormatError: it is not a log, it is damaged, or it has a version that this Swath does not read.
        UnsupportedError: it needs a package that is not installed, or Swath does not read logs of this tracer.
    """
    if not os.path.exists(path):
        raise NotFoundError(f"trace {path}: there is no such file or folder", errno.ENOENT)
    if os.path.isdir(path):
        return read_chrome_events(path, _traces_in(path))
    return read_chrome_events(path, [path]) if _has_events(path) else read_darshan(path)


def _traces_in(folder: str) -> list[str]:
    if os.path.isfile(os.path.join(folder, RECORDER_METADATA)):
        raise UnsupportedError(
            f"trace {folder}: Recorder wrote it, and Swath does not read it: Recorder's package (recorder-viz) has no "
            "reader of its own, but calls a library of an installed Recorder"
        )
    files = sorted(os.path.join(folder, name) for name in os.listdir(folder) if name.endswith(SUFFIXES))
    if not files:
        raise FormatError(
            f"trace {folder}: the folder has no trace: expected files rank-*.pfw.gz, which a run with "
            f"SWATH_TRACE={folder} writes, or DFTracer's *.pfw.gz"
        )
    return files


def _has_events(path: str) -> bool:
    """Return whether the file has Chrome's events, by its first bytes or by its name."""
    try:
        with open(path, "rb") as file:
            first = file.read(64)
    except OSError as error:
        raise StoreError(f"trace {path}: {error.strerror}", error.errno or 0) from None
    return first[:2] == GZIP_MAGIC or first.lstrip()[:1] in (b"[", b"{") or path.endswith(SUFFIXES)
