"""Files in Ceph pools: opened, created, copied, verified, shown; by every method, on ranks."""

from __future__ import annotations

import json
import os
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


def test_four_jobs_write_into_each_others_gaps(path: str) -> None:
    v = np.zeros((64, 48))
    with swath.create(f"{path}&stripe=1000,4,4000", v.shape, "f8") as a:
        a.write(v)
    program = f"""
import numpy as np, sys, swath
job = int(sys.argv[1])
with swath.open({path!r}, mode="r+") as a:
    for turn in range(12):
        a.write(np.full((64, 12), 100.0 * job + turn), selection=np.s_[:, job::4],
                method=["datatype", "list", "direct", "sieve"][turn % 4])
"""
    jobs = [subprocess.Popen([sys.executable, "-c", program, str(job)]) for job in range(4)]
    assert [job.wait(timeout=100) for job in jobs] == [0, 0, 0, 0]
    got = swath.open(path).read()
    for job in range(4):
        assert (got[:, job::4] == 100.0 * job + 11).all()


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
                assert plan.method == "datatype" or not a._file.core.capabilities.structured_requests


def test_without_the_class_lists_are_sent_and_the_plan_says_why(path: str) -> None:
    with swath.create(path, (100, 100), "f8") as a:
        a.write(values((100, 100)))
    with swath.open(f"{path}&class=no") as a:
        assert not a._file.core.capabilities.structured_requests
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
