"""A request with a fault at a chosen step, and what every rank must see: for the simulated and the MPI fault tests.

In each case one attempt of one step (read, write, lock) fails, on one rank's engine or on all, see
core/store/fault/fault.h. The reference is computed element by element with NumPy.
"""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

import swath

DTYPE = np.dtype("<i4")
HEADER, TAIL = 13, 21  # bytes before and after the array: they must never change
STEPS = ("read", "write", "lock")
FATAL = {"read": ("EIO", "short+EIO"), "write": ("ENOSPC", "short+ENOSPC", "EIO"), "lock": ("ENOLCK",)}
SURVIVED = {"read": ("short", "EINTR", "EAGAIN"), "write": ("short", "EINTR", "EAGAIN"), "lock": ("EINTR",)}

TRANSFER_ERROR = re.compile(
    r"(rank (?P<rank>\d+): )?(?P<step>read|write) (?P<path>\S+) at (?P<offset>\d+): "
    r"wanted (?P<wanted>\d+) bytes, (?:got|wrote) (?P<moved>\d+): (?P<reason>.+)"
)
LOCK_ERROR = re.compile(
    r"(rank (?P<rank>\d+): )?(?P<step>lock) (?P<path>\S+) \[(?P<offset>\d+), (?P<end>\d+)\): (?P<reason>.+)"
)


@dataclass(frozen=True)
class Scene:
    """A request of several ranks, cut so small that a method needs many steps for it."""

    name: str
    method: str
    direction: str
    selection: Any
    tuning: dict[str, int] = field(hash=False)
    shape: tuple[int, int] = (10, 12)

    def distribution(self, ranks: int) -> swath.Distribution:
        """Return pairs of columns, distributed cyclically: every rank has elements all over the file."""
        return swath.Distribution((swath.Whole(), swath.Cyclic(2)), grid=(1, ranks))

    def values(self, salt: int) -> np.ndarray:
        """Return the array's elements; for two salts, the bytes differ at every position."""
        count = self.shape[0] * self.shape[1] * DTYPE.itemsize
        random = np.random.default_rng(1).integers(0, 256, count, dtype=np.uint8)
        return (random + np.uint8(salt * 85)).view(DTYPE).reshape(self.shape)

    def share(self, array: np.ndarray, ranks: int, rank: int) -> np.ndarray:
        """Return the share of `rank` in the selected array by NumPy."""
        selected = array[self.selection]
        return selected[np.ix_(*self.distribution(ranks).indices(selected.shape, rank))]

    def file(self) -> bytes:
        """Return the initial file."""
        noise = np.random.default_rng(2).integers(0, 256, HEADER + TAIL, dtype=np.uint8).tobytes()
        return noise[:HEADER] + self.values(0).tobytes() + noise[HEADER:]

    def file_with(self, image: bytes, array: np.ndarray) -> np.ndarray:
        """The bytes of `image` with the selected elements of `array` in it."""
        inside = np.frombuffer(image[HEADER:-TAIL], DTYPE).reshape(self.shape).copy()
        inside[self.selection] = array[self.selection]
        return np.frombuffer(image[:HEADER] + inside.tobytes() + image[-TAIL:], np.uint8)

    def direct_requests(self, ranks: int, rank: int) -> list[tuple[int, int]]:
        """(offset, bytes) of each request of the direct method from scattered memory, in file order."""
        numbers = np.arange(self.shape[0] * self.shape[1]).reshape(self.shape)
        most = self.tuning["bounce_bytes"]
        requests: list[tuple[int, int]] = []
        run_begin = -1
        for offset in sorted(HEADER + DTYPE.itemsize * self.share(numbers, ranks, rank).ravel()):
            at, length = requests[-1] if requests else (-1, 0)
            if at + length != offset:
                run_begin = offset
            if at + length != offset or (offset - run_begin) % most == 0:
                requests.append((int(offset), DTYPE.itemsize))
            else:
                requests[-1] = (at, length + DTYPE.itemsize)
        return requests


HOLES = np.s_[1:9, 1:11]  # two elements between two rows are nobody's
WHOLE = np.s_[:, :]
_TUNINGS: tuple[tuple[str, str, Any, dict[str, int]], ...] = (
    ("direct", "direct", HOLES, {"bounce_bytes": 8}),
    ("sieve", "sieve", HOLES, {"sieve_bytes": 64}),
    ("list", "list", HOLES, {"list_pieces": 3}),
    ("two-phase", "two-phase", HOLES, {"window_bytes": 32, "domain_bytes_min": 8}),
    ("two-phase, run by run", "two-phase", HOLES, {"window_bytes": 96, "domain_bytes_min": 8, "runs_bytes_min": 8}),
    ("two-phase, no holes", "two-phase", WHOLE, {"window_bytes": 64, "domain_bytes_min": 8}),
    ("two-phase, one aggregator", "two-phase", HOLES, {"window_bytes": 64, "aggregators": 1}),
)
SCENES = {
    f"{direction}, {name}": Scene(name, method, direction, selection, tuning)
    for direction in ("read", "write")
    for name, method, selection, tuning in _TUNINGS
}


@dataclass(frozen=True)
class Break:
    """The fault: attempt number `attempt` of `step`, on these ranks."""

    step: str
    attempt: int
    what: str
    ranks: tuple[int, ...]

    def engine(self, rank: int, kind: str) -> str:
        """Return the engine for `rank`."""
        rule = f"{self.step}@{self.attempt}={self.what}," if rank in self.ranks else ""
        return f"fault:{rule}engine={kind}"

    @property
    def fatal(self) -> bool:
        """Whether the operation must fail."""
        return self.what in FATAL[self.step]


def breaks(counts: Sequence[dict[str, int]], whats: dict[str, tuple[str, ...]]) -> Iterator[Break]:
    """Yield every attempt of every step, on each rank and on all; `counts`: attempts of each rank without a fault."""
    ranks = range(len(counts))
    for step in STEPS:
        for what in whats[step]:
            for rank in ranks:
                for attempt in range(counts[rank][step]):
                    yield Break(step, attempt, what, (rank,))
            # Only where every rank gets that far: elsewhere the fault would wait for the next operation.
            for attempt in range(min(of_rank[step] for of_rank in counts) if len(counts) > 1 else 0):
                yield Break(step, attempt, what, tuple(ranks))


def scattered(part: np.ndarray, fill: int) -> np.ndarray:
    """Return a view of the part's shape that is nowhere contiguous, in memory filled with `fill`."""
    return np.full([2 * n + 1 for n in part.shape], fill, DTYPE)[tuple(slice(1, 1 + 2 * n, 2) for n in part.shape)]


def untouched(view: np.ndarray, fill: int) -> bool:
    """Return whether the memory around a view of `scattered` still has the value `fill`."""
    around = np.array(view.base)
    around[tuple(slice(1, 1 + 2 * n, 2) for n in view.shape)] = fill
    return bool((around == fill).all())


def attempts(scene: Scene, path: Path, comm: Any, ranks: int, rank: int) -> dict[str, int]:
    """Return how often this rank tries each step without a fault. Collective."""
    with open_scene(scene, path, comm, "posix") as a:
        execute(scene, a, ranks, rank)
        counted = a.counters
    return {"read": counted.read_requests, "write": counted.write_requests, "lock": counted.locks}


def open_scene(scene: Scene, path: Path, comm: Any, engine: str) -> swath.Array:
    """Open the array of the scene. Collective."""
    return swath.open(path, shape=scene.shape, dtype=DTYPE, offset=HEADER, mode="r+", comm=comm, engine=engine)


def execute(scene: Scene, a: swath.Array, ranks: int, rank: int) -> None:
    """Execute the request of the scene on scattered memory; compare a read. Collective."""
    d = scene.distribution(ranks)
    if scene.direction == "write":
        part = scene.share(scene.values(1), ranks, rank)
        values = scattered(part, 5)
        values[...] = part
        a.write(values, d, selection=scene.selection, method=scene.method, tuning=scene.tuning)
        return
    expected = scene.share(scene.values(0), ranks, rank)
    out = scattered(expected, -7)
    try:
        a.read(d, selection=scene.selection, method=scene.method, tuning=scene.tuning, out=out)
    finally:
        assert untouched(out, -7)
    np.testing.assert_array_equal(out, expected)


@dataclass(frozen=True)
class Outcome:
    """The result of one rank."""

    error: tuple[str, str, int | None] | None  # type, text, errno
    image: bytes  # the file after the operation, on rank 0
    image_of_retry: bytes  # and after it was asked for again


def outcome(scene: Scene, broken: Break, path: Path, comm: Any, ranks: int, rank: int, kind: str) -> Outcome:
    """Execute the request, and then again with the same array and communicator. Collective."""
    error = None
    with open_scene(scene, path, comm, broken.engine(rank, kind)) as a:
        try:
            execute(scene, a, ranks, rank)
        except swath.Error as raised:
            error = (type(raised).__name__, str(raised), getattr(raised, "errno", None))
        image = path.read_bytes() if rank == 0 else b""
        # A fault occurs once. All ranks can continue; nothing of the failed request is left.
        read = a.read(scene.distribution(ranks), selection=scene.selection, method=scene.method, tuning=scene.tuning)
        if rank == 0:
            now = np.frombuffer(image[HEADER:-TAIL], DTYPE).reshape(scene.shape)
            np.testing.assert_array_equal(read, scene.share(now, ranks, rank))
        execute(scene, a, ranks, rank)
    return Outcome(error, image, path.read_bytes() if rank == 0 else b"")


def check(
    scene: Scene, broken: Break, path: Path, outcomes: Sequence[Outcome], counts: Sequence[dict[str, int]]
) -> None:
    """Check that all ranks saw the same, that the error names the place, and that other bytes are unchanged."""
    before = scene.file()
    complete = (
        scene.file_with(before, scene.values(1)) if scene.direction == "write" else np.frombuffer(before, np.uint8)
    )
    errors = {one.error for one in outcomes}
    assert len(errors) == 1, f"ranks disagree: {errors}"
    error = errors.pop()
    image = np.frombuffer(outcomes[0].image, np.uint8)
    assert image.size == len(before)
    if broken.fatal:
        assert error is not None, "nobody noticed"
        check_error(scene, broken, path, error, counts)
        old = np.frombuffer(before, np.uint8)
        wrong = np.flatnonzero((image != old) & (image != complete))
        assert wrong.size == 0, f"bytes {wrong[:8]} are neither old nor new"
    else:
        assert error is None, error
        np.testing.assert_array_equal(image, complete)
    np.testing.assert_array_equal(np.frombuffer(outcomes[0].image_of_retry, np.uint8), complete)


def check_error(
    scene: Scene, broken: Break, path: Path, error: tuple[str, str, int | None], counts: Sequence[dict[str, int]]
) -> None:
    """Check type, errno, rank, path, offset, bytes wanted and got, and the system's message."""
    kind, text, number = error
    errno_name = broken.what.removeprefix("short+")
    assert kind == "StoreError"
    assert number == getattr(errno, errno_name)
    told = (LOCK_ERROR if broken.step == "lock" else TRANSFER_ERROR).fullmatch(text)
    assert told is not None, text
    assert told["step"] == broken.step
    assert told["path"] == str(path)
    assert told["reason"].startswith(os.strerror(getattr(errno, errno_name)))
    culprit = min(r for r in broken.ranks if counts[r][broken.step] > broken.attempt)
    assert told["rank"] == (str(culprit) if len(counts) > 1 else None), text
    end_of_array = len(scene.file()) - TAIL
    offset = int(told["offset"])
    if broken.step == "lock":
        assert HEADER <= offset < int(told["end"]) <= end_of_array
        return
    wanted, moved = int(told["wanted"]), int(told["moved"])
    assert HEADER <= offset < offset + wanted <= end_of_array
    # A single byte has no half: then the fault is a plain one.
    assert moved == (wanted // 2 if broken.what.startswith("short+") else 0)
    if scene.method == "direct":
        assert (offset, wanted) == scene.direct_requests(len(counts), culprit)[broken.attempt]


def has_uring(folder: Path) -> bool:
    """Return whether this kernel and build have the engine."""
    path = folder / "asked"
    path.write_bytes(bytes(8))
    with swath.open(path, shape=8, dtype="u1", engine="uring") as a:
        return a.engine == "uring"
