"""Loops stay within their memory, measured in separate programs; reads ahead wait for their turns at the target."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import netCDF4
import numpy as np
import pytest

import swath
from tree import HELPERS

MIB = 1 << 20
STEPS = 96


def created(folder: Path, kind: str) -> Path:
    """Make rows of 1 MiB of random bytes, so that chunks cannot be compressed."""
    rng = np.random.default_rng(0)
    rows = rng.integers(0, 1 << 40, (STEPS, MIB // 8)).astype("<f8")
    if kind == "raw":
        path = folder / "a.raw"
        rows.tofile(path)
        return path
    if kind == "packed":
        path = folder / "a.nc"
        with netCDF4.Dataset(path, "w", format="NETCDF3_64BIT_DATA") as f:
            f.createDimension("t", STEPS)
            f.createDimension("x", MIB // 8)
            v = f.createVariable("u", "i2", ("t", "x"), fill_value=-1)
            v.setncatts({"scale_factor": 0.5, "add_offset": 3.0})
            v.set_auto_maskandscale(False)
            v[:] = rng.integers(-1, 99, (STEPS, MIB // 8)).astype("i2")
        return path
    path = folder / {"zarr": "a.zarr", "hdf5": "a.h5"}[kind]
    with swath.create(path, rows.shape, rows.dtype, variable="u", chunks=(1, MIB // 32), codecs="gzip") as a:
        a.write(rows)
    return path


@pytest.mark.parametrize("memory", [4 * MIB, pytest.param(24 * MIB, marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    ("kind", "loop"),
    [
        ("raw", "blocks"),
        ("raw", "iterate"),
        ("raw", "writer"),
        ("zarr", "blocks"),
        ("zarr", "iterate"),
        ("zarr", "writer"),
        ("hdf5", "blocks"),
        ("hdf5", "writer"),
        ("packed", "decoded"),
    ],
)
def test_a_loop_keeps_to_its_memory(tmp_path: Path, kind: str, loop: str, memory: int) -> None:
    path = created(tmp_path, kind)
    for prefetch in ("auto", 50):
        command = [sys.executable, str(HELPERS / "iteration_memory_program.py"), str(path), loop, str(memory)]
        environment = {**os.environ, "PYTHONPATH": str(HELPERS)}
        ended = subprocess.run(
            [*command, str(prefetch)], capture_output=True, text=True, timeout=100, check=False, env=environment
        )
        assert ended.returncode == 0, ended.stderr
        assert int(ended.stdout) <= memory + max(memory // 10, 16 * MIB), (kind, loop, prefetch)


def read_together(path: Path, streams: Any) -> tuple[list[swath.Counters], float]:
    """Run two loops of one process that read ahead from one modelled disk, at the same time."""
    told: list[swath.Counters] = []
    engine = f"model:p690-scsi@{path}-{streams}"

    def work() -> None:
        with swath.open(path, shape=(STEPS, MIB // 8), dtype="<f8", engine=engine, streams=streams) as a:
            loop = a.blocks((1, 8192), prefetch=4, memory=8 * MIB)
            for _ in zip(range(40), loop, strict=False):
                time.sleep(0.001)
            loop.close()
            told.append(a.counters)

    threads = [threading.Thread(target=work) for _ in range(2)]
    begun = time.monotonic()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return told, time.monotonic() - begun


def test_reads_ahead_wait_for_their_turn_where_one_stream_is_served(tmp_path: Path) -> None:
    path = created(tmp_path, "raw")
    free, _ = read_together(path, None)
    limited, _ = read_together(path, 1)
    assert [one.token_waits for one in free] == [0, 0]
    assert sum(one.token_waits for one in limited) > 0
    assert all(one.read_bytes == 40 * 65536 for one in (*free, *limited))


def test_waiting_and_hiding_are_told_as_they_are(tmp_path: Path) -> None:
    """A modelled disk takes known times: time without a wait is hidden, and both parts add up to the reading time."""
    path = created(tmp_path, "raw")
    with swath.open(path, shape=(STEPS, MIB // 8), dtype="<f8", engine="model:p690-scsi") as a:
        begun = time.monotonic()
        for _ in zip(range(12), a.blocks((1, None), prefetch=0), strict=False):
            pass
        plain, alone = a.counters, time.monotonic() - begun
        assert plain.hidden_seconds == 0
        assert 0.9 * plain.waited_seconds < alone
        assert plain.waited_seconds > 12 * MIB / 45e6  # 35 MB/s
        begun = time.monotonic()
        computed = 0.0
        for _ in zip(range(12), a.blocks((1, None), prefetch=2), strict=False):
            slept = time.monotonic()
            time.sleep(0.015)
            computed += time.monotonic() - slept
        ahead, wall = a.counters, time.monotonic() - begun
    # The program waited while it did not compute, and no longer; the time of the request is not part of it.
    assert ahead.waited_seconds <= wall - computed + 0.02
    assert ahead.hidden_seconds > 0.3 * computed
    assert ahead.waited_seconds + ahead.hidden_seconds == pytest.approx(ahead.total_seconds, rel=0.3)
