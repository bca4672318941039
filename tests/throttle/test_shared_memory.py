"""Tokens in shared memory: their owners, and what killed and forked processes leave."""

import contextlib
import multiprocessing
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from pathlib import Path

import numpy as np
import pytest

import swath
from mpi_runs import run_well
from swath import _core
from swath.commands import doctor
from swath.throttle import throttle

NOBODY = 65534
STRANGER = 65533
SECONDS_MAX = 60


@pytest.fixture(autouse=True)
def shared(monkeypatch):
    """Return this test's own folder of shared memory, not made yet, in a folder for everybody."""
    for name in list(os.environ):
        if name.startswith("SWATH_STREAMS"):
            monkeypatch.delenv(name)
    around = Path(tempfile.mkdtemp(dir="/dev/shm", prefix="swath-test-"))
    around.chmod(0o777)
    monkeypatch.setenv("SWATH_SHM_DIR", str(around / "own"))
    yield around / "own"
    shutil.rmtree(around)


@pytest.fixture
def raw(shared):
    """A file that every user can read."""
    path = shared.parent / "a.raw"
    np.arange(1000.0).tofile(path)
    return str(path)


def opened(path):
    return swath.open(path, shape=1000, dtype="f8")


def tables(shared):
    return sorted(path.name for path in shared.iterdir()) if shared.exists() else []


def status_of_child(child):
    """Return the exit status of a child; a child that does not end is killed, which is a failure."""
    for _ in range(SECONDS_MAX * 100):
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return status
        time.sleep(0.01)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    pytest.fail(f"the child has not ended after {SECONDS_MAX} s: a hang")


def in_child(work):
    """Return whether `work()` succeeded in a forked process."""
    child = os.fork()
    if child == 0:
        try:
            work()
            os._exit(0)
        except BaseException:  # noqa: BLE001 - the test's process must not go on in the child
            traceback.print_exc()
        finally:
            os._exit(1)
    return status_of_child(child) == 0


# ------------------------------------------------------------------------------------------------------ other users


def status_command():
    command = [sys.executable, "-m", "swath.commands.cli", "throttle", "status"]
    return subprocess.run(command, capture_output=True, text=True, timeout=SECONDS_MAX, check=True)


def test_a_folder_that_others_may_use_is_refused_and_says_so(shared, raw):
    shared.mkdir()
    shared.chmod(0o777)
    os.mkfifo(shared / "table-2-0")
    refused = f"{shared}: other users may use it (mode 0777, expected 0700)"
    with opened(raw) as a:
        assert a._stored.file.throttle.reason.startswith(refused)
        assert a._stored.file.throttle.reason.endswith("this process counts its own streams only")
        assert a.streams.streams == 1
        np.testing.assert_array_equal(a[:10], np.arange(10))
    told = status_command()
    assert told.stdout == ""
    assert f"not every program can be seen: {refused}" in told.stderr


def test_doctor_tells_of_a_folder_that_is_refused(shared):
    assert doctor._shared_memory().state == "ok"
    shared.chmod(0o750)
    found = doctor._shared_memory()
    assert found.state == "without"
    assert f"{shared}: other users may use it (mode 0750, expected 0700)" in found.found


def test_ranks_whose_folder_is_refused_send_messages(shared):
    assert "all right" in run_well(2, "property_ranks.py", 77, 4)
    assert tables(shared) == []
    shared.chmod(0o777)
    assert "all right" in run_well(2, "property_ranks.py", 77, 4)
    assert tables(shared) == []


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be two users")
@pytest.mark.parametrize("planted", ["folder", "link", "file"])
def test_what_another_user_has_planted_neither_hangs_nor_crashes(shared, raw, planted):
    """Another user was first, with pipes and invalid files inside."""
    place = shared.parent / "strangers" if planted == "link" else shared
    if planted == "file":
        place.write_bytes(b"\xff" * 200_000)
    else:
        place.mkdir()
        os.mkfifo(place / "table-2-0")
        (place / "table-2-1").write_bytes(b"\xff" * 200_000)
        place.chmod(0o777)
    os.chown(place, STRANGER, STRANGER)
    if planted == "link":
        shared.symlink_to(place)
        os.chown(shared, STRANGER, STRANGER, follow_symlinks=False)

    def work():
        os.setgid(NOBODY)
        os.setuid(NOBODY)
        os.environ["SWATH_PROFILE"] = "none"
        with opened(raw) as a:
            assert str(shared) in a._stored.file.throttle.reason
            np.testing.assert_array_equal(a[:10], np.arange(10))
        with swath.stream(raw, streams=1):
            pass
        targets, reason = throttle.status_and_reason()
        assert targets == []
        assert "no folder" in reason or f"it belongs to user {STRANGER}, expected {NOBODY}" in reason

    assert in_child(work)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be two users")
def test_users_have_folders_of_their_own(monkeypatch):
    """Without $SWATH_SHM_DIR: /dev/shm/swath-UID."""
    monkeypatch.delenv("SWATH_SHM_DIR")
    uid = 2_000_000_000 + os.getpid() % 100_000  # nobody has this one
    mine = Path(f"/dev/shm/swath-{uid}")

    def work():
        os.setuid(uid)
        tokens, reason = _core.node_tokens("test", "disk")
        assert (tokens.streams, reason) == (0, "")
        assert mine.stat().st_mode & 0o7777 == 0o700
        (table,) = mine.iterdir()
        assert table.stat().st_mode & 0o7777 == 0o600

    try:
        assert in_child(work)
    finally:
        shutil.rmtree(mine)


def test_a_table_that_cannot_be_trusted_is_not_shown_and_said(shared, raw):
    with opened(raw):
        (shared / "table-2-0").symlink_to("/dev/zero")
        os.mkfifo(shared / "table-2-1")
        targets, reason = throttle.status_and_reason()
        assert len(targets) == 1
        assert f"{shared}/table-2-" in reason


# ------------------------------------------------------------------------------------------------------------ kills


def test_after_100_kills_one_start_leaves_nothing(shared, raw):
    """The killed programs have open arrays, hold tokens in blocks, or wait for one."""

    def work(number, ready):
        with contextlib.ExitStack() as open_ones:
            tokens, _ = _core.node_tokens(f"of its own {number}", "disk")
            tokens.enter()
            open_ones.enter_context(opened(raw))
            ready.release()
            open_ones.enter_context(swath.stream(shared.parent, streams=1))
            time.sleep(SECONDS_MAX)

    ready = multiprocessing.Semaphore(0)
    children = []
    for number in range(100):
        children.append(os.fork())
        if children[-1] == 0:
            try:
                work(number, ready)
            finally:
                os._exit(1)
    for _ in children:
        assert ready.acquire(timeout=SECONDS_MAX)
    assert len(tables(shared)) == 101
    (common,) = [status for status in throttle.status() if not status.scope.startswith("of its own")]
    assert common.streams >= 100
    for child in children:
        os.kill(child, signal.SIGKILL)
    for child in children:
        os.waitpid(child, 0)
    assert len(tables(shared)) == 101

    def start():
        with opened(raw) as a:
            assert len(tables(shared)) == 1
            assert a.streams.streams == 1
            assert (a.streams.reads.active, a.streams.reads.waiting) == (0, 0)
        del a  # a closed array still tells of its target
        assert tables(shared) == []

    assert in_child(start)
    assert throttle.status() == []


def test_streams_of_killed_processes_are_not_counted(shared, raw):
    with opened(raw) as a:
        children = []
        ready = multiprocessing.Semaphore(0)
        for _ in range(5):
            children.append(os.fork())
            if children[-1] == 0:
                try:
                    with opened(raw), opened(raw):
                        ready.release()
                        time.sleep(SECONDS_MAX)
                finally:
                    os._exit(1)
        for _ in children:
            assert ready.acquire(timeout=SECONDS_MAX)
        assert [status.streams for status in throttle.status()] == [11]
        for child in children:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
        assert [status.streams for status in throttle.status()] == [1]
        assert a.streams.streams == 1


# ------------------------------------------------------------------------------------------------------------ forks


def test_a_forked_child_has_tokens_of_its_own_and_leaves_those_of_its_parent(shared, raw):
    with opened(raw) as a, swath.stream(shared.parent, streams=1) as block:
        before = a.streams
        table = tables(shared)

        def work():
            inherited = a._stored.file.throttle._tokens
            assert inherited.streams == 0
            assert a._stored.file.throttle.tokens is not inherited
            assert a.streams.streams == before.streams
            np.testing.assert_array_equal(a[:10], np.arange(10))  # from an engine of its own
            assert a.streams.streams == before.streams + 1
            with opened(raw) as own:
                assert own.streams.scope == before.scope, "a process and its children are one job"
                assert own.streams.streams == before.streams + 2
            block.__exit__(None, None, None)
            a._stored.file.throttle.tokens.leave()

        assert in_child(work)
        after = a.streams
        assert (after.streams, after.reads.active) == (before.streams, before.reads.active) == (2, 1)
        assert tables(shared) == table


def test_workers_of_a_pool_take_turns_with_their_parent(shared):
    with multiprocessing.get_context("fork").Pool(2) as pool:
        with swath.stream(shared.parent, streams=1):
            waited = pool.map_async(_seconds_until_a_turn, [str(shared.parent)] * 2)
            deadline = time.monotonic() + SECONDS_MAX
            while throttle.status()[0].reads.waiting < 2 and time.monotonic() < deadline:
                time.sleep(0.01)
            (status,) = throttle.status()
            assert (status.streams, status.reads.active, status.reads.waiting) == (3, 1, 2)
            time.sleep(0.1)
        assert min(waited.get(SECONDS_MAX)) > 0.05


def _seconds_until_a_turn(folder):
    begin = time.monotonic()
    with swath.stream(folder, streams=1):
        return time.monotonic() - begin


def test_a_forked_child_neither_serves_tokens_nor_ends_who_does(shared):
    tokens, _ = _core.node_tokens("server", "disk")
    throttle._servers["disk"] = _core.TokenServer(tokens)
    try:
        _, port, key = throttle._servers["disk"].address
        coordinator = throttle.Coordinator("localhost", port, key)
        remote = throttle._remote_tokens(coordinator, "disk")
        grant = remote.acquire(False, 1 << 20, 1)

        def work():
            assert throttle._servers == {}
            remote.give_back(grant, 1 << 20, False)  # the parent's: of no effect
            own = throttle._remote_tokens(coordinator, "disk")
            assert own is not remote
            own.give_back(own.acquire(False, 1 << 20, 0), 1 << 20, False)

        assert in_child(work)
        deadline = time.monotonic() + SECONDS_MAX
        while tokens.status()["reads"]["active"] != 1 and time.monotonic() < deadline:
            time.sleep(0.01)  # until the server has heard of the child's
        assert tokens.status()["reads"]["active"] == 1
        remote.give_back(grant, 1 << 20, False)
        remote.give_back(remote.acquire(False, 1 << 20, 1), 1 << 20, False)
        assert tokens.status()["reads"]["grants"] == 3
    finally:
        throttle._servers.clear()
        throttle._remote_tokens.cache_clear()
