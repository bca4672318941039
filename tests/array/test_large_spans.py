"""Spans above 64 MiB, 2 GiB and 4 GiB: offsets and counts of 64 bits, and gaps that must not change."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import swath
from cases import METHODS
from large_spans import MARK, SPANS, Span, check_boxes, check_bytes, check_span, data_extents, make, new_values, spread
from mpi_runs import run_well
from swath import Block, Boxes, Cyclic, Distribution
from swath.simulated import run_ranks

GIB = 1 << 30


@pytest.fixture
def sparse(tmp_path: Path) -> Path:
    """Return the path of a file on a file system that has holes."""
    path = tmp_path / "a.dat"
    with path.open("wb") as file:
        file.truncate(5 * GIB)
        os.pwrite(file.fileno(), b"x", 4 * GIB)
    if path.stat().st_blocks * 512 > 1 << 20 or len(data_extents(path)) != 1:
        pytest.skip("this file system has no sparse files")
    path.unlink()
    return path


def test_the_check_itself_finds_a_single_wrong_byte(sparse: Path) -> None:
    span = SPANS[0]
    places, values = make(span, sparse)
    assert sparse.stat().st_blocks * 512 < 64 << 20
    check_bytes(sparse, span.size(), places, values)
    far = int(places[-1]) - MARK // 2
    for at in (far, 3 * GIB + 11, 4 * GIB + 1, span.size() - 1):  # in data, in a hole, after the array
        with sparse.open("r+b") as file:
            before = os.pread(file.fileno(), 1, at)
            os.pwrite(file.fileno(), bytes([before[0] ^ 1]), at)
            with pytest.raises(AssertionError, match=f"1 wrong bytes, the first at {at}"):
                check_bytes(sparse, span.size(), places, values)
            os.pwrite(file.fileno(), before, at)
    check_bytes(sparse, span.size(), places, values)
    k = np.searchsorted(places, 2 * GIB)
    with pytest.raises(AssertionError, match="1 bytes were never written"):
        check_bytes(sparse, span.size(), np.insert(places, k, 2 * GIB), np.insert(values, k, 1))


@pytest.mark.parametrize("ranks", [1, 2, 3, 4])
@pytest.mark.parametrize("span", SPANS, ids=lambda span: span.name.replace(" ", "-"))
def test_few_elements_over_more_than_4_gib(sparse: Path, span: Span, ranks: int) -> None:
    assert np.ptp(span.offsets()) > 4 * GIB
    run_ranks(ranks, lambda comm: check_span(span, sparse, comm, comm.barrier), seed=ranks)


@pytest.mark.parametrize("ranks", [1, 3])
def test_boxes_at_both_ends_of_more_than_4_gib(sparse: Path, ranks: int) -> None:
    run_ranks(ranks, lambda comm: check_boxes(sparse, comm, comm.barrier), seed=ranks)


def test_few_elements_over_more_than_4_gib_under_mpi(sparse: Path) -> None:
    assert "all right" in run_well(3, "large_span_ranks.py", sparse.parent)


@pytest.mark.parametrize("ranks", [1, 2, 3, 4])
@pytest.mark.parametrize("rule", [Cyclic(), Block()], ids=["cyclic", "block"])
def test_gaps_beyond_64_mib_keep_their_bytes(tmp_path: Path, rule: Any, ranks: int) -> None:
    """The whole file is noise: where a collective write sieves more than 64 MiB, every gap is compared."""
    path = tmp_path / "a.dat"
    n = (80 << 20) // 8
    image = np.random.default_rng(ranks).integers(0, 256, 8 * n + 5, dtype=np.uint8)
    image.tofile(path)
    elements = image[5:].view("<f8")[::1009]
    d = Distribution((rule,), (ranks,))
    opened = {"shape": n, "dtype": "<f8", "offset": 5}
    for seed, method in enumerate(METHODS):
        new = new_values(elements.shape, "<f8", seed)

        def work(comm: Any, method: str = method, new: np.ndarray = new) -> None:
            mine = d.indices(new.shape, comm.rank)[0]
            with swath.open(path, mode="r+", comm=comm, **opened) as a:
                a.write(new[mine], d, selection=np.s_[::1009], method=method)
                assert a.read(d, selection=np.s_[::1009], method=method).tobytes() == new[mine].tobytes()

        run_ranks(ranks, work, seed=seed)
        elements[:] = new
        now = np.fromfile(path, np.uint8)
        assert now.size == image.size
        assert not (wrong := np.flatnonzero(now != image)).size, (method, wrong[:5])


@pytest.mark.parametrize("suffix", ["dat", "npy", "nc3", "h5"])
def test_other_libraries_find_what_was_created_beyond_4_gib(sparse: Path, suffix: str) -> None:
    path = sparse.with_suffix(f".{suffix}")
    n, far = 600_000_000, np.s_[::1000003]
    new = new_values((600,), "<f8", 1)
    new[:] = np.arange(600) + 0.5  # netCDF stores them big-endian
    d = Distribution((Cyclic(),), (3,))

    def work(comm: Any) -> None:
        with swath.create(path, n, "<f8", fill=0, variable="v" if suffix in ("nc3", "h5") else None, comm=comm) as b:
            b.write(new[comm.rank :: 3], d, selection=far)

    run_ranks(3, work)
    assert path.stat().st_size >= 8 * n
    assert path.stat().st_blocks * 512 < 64 << 20
    if suffix == "nc3":
        netCDF4 = pytest.importorskip("netCDF4")
        with netCDF4.Dataset(path) as file:
            file.set_auto_maskandscale(False)
            got, last = np.array([file["v"][i] for i in range(0, n, 1000003)]), file["v"][n - 3 :]
    elif suffix == "h5":
        with pytest.importorskip("h5py").File(path, "r") as file:
            got, last = file["v"][far], file["v"][n - 3 :]
    else:
        full = np.memmap(path, "<f8", "r") if suffix == "dat" else np.load(path, mmap_mode="r")
        got, last = np.array(full[far]), np.array(full[n - 3 :])
    assert (got == new).all()
    assert (last == 0).all()


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_rank_may_hold_more_than_2_gib(sparse: Path) -> None:
    """Moves 2.5 GiB in one piece by every method, and two shares of it; marks are around 2^31 and at the end."""
    n = 5 * GIB // 2
    with open("/proc/meminfo") as file:
        free = next(int(line.split()[1]) << 10 for line in file if line.startswith("MemAvailable"))
    if free < 6 * GIB:
        pytest.skip(f"needs 6 GiB of memory, there are {free / GIB:.1f}")
    places = np.array([0, 1, 4096, GIB - 1, GIB, 2 * GIB - 4097, 2 * GIB - 1, 2 * GIB, 2 * GIB + 1, n - 1])
    marks = new_values(places.shape, "u1", 3)
    with sparse.open("wb") as file:
        file.truncate(n + 100)
        for place, mark in zip(places, marks, strict=True):
            os.pwrite(file.fileno(), mark.tobytes(), int(place) + 100)
    opened = {"path": sparse, "shape": n, "dtype": "u1", "offset": 100}
    out = np.empty(n, "u1")
    for method in METHODS:
        out[places] = 0
        out[places + np.where(places > 0, -1, 2)] = 0xFF
        with swath.open(**opened) as a:
            a.read(out=out, method=method)
            assert a.counters.read_bytes >= n
        assert (out[places] == marks).all(), method
        assert np.count_nonzero(out) == places.size, method
    cut = 9 * GIB // 4

    def work(comm: Any, method: str) -> None:
        mine = out[:cut] if comm.rank == 0 else out[cut:]
        with swath.open(**opened, comm=comm) as a:
            a.read(Distribution((Block(cut),), (2,)), out=mine, method=method)
        comm.barrier()

    for method in ("direct", "two-phase"):
        out[places] = 0
        run_ranks(2, lambda comm, method=method: work(comm, method))
        assert (out[places] == marks).all(), method
        assert np.count_nonzero(out) == places.size, method
    with swath.open(**opened, mode="r+") as a:  # a few bytes of a share of which most stays a hole
        a.write([new_values((7,), "u1", 5)], Boxes([((2 * GIB + 5,), (2 * GIB + 12,))]))
    element_places, element_bytes = spread(np.arange(2 * GIB + 5, 2 * GIB + 12), new_values((7,), "u1", 5))
    places, bytes_ = np.append(places, element_places), np.append(marks, element_bytes)
    check_bytes(sparse, n + 100, np.sort(places) + 100, bytes_[np.argsort(places)])
