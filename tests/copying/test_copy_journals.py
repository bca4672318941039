"""The journal of a copy: torn, cut, damaged or of another copy."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import swath
from copy_faults_cases import JOURNAL, OPTIONS, interrupted, names, source_of, writes_of
from swath.copying.journal import Journal


def test_what_an_interrupted_copy_has_done_is_not_thrown_away_unasked(tmp_path: Path) -> None:
    values = source_of(tmp_path)
    interrupted(tmp_path)
    with pytest.raises(swath.ExistsError, match=r"was interrupted .*--resume.*--restart"):
        swath.copy(tmp_path / "a.npy", tmp_path / "b.npy", **OPTIONS)
    copied = swath.copy(tmp_path / "a.npy", tmp_path / "b.npy", resume=False, **OPTIONS)
    assert copied.resumed_bytes == 0
    np.testing.assert_array_equal(np.load(tmp_path / "b.npy"), values.T.astype(">f4"))


def test_only_the_same_copy_of_the_same_source_goes_on(tmp_path: Path) -> None:
    source_of(tmp_path)
    interrupted(tmp_path)

    def goes_on(**options: Any) -> None:
        swath.copy(tmp_path / "a.npy", tmp_path / "b.npy", **{**OPTIONS, "resume": True, **options})

    with pytest.raises(swath.ArgumentError, match=r"dtype was >f4, is float32.*--restart"):
        goes_on(dtype="<f4")
    with pytest.raises(swath.ArgumentError, match=r"more memory: .* are allowed"):
        goes_on(memory=10_000)
    os.utime(tmp_path / "a.npy")
    with pytest.raises(swath.StoreError, match=r"a\.npy has changed since .*--restart"):
        goes_on()
    assert ".b.npy.swath-copy" in names(tmp_path)
    goes_on(resume=False)
    assert names(tmp_path) == {"a.npy", "b.npy"}


@pytest.mark.parametrize(
    ("elsewhere", "told"),
    [
        ({"offset": 400 * 300 * 8}, "source offset was 0, is 960000"),
        ({"order": "F"}, r"source strides was \[2400, 8\], is \[8, 3200\]"),
    ],
)
def test_a_copy_of_one_array_of_a_raw_file_does_not_go_on_with_another(
    tmp_path: Path, elsewhere: dict[str, Any], told: str
) -> None:
    both = np.random.default_rng(5).random((2, 400, 300))
    both.tofile(tmp_path / "a.raw")
    options: dict[str, Any] = {"axes": (1, 0), "memory": 60_000, "checkpoint_bytes": 40_000}
    place: dict[str, Any] = {"shape": (400, 300), "dtype": "f8"}
    with swath.open(tmp_path / "a.raw", **place) as first:
        how = {key: value for key, value in options.items() if key != "checkpoint_bytes"}
        writes = swath.explain_copy(first, tmp_path / "b.npy", **how).plan.passes[0].write_requests
        with pytest.raises(swath.StoreError, match="No space left"):
            swath.copy(first, tmp_path / "b.npy", engine=f"fault:write@{writes // 2}=ENOSPC", **options)
        with (
            swath.open(tmp_path / "a.raw", **place, **elsewhere) as other,
            pytest.raises(swath.ArgumentError, match=f"was another one: {told}.*--restart"),
        ):
            swath.copy(other, tmp_path / "b.npy", resume=True, **options)
        assert swath.copy(first, tmp_path / "b.npy", resume=True, **options).resumed_bytes > 0
    np.testing.assert_array_equal(np.load(tmp_path / "b.npy"), both[0].T)


def test_a_copy_goes_on_with_another_number_of_ranks(tmp_path: Path) -> None:
    from swath.simulated import run_ranks

    values = source_of(tmp_path)
    interrupted(tmp_path)
    more = {**OPTIONS, "memory": 3 * OPTIONS["memory"], "resume": True, "workers": 3}  # of all ranks together
    copied = run_ranks(3, lambda comm: swath.copy(tmp_path / "a.npy", tmp_path / "b.npy", comm=comm, **more))
    assert all(0 < c.resumed_bytes < c.bytes for c in copied)
    np.testing.assert_array_equal(np.load(tmp_path / "b.npy"), values.T.astype(">f4"))


def test_a_torn_line_of_the_journal_does_not_count(tmp_path: Path) -> None:
    values = source_of(tmp_path)
    interrupted(tmp_path)
    with (tmp_path / ".b.npy.swath-copy.journal").open("ab") as journal:
        journal.write(b'{"part": 0, "pass": 0, "tiles": 99')
    swath.copy(tmp_path / "a.npy", tmp_path / "b.npy", resume=True, **OPTIONS)
    np.testing.assert_array_equal(np.load(tmp_path / "b.npy"), values.T.astype(">f4"))


def cut_journal(folder: Path, length: int, whole: bytes) -> None:
    """Leave the state of a process that was killed when `length` bytes of the journal were written."""
    for path in folder.iterdir():
        if path.name != "a.npy":
            path.unlink()
    for path in (folder.parent / "kept").iterdir():
        shutil.copy2(path, folder / path.name)
    (folder / JOURNAL).write_bytes(whole[:length])


def test_a_journal_cut_at_any_byte_loses_no_whole_line_and_takes_new_ones(tmp_path: Path) -> None:
    target = str(tmp_path / "b.npy")
    journal = Journal.opened(target)
    journal.start({"asked": {"source": "a.npy"}})
    for tiles in (9, 10, 11):
        journal.enter((0, 0, tiles))
    journal.close()
    whole = (tmp_path / JOURNAL).read_bytes()
    for length in range(len(whole) + 1):
        (tmp_path / JOURNAL).write_bytes(whole[:length])
        journal = Journal.opened(target)
        lines = whole[:length].count(b"\n")
        assert (journal.header is None) == (lines == 0)
        assert journal.done == ((0, 0, 7 + lines) if lines > 1 else (0, 0, 0))
        if lines:
            journal.enter((0, 0, 12))
        else:
            journal.start({"asked": {"source": "a.npy"}})
        journal.close()
        journal = Journal.opened(target)
        assert journal.header == json.loads(whole.splitlines()[0])
        assert journal.done == ((0, 0, 12) if lines else (0, 0, 0))
        journal.close()


@pytest.mark.parametrize("step", [11, pytest.param(1, marks=[pytest.mark.exhaustive, pytest.mark.timeout(600)])])
def test_a_copy_killed_at_any_byte_of_its_journal_goes_on_and_goes_on_again(tmp_path: Path, step: int) -> None:
    folder = tmp_path / "work"
    folder.mkdir()
    values = source_of(folder)
    interrupted(folder)
    kept = tmp_path / "kept"
    kept.mkdir()
    for name in names(folder) - {"a.npy"}:
        shutil.copy2(folder / name, kept / name)
    whole = (kept / JOURNAL).read_bytes()
    header = whole.index(b"\n") + 1
    assert whole.count(b"\n") > 3
    again = f"fault:write@{writes_of(folder) // 4}=EIO"
    # Some bytes of the header, which is long; every byte of the lines after it.
    for length in [0, 1, header - 2, header - 1, *range(header, len(whole), step), len(whole)]:
        cut_journal(folder, length, whole)
        checkpoints = max(whole[:length].count(b"\n") - 1, 0)
        if checkpoints:  # it continues, and is interrupted again: its new lines must not follow the torn one
            with pytest.raises(swath.StoreError, match="Input/output error"):
                swath.copy(folder / "a.npy", folder / "b.npy", engine=again, **OPTIONS, resume=True)
            lines = [json.loads(line) for line in (folder / JOURNAL).read_bytes().splitlines()]
            assert len(lines) > checkpoints + 1
        how = {**OPTIONS, "checkpoint_bytes": 1 << 30, "resume": length % 2 == 0}
        copied = swath.copy(folder / "a.npy", folder / "b.npy", **how)
        assert (copied.resumed_bytes > 0) == (checkpoints > 0 and length % 2 == 0)
        np.testing.assert_array_equal(np.load(folder / "b.npy"), values.T.astype(">f4"))
        assert names(folder) == {"a.npy", "b.npy"}


def test_half_a_line_that_a_full_disk_leaves_is_taken_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    journal = Journal.opened(str(tmp_path / "b.npy"))
    journal.start({"asked": {}})
    before = (tmp_path / JOURNAL).read_bytes()
    write = os.write
    monkeypatch.setattr(os, "write", lambda descriptor, text: write(descriptor, text[:7]))
    with pytest.raises(swath.StoreError, match=r"cannot write the journal .*No space left"):
        journal.enter((0, 0, 1))
    assert (tmp_path / JOURNAL).read_bytes() == before
    journal.remove(str(tmp_path / "b.npy"))


@pytest.mark.parametrize("text", ["not json\n", '{"swath": 99}\n', '{"swath": 1}\n{"pass": -1, "tiles": 3}\n'])
def test_a_damaged_journal_is_said_to_be_and_no_hindrance_to_begin_anew(tmp_path: Path, text: str) -> None:
    values = source_of(tmp_path)
    (tmp_path / JOURNAL).write_text(text)
    for resume in (None, True):
        with pytest.raises(swath.FormatError, match=r"line \d is none of this Swath's.*--restart"):
            swath.copy(tmp_path / "a.npy", tmp_path / "b.npy", resume=resume)
    swath.copy(tmp_path / "a.npy", tmp_path / "b.npy", resume=False, **OPTIONS)
    np.testing.assert_array_equal(np.load(tmp_path / "b.npy"), values.T.astype(">f4"))
    assert names(tmp_path) == {"a.npy", "b.npy"}


def test_a_journal_never_tells_of_files_that_were_made_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A copy is killed just after a new start: the file has only holes, and must not be taken for the old one."""
    values = source_of(tmp_path)
    interrupted(tmp_path)
    child = os.fork()
    if child == 0:
        monkeypatch.setattr(Journal, "start", lambda *_: os._exit(7))
        swath.copy(tmp_path / "a.npy", tmp_path / "b.npy", resume=False, **OPTIONS)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    assert (tmp_path / ".b.npy.swath-copy").exists()
    copied = swath.copy(tmp_path / "a.npy", tmp_path / "b.npy", resume=True, **OPTIONS)
    assert copied.resumed_bytes == 0
    np.testing.assert_array_equal(np.load(tmp_path / "b.npy"), values.T.astype(">f4"))
