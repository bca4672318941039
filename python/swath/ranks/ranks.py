"""The ranks of an operation, and their agreement."""

from __future__ import annotations

import contextlib
import functools
import inspect
import pickle
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

from swath import _core
from swath.errors import ArgumentError, Error, to_core

T = TypeVar("T")
P = ParamSpec("P")


class Ranks:
    """The ranks that execute collective operations together: a thin wrapper of the core's Comm."""

    def __init__(self, comm: _core.Comm) -> None:
        self.comm = comm
        self.rank: int = comm.rank
        self.size: int = comm.size

    def in_turn(self, doing: str) -> contextlib.AbstractContextManager[None]:
        """Let only this thread make collective calls inside the block.

        Raises ArgumentError if another thread has the turn, or if the process was forked from a rank.
        """
        return contextlib.nullcontext() if self.size == 1 else _Turn(self.comm, doing)

    @functools.cached_property
    def most_on_a_node(self) -> int:
        """Return the number of ranks on the fullest node."""
        return self.comm.most_on_a_node

    @functools.cached_property
    def is_first_of_node(self) -> bool:
        """Return whether no lower rank is on the same node."""
        return self.comm.is_first_of_node

    def agree(self, call: str, error: BaseException | None = None, *, says_yes: bool = False) -> bool:
        """Raise the same error on every rank if any rank has one, or if their calls differ. Collective.

        `call` describes the call of this rank. The error is chosen in this order: an error without a description of the
        call, then different calls, then an error with one. Without an error, returns whether any rank says yes.
        """
        if error is None and self.size == 1:
            return says_yes
        kind, message, os_error = (0, "", 0) if error is None else to_core(error)
        try:
            return self.comm.agree_same(call, kind, message, os_error, says_yes)
        except Error as agreed:
            self.have_agreed(agreed)
            if error is not None:
                self.have_agreed(error)
            raise agreed from error

    def have_agreed(self, error: BaseException) -> None:
        """Mark an error as raised by all these ranks together.

        The error of a rank that has left a loop gets no mark: that rank does not raise it.
        """
        if getattr(error, "is_of_rank_that_left", False):
            return
        error.agreed_by = [*getattr(error, "agreed_by", []), self.comm]  # type: ignore[attr-defined]

    def all_raise(self, error: BaseException | None) -> bool:
        """Return whether all of these ranks know this error, so that none waits for this rank.

        An error that fewer ranks agreed on (of another communicator, or alone in `a[...]`) is not known to all.
        """
        return any(comm is self.comm for comm in getattr(error, "agreed_by", []))

    def run_collectively(self, call: str, work: Callable[[], T]) -> T:
        """Run `work` on each rank, then agree on the errors. Collective."""
        result, error = self._outcome_of(work)
        self.agree("" if error else call, error)
        return result  # type: ignore[return-value]

    def throwing_alike(self, call: Callable[[], T]) -> T:
        """Make a collective call of the core, whose errors all ranks raise together."""
        try:
            return call()
        except Error as error:
            self.have_agreed(error)
            raise

    def any_rank(self, call: str, work: Callable[[], bool]) -> bool:
        """Run `work` on each rank, and return whether it returned True on any rank. Collective."""
        result, error = self._outcome_of(work)
        return self.agree("" if error else call, error, says_yes=bool(result))

    def _outcome_of(self, work: Callable[[], T]) -> tuple[T | None, Exception | None]:
        """Return the result of `work`, or its error."""
        try:
            return work(), None
        except Exception as raised:
            if self.size == 1 and getattr(raised, "is_from_signal", False):
                raise  # from the program's own signal handler: not our error
            return None, raised  # the other ranks must know it

    def on_first(self, call: str, work: Callable[[], T]) -> T:
        """Run `work` on rank 0, and return its (pickled) result, or raise its error, on all ranks. Collective."""
        result = self.run_collectively(call, work if self.rank == 0 else lambda: None)
        if self.size == 1:
            return result  # type: ignore[return-value]
        return pickle.loads(self.comm.broadcast(pickle.dumps(result) if self.rank == 0 else b"", 0))  # type: ignore[no-any-return]

    def gather_objects(self, mine: Any) -> list[Any]:
        """Return the objects of all ranks, on every rank, in the order of the ranks. Collective."""
        return [pickle.loads(part) for part in self.comm.allgather(pickle.dumps(mine))]


class _Turn(contextlib.AbstractContextManager[None]):
    """The turn for collective calls, inside the block. A generator would take twice as long."""

    def __init__(self, comm: _core.Comm, doing: str) -> None:
        self._comm, self._doing = comm, doing

    def __enter__(self) -> None:
        self._comm.begin_turn(self._doing)

    def __exit__(self, *_: object) -> None:
        self._comm.end_turn()


def in_turn(call: Callable[P, T]) -> Callable[P, T]:
    """Return a collective function with an argument `comm`, for one thread of a rank at a time, see `Ranks.in_turn`."""
    signature = inspect.signature(call)

    @functools.wraps(call)
    def called_in_turn(*args: P.args, **kwargs: P.kwargs) -> T:
        comm = kwargs["comm"] if "comm" in kwargs else signature.bind(*args, **kwargs).arguments.get("comm")
        if comm is None:
            return call(*args, **kwargs)
        with ranks_of(comm).in_turn(call.__name__):
            return call(*args, **kwargs)

    return called_in_turn


def ranks_of(comm: Any) -> Ranks:
    """Return the ranks of `comm`: None (one rank alone), an mpi4py communicator, or a comm of `swath.simulated`.

    Collective over an mpi4py communicator the first time; later calls find the same ranks again.

    Raises ArgumentError for anything else.
    """
    if comm is None:
        return Ranks(_core.solo_comm())
    if isinstance(comm, Ranks):
        return comm
    if isinstance(comm, _core.Comm):
        return Ranks(comm)
    if type(comm).__module__.partition(".")[0] != "mpi4py":
        raise ArgumentError(f"comm: expected None or an mpi4py communicator, not {type(comm).__name__}")
    from swath.ranks import mpi

    return Ranks(mpi.comm_of(comm))
