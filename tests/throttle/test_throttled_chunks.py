"""`streams=` applies to readers and writers of coded chunks, in every format that has them."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import swath

SHAPE = (32, 2048)
VALUES = np.arange(32 * 2048, dtype="<f4").reshape(SHAPE)


def create(path: Path) -> Path:
    """One row a chunk, compressed."""
    if path.suffix == ".h5":
        h5py = pytest.importorskip("h5py")
        with h5py.File(path, "w") as file:
            file.create_dataset("a", data=VALUES, chunks=(1, 2048), shuffle=True, fletcher32=True)
    else:
        shards = (8, 2048) if "sharded" in path.name else None
        with swath.create(path, SHAPE, "<f4", chunks=(1, 2048), shards=shards, codecs=["crc32c"]) as a:
            a.write(VALUES)
    return path


def moved(path: Path, streams: Any, *, write: bool = False) -> swath.Counters:
    """Read or write on a separate modelled disk, whose reads are never cached and take milliseconds each."""
    engine = f"model:p690-scsi@{path}-{streams}"
    with swath.open(path, mode="r+" if write else "r", engine=engine, streams=streams) as a:
        if write:
            a.write(VALUES)
        else:
            np.testing.assert_array_equal(a.read(), VALUES)
        return a.counters


@pytest.mark.parametrize("name", ["a.zarr", "sharded.zarr", "a.h5"])
def test_readers_of_chunks_wait_for_each_other_where_one_stream_is_served(tmp_path: Path, name: str) -> None:
    path = create(tmp_path / name)
    free, limited = moved(path, None), moved(path, 1)
    assert free.token_waits == 0
    assert limited.token_waits > 0
    assert (limited.read_requests, limited.read_bytes) == (free.read_requests, free.read_bytes)


def test_writers_of_chunks_take_turns_only_where_that_is_asked_for(tmp_path: Path) -> None:
    path = create(tmp_path / "a.zarr")
    assert moved(path, {"read": 1}, write=True).token_waits == 0
    assert moved(path, {"write": 1}, write=True).token_waits > 0
    with swath.open(path) as a:
        np.testing.assert_array_equal(a[...], VALUES)


def test_faults_of_the_store_reach_chunks(tmp_path: Path) -> None:
    path = create(tmp_path / "a.zarr")
    with (
        swath.open(path, mode="r+", engine="fault:write@0=ENOSPC") as a,
        pytest.raises(swath.StoreError, match="No space left") as told,
    ):
        a.write(VALUES)
    assert f"write {path}/" in str(told.value)
    assert not [left for left in path.rglob("*") if ".swath-" in left.name], "what was written aside is removed"
    with swath.open(path, engine="fault:read@0=EIO") as a, pytest.raises(swath.StoreError, match=f"read {path}/"):
        a.read()
    with swath.open(path) as a:
        np.testing.assert_array_equal(a[...], VALUES)
