"""Replays a run: makes its scratch files, carries out its actions, and compares its times with those of the run."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass

from swath import _core
from swath.errors import ArgumentError, StoreError, UnsupportedError
from swath.replay import scratch
from swath.replay.actions import UNKNOWN, Run
from swath.replay.applying import apply
from swath.replay.arrays import exact_operation
from swath.replay.changes import Change
from swath.replay.launching import run_ranks
from swath.replay.modelled import run_modelled
from swath.replay.rank import Job
from swath.replay.result import Circumstances, Result, compared
from swath.store import profile

MODELLED_DISK = "disk:"
"""The prefix of the names of modelled disks, as stores of a replay."""


@dataclass(frozen=True)
class Expected:
    """What a replay will need.

    Attributes:
        store: the folder, or the modelled disk.
        room_bytes: the bytes of its scratch files.
        gap_seconds: the seconds that it waits, as the run computed.
        io_seconds: about how long its calls take, by the run's own times.
        making_seconds: about how long it takes to make the files that it reads; None if no profile says so.
    """

    store: str
    room_bytes: int
    gap_seconds: float
    io_seconds: float
    making_seconds: float | None

    @property
    def seconds(self) -> float:
        """Return about how long the replay takes."""
        return self.gap_seconds + self.io_seconds + (self.making_seconds or 0.0)


def changed(run: Run, changes: Sequence[Change]) -> Run:
    """Return the run with the changes, in their order. Raise ArgumentError if one cannot be applied."""
    for change in changes:
        run = apply(run, change)
    return run


def expected(run: Run, store: str = "", *, gaps: bool = True) -> Expected:
    """Return what a replay needs: it does not begin, and no file is made.

    Args:
        run: the run, with its changes.
        store: as for `run`.
        gaps: as for `run`.
    """
    store = store or default_store(run)
    is_modelled = store.startswith(MODELLED_DISK)
    initial = sum(one.initial_bytes for one in run.files)
    longest = max((sum(one.seconds for one in of_rank) for of_rank in run.actions), default=0.0)
    waits = run.gap_seconds if gaps and not is_modelled else 0.0
    return Expected(store, run.room_bytes, waits, 0.0 if is_modelled else longest, _making_seconds(store, initial))


def run(
    run: Run, store: str = "", changes: Sequence[Change] = (), *, gaps: bool = True, cold: bool | None = None
) -> Result:
    """Carry out a run again, on scratch files, and compare its times. Only files in a new private folder are touched.

    Args:
        run: the run, as `loading.load` returns it.
        store: the folder in which the private folder is made, or "disk:PRESET", a modelled disk with simulated time; by
            default the folder of the run's largest file, if it can be written to, else the system's temporary folder.
        changes: changes of the run, in their order.
        gaps: whether to wait between calls as long as the run computed.
        cold: whether files that the run reads are dropped from the page cache first; None: as the speed of the run's
            reads says.

    Raises:
        ArgumentError: a change cannot be applied to the run, or there is no such modelled disk.
        StoreError: there is not enough room, or the system refuses a call. Nothing is left then.
        UnsupportedError: the run has something that cannot be replayed there.
    """
    original = run
    run = changed(run, changes)
    needs = expected(run, store, gaps=gaps)
    is_modelled = needs.store.startswith(MODELLED_DISK)
    needed = _needed(run, is_modelled=is_modelled)
    folder = scratch.default_folder() if is_modelled else needs.store
    if not is_modelled:
        scratch.check_room(folder, needs.room_bytes)
    with scratch.scratch_folder(folder) as private:
        paths = scratch.make_files(private.folder, run.files, needed, is_sparse=is_modelled)
        dropped = _drop(run, paths, cold) if not is_modelled else False
        job = Job(run, paths, gaps)
        before = os.getloadavg()[0] / (os.cpu_count() or 1)
        timed = run_modelled(job, engine_of(needs.store, private.folder)) if is_modelled else run_ranks(private, job)
    return compared(original, run, timed, Circumstances(needs.store, dropped, before, gaps))


def engine_of(store: str, disk: str) -> str:
    """Return the engine of a modelled disk: one of its own for each `disk`. Raise ArgumentError if there is no such."""
    preset = store.removeprefix(MODELLED_DISK)
    names = [one["name"] for one in _core.modelled_disk_presets()]
    if preset not in names:
        raise ArgumentError(
            f"replay: store {store}: there is no such modelled disk: expected one of {', '.join(names)}"
        )
    return f"{profile.MODELLED}{preset}@{os.path.basename(disk)}"


def default_store(run: Run) -> str:
    """Return the folder of the run's largest file, if it is there and can be written to; else a temporary one."""
    for one in sorted(run.files, key=lambda file: file.end_bytes, reverse=True):
        folder = os.path.dirname(one.name)
        if folder and os.path.isdir(folder) and os.access(folder, os.W_OK | os.X_OK):
            return folder
    return scratch.default_folder()


def _needed(run: Run, *, is_modelled: bool) -> set[int]:
    """Return the files that must have their whole length before. Raise UnsupportedError for other operations."""
    needed: set[int] = set()
    for one in run.every_action():
        if one.name in ("operation", "collective", "pieces") or (is_modelled and one.moves and one.file != UNKNOWN):
            needed.add(one.file)
    for stored in run.operations:
        form = exact_operation(stored).array
        if form.layout is None:
            raise UnsupportedError(
                f"replay: {form.identity}: its chunks are coded, or only its format's library reads it: its operations "
                "cannot be replayed. Trace the program with h5py, zarr or netCDF4 instead of Swath"
            )
    return needed


def _making_seconds(store: str, initial: int) -> float | None:
    if store.startswith(MODELLED_DISK):
        return 0.0
    found = profile.for_path(store)
    if found is None:
        return None if initial else 0.0
    size, seconds = found.numbers["device.write"][-1]
    return float(initial / size * seconds)


def _drop(run: Run, paths: Sequence[str], cold: bool | None) -> bool:
    """Drop from the page cache what the run read from the medium. Return whether there was any."""
    dropped = False
    for one, path in zip(run.files, paths, strict=True):
        if (one.is_cold if cold is None else cold) and os.path.exists(path):
            try:
                scratch.make_cold(path)
            except OSError as error:
                raise StoreError(f"replay: {path}: {error.strerror}", error.errno or 0) from None
            dropped = True
    return dropped
