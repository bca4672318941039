"""Faults of a cluster: OSDs, monitors and pools that are gone or full, wrong keys, killed clients."""

from __future__ import annotations

import concurrent.futures
import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ceph
import swath
from mpi_runs import run_ranks
from swath import _core

pytestmark = ceph.needs_cluster

WRITER = """
import sys, numpy as np, swath
v = np.full((400, 1000), float(sys.argv[2]))
print("begun", flush=True)
with swath.create(sys.argv[1], v.shape, v.dtype, overwrite=True) as a:
    a.write(v)
"""


@pytest.mark.timeout(300)
def test_a_client_killed_at_any_moment_of_a_creation_leaves_the_old_file_or_the_new_one() -> None:
    path = ceph.name(f"kill/{os.getpid()}.npy", stripe="65536,2,262144")
    with swath.create(path, (400, 1000), "f8") as a:
        a.write(np.zeros((400, 1000)))
    rng = random.Random(7)
    seen = {0.0}
    for turn in range(1, 51):
        writer = subprocess.Popen([sys.executable, "-c", WRITER, path, str(turn)], stdout=subprocess.PIPE, text=True)
        assert writer.stdout is not None
        assert writer.stdout.readline() == "begun\n"
        time.sleep(rng.uniform(0, 0.4))
        writer.send_signal(signal.SIGKILL)
        writer.wait()
        with swath.open(path) as a:
            got = a.read()
        assert (got == got[0, 0]).all(), turn
        assert got[0, 0] in seen | {float(turn)}
        seen = {float(got[0, 0])}
    left: list[str] = []
    for _ in range(30):  # until the watches of those that are gone have ended (5 s in tools/ceph.sh)
        time.sleep(1)
        with swath.create(path, (5,), "f8", overwrite=True) as a:
            a.write(np.zeros(5))
        left = [line for line in ceph.rados("ls").splitlines() if line.startswith(f"kill/{os.getpid()}.npy")]
        if len(left) == 2:
            break
    assert len(left) == 2, left  # the name, and the one object of what it means


def test_a_pool_that_is_not_there_and_a_name_that_is_none_say_so() -> None:
    with pytest.raises(swath.StoreError, match="no pool of that name"):
        swath.open(ceph.name("a.npy").replace("rados:swath/", "rados:nothing/"))
    with pytest.raises(swath.ArgumentError, match="expected rados:POOL/NAME"):
        swath.open("rados:swath")
    with pytest.raises(swath.StoreError, match=r"its configuration is not in /none.conf"):
        swath.open("rados:swath/a.npy?conf=/none.conf")


def test_a_file_that_is_replaced_while_it_is_open_is_not_read_as_zeros() -> None:
    path = ceph.name(f"replaced/{os.getpid()}.npy")
    with swath.create(path, (100,), "f8") as a:
        a.write(np.ones(100))
    with swath.open(path) as reading:
        with swath.create(path, (100,), "f8", overwrite=True) as a:
            a.write(np.full(100, 2.0))
        with pytest.raises(swath.StoreError, match="replaced or removed while it was open"):
            reading.read()


def test_what_is_written_into_a_file_that_was_replaced_is_missed_at_the_latest_when_it_is_closed() -> None:
    path = ceph.name(f"written/{os.getpid()}.npy")
    make(path)
    a = swath.open(path, mode="r+")
    make(path)
    a.write(np.zeros(10))
    with pytest.raises(swath.StoreError, match="replaced or removed while it was open"):
        a.close()
    assert (swath.open(path).read() == 1).all()
    with swath.open(path, mode="r+"):  # nothing is written
        make(path)


@pytest.fixture(scope="module")
def own() -> Any:
    """A cluster with one copy of each object. Its monitor takes no OSD for dead that hangs or is gone.

    Else whether it does, and when, hangs on how long the test took: an OSD that went on again counted as up until what
    the other one had reported of it arrived, was then taken out of the map, and came back, under the test's next calls.
    """
    with ceph.cluster(CEPH_STORE="bluestore", CEPH_AUTH="cephx", CEPH_SIZE=1, CEPH_OSDS=2) as cluster:
        cluster.run("osd", "set", "nodown")
        yield cluster


def make(path: str) -> None:
    with swath.create(path, (10,), "f8", overwrite=True) as a:
        a.write(np.ones(10))


def set_full_ratios(own: ceph.Cluster, near: float, backfill: float, full: float) -> None:
    """Set the ratios from which on OSDs count as full: they must be ascending."""
    for name, ratio in (("nearfull", near), ("backfillfull", backfill), ("full", full)):
        own.run("osd", f"set-{name}-ratio", str(ratio))


def wait_until(action: Callable[[], Any]) -> None:
    """Repeat the action until it succeeds: all servers must know of the change first."""
    for _ in range(60):
        with contextlib.suppress(swath.StoreError):
            return action()
        time.sleep(0.5)
    return action()


def wait_for_error(action: Callable[[], Any], words: str) -> None:
    """Repeat the action until it fails with this StoreError: all servers must know of the change first."""
    for _ in range(60):
        try:
            action()
        except swath.StoreError as error:
            said = str(error)
            break
        time.sleep(0.5)
    else:
        said = "nothing, for half a minute"
    assert words in said


@ceph.needs_own_cluster
def test_a_wrong_key_says_so(own: ceph.Cluster) -> None:
    good = ceph.name("key.npy", conf=own.conf)
    with swath.create(good, (10,), "f8") as a:
        a.write(np.ones(10))
    with pytest.raises(swath.StoreError, match="the key of the user is not the cluster's"):
        swath.open(ceph.name("key.npy", conf=str(own.folder / "wrong.conf")))


@ceph.needs_own_cluster
def test_a_full_pool_and_a_removed_one_say_so_and_leave_nothing_under_the_name(own: ceph.Cluster) -> None:
    own.run("osd", "pool", "create", "small", "8")
    path = ceph.name("full.npy", conf=own.conf, timeout=20).replace("rados:swath/", "rados:small/")
    with swath.create(path, (10,), "f8") as a:
        a.write(np.ones(10))
    set_full_ratios(own, 0.00001, 0.00001, 0.00001)
    wait_for_error(lambda: make(path.replace("full", "other")), "full")
    set_full_ratios(own, 0.85, 0.90, 0.95)
    wait_until(lambda: make(path))
    assert (swath.open(path).read() == 1).all()
    with contextlib.suppress(swath.NotFoundError):  # all of it is there, where it was made before they had heard
        assert (swath.open(path.replace("full", "other")).read() == 1).all()
    own.run("osd", "pool", "delete", "small", "small", "--yes-i-really-really-mean-it")
    wait_for_error(lambda: swath.open(path).read(), "pool")


def osd_of(own: ceph.Cluster, item: str) -> str:
    """Return the OSD of an object."""
    return f"osd.{json.loads(own.run('osd', 'map', 'swath', item, '--format', 'json'))['acting_primary']}"


@ceph.needs_own_cluster
@pytest.mark.timeout(200)
def test_an_osd_that_hangs_when_the_old_file_is_removed_leaves_the_new_one(own: ceph.Cluster) -> None:
    own.wait_for_osds(2)
    for number in range(100):  # until the new file and the name are on the one, the old file on the other
        file = f"hangs/{number}.npy"
        path = ceph.name(file, conf=own.conf, timeout=4)
        make(path)
        old = osd_of(own, f"{_core.striped_name(path)}.{0:016x}")
        a = swath.create(path, (10,), "f8", overwrite=True)
        a.write(np.full(10, 2.0))
        new = osd_of(own, f"{a._stored.file.path.partition('?')[0].partition('/')[2]}.{0:016x}")
        if old != new and osd_of(own, file) == new:
            break
        a.close()
    own.signal(old, signal.SIGSTOP)
    try:
        a.close()
        assert (swath.open(path).read() == 2).all()
    finally:
        own.signal(old, signal.SIGCONT)
    wait_until(lambda: make(path))
    left = [line for line in ceph.rados("ls", conf=own.conf).splitlines() if line.startswith(file)]
    assert len(left) == 2, left


@ceph.needs_own_cluster
@pytest.mark.timeout(200)
def test_threads_go_on_while_another_waits_to_create_a_file(own: ceph.Cluster) -> None:
    own.wait_for_osds(2)
    file = "waits.npy"
    path = ceph.name(file, conf=own.conf, timeout=5)
    make(path)
    osd = osd_of(own, file)
    with concurrent.futures.ThreadPoolExecutor() as threads:
        own.signal(osd, signal.SIGSTOP)
        made = threads.submit(make, path)
        time.sleep(1)
        own.signal(osd, signal.SIGCONT)
        made.result()


@ceph.needs_own_cluster
def test_an_osd_that_is_gone_is_a_timeout_on_all_ranks(own: ceph.Cluster, tmp_path: Path) -> None:
    path = ceph.name("gone.npy", conf=own.conf, timeout=6)
    with swath.create(f"{path}&stripe=4096,8,65536", (64, 1024), "f8") as a:
        a.write(np.ones((64, 1024)))
    program = tmp_path / "ranks.py"
    program.write_text(
        "import sys, numpy as np, swath\n"
        "from mpi4py import MPI\n"
        "comm = MPI.COMM_WORLD\n"
        "rows = swath.Distribution((swath.Block(), swath.Whole()), grid=(comm.size, 1))\n"
        "try:\n"
        "    with swath.open(sys.argv[1], mode='r+', comm=comm) as a:\n"
        "        import os, signal\n"
        "        if comm.rank == 0: os.kill(int(sys.argv[2]), signal.SIGKILL)\n"
        "        comm.Barrier()\n"
        "        a.write(np.full(rows.local_shape(a.shape, comm.rank), 2.0), rows)\n"
        "except swath.StoreError as error:\n"
        "    print('rank', comm.rank, error, flush=True)\n"
    )
    pid = (own.folder / "run" / "osd.1.pid").read_text().strip()
    result = run_ranks(2, str(program), path, pid, seconds_max=100)
    assert result.returncode == 0, result.stdout + result.stderr
    assert result.stdout.count("Connection timed out") == 2, result.stdout + result.stderr
    assert "of pool swath on" in result.stdout


@ceph.needs_own_cluster
def test_a_monitor_that_is_gone_says_so(own: ceph.Cluster) -> None:
    own.kill("mon.a")
    program = f"import swath; swath.open({ceph.name('gone.npy', conf=own.conf, timeout=5)!r})"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=100, check=False)
    assert done.returncode != 0
    assert "no monitor answered" in done.stderr, done.stderr


@pytest.fixture(scope="module")
def replicated() -> Any:
    with ceph.cluster(CEPH_STORE="bluestore", CEPH_SIZE=2, CEPH_OSDS=3) as cluster:
        yield cluster


def write_rows_while(path: str, row: int, happens: Callable[[], None]) -> None:
    """Write each row by itself, with its number; `happens` runs before one of them. All rows must exist at the end."""
    shape = (64, 4096)
    with swath.create(f"{path}&stripe=4096,8,65536", shape, "f8") as a:
        a.write(np.zeros(shape))
    with swath.open(path, mode="r+") as a:
        for i in range(shape[0]):
            if i == row:
                happens()
            a[i] = float(i)
    with swath.open(path) as a:
        assert (a.read() == np.arange(64.0)[:, None]).all()


@ceph.needs_own_cluster
@pytest.mark.timeout(200)
def test_with_two_copies_an_osd_that_hangs_is_waited_for_and_told_of(
    replicated: ceph.Cluster,
) -> None:
    path = ceph.name("hangs.npy", conf=replicated.conf)
    with pytest.warns(swath.WaitWarning, match=r"hangs\.npy.* at .*on osd\.\d: no answer for 3 s; waiting"):
        write_rows_while(path, 20, lambda: replicated.signal("osd.1", signal.SIGSTOP))
    replicated.signal("osd.1", signal.SIGCONT)


@ceph.needs_own_cluster
@pytest.mark.timeout(200)
def test_with_two_copies_an_osd_may_be_killed_while_it_is_written(replicated: ceph.Cluster) -> None:
    replicated.wait_for_osds(3)
    write_rows_while(ceph.name("two.npy", conf=replicated.conf), 20, lambda: replicated.kill("osd.1"))
