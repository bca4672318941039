"""Loops and asynchronous operations on real ranks: values equal NumPy's, and all ranks get each error."""

from __future__ import annotations

import gc
import sys
import time
from typing import Any

import numpy as np
from mpi4py import MPI

import swath

path = sys.argv[1]
comm = MPI.COMM_WORLD
SHAPE = (40, 30, 50)
values = np.random.default_rng(3).random(SHAPE)
if comm.rank == 0:
    values.tofile(path)
comm.barrier()
rows = swath.Distribution((swath.Block(), swath.Whole()), grid=(comm.size, 1))
columns = swath.Distribution((swath.Whole(), swath.Cyclic(3)), grid=(1, comm.size))


def opened(**how: Any) -> swath.Array:
    array: swath.Array = swath.open(path, shape=SHAPE, dtype="<f8", comm=comm, **how)
    return array


for prefetch in ("auto", 0, 3):
    for axis in range(3):
        steps = np.moveaxis(values, axis, 0)
        with opened() as a:
            for i, part in enumerate(a.iterate(columns, axis=axis, prefetch=prefetch)):
                np.testing.assert_array_equal(part, steps[i][np.ix_(*columns.indices(steps.shape[1:], comm.rank))])
                if i % 7 == comm.rank:
                    time.sleep(0.001)
    with opened() as a:
        own = list(a.blocks((7, None, 20), prefetch=prefetch))
        for selection, part in own:
            np.testing.assert_array_equal(part, values[selection])
        assert comm.allreduce(sum(part.size for _, part in own)) == values.size
        for i, _ in enumerate(a.iterate(rows, prefetch=prefetch)):
            if i == 5:
                break
        gc.collect()
        np.testing.assert_array_equal(a[3], values[3])

with opened(mode="r+") as a:
    with a.writer() as w:
        for i in range(SHAPE[0]):
            w.write(values[i][np.ix_(*rows.indices(SHAPE[1:], comm.rank))] + 1, rows, selection=i)
    futures = [a.read_async(rows, selection=i) for i in range(10)]
    a.write_async(values[0][np.ix_(*rows.indices(SHAPE[1:], comm.rank))] - 1, rows, selection=0)
    for i, future in enumerate(futures):
        np.testing.assert_array_equal(future.result(), values[i][np.ix_(*rows.indices(SHAPE[1:], comm.rank))] + 1)
expected = values + 1
expected[0] = values[0] - 1
comm.barrier()
np.testing.assert_array_equal(np.fromfile(path).reshape(SHAPE), expected)

with opened(engine="fault:read@3=EIO" if comm.rank == comm.size - 1 else "posix") as a:
    told = []
    try:
        for _ in a.iterate(columns, prefetch=4):
            pass
    except swath.StoreError as error:
        told = [str(error)]
    assert told, "no error"
    assert set(comm.allgather(told[0])) == {told[0]}
print("well")
