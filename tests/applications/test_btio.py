"""BTIO: every mode, number of ranks and library writes the same bytes, which NumPy computes, too."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from application_programs import run_application

N, STEPS = 12, 10
"""Of class S, of whose 12 dumps two are enough."""
RATE = 1 / 64
COEFFICIENTS = np.array(
    [
        [2.0, 0.5, 0.25, 1.0, -0.5, 0.75, 0.125, 0.5],
        [1.0, -0.25, 1.5, 0.5, 0.25, -0.75, 1.0, 0.25],
        [1.5, 0.75, -0.5, 0.25, 1.0, 0.5, -0.25, 0.75],
        [0.5, 1.0, 0.75, -0.25, 0.5, 0.25, 1.5, -0.5],
        [5.0, 0.25, 0.5, 0.75, 1.5, -0.25, 0.5, 1.0],
    ]
)

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]


def computed(n: int, steps: int) -> np.ndarray:
    """All dumps as they lie in the file: (dump, z, y, x, component)."""
    along = np.arange(n) / (n - 1)
    z, y, x = (along[:, None, None, None], along[:, None, None], along[:, None])
    c = COEFFICIENTS.T
    aim = c[0] + x * (c[1] + x * c[4]) + y * (c[2] + y * c[5]) + z * (c[3] + z * c[6]) + c[7] * (x * (y * z))
    u = np.broadcast_to(np.arange(1.0, 6.0), (n, n, n, 5)).copy()
    found = []
    for step in range(1, steps + 1):
        u += RATE * (aim - u)
        if step % 5 == 0:
            found.append(u.copy())
    return np.array(found)


def test_a_shared_file_has_the_same_bytes_from_every_mode_and_number_of_ranks(tmp_path: Path) -> None:
    expected = computed(N, STEPS).tobytes()
    for mode in ("swath", "full", "simple", "fortran"):
        for ranks in (1, 4, 9, 16):
            told = run_application("btio", ranks, tmp_path, mode=mode, file="btio.dat", **{"class": "S"}, steps=STEPS)
            assert told["checked"], (mode, ranks)
            assert told["bytes"] == len(expected)
            assert (tmp_path / "btio.dat").read_bytes() == expected, (mode, ranks)


def test_cells_of_unequal_extents_and_of_class_w_are_right(tmp_path: Path) -> None:
    run_application("btio", 16, tmp_path, mode="swath", file="btio.dat", **{"class": "W"}, steps=STEPS)
    assert (tmp_path / "btio.dat").read_bytes() == computed(24, STEPS).tobytes()


@pytest.mark.parametrize("ranks", [1, 4, 9])
def test_the_files_of_epio_are_the_cells_of_the_ranks(tmp_path: Path, ranks: int) -> None:
    run_application("btio", ranks, tmp_path, mode="epio", file="btio.dat", **{"class": "S"}, steps=STEPS)
    expected = computed(N, STEPS)
    q = int(ranks**0.5)
    ends = np.cumsum([N // q + (part < N % q) for part in range(q)])
    parts = [slice(end - (N // q + (part < N % q)), end) for part, end in enumerate(ends)]
    for rank in range(ranks):
        places = [((rank % q + c) % q, (rank // q - c) % q, c) for c in range(q)]
        boxes = [expected[:, parts[z], parts[y], parts[x]] for x, y, z in places]
        cells = [box[dump].ravel() for dump in range(STEPS // 5) for box in boxes]
        own = np.fromfile(tmp_path / f"btio.dat.{rank:04}")
        np.testing.assert_array_equal(own, np.concatenate(cells), err_msg=f"rank {rank}")


@pytest.mark.parametrize(
    ("ranks", "arguments", "words"),
    [
        (2, {}, "the number of ranks must be a square"),
        (1, {"mode": "posix"}, "mode=posix; expected swath, full, simple, fortran or epio"),
        (1, {"class": "C"}, "class=C; expected S, W, A or B"),
    ],
)
def test_what_it_cannot_do_it_says(tmp_path: Path, ranks: int, arguments: dict[str, str], words: str) -> None:
    with pytest.raises(AssertionError, match=words):
        run_application("btio", ranks, tmp_path, **arguments)
