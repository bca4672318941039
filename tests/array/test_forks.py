"""Forked processes that inherit an open array: the child can read, and does not touch objects of its parent."""

import multiprocessing
import os
import signal
import zlib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import swath
from swath.simulated import run_ranks
from swath.store import page_cache

VALUES = np.random.default_rng(7).random((4000, 1000))
SELECTION = np.s_[::40, ::331]
FORKS = int(os.environ.get("SWATH_TEST_FORKS", "25"))
"""The number of forks for each of four engines."""


@pytest.fixture(scope="module")
def path(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("forks") / "x.npy"
    np.save(path, VALUES)
    return path


def in_child(work, seconds_max=60):
    """Start a forked child that runs `work`; a wait for it tells whether it returned a true value in time."""
    child = os.fork()
    if child == 0:
        signal.alarm(seconds_max)  # a hang ends it
        result = False
        try:
            result = work()
        finally:
            os._exit(0 if result else 1)

    def ended_well():
        return os.waitpid(child, 0)[1] == 0

    return ended_well


@pytest.mark.parametrize("engine", ["posix", "uring", "auto", "model:ssd"])
def test_parent_and_child_read_at_once_after_a_cold_read(path, engine):
    """A cold read of many places has created a ring, if the kernel has io_uring."""
    with swath.open(path, engine=engine) as a:
        page_cache.evict(str(path))
        a[SELECTION]
        for number in range(FORKS):
            if number % 5 == 0:
                page_cache.evict(str(path))
            ended_well = in_child(lambda: np.array_equal(a[SELECTION], VALUES[SELECTION]))
            assert np.array_equal(a[SELECTION], VALUES[SELECTION])
            assert ended_well()


def checksum(values):
    return zlib.crc32(np.ascontiguousarray(values).tobytes())


def read_part(number):
    return checksum(inherited[number::100])


@pytest.mark.parametrize("engine", ["uring", "auto"])
def test_a_pool_of_forked_processes_reads_an_inherited_array(path, engine):
    global inherited
    with swath.open(path, engine=engine) as inherited:
        page_cache.evict(str(path))
        inherited[SELECTION]
        with multiprocessing.get_context("fork").Pool(3) as pool:
            read = pool.map_async(read_part, range(30)).get(timeout=120)
        assert read == [checksum(VALUES[number::100]) for number in range(30)]


def test_a_child_of_a_child_reads_too(path):
    with swath.open(path) as a:
        assert in_child(lambda: np.array_equal(a[3], VALUES[3]) and in_child(lambda: a[4, 5] == VALUES[4, 5])())()


def test_a_child_that_is_forked_while_threads_read_is_not_held_up(path):
    with swath.open(path) as a, ThreadPoolExecutor(2) as pool:
        going_on = True

        def read():
            while going_on:
                a[::3, 5]

        readers = [pool.submit(read) for _ in range(2)]
        try:
            for _ in range(10):
                assert in_child(lambda: np.array_equal(a[::40], VALUES[::40]))()
        finally:
            going_on = False
        for reader in readers:
            reader.result()


def test_a_child_neither_completes_nor_removes_what_its_parent_creates(tmp_path):
    path = tmp_path / "new.npy"

    def leave_with_an_error(a):
        try:
            with a:
                raise ValueError
        except ValueError:
            return True

    a = swath.create(path, (100,), "i4")
    a.write(np.arange(100, dtype="i4"))

    def close():
        a.close()
        return True

    assert in_child(close)()
    assert not path.exists()
    assert in_child(lambda: leave_with_an_error(a))()
    a.close()
    assert np.array_equal(np.load(path), np.arange(100))


def test_a_child_writes_to_an_inherited_array(path, tmp_path):
    np.save(tmp_path / "x.npy", np.zeros(1000))
    with swath.open(tmp_path / "x.npy", mode="r+") as a:

        def write():
            a[::2] = 1.0
            return True

        assert in_child(write)()
        assert a[::2].tolist() == [1.0] * 500
        assert a[1::2].tolist() == [0.0] * 500


def test_a_child_of_a_rank_is_no_rank(path):
    distribution = swath.Distribution((swath.Block(), swath.Whole()), grid=(2, 1))

    def body(comm):
        with swath.open(path, comm=comm) as a:

            def work():
                with pytest.raises(swath.errors.ArgumentError, match="forked from one of the ranks"):
                    a.read(distribution)
                a.close()
                return True

            assert in_child(work)()
            assert in_child(lambda: np.array_equal(a[7], VALUES[7]))()
            assert np.array_equal(a.read(distribution), np.split(VALUES, 2)[comm.rank])

    run_ranks(2, body)
