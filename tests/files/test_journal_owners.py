"""The owner of a journal: a living process, another user, or a file that was replaced, copied or removed."""

import errno
import os
import platform
import signal
import subprocess
import sys

import pytest

import kernels
from changes_cases import START, after_kill, content, transaction
from journals import with_start
from kills import killed
from swath.errors import StoreError
from swath.formats.changes import Changes, journal_path, repair, replacing

STATX = {"x86_64": 332, "aarch64": 291}.get(platform.machine(), -1)

GETEUID = {"x86_64": 107, "aarch64": 175}.get(platform.machine(), -1)
"""System call numbers."""


@pytest.fixture
def path(tmp_path):
    (tmp_path / "a.bin").write_bytes(START)
    return str(tmp_path / "a.bin")


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
def test_the_journal_of_a_file_that_a_younger_one_has_replaced_goes(path, tmp_path, long_bytes):
    def change():
        changes = Changes(path, long_bytes=long_bytes)
        transaction(changes, 1)
        changes.checkpoint()
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


def without_times_of_birth(work):
    """Run `work` in a child whose system does not report creation times."""

    def refused():
        kernels.refuse({STATX: errno.ENOSYS})
        return work()

    after_kill(refused)


def test_without_times_of_birth_inodes_alone_tell_files(path, tmp_path):
    def change():
        changes = Changes(path)
        transaction(changes, 1)
        return changes

    def check():
        assert repair(path)
        assert content(path) == START

    def refuse_another():
        with pytest.raises(StoreError, match=r"If the file was replaced, remove the journal"):
            repair(path)

    without_times_of_birth(change)
    assert b'"born": null' in content(journal_path(path))
    without_times_of_birth(check)
    without_times_of_birth(change)
    (tmp_path / "new").write_bytes(b"another")
    os.rename(tmp_path / "new", path)
    without_times_of_birth(refuse_another)
    assert content(path) == b"another"


def test_a_journal_that_does_not_tell_when_its_file_was_made_is_known_by_the_inode(path):
    killed_while_changing(path)
    with_start(journal_path(path), {"swath": 1, "file": os.stat(path).st_ino, "size": len(START)})
    assert repair(path)
    assert content(path) == START


@pytest.mark.parametrize(
    "start",
    [
        {"swath": 2, "size": 5},
        {"swath": 1},
        {"swath": 1, "size": -1},
        {"swath": 1, "size": 5, "born": "today"},
        {"swath": 1, "size": 5, "journal": [1, 2, 3]},
        {"swath": 1, "size": 2**63},
        [],
    ],
)
def test_a_first_record_that_is_none_of_this_version_is_refused(path, start):
    killed_while_changing(path)
    changed = content(path)
    with_start(journal_path(path), {"file": os.stat(path).st_ino, **start} if isinstance(start, dict) else start)
    for call in (repair, Changes):
        with pytest.raises(StoreError, match=r"is no journal of changes that this version of Swath knows") as raised:
            call(path)
        assert raised.value.errno == errno.EINVAL
    assert content(path) == changed


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


def test_the_journal_of_another_user_is_refused_unless_it_is_empty_or_its_owner_lives(path):
    def as_another(work):
        """Run `work` in a child that gets another user's id."""

        def done():
            kernels.refuse({GETEUID: errno.EPERM})  # a number, too
            assert os.geteuid() != os.getuid()
            work()

        after_kill(done)

    def refused():
        with pytest.raises(StoreError, match=rf"user with number {os.getuid()} was killed while it changed the file"):
            repair(path)
        with pytest.raises(StoreError, match=rf"belongs to the user with number {os.getuid()}, not to"):
            Changes(path)

    def nothing():
        assert not repair(path)

    killed_while_changing(path)
    as_another(refused)
    with Changes(path) as changes:
        transaction(changes, 1)
        as_another(nothing)
    killed_while_changing(path)
    with open(journal_path(path), "r+b") as journal:
        journal.truncate()
    as_another(nothing)
