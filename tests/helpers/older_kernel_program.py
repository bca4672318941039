"""The main tasks, as on a kernel that does not report the content of its page cache and has no io_uring.

python kernels.py python older_kernel_program.py FOLDER     run by test_older_kernels.py
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

import by_library
import swath
from kernels import HAS_CACHESTAT
from swath import calibration
from swath.simulated import run_ranks

SHAPE = (96, 70)
VALUES = np.arange(96 * 70, dtype="<f8").reshape(SHAPE)
METHODS = ("auto", "direct", "sieve", "list", "two-phase")


def read_and_write(folder: Path, comm: object, ranks: int) -> None:
    """By every method, columns in turn, several times, because a repeated operation takes another path."""
    d = swath.Distribution((swath.Whole(), swath.Cyclic()), grid=(1, ranks))
    rank = 0 if comm is None else comm.rank  # type: ignore[attr-defined]
    for method in METHODS:
        with swath.open(folder / "read.npy", comm=comm) as a:
            for _ in range(4):
                np.testing.assert_array_equal(a.read(d, method=method), VALUES[:, rank::ranks])
                assert "not known what is in the page cache" in str(a.last_plan)
        path = folder / f"{method}-{ranks}.npy"
        with swath.create(path, SHAPE, "<f8", comm=comm) as a:
            for _ in range(4):
                a.write(np.ascontiguousarray(VALUES[:, rank::ranks]), d, method=method)


def main() -> None:
    """Raises what is wrong."""
    folder = Path(sys.argv[1])
    assert not HAS_CACHESTAT, "the call was not refused"
    np.save(folder / "read.npy", VALUES)
    for ranks in (1, 3):
        if ranks == 1:
            read_and_write(folder, None, 1)
        else:
            run_ranks(ranks, lambda comm: read_and_write(folder, comm, ranks))  # noqa: B023 - called at once
        for method in METHODS:
            np.testing.assert_array_equal(np.load(folder / f"{method}-{ranks}.npy"), VALUES)

    copy = by_library.verified(swath.copy)
    copy(folder / "read.npy", folder / "copy.zarr", format="zarr", chunks=(32, 32), memory="8MiB")
    copy(folder / "copy.zarr", folder / "copy.npy", memory="8MiB")
    np.testing.assert_array_equal(np.load(folder / "copy.npy"), VALUES)

    found = calibration.calibrate(str(folder), calibration.Effort(0.2, 8 << 20, 1 << 20))
    assert any("looking into the page cache was not measured" in note for note in found.notes), found.notes
    print("all is well")


if __name__ == "__main__":
    main()
