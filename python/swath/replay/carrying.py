"""One rank of a replay: carries out its actions in their order, with the gaps between them, and times each."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from swath import _core
from swath.base.stream_settings import Streams
from swath.replay.actions import Action, Run
from swath.replay.arrays import Operations
from swath.replay.background import Background
from swath.replay.system_files import SystemFiles, store_error
from swath.throttle.throttle import stream

SLEEP_SECONDS_MIN = 200e-6
"""Shorter gaps are summed up: a sleep takes tens of microseconds more than it should."""


class Files(Protocol):
    """What carries out the calls of one rank."""

    def open_before(self, actions: Sequence[Action]) -> None:
        """Open what the actions use without an open in the log."""

    def carry_out(self, action: Action) -> int:
        """Carry out an action, and return the bytes that it moved."""

    def copy(self, length: int) -> None:
        """Copy so many bytes in memory."""

    def close(self) -> None:
        """Close all files."""


@dataclass
class Timed:
    """What a rank did.

    Attributes:
        began: the begin of each of its actions, in seconds since the begin of the replay.
        seconds: how long each took.
        moved: the bytes that each moved.
        ended: when the rank ended, in seconds since the begin.
    """

    began: list[float] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    moved: list[int] = field(default_factory=list)
    ended: float = 0.0


class RealClock:
    """The clock of this machine."""

    now = staticmethod(time.perf_counter)
    sleep = staticmethod(time.sleep)


class SimulatedClock:
    """The clock of a simulation: sleeping takes no real time."""

    now = staticmethod(_core.clock_now)

    @staticmethod
    def sleep(seconds: float) -> None:
        """Let simulated time pass."""
        _core.clock_sleep_until(_core.clock_now() + seconds)


@dataclass
class Rank:
    """One rank of a replay.

    Attributes:
        run: the run.
        rank: its number.
        paths: the scratch files, by the numbers of the run's files.
        operations: carries out operations of Swath.
        barrier: waits for all ranks.
        clock: measures and passes time.
        files: carries out file calls; None: those of the system.
        with_gaps: whether the rank waits as long between its calls as the run computed.
    """

    run: Run
    rank: int
    paths: Sequence[str]
    operations: Operations
    barrier: Callable[[], None]
    clock: type[RealClock] | type[SimulatedClock] = RealClock
    files: Files | None = None
    with_gaps: bool = True

    def carry_out(self) -> Timed:
        """Carry out the actions of this rank. Collective if the run is.

        Raises:
            StoreError: the system refuses a call; the message names the rank, the call and the file.
        """
        actions = self.run.actions[self.rank]
        largest = max((one.length for one in actions if one.name in ("read", "write", "copy")), default=0)
        files = self.files or SystemFiles(self.paths, largest)
        try:
            self.operations.open_before(actions)
            files.open_before(actions)
            self.barrier()
            timed = self._carry_out_all(actions, files)
        finally:
            files.close()
        self.operations.close()  # not after an error: it is collective, and other ranks are elsewhere
        return timed

    def _carry_out_all(self, actions: Sequence[Action], files: Files) -> Timed:
        timed = Timed()
        now = self.clock.now
        background = Background(actions, lambda one: self._carry_out(one, files))
        begin = ended = now()
        debt = 0.0  # of computing
        try:
            for number, one in enumerate(actions):
                debt += one.gap if self.with_gaps else 0.0
                remaining = debt - (now() - ended)
                if remaining >= SLEEP_SECONDS_MIN:
                    self.clock.sleep(remaining)
                began = now()
                debt = max(0.0, debt - (began - ended)) if debt else 0.0
                moved = 0
                if one.is_call:
                    moved = background.carry_out(number, one)
                elif one.name == "barrier":
                    self.barrier()
                elif one.name == "copy":
                    files.copy(one.length)
                ended = now()
                timed.began.append(began - begin)
                timed.seconds.append(ended - began)
                timed.moved.append(moved)
            background.finish()
            timed.ended = now() - begin
        finally:
            background.stop()
        return timed

    def _carry_out(self, action: Action, files: Files) -> int:
        try:
            if action.layer == "swath":
                return self.operations.carry_out(action)
            if not action.moves or self.run.streams is None or self.files is not None:
                return files.carry_out(action)
            path = self.paths[action.file]
            with stream(path, action.moves, nbytes=action.length, streams=_of_both(self.run.streams)):
                return files.carry_out(action)
        except OSError as error:
            file = self.run.files[action.file]
            raise store_error(self.rank, action, file.name, self.paths[action.file], error) from error


def _of_both(streams: int | str) -> Streams:
    """Return the limit for reads and writes."""
    return {"read": streams, "write": streams}
