"""Counters equal the bytes that a file system sees: FUSE, without a page cache, counts every byte.

The bytes that format libraries move (headers, metadata of HDF5 and Zarr) are excluded: the file system's counters are
read before and after each operation of the array.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import swath
from swath.array.open_array import Array
from swath.copying.journal import Journal
from swath.simulated import run_ranks
from swath.store import modelled_disk
from tree import ROOT

BUILD = ROOT / "build"
REFUSAL = modelled_disk.refusal(BUILD)
pytestmark = pytest.mark.skipif(bool(REFUSAL), reason=REFUSAL)

SHAPE = (48, 64)
VALUES = np.arange(48 * 64, dtype="<i4").reshape(SHAPE)
CYCLIC = swath.Distribution((swath.Whole(), swath.Cyclic(3)), grid=(1, 2))
FORMATS: dict[str, dict[str, Any]] = {
    "a.raw": {},
    "a.npy": {},
    "a.nc": {"variable": "a", "format": "netcdf-classic"},
    "contiguous.h5": {"variable": "a"},
    "chunked.h5": {"variable": "a", "chunks": (16, 16)},
    "a.zarr": {"chunks": (16, 16)},
    "plain.zarr": {"chunks": (16, 16), "codecs": []},
    "sharded.zarr": {"chunks": (16, 16), "shards": (32, 32)},
}

NPY_HEADER_BYTES = 128

Bytes = tuple[int, int]
"""Bytes read and bytes written."""


@pytest.fixture(scope="module")
def disk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with modelled_disk.mounted("ssd", tmp_path_factory.mktemp("disk"), scale=1000, build=BUILD) as root:
        yield root


def seen(disk: Path, work: Callable[[], Any]) -> Bytes:
    """Return the bytes that the file system moved during `work`."""
    before = modelled_disk.statistics(disk)
    work()
    after = modelled_disk.statistics(disk)
    return tuple(after[what] - before[what] for what in ("read_bytes", "written_bytes"))  # type: ignore[return-value]


def counted(array: swath.Array) -> Bytes:
    return array.counters.read_bytes, array.counters.written_bytes


def opened(path: Path, **options: Any) -> swath.Array:
    """Open with one stream at a time: then chunks are not prefetched, which this file system would count twice."""
    raw = {"shape": SHAPE, "dtype": "<i4"} if path.suffix == ".raw" else {}
    return swath.open(path, **raw, streams=1, **options)


@pytest.fixture(params=FORMATS)
def path(request: pytest.FixtureRequest, disk: Path) -> Path:
    """Make a file of each format."""
    path = disk / request.param
    with swath.create(path, SHAPE, "<i4", overwrite=True, **FORMATS[request.param]) as a:
        a.write(VALUES)
    return path


@pytest.mark.parametrize("selection", [np.s_[:], np.s_[3:20, ::5], np.s_[7]], ids=str)
@pytest.mark.parametrize("method", ["auto", "direct", "sieve", "list", "two-phase"])
def test_every_byte_that_is_read_is_counted(disk: Path, path: Path, method: str, selection: Any) -> None:
    with opened(path) as a:
        assert seen(disk, lambda: a.read(selection=selection, method=method)) == counted(a)
        np.testing.assert_array_equal(a.read(selection=selection), VALUES[selection])


@pytest.mark.parametrize("method", ["auto", "direct", "sieve", "list", "two-phase"])
def test_every_byte_that_is_written_is_counted(disk: Path, path: Path, method: str) -> None:
    with opened(path, mode="r+") as a:
        for selection in (np.s_[:], np.s_[3:20, ::5]):
            values = np.ascontiguousarray(VALUES[selection] + 1)
            assert seen(disk, lambda: a.write(values, selection=selection, method=method)) == counted(a)  # noqa: B023
            np.testing.assert_array_equal(a.read(selection=selection), values)


def test_ranks_count_each_byte_once(disk: Path, path: Path) -> None:
    totals: list[Bytes] = []

    def work(comm: Any, write: bool) -> None:
        with opened(path, mode="r+", comm=comm) as a:
            comm.barrier()
            before = modelled_disk.statistics(disk) if comm.rank == 0 else None
            comm.barrier()
            mine = np.ascontiguousarray(VALUES[np.ix_(*CYCLIC.indices(SHAPE, comm.rank))])
            if write:
                a.write(mine, CYCLIC)
            else:
                np.testing.assert_array_equal(a.read(CYCLIC), mine)
            comm.barrier()
            if comm.rank == 0:
                after = modelled_disk.statistics(disk)
                totals.append(tuple(after[what] - before[what] for what in ("read_bytes", "written_bytes")))
            comm.barrier()
            totals.append(tuple(-bytes_ for bytes_ in counted(a)))

    for write in (False, True):
        totals.clear()
        run_ranks(2, lambda comm: work(comm, write))  # noqa: B023
        assert np.sum(totals, axis=0).tolist() == [0, 0], write


@pytest.mark.parametrize("name", FORMATS)
def test_what_is_written_to_a_new_file_is_counted_and_its_header_told_apart(disk: Path, name: str) -> None:
    made: list[swath.Array] = []
    options = {"overwrite": True, **FORMATS[name]}
    of_library = seen(disk, lambda: made.append(swath.create(disk / f"new-{name}", SHAPE, "<i4", **options)))
    array = made[0]
    assert seen(disk, lambda: array.write(VALUES)) == counted(array)
    assert array.counters.written_bytes > 0
    of_closing = seen(disk, array.close)
    assert of_library[1] < 20_000
    assert of_closing[1] < 1000


@pytest.mark.not_by_library("what is read for it would be counted")
def test_every_byte_that_a_copy_writes_is_counted_but_for_header_and_journal(
    disk: Path, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """This file system drops what it reads ahead, so only writes can be compared."""
    target = disk / f"copy-of-{path.name}.npy"
    counts: list[Bytes] = []
    journal_bytes: list[int] = []
    write, append = Array._write, Journal._append

    def counted_write(array: Array, *arguments: Any) -> Any:
        done = write(array, *arguments)
        counts.append(counted(array))
        return done

    def counted_append(journal: Journal, line: dict[str, Any]) -> None:
        append(journal, line)
        journal_bytes.append(len(json.dumps(line)) + 1)

    monkeypatch.setattr(Array, "_write", counted_write)
    monkeypatch.setattr(Journal, "_append", counted_append)
    with opened(path) as source:
        _, written = seen(disk, lambda: swath.copy(source, target, overwrite=True))
    assert written - sum(journal_bytes) - NPY_HEADER_BYTES == sum(count[1] for count in counts) == VALUES.nbytes
    np.testing.assert_array_equal(np.load(target), VALUES)
