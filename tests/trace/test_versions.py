"""Traces of both versions of the format are read: `data/version-1.pfw` was written by version 1."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import swath
from swath.trace.characteristics import characterise
from swath.trace.opening import read_log
from swath.trace.reading import ProcessTrace, is_operation, operation, read_trace

OLD = Path(__file__).parent / "data" / "version-1.pfw"
PROGRAM = """
import swath
with swath.open("a.npy") as a:
    a.read()
    a[1:3, ::2]
"""


def written_now(folder: Path) -> ProcessTrace:
    """The trace of the program that wrote the old trace."""
    np.save(folder / "a.npy", np.zeros((4, 6)))
    environment = {**os.environ, "SWATH_TRACE": str(folder / "trace")}
    subprocess.run([sys.executable, "-c", PROGRAM], cwd=folder, env=environment, check=True)
    (trace,) = read_trace(str(folder / "trace"))
    return trace


def operations(trace: ProcessTrace) -> list[bytes]:
    return [bytes(operation([(trace, event)]).serialise()) for event in trace.events if is_operation(event)]


def test_both_versions_hold_the_same_operations(tmp_path: Path) -> None:
    (old,) = read_trace(str(OLD))
    new = written_now(tmp_path)
    assert (old.version, new.version) == (1, 2)
    assert operations(old) == operations(new)
    assert [event.name for event in old.events if is_operation(event)] == ["read", "read"]
    assert not old.cut


def test_the_range_of_an_operation_is_unknown_in_version_1(tmp_path: Path) -> None:
    (old,) = read_trace(str(OLD))
    new = written_now(tmp_path)
    ranges = [[(one.begin, one.end, one.file_bytes) for one in trace.operations.values()] for trace in (old, new)]
    assert ranges == [[(0, 0, 0)] * 2, [(128, 320, 192), (176, 264, 48)]]


def test_a_trace_of_version_1_is_characterised() -> None:
    found = characterise(read_log(str(OLD)))
    assert {one.name: (one.calls, one.bytes) for one in found.operations} == {"open": (1, 0), "read": (2, 192 + 88)}


def test_a_later_version_is_refused_with_the_versions_that_are_read(tmp_path: Path) -> None:
    later = tmp_path / "later.pfw"
    later.write_text(OLD.read_text().replace('"version":1', '"version":3'))
    with pytest.raises(swath.FormatError, match="version 3 of the format; this Swath reads 1, 2"):
        read_trace(str(later))
