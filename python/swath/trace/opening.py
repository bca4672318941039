"""Reads the log of a run, of any tracer."""

from __future__ import annotations

import os

from swath.errors import StoreError, UnsupportedError
from swath.trace.chrome_events import read_chrome_events
from swath.trace.darshan_logs import read_darshan
from swath.trace.lines import GZIP_MAGIC
from swath.trace.log import Log
from swath.trace.reading import SUFFIXES, trace_files

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
    if os.path.isfile(os.path.join(path, RECORDER_METADATA)):
        raise UnsupportedError(
            f"trace {path}: Recorder wrote it, and Swath does not read it: Recorder's package (recorder-viz) has no "
            "reader of its own, but calls a library of an installed Recorder"
        )
    files = trace_files(path)
    return read_chrome_events(path, files) if files != [path] or _has_events(path) else read_darshan(path)


def _has_events(path: str) -> bool:
    """Return whether the file has Chrome's events, by its first bytes or by its name."""
    try:
        with open(path, "rb") as file:
            first = file.read(64)
    except OSError as error:
        raise StoreError(f"trace {path}: {error.strerror}", error.errno or 0) from None
    return first[:2] == GZIP_MAGIC or first.lstrip()[:1] in (b"[", b"{") or path.endswith(SUFFIXES)
