"""Changes of a file that are undone: in a living process, and after a kill at any moment."""

import errno
import itertools
import mmap
import os
import signal

import pytest

import kernels
from changes_cases import START, after_kill, content, overwrite, transaction
from journals import HEAD_BYTES, as_if_machine_had_stopped
from kills import CALLS, killed
from swath.errors import StoreError
from swath.formats.changes import Changes, journal_path, repair
from swath.formats.undo import UndoableFile


@pytest.fixture
def path(tmp_path):
    (tmp_path / "a.bin").write_bytes(START)
    return str(tmp_path / "a.bin")


def states(path, count):
    """Return the content of the file after each number of transactions, from none on."""
    found = [content(path)]
    with Changes(path, is_durable=False) as changes:
        for number in range(count):
            transaction(changes, number)
            changes.commit()
            found.append(content(path))
    return found


@pytest.mark.parametrize("stay", ["commit", "checkpoint", "checkpoint, the journal being long"])
def test_a_kill_at_any_call_leaves_what_was_let_stay_last(path, stay):
    expected = states(path, 3)
    stay, _, is_long = stay.partition(", ")
    long_bytes = 1000 if is_long else 1 << 20

    def work():
        with Changes(path, long_bytes=long_bytes) as changes:
            for number in range(3):
                transaction(changes, number)
                told[0] = number + 1  # is being let stay
                getattr(changes, stay)()
                told[1] = number + 1  # stays

    for at in itertools.count():
        with open(path, "wb") as file:
            file.write(START)
        told = mmap.mmap(-1, 2)
        if not killed(work, at):
            break
        if at % 2:
            repair(path)
        else:
            Changes(path).close()  # repairs, too
        assert content(path) in expected[told[1] : told[0] + 1]
        assert os.listdir(os.path.dirname(path)) == ["a.bin"]
    assert at > 30
    assert content(path) == expected[3]


def test_the_journal_of_many_checkpoints_stays_short(path, tmp_path):
    def change():
        changes = Changes(path, long_bytes=5000)
        lengths = []
        for number in range(100):
            transaction(changes, number % 10)
            settled = content(path)
            changes.checkpoint()
            lengths.append(os.path.getsize(journal_path(path)))
            assert lengths[-1] < 3 * 5000  # ten transactions keep less than 5000
            transaction(changes, number % 7)
            changes.undo()
            assert content(path) == settled
        assert sum(lengths[n] < lengths[n - 1] for n in range(1, 100)) > 3  # it was written anew
        (tmp_path / "settled").write_bytes(settled)
        transaction(changes, 5)
        return changes

    after_kill(change)
    assert repair(path)
    assert content(path) == content(tmp_path / "settled")
    assert sorted(os.listdir(tmp_path)) == ["a.bin", "settled"]


def test_a_checkpoint_of_a_file_without_a_name_takes_no_memory(path):
    def resident_bytes():
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * mmap.PAGESIZE

    os.truncate(path, 1 << 20)
    with Changes(path, is_durable=False) as changes, open(path, "r+b", buffering=0) as file:
        before = resident_bytes()
        for _ in range(100):
            changes.keep(file.fileno(), 0, 1 << 20)
            changes.checkpoint()
        assert resident_bytes() < before + (50 << 20)


def refusing_to_rename(work):
    """Run `work` in a child in which renames fail."""

    def refused():
        kernels.refuse({CALLS[name]: errno.ENOSPC for name in ("rename", "renameat", "renameat2") if name in CALLS})
        return work()

    after_kill(refused)


def test_a_journal_that_cannot_be_written_anew_stays_as_it_is(path, tmp_path):
    def change():
        os.mkdir(f"{journal_path(path)}.new")
        changes = Changes(path, long_bytes=1000)
        for number in range(5):
            transaction(changes, number)
            changes.checkpoint()
        (tmp_path / "settled").write_bytes(content(path))
        assert os.path.getsize(journal_path(path)) > 2000
        os.rmdir(f"{journal_path(path)}.new")
        transaction(changes, 0)
        changes.undo()
        changes.begin()
        before = os.path.getsize(journal_path(path))
        changes.checkpoint()
        assert os.path.getsize(journal_path(path)) > before
        assert not os.path.lexists(f"{journal_path(path)}.new")
        transaction(changes, 5)
        return changes

    refusing_to_rename(change)
    assert repair(path)
    assert content(path) == content(tmp_path / "settled")


def test_nobody_else_gets_a_journal_that_is_written_anew(path):
    changes = Changes(path, long_bytes=1000)
    for number in range(9):
        transaction(changes, number)
        changes.checkpoint()
        with pytest.raises(StoreError, match="another program is changing it"):
            Changes(path, lock_seconds=0)
        assert not repair(path)
    changes.close()
    Changes(path).close()


@pytest.mark.parametrize("long_bytes", [1 << 20, 500, 0])
def test_where_the_machine_stopped_all_is_taken_back_to_the_last_commit(path, tmp_path, long_bytes):
    def change():
        changes = Changes(path, long_bytes=long_bytes)
        transaction(changes, 1)
        changes.commit()
        (tmp_path / "committed").write_bytes(content(path))
        transaction(changes, 2)
        changes.checkpoint()
        settled = content(path)
        transaction(changes, 3)
        changes.undo()
        assert content(path) == settled
        transaction(changes, 4)
        changes.checkpoint()
        transaction(changes, 5)
        return changes

    after_kill(change)
    assert as_if_machine_had_stopped(journal_path(path)) == (2 if long_bytes > 500 else 1)
    assert repair(path)
    assert content(path) == content(tmp_path / "committed")


def test_a_repair_that_is_killed_is_repeated(path):
    def change():
        changes = Changes(path)
        transaction(changes, 7)
        os.kill(os.getpid(), signal.SIGKILL)

    for at in itertools.count():
        killed(change, -1)
        if not killed(lambda: repair(path), at):
            break
        assert repair(path) or content(path) == START
        assert content(path) == START
    assert at > 5


def test_changes_are_taken_back_to_the_last_commit_or_to_a_mark(path):
    for is_durable in (True, False):
        with Changes(path, is_durable=is_durable) as changes:
            transaction(changes, 1)
            first = content(path)
            mark = changes.mark()
            transaction(changes, 1)
            transaction(changes, 2)
            changes.undo(mark)
            assert content(path) == first
            transaction(changes, 3)
            changes.undo()
            assert content(path) == START
            transaction(changes, 4)
            changes.commit()
            kept = content(path)
            changes.undo()  # nothing
            transaction(changes, 5)
        assert content(path) == kept  # closed without a commit
        with open(path, "wb") as file:
            file.write(START)
    assert os.listdir(os.path.dirname(path)) == ["a.bin"]


@pytest.mark.parametrize("is_durable", [True, False])
def test_what_was_added_before_a_mark_is_at_the_mark_again_what_it_was(path, is_durable):
    with Changes(path, is_durable=is_durable) as changes:
        changes.begin()
        with open(path, "ab", buffering=0) as file:
            os.write(file.fileno(), b"1" * 100)
        mark = changes.mark()
        overwrite(changes, len(START) + 20, b"2" * 10)
        overwrite(changes, len(START) - 5, b"3" * 30)
        changes.undo(mark)
        assert content(path) == START + b"1" * 100
        changes.mark()
        overwrite(changes, len(START) - 5, b"3" * 30)
        changes.undo()
        assert content(path) == START


@pytest.mark.parametrize("is_durable", [True, False])
@pytest.mark.parametrize("stay", ["commit", "checkpoint"])
@pytest.mark.parametrize("is_first", [True, False], ids=["nothing was changed", "something was changed"])
def test_what_was_let_stay_after_a_mark_is_not_taken_back_to_the_mark(path, is_first, stay, is_durable):
    changes = Changes(path, is_durable=is_durable)
    if not is_first:
        transaction(changes, 1)
    mark = changes.mark()
    transaction(changes, 2)
    getattr(changes, stay)()
    kept = content(path)
    changes.undo(mark)  # nothing
    assert content(path) == kept
    transaction(changes, 3)
    changes.undo(mark)
    assert content(path) == kept
    transaction(changes, 4)
    changes.undo()
    assert content(path) == kept
    transaction(changes, 5)
    changes.close()
    assert content(path) == kept


@pytest.mark.parametrize("is_durable", [True, False])
def test_the_first_mark_is_one_as_others_are(path, is_durable):
    with Changes(path, is_durable=is_durable) as changes:
        changes.checkpoint()
        mark = changes.mark()
        overwrite(changes, 10, b"x" * 10)
        changes.undo(mark)
        assert content(path) == START
        with open(path, "ab", buffering=0) as file:
            os.write(file.fileno(), b"1" * 100)
        second = changes.mark()
        overwrite(changes, 10, b"y" * 10)
        changes.undo(second)
        assert content(path) == START + b"1" * 100
        changes.undo()
        assert content(path) == START
        overwrite(changes, len(START) - 5, b"z" * 50)  # without `begin`: how long it is now is noted
        changes.undo()
        assert content(path) == START


def test_what_was_added_before_a_mark_is_cut_off_after_a_kill(path):
    def change():
        changes = Changes(path)
        changes.begin()
        with open(path, "ab", buffering=0) as file:
            os.write(file.fileno(), b"1" * 100)
        changes.mark()
        overwrite(changes, len(START) + 20, b"2" * 10)
        os.kill(os.getpid(), signal.SIGKILL)

    killed(change, -1)
    assert repair(path)
    assert content(path) == START


def test_a_failed_operation_takes_back_itself_and_leaves_what_was_changed_before(path):
    with Changes(path) as changes:
        overwrite(changes, 10, b"before")
        with UndoableFile(changes) as file:
            file.seek(8)
            file.write(b"x" * 100)
            file.truncate(5000)
            file.seek(0)
            assert file.read(20) == START[:8] + b"x" * 12
            file.undo()
        assert content(path) == START[:10] + b"before" + START[16:]
        changes.undo()
    assert content(path) == START


def test_a_torn_journal_is_read_as_far_as_it_is_whole(path):
    def change():
        changes = Changes(path)
        overwrite(changes, 0, b"A" * 64)
        changes.keep(os.open(path, os.O_RDONLY), 1000, 64)
        os.kill(os.getpid(), signal.SIGKILL)  # before the second is overwritten

    killed(change, -1)
    changed, journal = content(path), content(journal_path(path))
    second = len(journal) - 64 - HEAD_BYTES
    for length in range(len(journal)):
        with open(path, "wb") as file, open(journal_path(path), "wb") as torn:
            file.write(changed)
            torn.write(journal[:length])
        is_repaired = repair(path)
        assert content(path) == (START if length >= second else changed), length
        assert is_repaired or length < second
        assert not os.path.exists(journal_path(path))


def test_a_journal_whose_bytes_are_damaged_changes_nothing_behind_the_damage(path):
    def change():
        changes = Changes(path)
        overwrite(changes, 0, b"A" * 64)
        os.kill(os.getpid(), signal.SIGKILL)

    killed(change, -1)
    changed, journal = content(path), content(journal_path(path))
    for at in range(0, len(journal), 3):
        with open(path, "wb") as file, open(journal_path(path), "wb") as damaged:
            file.write(changed)
            damaged.write(journal[:at] + bytes([journal[at] ^ 0x55]) + journal[at + 1 :])
        repair(path)
        assert content(path) == changed
