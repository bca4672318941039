"""Additional tests of communicators from mpi4py; core/comm/mpi_comm_test.cc has the general ones, with real ranks.

Run by `mpiexec -n N python comm_ranks.py`; the exit status is 0 if every rank found the right results.
"""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable

from mpi4py import MPI

from swath import _core
from swath.ranks import loaded_mpi

_mpi = loaded_mpi.module()
WORLD = MPI.COMM_WORLD
RANK, SIZE = WORLD.rank, WORLD.size


def raises(error: type[BaseException], words: str, call: Callable[[], object]) -> None:
    """Fail unless `call` raises `error` with `words` in its text."""
    text = None
    try:
        call()
    except error as raised:
        text = str(raised)
    assert text is not None, f"nothing raised; expected {error.__name__} with {words!r}"
    assert words in text, f"expected {words!r} in {text!r}"


def test_ranks_are_those_of_mpi4py(comm: _core.Comm) -> None:
    """Rank and size are those of mpi4py; bytes of any size are sent in both directions."""
    assert (comm.name, comm.rank, comm.size) == ("mpi", RANK, SIZE)
    assert comm.allgather(bytes([RANK]) * RANK) == [bytes([r]) * r for r in range(SIZE)]
    assert comm.broadcast(b"of the last" if RANK == SIZE - 1 else b"", SIZE - 1) == b"of the last"


def test_a_program_that_uses_mpi_meanwhile_does_not_disturb(comm: _core.Comm) -> None:
    """The communicator is a duplicate: the program's own messages and collectives do not mix with Swath's."""
    for i in range(50):
        pending = WORLD.isend(i, (RANK + 1) % SIZE, tag=0)
        assert comm.allgather(bytes([RANK, i])) == [bytes([r, i]) for r in range(SIZE)]
        assert WORLD.recv(source=(RANK - 1) % SIZE, tag=0) == i
        pending.wait()


def test_ranks_that_ask_for_different_things_all_hear_of_it(comm: _core.Comm) -> None:
    """Every rank gets an error, and the communicator works afterwards."""
    if SIZE > 1:
        raises(RuntimeError, "other", lambda: comm.agree_same("other" if RANK == 0 else "this"))
    assert comm.allgather(b"x") == [b"x"] * SIZE


def test_communicators_of_some_ranks_and_of_one(comm: _core.Comm) -> None:
    """A sub-communicator numbers its own ranks, also in reversed order."""
    half = WORLD.Split(RANK % 2, -RANK)
    part = _mpi.MpiComm(half.handle)
    assert (part.rank, part.size) == (half.rank, half.size)
    assert part.allgather(bytes([RANK])) == [bytes([r]) for r in half.allgather(RANK)]
    part.close()
    half.Free()
    alone = _mpi.MpiComm(MPI.COMM_SELF.handle)
    assert alone.allgather(b"me") == [b"me"]
    alone.close()
    comm.barrier()


def test_what_cannot_be_a_communicator_is_refused(comm: _core.Comm) -> None:
    """An invalid communicator is a ValueError; an object that is no handle is a TypeError."""
    raises(ValueError, "COMM_NULL", lambda: _mpi.MpiComm(MPI.COMM_NULL.handle))
    raises(TypeError, "", lambda: _mpi.MpiComm("world"))
    closed = _mpi.MpiComm(WORLD.handle)
    closed.close()
    raises(ValueError, "closed", closed.barrier)
    comm.barrier()


def main() -> int:
    """Run every test of this file on every rank; return 1 if one failed."""
    comm = _mpi.MpiComm(WORLD.handle)
    for name, test in list(globals().items()):
        if name.startswith("test_"):
            test(comm)
    comm.close()
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Exception:  # noqa: BLE001 - if one rank failed alone, the others would wait for it
        print(f"rank {RANK}: {traceback.format_exc()}", file=sys.stderr, flush=True)
        WORLD.Abort(1)
