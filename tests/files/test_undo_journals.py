"""The bytes of undo journals: as in docs/formats/undo-journal.md, and as the version before the core's wrote them."""

from __future__ import annotations

import os
import re
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

import old_journals
import swath
from journals import ADDED, BYTES, MARK, REPLACED, SETTLED, START, Record, records_in, start_of, to_bytes
from swath.formats.changes import Changes, journal_path, repair
from tree import ROOT

DOCUMENT = ROOT / "docs" / "formats" / "undo-journal.md"
CONTENT = b"0123456789abcdef"


def journal_of_document() -> bytes:
    """Return the bytes of the hex dump of the worked example."""
    lines = re.findall(r"^[0-9a-f]{4}  ((?:[0-9a-f]{2} )+)", DOCUMENT.read_text(), re.MULTILINE)
    return bytes.fromhex("".join(lines))


def example(path: str) -> bytes:
    """Make the changes of the worked example, and return its journal."""
    with Changes(path) as changes, open(path, "r+b", buffering=0) as file:
        changes.mark()
        changes.keep(file.fileno(), 4, 3)
        os.pwrite(file.fileno(), b"XYZ", 4)
        changes.checkpoint()
        changes.keep(file.fileno(), 10, 2)
        os.pwrite(file.fileno(), b"--", 10)
        return Path(journal_path(path)).read_bytes()


def without_what_differs(records: list[Record]) -> list[Record]:
    """Return records without the numbers of files, times and boots."""
    return [
        one._replace(data=re.sub(rb"[0-9a-f-]{36}|\d+", b"#", one.data)) if one.kind in (START, SETTLED) else one
        for one in records
    ]


def test_the_example_of_the_document_is_what_the_code_writes(tmp_path: Path) -> None:
    path = tmp_path / "a.bin"
    path.write_bytes(CONTENT)
    said, written = records_in(journal_of_document()), records_in(example(str(path)))
    assert [one.kind for one in said] == [START, MARK, BYTES, SETTLED, BYTES]
    assert without_what_differs(said) == without_what_differs(written)


def test_the_example_of_the_document_takes_back_what_it_says(tmp_path: Path) -> None:
    path = tmp_path / "a.bin"
    path.write_bytes(b"0123XYZ789--cdef")
    Path(journal_path(str(path))).write_bytes(journal_of_document())
    assert repair(str(path), is_copy=True)
    assert path.read_bytes() == CONTENT  # of another start of the machine


def test_a_journal_that_the_version_before_left_of_a_file_is_taken_back(tmp_path: Path) -> None:
    path = tmp_path / "a.bin"
    path.write_bytes(b"#123XYZ789--cdefmore")
    assert {one.kind for one in records_in(old_journals.OF_FILE)} == {START, MARK, BYTES, SETTLED}
    Path(journal_path(str(path))).write_bytes(old_journals.OF_FILE)
    assert repair(str(path), is_copy=True)
    assert path.read_bytes() == CONTENT
    assert os.listdir(tmp_path) == ["a.bin"]


def test_a_journal_that_the_version_before_left_of_a_store_is_taken_back(tmp_path: Path) -> None:
    store = tmp_path / "s"
    for folder in ("a", "v", "w"):
        (store / folder).mkdir(parents=True)
    (store / "zarr.json").write_text("changed")
    (store / "a" / "zarr.json").write_text("new")
    assert {one.kind for one in records_in(old_journals.OF_STORE)} == {START, ADDED, REPLACED, SETTLED}
    Path(journal_path(str(store))).write_bytes(old_journals.OF_STORE)
    assert repair(str(store), is_copy=True)
    assert sorted(str(one.relative_to(store)) for one in store.rglob("*")) == ["a", "zarr.json"]
    assert (store / "zarr.json").read_text() == "{}"


def test_a_journal_of_bytes_that_are_written_without_swath_is_taken_back(tmp_path: Path) -> None:
    path = tmp_path / "a.bin"
    path.write_bytes(b"0123XYZ789abcdefmore")
    Path(journal_path(str(path))).write_bytes(to_bytes([start_of(str(path), 16), Record(BYTES, 4, b"456")]))
    assert repair(str(path))
    assert path.read_bytes() == CONTENT


@pytest.mark.parametrize("name", [b"..", b".", b"", b"/", b"a/..", b"../victim", b"\0", b"a/."])
def test_a_record_whose_name_leads_out_of_the_store_is_refused(tmp_path: Path, name: bytes) -> None:
    store = tmp_path / "s"
    (store / "a").mkdir(parents=True)
    (tmp_path / "victim").write_text("theirs")
    for record in (Record(ADDED, 0, name), Record(REPLACED, len(name), name + b"harm")):
        Path(journal_path(str(store))).write_bytes(to_bytes([start_of(str(store), 0), record]))
        with pytest.raises(swath.StoreError, match="outside of it"):
            repair(str(store))
        assert (tmp_path / "victim").read_text() == "theirs"
        assert (store / "a").is_dir()
        os.unlink(journal_path(str(store)))


def interrupted_at_line(number: int, work: Callable[[], Any]) -> bool:
    """Run `work`, with a SIGINT before that line of Swath's Python; return False if it has fewer lines."""
    left = number

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal left
        if f"{os.sep}swath{os.sep}" not in frame.f_code.co_filename:
            return None
        if event == "line":
            left -= 1
            if left == 0:
                signal.raise_signal(signal.SIGINT)
        return trace

    sys.settrace(trace)
    try:
        work()
    except KeyboardInterrupt:
        pass
    finally:
        sys.settrace(None)
    return left <= 0


def test_an_interrupt_while_the_journal_is_locked_leaves_the_handle_usable(tmp_path: Path) -> None:
    path = tmp_path / "a.nc3"
    with swath.create_file(path, format="netcdf-classic") as file:
        file.create("t", (4,), "f4", dimensions=("x",))
    for number in range(1, 10_000):
        file = swath.open_file(path, mode="r+")
        if not interrupted_at_line(number, lambda opened=file: opened._file.set_attributes("", {"number": 0})):
            file.close()
            break
        file.attributes["number"] = number
        file.close()
        assert os.listdir(tmp_path) == ["a.nc3"]
    assert number > 5
