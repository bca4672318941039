"""Changes of a file that are taken back: while the process lives, and after it was killed at any moment."""

import errno
import itertools
import json
import mmap
import os
import random
import signal
import subprocess
import sys

import pytest

from kills import killed
from swath.errors import ArgumentError, StoreError
from swath.formats import changes as changes_module
from swath.formats import changes_log, changes_start
from swath.formats.changes import Changes, journal_path, repair, replacing
from swath.formats.undo import UndoableFile

START = bytes(range(256)) * 40


@pytest.fixture
def path(tmp_path):
    (tmp_path / "a.bin").write_bytes(START)
    return str(tmp_path / "a.bin")


def content(path):
    with open(path, "rb") as file:
        return file.read()


def overwrite(changes, offset, data):
    """As whoever changes a file does it: what is there is kept before."""
    with open(changes.path, "r+b", buffering=0) as file:
        changes.keep(file.fileno(), offset, len(data))
        os.pwrite(file.fileno(), data, offset)


def transaction(changes, number):
    """A few changes, here and there and behind the end, the same ones for the same number."""
    chance = random.Random(number)
    changes.begin()
    for _ in range(3):
        overwrite(changes, chance.randrange(len(START)), chance.randbytes(chance.randrange(1, 300)))
    with open(changes.path, "ab", buffering=0) as file:
        os.write(file.fileno(), chance.randbytes(100))


def states(path, count):
    """What the file holds after so many transactions, from none on."""
    found = [content(path)]
    with Changes(path, is_durable=False) as changes:
        for number in range(count):
            transaction(changes, number)
            changes.commit()
            found.append(content(path))
    return found


@pytest.mark.parametrize("stay", ["commit", "settle", "settle, the journal being long"])
def test_a_kill_at_any_call_leaves_what_was_let_stay_last(path, stay, monkeypatch):
    expected = states(path, 3)
    stay, _, is_long = stay.partition(", ")
    if is_long:
        monkeypatch.setattr(changes_module, "LONG_BYTES", 1000)

    def work():
        with Changes(path) as changes:
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


@pytest.mark.parametrize("is_durable", [True, False])
def test_the_journal_of_many_settled_changes_stays_short(path, is_durable, monkeypatch):
    monkeypatch.setattr(changes_module, "LONG_BYTES", 5000)
    changes = Changes(path, is_durable=is_durable)
    lengths = []
    for number in range(100):
        transaction(changes, number % 10)
        settled = content(path)
        changes.settle()
        lengths.append(changes._log.end())
        assert lengths[-1] < 3 * 5000  # ten transactions keep less than 5000
        transaction(changes, number % 7)
        changes.undo()
        assert content(path) == settled
    if not is_durable:
        assert lengths == [0] * 100
        changes.close()
    else:
        shortened = [n for n in range(1, 100) if lengths[n] < lengths[n - 1]]
        assert len(shortened) > 3
        transaction(changes, 5)
        changes._log.close()  # as a kill does
        assert repair(path)
    assert content(path) == settled
    assert os.listdir(os.path.dirname(path)) == ["a.bin"]


def test_a_journal_that_cannot_be_written_anew_stays_as_it_is(path, monkeypatch):
    monkeypatch.setattr(changes_module, "LONG_BYTES", 1000)
    os.mkdir(f"{journal_path(path)}.new")
    changes = Changes(path)
    for number in range(5):
        transaction(changes, number)
        changes.settle()
    settled = content(path)
    assert changes._log.end() > 2000
    os.rmdir(f"{journal_path(path)}.new")
    with monkeypatch.context() as full:
        full.setattr(os, "rename", fail)
        transaction(changes, 0)
        changes.undo()
        changes.begin()
        changes.settle()
    assert not os.path.lexists(f"{journal_path(path)}.new")
    transaction(changes, 5)
    changes._log.close()
    assert repair(path)
    assert content(path) == settled


def fail(*_):
    raise OSError(errno.ENOSPC, "No space left on device")


def test_nobody_else_gets_a_journal_that_is_written_anew(path, monkeypatch):
    monkeypatch.setattr(changes_module, "LONG_BYTES", 1000)
    changes = Changes(path)
    for number in range(9):
        transaction(changes, number)
        changes.settle()
        with pytest.raises(StoreError, match="another program is changing it"):
            Changes(path, lock_seconds=0)
        assert not repair(path)
    changes.close()
    Changes(path).close()


@pytest.mark.parametrize("long_bytes", [1 << 20, 500, 0])
def test_where_the_machine_stopped_all_is_taken_back_to_the_last_commit(path, monkeypatch, long_bytes):
    monkeypatch.setattr(changes_module, "LONG_BYTES", long_bytes)
    changes = Changes(path)
    transaction(changes, 1)
    changes.commit()
    committed = content(path)
    transaction(changes, 2)
    changes.settle()
    settled = content(path)
    transaction(changes, 3)
    changes.undo()
    assert content(path) == settled
    transaction(changes, 4)
    changes.settle()
    transaction(changes, 5)
    changes._log.close()  # as a kill does
    monkeypatch.setattr(changes_module, "_boot_id", lambda: b"another")
    assert repair(path)
    assert content(path) == committed


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
@pytest.mark.parametrize("stay", ["commit", "settle"])
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
    if is_durable:
        changes._log.close()  # as a kill does
        assert repair(path)
    else:
        changes.close()
    assert content(path) == kept


@pytest.mark.parametrize("is_durable", [True, False])
def test_the_first_mark_is_one_as_others_are(path, is_durable):
    with Changes(path, is_durable=is_durable) as changes:
        changes.settle()
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
    second = len(journal) - 64 - changes_log._HEAD.size
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


def test_the_journal_of_an_owner_that_lives_is_left_alone(path):
    program = (
        "import os, sys; from swath.formats.changes import Changes\n"
        f"c = Changes({path!r}); d = os.open(c.path, os.O_RDWR); c.keep(d, 0, 8); os.pwrite(d, b'changed!', 0)\n"
        "print('ready', flush=True); sys.stdin.read(); os._exit(9)"
    )
    with subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout.readline() == b"ready\n"
        assert not repair(path)
        assert content(path)[:8] == b"changed!"
        with pytest.raises(StoreError, match=rf"another program is changing it: process {other.pid} .* holds"):
            Changes(path)
        other.stdin.close()
        other.wait()
    assert repair(path)
    assert content(path) == START
    assert not repair(path)


def test_what_is_planted_under_the_journals_name_is_refused_and_not_touched(path, tmp_path):
    victim = tmp_path / "victim"
    for plant in (os.symlink, os.link, lambda _, name: os.mkfifo(name)):
        victim.write_bytes(b"mine")
        plant(victim, journal_path(path))
        for call in (repair, Changes):
            with pytest.raises(StoreError, match=r"\.a\.bin\.swath-undo: it (is|has) .*look who made it"):
                call(path)
        assert victim.read_bytes() == b"mine"
        os.unlink(journal_path(path))
        victim.unlink()
    assert content(path) == START


def killed_while_changing(path):
    def change():
        changes = Changes(path)
        transaction(changes, 1)
        os.kill(os.getpid(), signal.SIGKILL)

    assert killed(change, -1)


def test_a_journal_is_not_applied_to_a_file_that_has_replaced_its_own(path, tmp_path):
    for call in (repair, lambda path: Changes(path).close()):
        (tmp_path / "older").write_bytes(b"another")
        killed_while_changing(path)
        os.rename(path, tmp_path / "kept")
        os.rename(tmp_path / "older", path)
        with pytest.raises(StoreError, match=r"If the file was replaced, remove the journal") as raised:
            call(path)
        assert raised.value.errno == errno.ESTALE
        assert content(path) == b"another"
        os.rename(tmp_path / "kept", path)  # it can be taken back there still
        assert repair(path)
        assert content(path) == START


@pytest.mark.parametrize("long_bytes", [1 << 20, 0], ids=["", "a journal that was written anew"])
def test_the_journal_of_a_file_that_a_younger_one_has_replaced_goes(path, tmp_path, monkeypatch, long_bytes):
    monkeypatch.setattr(changes_module, "LONG_BYTES", long_bytes)

    def change():
        changes = Changes(path)
        transaction(changes, 1)
        changes.settle()
        transaction(changes, 2)
        os.kill(os.getpid(), signal.SIGKILL)

    for call in (lambda: repair(path), lambda: Changes(path).close()):
        assert killed(change, -1)
        (tmp_path / "new").write_bytes(b"another")
        os.rename(tmp_path / "new", path)
        assert not call()
        assert content(path) == b"another"
        assert os.listdir(tmp_path) == ["a.bin"]


def test_a_file_that_got_the_inode_of_the_one_that_was_removed_is_another(path, tmp_path):
    for _ in range(50):
        killed_while_changing(path)
        inode = os.stat(path).st_ino
        os.unlink(path)
        with open(path, "wb") as file:
            file.write(b"restored" * 5000)
        if os.stat(path).st_ino == inode:
            break
        os.unlink(journal_path(path))
    else:
        pytest.skip("this file system does not give an inode's number again at once")
    assert not repair(path)
    assert content(path) == b"restored" * 5000
    assert os.listdir(tmp_path) == ["a.bin"]


def test_without_times_of_birth_inodes_alone_tell_files(path, tmp_path, monkeypatch):
    monkeypatch.setattr(changes_start, "_statx", lambda: None)
    killed_while_changing(path)
    assert repair(path)
    assert content(path) == START
    killed_while_changing(path)
    (tmp_path / "new").write_bytes(b"another")
    os.rename(tmp_path / "new", path)
    with pytest.raises(StoreError, match=r"If the file was replaced, remove the journal"):
        repair(path)
    assert content(path) == b"another"


def test_a_journal_that_does_not_tell_when_its_file_was_made_is_known_by_the_inode(path, monkeypatch):
    def data(start):
        return json.dumps({"swath": 1, "file": start.file.inode, "size": start.size}).encode()

    with monkeypatch.context() as older:
        older.setattr(changes_start.Start, "data", data)
        killed_while_changing(path)
    assert repair(path)
    assert content(path) == START


@pytest.mark.parametrize("is_now", [True, False])
def test_what_was_to_be_taken_back_goes_with_the_file_that_is_replaced(path, tmp_path, is_now):
    killed_while_changing(path)
    with pytest.raises(ZeroDivisionError), replacing(path, is_now=is_now):
        raise ZeroDivisionError
    with replacing(path, is_now=is_now):
        assert os.path.getsize(journal_path(path)) > 0  # were it killed now, the old file could be repaired
    assert os.listdir(tmp_path).count(".a.bin.swath-undo") == (not is_now)
    assert repair(path) == (not is_now)


def test_a_file_that_another_one_changes_is_not_replaced(path):
    with Changes(path) as changes:
        transaction(changes, 1)
        with pytest.raises(StoreError, match="another program is changing it") as raised, replacing(path):
            raise AssertionError
    assert raised.value.errno == errno.EAGAIN
    assert content(path) == START


def test_a_file_that_was_copied_with_its_journal_is_repaired_where_that_is_said(path, tmp_path):
    killed_while_changing(path)
    copy = str(tmp_path / "b.bin")
    for source, target in ((path, copy), (journal_path(path), journal_path(copy))):
        with open(target, "wb") as file:
            file.write(content(source))
    with pytest.raises(StoreError, match="is_copy=True"):
        repair(copy)
    assert repair(copy, is_copy=True)
    assert content(copy) == START
    assert repair(path)


def test_a_journal_without_its_file_goes_and_one_is_found_by_a_link_to_the_file(path, tmp_path):
    killed_while_changing(path)
    os.symlink(path, tmp_path / "link")
    assert repair(str(tmp_path / "link"))
    assert content(path) == START
    killed_while_changing(path)
    os.unlink(path)
    assert not repair(path)
    assert sorted(os.listdir(tmp_path)) == ["link"]


def test_a_file_that_another_program_has_locked_is_not_repaired_under_its_hands(path):
    import fcntl

    killed_while_changing(path)
    with open(path, "rb") as held:
        fcntl.flock(held, fcntl.LOCK_SH)
        with pytest.raises(StoreError, match="another program has this"):
            repair(path)
    assert repair(path)


def test_the_journal_of_another_user_is_refused_unless_it_is_empty_or_its_owner_lives(path, monkeypatch):
    killed_while_changing(path)
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    with pytest.raises(StoreError, match=rf"user with number {os.getuid()} was killed while it changed the file"):
        repair(path)
    with open(journal_path(path), "r+b") as journal:
        journal.truncate()
    assert not repair(path)


# ---- Folders ---------------------------------------------------------------------------------------------------------


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
    changes.replaces(f"v{number}/zarr.json")  # which is not there: it is added
    replaced(changes.path, f"v{number}/zarr.json", "new")
    for text in ("first", "second"):
        changes.replaces("a/zarr.json")
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


def test_a_store_whose_journal_was_written_anew_goes_back_to_the_last_commit(store, monkeypatch):
    monkeypatch.setattr(changes_module, "LONG_BYTES", 0)
    before = tree(store)
    changes = Changes(store)
    for number in range(4):
        add_to_store(changes, number)
        changes.settle()
    settled = tree(store)
    add_to_store(changes, 4)
    changes.undo()
    assert tree(store) == settled
    add_to_store(changes, 5)
    changes._log.close()  # as a kill does
    monkeypatch.setattr(changes_module, "_boot_id", lambda: b"another")
    assert repair(store)
    assert tree(store) == before


def test_what_is_there_is_not_added_and_paths_stay_inside_the_store(store, tmp_path):
    with Changes(store) as changes:
        with pytest.raises(StoreError, match=r"s\.zarr: a: cannot add: it is there already"):
            changes.adds("a")
        for wrong in ("../x", "/etc/x", "", "a/../../x"):
            for call in (changes.adds, changes.replaces):
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
