"""Files in Ceph pools: opened, created, copied, verified, shown; by every method, on ranks."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ceph
import swath
from mpi_runs import run_well
from swath.files.stored_array import StoredArray

pytestmark = ceph.needs_cluster


@pytest.fixture
def path(request: pytest.FixtureRequest) -> str:
    return ceph.name(f"py/{os.getpid()}/{request.node.name}.npy")


def values(shape: tuple[int, ...], salt: int = 0) -> Any:
    return np.random.default_rng(salt).standard_normal(shape)


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "swath.commands.cli", *arguments],
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )


def test_an_array_is_created_read_and_written_in_a_pool(path: str) -> None:
    v = values((60, 70))
    with swath.create(path, v.shape, v.dtype) as a:
        a.write(v)
    with swath.open(path, mode="r+") as a:
        assert (a[3:50:7, ::5] == v[3:50:7, ::5]).all()
        a[10:20, 5] = v[10:20, 5] = -1
    assert (swath.open(path).read() == v).all()
    with pytest.raises(swath.ExistsError, match="overwrite=True"):
        swath.create(path, v.shape, v.dtype)
    with swath.create(path, (5,), "i4", overwrite=True) as a:
        a.write(np.arange(5, dtype="i4"))
    assert swath.open(path).read().tolist() == [0, 1, 2, 3, 4]


def test_a_creation_that_fails_leaves_nothing(path: str) -> None:
    def fail() -> None:
        with swath.create(path, (100,), "f8") as a:
            a.write(np.ones(100))
            raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        fail()
    with pytest.raises(swath.NotFoundError, match=r"no file of that name in pool swath"):
        swath.open(path)
    assert "a_creation_that_fails" not in ceph.rados("ls")


def test_an_interrupt_of_a_close_comes_when_the_file_has_its_name(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with swath.create(path, (100,), "f8") as a:
        a.write(np.zeros(100))
    leave_loops = StoredArray.leave_loops

    def leave_and_interrupt(self: StoredArray, why: str) -> None:
        leave_loops(self, why)
        os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(StoredArray, "leave_loops", leave_and_interrupt)
    a = swath.create(path, (100,), "f8", overwrite=True)
    a.write(np.ones(100))
    with pytest.raises(KeyboardInterrupt):
        a.close()
    assert (swath.open(path).read() == 1).all()


@pytest.mark.parametrize("stripe", ["65536,4,4194304", "1000,3,7000"])
def test_rados_striper_reads_what_swath_writes_and_the_other_way_round(path: str, tmp_path: Path, stripe: str) -> None:
    v = values((200, 300))
    created = f"{path}&stripe={stripe}"
    with swath.create(created, v.shape, v.dtype) as a:
        a.write(v)
    facts = json.loads(run("info", path, "--json").stdout)
    striped = facts["striped"]
    ceph.rados("--striper", "get", striped, str(tmp_path / "got.npy"))
    assert (np.load(tmp_path / "got.npy") == v).all()
    np.save(tmp_path / "put.npy", v + 1)
    ceph.rados("--striper", "put", f"put/{os.getpid()}/{stripe}.npy", str(tmp_path / "put.npy"))
    put = ceph.name(f"put/{os.getpid()}/{stripe}.npy")
    assert (swath.open(put).read() == v + 1).all()
    with swath.open(put, mode="r+") as a:
        a[7] = 0
    ceph.rados("--striper", "get", f"put/{os.getpid()}/{stripe}.npy", str(tmp_path / "again.npy"))
    v[7] = -1
    assert (np.load(tmp_path / "again.npy") == v + 1).all()


def test_copies_go_into_pools_and_out_of_them_and_are_verified(path: str, tmp_path: Path) -> None:
    v = values((300, 200))
    np.save(tmp_path / "a.npy", v)
    swath.copy(tmp_path / "a.npy", path)
    assert (swath.open(path).read() == v).all()
    swath.copy(path, tmp_path / "turned.npy", axes=(1, 0))
    assert (np.load(tmp_path / "turned.npy") == v.T).all()
    turned = path.replace(".npy?", ".turned.npy?")
    assert run("copy", path, turned, "--axes", "1,0").returncode == 0
    assert run("verify", str(tmp_path / "turned.npy"), turned).returncode == 0
    with swath.open(turned, mode="r+") as a:
        a[3, 4] += 1
    different = run("verify", str(tmp_path / "turned.npy"), turned)
    assert different.returncode == 1, different.stdout + different.stderr
    with pytest.raises(swath.UnsupportedError, match="not resumed"):
        swath.copy(tmp_path / "a.npy", path, overwrite=True, resume=True)


def test_netcdf_classic_is_read_and_written_and_what_cannot_be_says_so(tmp_path: Path, path: str) -> None:
    nc = path.replace(".npy", ".nc")
    with swath.create(nc, (30, 40), "f4", variable="t", dimensions=("y", "x"), attributes={"units": "K"}) as a:
        a.write(np.full((30, 40), 2, "f4"))
    with swath.open_file(nc) as f:
        assert f["t"].attributes["units"] == "K"
        assert f["t"].read().sum() == 2400
    assert "t" in run("info", nc).stdout
    assert run("info", nc.replace(".nc?", ".nc:t?")).returncode == 0
    with pytest.raises(swath.UnsupportedError, match="not what they hold"), swath.open_file(nc, mode="r+") as f:
        f["t"].attributes["units"] = "C"
    for other, what in ((".h5", "hdf5"), (".zarr", "folder|zarr")):
        with pytest.raises(swath.UnsupportedError, match=what):
            swath.create(path.replace(".npy", other), (10,), "f8", variable="v")
    import h5py

    with h5py.File(tmp_path / "a.h5", "w") as f:
        f["v"] = np.arange(5)
    put = f"put/{os.getpid()}/a.h5"
    ceph.rados("--striper", "put", put, str(tmp_path / "a.h5"))
    with pytest.raises(swath.UnsupportedError, match="its own library"):
        swath.open(ceph.name(put))


@pytest.mark.parametrize("ranks", [1, 2, 3, 4])
def test_every_method_reads_and_writes_what_numpy_does_in_pools(ranks: int) -> None:
    assert "all right" in run_well(ranks, "rados_ranks.py", 3000 * ranks, 12, seconds_max=300)


JOB = """
import sys, time, numpy as np, swath
path, job, seconds = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
methods = ["datatype", "list", "direct", "sieve", "two-phase"]
own = np.s_[:, job::5]
end, turn = time.monotonic() + seconds, 0
with swath.open(path, mode="r+") as a:
    while time.monotonic() < end or turn < len(methods):
        value = 1000.0 * job + turn % 997
        a.write(np.full(a[own].shape, value), selection=own, method=methods[(turn + job) % len(methods)])
        assert (a.read(selection=own) == value).all(), (job, turn)
        turn += 1
print(value)
"""


@pytest.mark.timeout(200)
def test_four_jobs_write_into_each_others_gaps(path: str) -> None:
    """Write by all methods, for SWATH_JOBS_SECONDS; bytes that none of them writes are unchanged."""
    seconds = float(os.environ.get("SWATH_JOBS_SECONDS", "10"))
    v = values((64, 50))
    with swath.create(f"{path}&stripe=1000,4,4000", v.shape, "f8") as a:
        a.write(v)
    jobs = [
        subprocess.Popen([sys.executable, "-c", JOB, path, str(job), str(seconds)], stdout=subprocess.PIPE, text=True)
        for job in range(4)
    ]
    last = [float(job.communicate(timeout=seconds + 100)[0]) for job in jobs]
    got = swath.open(path).read()
    for job in range(4):
        assert (got[:, job::5] == last[job]).all()
    assert (got[:, 4::5] == v[:, 4::5]).all()


def test_plans_count_the_operations_that_are_made(path: str) -> None:
    with swath.create(f"{path}&stripe=4096,4,65536", (128, 512), "f8") as a:
        a.write(values((128, 512)))
    columns = np.s_[:, ::64]
    for method in ("direct", "list", "datatype", "sieve"):
        with swath.open(path, mode="r+") as a:
            plan = a.explain(selection=columns, method=method)
            a.read(selection=columns, method=method)
            assert a.counters.read_requests == plan.cost(method, 0)["read_requests"], method
            if method == "datatype":
                assert plan.method == "datatype" or not a._stored.file.core.capabilities.structured_requests


@pytest.mark.parametrize("inner", ["sieve", "list", "datatype"])
def test_two_phase_counts_the_operations_of_its_windows(path: str, inner: str) -> None:
    v = values((128, 512))
    with swath.create(path, v.shape, "f8", stripe=(4096, 4, 65536)) as a:
        a.write(v)
    columns = np.s_[:, ::64]
    asked = {"selection": columns, "method": f"two-phase/{inner}", "tuning": {"window_bytes": 65536}}
    with swath.open(path, mode="r+") as a:
        has_class = a._stored.file.core.capabilities.structured_requests
        plan = a.explain(**asked)
        assert plan.inner == ("list" if inner == "datatype" and not has_class else inner)
        assert (a.read(**asked) == v[columns]).all()
        assert a.counters.read_requests == plan.cost("two-phase", 0)["read_requests"]
        v[columns] += 1
        a.write(v[columns], **asked)
        written = a.explain(write=True, **asked).cost("two-phase", 0)
        assert a.counters.write_requests == written["write_requests"]
        assert (written["read_requests"] > 0) == (inner == "sieve")
        assert a.counters.locks == written["locks"] == 0
    assert (swath.open(path).read() == v).all()


def test_two_phase_of_its_own_choice_locks_nothing(path: str) -> None:
    v = values((2048, 512))
    with swath.create(path, v.shape, "f8") as a:
        a.write(v)
    with swath.open(path, mode="r+") as a:
        for step in (2, 64):
            columns = np.s_[:, ::step]
            v[columns] = step
            a.write(v[columns], selection=columns, method="two-phase")
            assert a.counters.locks == 0
            assert a.counters.read_requests == 0
    assert (swath.open(path).read() == v).all()


TARGETS = """
import numpy as np, sys, swath
from swath.throttle import throttle
with swath.open({path!r}, mode="r+", streams=2) as a:
    a.write(a.read() + 1)
    for target in throttle.status():
        print(target.target, target.streams, target.reads.grants, target.writes.grants)
"""


def test_each_osd_is_a_target_where_streams_are_asked_for(path: str) -> None:
    v = values((1024, 512))
    with swath.create(path, v.shape, "f8", stripe=(65536, 4, 524288)) as a:
        a.write(v)
    told = subprocess.run(
        [sys.executable, "-c", TARGETS.format(path=path)], capture_output=True, text=True, timeout=100, check=True
    ).stdout.splitlines()
    striped = json.loads(run("info", path, "--json").stdout)["striped"]
    fsid = subprocess.run(
        ["ceph", "--conf", ceph.CONF, "fsid"], capture_output=True, text=True, timeout=60, check=True
    ).stdout.strip()
    holders = set()
    for number in range(9):  # the header of the file leaves some bytes for a third set
        command = ["osd", "map", ceph.POOL, f"{striped}.{number:016x}", "--format", "json"]
        found = subprocess.run(["ceph", "--conf", ceph.CONF, *command], capture_output=True, text=True, check=True)
        holders.add(f"rados:{fsid}/osd.{json.loads(found.stdout)['acting_primary']}")
    targets = {line.split()[0]: line.split()[1:] for line in told if line.startswith("rados:")}
    assert set(targets) == holders
    for streams, reads, writes in targets.values():
        assert streams == "1"
        assert int(reads) > 0
        assert int(writes) > 0


def test_many_ranks_share_the_tokens_of_an_osd_and_end(path: str) -> None:
    v = values((512, 512))
    with swath.create(path, v.shape, "f8", stripe=(4096, 4, 65536)) as a:
        a.write(v)
    program = f"""
import numpy as np, swath
with swath.open({path!r}, mode="r+", streams=1) as a:
    for method in ("list", "direct", "datatype", "two-phase"):
        got = a.read(selection=np.s_[:, ::64], method=method)
    print(a.counters.read_requests, got.sum())
"""
    environment = {**os.environ, "SWATH_STREAMS_SCOPE": "user"}
    jobs = [
        subprocess.Popen([sys.executable, "-c", program], env=environment, stdout=subprocess.PIPE, text=True)
        for _ in range(3)
    ]
    sums = [job.communicate(timeout=100)[0].split()[1] for job in jobs]
    assert [job.returncode for job in jobs] == [0, 0, 0]
    assert {float(one) for one in sums} == {v[:, ::64].sum()}


def test_advice_for_the_pool_is_taken_by_create(path: str) -> None:
    advice = swath.advise_layout("[i:i+512, :]:all", (1024, 1024), "f8", store=path, formats="npy")
    with swath.create(path, (1024, 1024), "f8", layout=advice) as a:
        a.write(np.ones((1024, 1024)))
    assert advice.stripe is not None
    striped = json.loads(run("info", path, "--json").stdout)["striped"]
    unit = ceph.rados("getxattr", f"{striped}.{0:016x}", "striper.layout.stripe_unit")
    assert int(unit) == advice.stripe[0]


def test_without_the_class_lists_are_sent_and_the_plan_says_why(path: str) -> None:
    with swath.create(path, (100, 100), "f8") as a:
        a.write(values((100, 100)))
    with swath.open(f"{path}&class=no") as a:
        assert not a._stored.file.core.capabilities.structured_requests
        text = str(a.explain(selection=np.s_[:, ::3], method="datatype"))
        assert "takes no descriptions" in text
        assert "class=no" in text


def test_threads_and_interrupts_leave_files_whole(path: str) -> None:
    v = values((40, 1000))
    with swath.create(path, v.shape, v.dtype) as a:
        a.write(v)
    with swath.open(path) as a:
        wrong: list[int] = []

        def read(row: int) -> None:
            if not (a[row] == v[row]).all():
                wrong.append(row)

        threads = [threading.Thread(target=read, args=(row,)) for row in range(40)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not wrong


def test_a_pool_is_calibrated_and_plans_say_so(path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("SWATH_PROFILE", raising=False)
    pool = f"rados:{ceph.POOL}?conf={ceph.CONF}"
    measured = run("calibrate", "--quick", pool, "--json", "-")
    assert measured.returncode == 0, measured.stderr
    numbers = json.loads(measured.stdout)["numbers"]
    for direction in ("read", "write"):
        names = ("alone", "operation", "range", "region", "described", "window")
        costs = {name: numbers[f"objects.{direction}.{name}"] for name in names}
        assert 0 < costs["operation"] <= costs["alone"] < 10
        assert costs["region"] < costs["operation"]
        assert costs["range"] < costs["operation"]
    assert 0 < numbers["objects.network"] <= numbers["objects.read.alone"]
    with swath.create(path, (50, 50), "f8") as a:
        a.write(values((50, 50)))
    assert "measured on rados:swath" in str(swath.open(path).explain(selection=np.s_[:, ::2]))
    assert "swath.calibrate" not in ceph.rados("ls")


def test_whether_servers_have_the_class_is_told() -> None:
    pool = f"rados:{ceph.POOL}?conf={ceph.CONF}"
    told = run("rados", "install-class", pool)
    assert told.returncode in (0, 1), told.stderr
    assert ("carry out descriptions" in told.stdout) == (told.returncode == 0)
    assert "libcls_swath.so" in told.stdout
    assert run("rados", "install-class", "rados:swath/a").returncode == 2
