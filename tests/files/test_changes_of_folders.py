"""Undo of changes of a folder, such as a Zarr store."""

import itertools
import mmap
import os

import pytest

from changes_cases import START, after_kill, content
from journals import as_if_machine_had_stopped
from kills import killed
from swath.errors import ArgumentError, StoreError
from swath.formats.changes import Changes, journal_path, repair


@pytest.fixture
def path(tmp_path):
    (tmp_path / "a.bin").write_bytes(START)
    return str(tmp_path / "a.bin")


def tree(folder):
    return {
        os.path.relpath(os.path.join(place, name), folder): content(os.path.join(place, name))
        for place, _, names in os.walk(folder)
        for name in names
    }


@pytest.fixture
def store(tmp_path):
    (tmp_path / "s.zarr" / "a").mkdir(parents=True)
    (tmp_path / "s.zarr" / "zarr.json").write_text("{}")
    (tmp_path / "s.zarr" / "a" / "zarr.json").write_text('{"shape": 1}')
    return str(tmp_path / "s.zarr")


def replaced(store, relative, text):
    with open(os.path.join(store, "new"), "w") as file:
        file.write(text)
    os.replace(os.path.join(store, "new"), os.path.join(store, relative))


def add_to_store(changes, number):
    changes.adds(f"v{number}")
    os.mkdir(os.path.join(changes.path, f"v{number}"))
    changes.adds("new")
    changes.replaces_all([f"v{number}/zarr.json"])  # which is not there: it is added
    replaced(changes.path, f"v{number}/zarr.json", "new")
    for text in ("first", "second"):
        changes.replaces_all(["a/zarr.json"])
        replaced(changes.path, "a/zarr.json", f"{text} {number}")


def test_a_store_is_as_at_the_last_commit_after_a_kill_at_any_call(store):
    before = tree(store)

    def work():
        with Changes(store) as changes:
            add_to_store(changes, 0)
            told[0] = 1
            changes.commit()
            told[1] = 1
            add_to_store(changes, 1)

    committed = {**before, "v0/zarr.json": b"new", "a/zarr.json": b"second 0"}
    for at in itertools.count():
        told = mmap.mmap(-1, 2)
        if not killed(work, at):
            break
        repair(store)
        assert tree(store) in [before, committed][told[1] : told[0] + 1]
        for name in ("v0/zarr.json", "v0"):
            full = os.path.join(store, name)
            if os.path.lexists(full):
                os.rmdir(full) if os.path.isdir(full) else os.unlink(full)
        with open(os.path.join(store, "a/zarr.json"), "w") as file:
            file.write('{"shape": 1}')
    assert at > 20
    assert tree(store) == committed


def test_a_store_whose_journal_was_written_anew_goes_back_to_the_last_commit(store):
    before = tree(store)

    def change():
        changes = Changes(store, long_bytes=0)
        for number in range(4):
            add_to_store(changes, number)
            changes.checkpoint()
        settled = tree(store)
        add_to_store(changes, 4)
        changes.undo()
        assert tree(store) == settled
        add_to_store(changes, 5)
        return changes

    after_kill(change)
    assert as_if_machine_had_stopped(journal_path(store)) == 1
    assert repair(store)
    assert tree(store) == before


def test_what_is_there_is_not_added_and_paths_stay_inside_the_store(store, tmp_path):
    with Changes(store) as changes:
        with pytest.raises(StoreError, match=r"s\.zarr: a: cannot add: it is there already"):
            changes.adds("a")
        for wrong in ("../x", "/etc/x", "", ".", "a/../../x"):
            for call in (changes.adds, lambda name: changes.replaces_all([name])):
                with pytest.raises(ArgumentError, match="no path inside of a store"):
                    call(wrong)
        (tmp_path / "outside").mkdir()
        os.symlink(tmp_path / "outside", os.path.join(store, "out"))
        changes.adds("out/file")
        (tmp_path / "outside" / "file").write_text("theirs")
        with pytest.raises(StoreError, match="outside of it"):
            changes.undo()
        os.unlink(os.path.join(store, "out"))
    assert (tmp_path / "outside" / "file").read_text() == "theirs"
