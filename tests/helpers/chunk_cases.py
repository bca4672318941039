"""Random requests of coded chunks: the values equal NumPy's, and the counters equal the plan's.

Shared by the simulated and the MPI property tests.
"""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np

import swath
from cases import Case, holds, random_boxes, random_distribution, random_selection, share, who

KINDS = ("files", "shards", "table")
CODECS = (["zstd"], ["crc32c"], ["blosc"], ["numcodecs.shuffle", "gzip"], [])
EXACT_READING = ("chunks_decoded", "decoded_bytes", "exchanged_bytes")
EXACT_IN_STORE = ("read_bytes", "read_requests")
EXACT_WRITING = ("chunks_decoded", "decoded_bytes", "chunks_encoded")


def make_coded_case(rng: random.Random, ranks: int) -> Case:
    """A random case for `ranks` ranks, of files, shards or a table."""
    shape = tuple(rng.randint(1, {1: 200, 2: 40, 3: 12}[ndim]) for ndim in [rng.randint(1, 3)] for _ in range(ndim))
    boxes = random_boxes(rng, shape, ranks) if rng.random() < 0.25 else None
    selection = ... if boxes else random_selection(rng, shape)
    selected = np.empty(shape, "u1")[selection].shape
    return Case(
        shape=shape,
        dtype=np.dtype(rng.choice(["<f8", ">i4", "u1"])),
        layout=rng.choice(KINDS),
        selection=selection,
        ranks=ranks,
        distribution=None if boxes else random_distribution(rng, selected, ranks),
        boxes=boxes,
        tuning=rng.choice([{}, {"chunk_buffer_bytes": 1}, {"chunk_buffer_bytes": 5000}]),
        strided_memory=False,
        seed=rng.randint(0, 2**31),
    )


def make_coded_file(case: Case, folder: Path) -> tuple[Path, np.ndarray]:
    """Store some of the case's values, so that some chunks are missing; return the file and its values."""
    rng = random.Random(case.seed)
    chunks = tuple(rng.randint(1, 8) for _ in case.shape)
    written = tuple(slice(0, rng.choice([n, rng.randint(0, n)])) for n in case.shape)
    values = np.zeros(case.shape, case.dtype)
    values[written] = case.values()[written]
    if case.layout == "table":
        import h5py

        chunks = tuple(map(min, chunks, case.shape))
        with h5py.File(folder / "a.h5", "w") as file:
            file.create_dataset(
                "v", case.shape, case.dtype, chunks=chunks, compression=3, shuffle=rng.random() < 0.5, fletcher32=True
            )[written] = values[written]
        return folder / "a.h5", values
    shards = tuple(c * rng.randint(1, 3) for c in chunks) if case.layout == "shards" else None
    codecs = rng.choice(CODECS)
    with swath.create(folder / "a.zarr", case.shape, case.dtype, chunks=chunks, shards=shards, codecs=codecs) as a:
        if values[written].size:
            a[written] = values[written]
    return folder / "a.zarr", values


def check_chunks(case: Case, path: Path, values: np.ndarray, comm: Any) -> None:
    """Read and write, as planned. Collective."""
    given: dict[str, Any] = {"selection": case.selection, "tuning": case.tuning}
    mine = who(case, comm.rank)
    expected = share(case, values, comm.rank)
    with swath.open(path, comm=comm) as a:
        plan = a.explain(mine, **given)
        found = a.read(mine, **given)
        if holds(case, comm.rank):
            for part, wanted in zip(found if case.boxes else [found], expected, strict=True):
                np.testing.assert_array_equal(part, wanted)
        check_counts(plan, a.counters, comm.rank, EXACT_READING)
        if plan.cost("chunks", comm.rank)["stored_exact"]:
            check_counts(plan, a.counters, comm.rank, EXACT_IN_STORE)
        assert str(a.last_plan) == str(a.explain(mine, **given))
    with swath.open(path, mode="r+", comm=comm) as a:
        plan = a.explain(mine, write=True, **given)
        assert plan.method == "chunks"
        a.write(expected if case.boxes else expected[0], mine, **given)
        check_counts(plan, a.counters, comm.rank, EXACT_WRITING)
        np.testing.assert_array_equal(a[...], values)


def check_counts(plan: swath.Plan, counters: swath.Counters, rank: int, names: tuple[str, ...]) -> None:
    """Check that these counters of one rank equal its plan."""
    cost = plan.cost("chunks", rank)
    assert cost["exact"]
    assert {name: cost[name] for name in names} == {name: getattr(counters, name) for name in names}
