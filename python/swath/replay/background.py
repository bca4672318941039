"""Reads that are started ahead, and writes that go on behind the program: one thread carries them out in order."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor

from swath.replay.actions import Action


class Background:
    """Carries out actions of one rank: those with `ahead` or `behind` in a thread, all others at once."""

    def __init__(self, actions: Sequence[Action], carry_out: Callable[[Action], int]) -> None:
        self._carry_out = carry_out
        self._actions = actions
        self._reads = [number for number, one in enumerate(actions) if one.ahead]
        self._index = {number: index for index, number in enumerate(self._reads)}
        self._started: deque[Future[int]] = deque()  # reads
        self._next = 0  # the index of the first read that is not started
        self._writes: deque[Future[int]] = deque()
        is_needed = any(one.ahead or one.behind for one in actions)
        self._thread = ThreadPoolExecutor(1) if is_needed else None

    def carry_out(self, number: int, action: Action) -> int:
        """Carry out an action, or wait for it, or start it. Return the bytes that it moves."""
        if self._thread is None:
            return self._carry_out(action)
        if action.ahead:
            return self._read(self._thread, number, action.ahead)
        if action.behind:
            while len(self._writes) >= action.behind:
                self._writes.popleft().result()
            self._writes.append(self._thread.submit(self._carry_out, action))
            return action.length
        if action.name != "seek":
            self.finish()  # a sync or a close is about all writes before it
        return self._carry_out(action)

    def _read(self, thread: ThreadPoolExecutor, number: int, ahead: int) -> int:
        index = self._index[number]
        while self._next <= min(index + ahead, len(self._reads) - 1):
            following = self._reads[self._next]
            if self._next > index and not self._may_start(number, following):
                break
            self._started.append(thread.submit(self._carry_out, self._actions[following]))
            self._next += 1
        return self._started.popleft().result()

    def _may_start(self, number: int, following: int) -> bool:
        """Return whether a read may be started at an earlier one: nothing between may change or close its file."""
        file = self._actions[following].file
        return not any(
            one.name == "barrier" or (one.file == file and one.name not in ("read", "seek", "stat"))
            for one in self._actions[number + 1 : following]
        )

    def finish(self) -> None:
        """Wait for all writes, and raise their errors."""
        while self._writes:
            self._writes.popleft().result()

    def stop(self) -> None:
        """Wait for the thread. What was not started is left out."""
        if self._thread is not None:
            self._thread.shutdown(cancel_futures=True)
