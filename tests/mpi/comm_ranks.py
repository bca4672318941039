"""The contract of comms (core/comm/comm_contract_test.cc) as Python sees it, and what mpi4py's communicators add to it.

Run by `mpiexec -n N python tests/mpi/comm_ranks.py`; exits with 0 when every rank found everything right. With
SWATH_NODES=k in the environment the ranks behave as k nodes, and the way between nodes is tested.
"""

from __future__ import annotations

import ctypes
import os
import random
import sys
import time
import traceback
from collections.abc import Callable

from mpi4py import MPI

from swath import _core, _mpi

WORLD = MPI.COMM_WORLD
RANK, SIZE = WORLD.rank, WORLD.size


def raises(error: type[BaseException], words: str, call: Callable[[], object]) -> None:
    """Fails unless `call` raises `error` with `words` in its text."""
    text = None
    try:
        call()
    except error as raised:
        text = str(raised)
    assert text is not None, f"nothing raised; expected {error.__name__} with {words!r}"
    assert words in text, f"expected {words!r} in {text!r}"


def message(size: int, origin: int) -> bytes:
    """Bytes that tell their origin and their place."""
    return random.Random(origin).randbytes(min(size, 4096)).ljust(size, bytes([origin % 251 + 1]))


def test_ranks_and_nodes_are_those_of_mpi(comm: _core.Comm) -> None:
    """Rank, size, and with SWATH_NODES=k contiguous blocks of ranks as nodes."""
    assert (comm.name, comm.rank, comm.size) == ("mpi", RANK, SIZE)
    apart = os.environ.get("MPIR_CVAR_NOLOCAL") == "1"  # MPICH: no two ranks share a node
    nodes = int(os.environ.get("SWATH_NODES", SIZE if apart else 1))
    assert comm.node_count == min(nodes, SIZE)
    places = [comm.node_of(r) for r in range(SIZE)]
    assert places == sorted(places)
    assert places[0] == 0


def test_barrier_separates_phases(comm: _core.Comm) -> None:
    """Nobody leaves a barrier before all have come."""
    for phase in range(5):
        if phase % SIZE == RANK:
            time.sleep(0.05)
        arrival = time.monotonic()  # one clock for all processes of a machine
        comm.barrier()
        departure = time.monotonic()
        assert WORLD.allreduce(arrival, MPI.MAX) <= WORLD.allreduce(departure, MPI.MIN)


def test_allgather_is_in_rank_order(comm: _core.Comm) -> None:
    """Also of nothing, and of more than any internal buffer."""
    for size in (0, 1, 8, 4096, 700_001):
        assert comm.allgather(message(size, RANK)) == [message(size, r) for r in range(SIZE)]


def test_broadcast_reaches_all_from_every_root(comm: _core.Comm) -> None:
    """Also of nothing, and of more than any internal buffer."""
    for root in range(SIZE):
        for size in (0, 1, 700_001):
            assert comm.broadcast(message(size, root) if root == RANK else b"", root) == message(size, root)


def exchange_and_check(comm: _mpi.MpiComm, size_between: Callable[[int, int], int | None]) -> None:
    """Sends `size_between(origin, receiver)` bytes between all pairs (None: no message) and checks what comes."""
    out = [(r, message(size, RANK * SIZE + r)) for r in range(SIZE) if (size := size_between(RANK, r)) is not None]
    into = [(r, size) for r in range(SIZE) if (size := size_between(r, RANK)) is not None]
    assert comm.exchange(out, into) == [message(size, r * SIZE + RANK) for r, size in into]


def test_exchange_delivers_each_message_to_its_receiver(comm: _mpi.MpiComm) -> None:
    """All to all, a ring, nobody, empty messages, to oneself, one pair, and large ones."""
    exchange_and_check(comm, lambda origin, to: 100 * origin + 10 * to + 3)
    exchange_and_check(comm, lambda origin, to: 5000 if (origin + 1) % SIZE == to else None)
    exchange_and_check(comm, lambda origin, to: None)
    exchange_and_check(comm, lambda origin, to: 0)
    exchange_and_check(comm, lambda origin, to: 77 if origin == to else None)
    exchange_and_check(comm, lambda origin, to: 9 if (origin, to) == (0, SIZE - 1) else None)
    exchange_and_check(comm, lambda origin, to: 1_300_007 + origin if (origin + 2 * to) % 3 == 0 else 12)


def test_messages_of_unexpected_size_are_errors(comm: _mpi.MpiComm) -> None:
    """Whether more or less comes than was expected; the receiver at least says so, and MPI goes on."""
    if SIZE == 1:
        raises(RuntimeError, "sends itself 8 bytes and expects 4", lambda: comm.exchange([(0, bytes(8))], [(0, 4)]))
        return
    for sent, expected in ((8, 4), (4, 8)):
        other = _mpi.MpiComm(WORLD.handle)
        try:
            other.exchange([(1, bytes(sent))] if RANK == 0 else [], [(0, expected)] if RANK == 1 else [])
            assert RANK != 1
        except RuntimeError as error:
            assert "exchange: rank 0 sends" in str(error), error  # noqa: PT017
            assert f"to rank 1, which expects {expected}" in str(error), error  # noqa: PT017
        comm.barrier()
        other.close()


def test_windows_are_seen_by_the_ranks_of_their_node(comm: _mpi.MpiComm) -> None:
    """Kept for smaller requests, replaced by larger ones; none at all with SWATH_SHARED_MEMORY=0."""
    if os.environ.get("SWATH_SHARED_MEMORY") == "0":
        assert comm.shared_windows(100) == []
        assert "SWATH_SHARED_MEMORY=0" in comm.shared_refusal
        return
    for size in (100, 40, 300_000, 70_000):
        windows = comm.shared_windows(size)
        assert [length for _, length in windows] == [
            size if comm.node_of(r) == comm.node_of(RANK) else 0 for r in range(SIZE)
        ]
        comm.barrier()
        ctypes.memmove(windows[RANK][0], message(size, RANK), size)
        comm.node_barrier()
        for r, (address, length) in enumerate(windows):
            assert ctypes.string_at(address, length) == message(length, r)
        comm.barrier()


def test_windows_that_one_node_cannot_have_are_refused_on_all(comm: _mpi.MpiComm) -> None:
    """With the reason, and smaller ones can still be had."""
    if os.environ.get("SWATH_SHARED_MEMORY") == "0":
        return
    assert comm.shared_windows(1 << 61) == []
    assert "bytes" in comm.shared_refusal
    assert len(comm.shared_windows(1000)) == SIZE
    assert comm.shared_refusal == ""
    comm.barrier()


def test_a_program_that_uses_mpi_meanwhile_does_not_disturb(comm: _core.Comm) -> None:
    """The communicator is a duplicate: the program's own messages and collectives pass between ours."""
    for i in range(50):
        pending = WORLD.isend(i, (RANK + 1) % SIZE, tag=0)
        assert comm.allgather(bytes([RANK, i])) == [bytes([r, i]) for r in range(SIZE)]
        assert WORLD.recv(source=(RANK - 1) % SIZE, tag=0) == i
        pending.wait()


def test_ranks_that_ask_for_different_things_all_hear_of_it(comm: _core.Comm) -> None:
    """An error on every rank, and the communicator goes on."""
    if SIZE > 1:
        raises(RuntimeError, "other", lambda: comm.agree_same("other" if RANK == 0 else "this"))
    assert comm.allgather(b"x") == [b"x"] * SIZE


def test_communicators_of_some_ranks_and_of_one(comm: _core.Comm) -> None:
    """A sub-communicator numbers its own ranks, reversed ones too."""
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
    """The null communicator, an intercommunicator, a number of nodes that is none, a closed comm."""
    raises(ValueError, "COMM_NULL", lambda: _mpi.MpiComm(MPI.COMM_NULL.handle))
    raises(TypeError, "", lambda: _mpi.MpiComm("world"))
    if SIZE > 1:
        half = WORLD.Split(RANK % 2, RANK)
        inter = half.Create_intercomm(0, WORLD, 1 - RANK % 2)
        raises(ValueError, "intercommunicator", lambda: _mpi.MpiComm(inter.handle))
        inter.Free()
        half.Free()
    before = os.environ.pop("SWATH_NODES", None)
    os.environ["SWATH_NODES"] = "many" if RANK == 0 else "1"
    raises(ValueError, "SWATH_NODES on rank 0", lambda: _mpi.MpiComm(WORLD.handle))
    del os.environ["SWATH_NODES"]
    if before is not None:
        os.environ["SWATH_NODES"] = before
    closed = _mpi.MpiComm(WORLD.handle)
    closed.close()
    closed.close()
    raises(ValueError, "closed", closed.barrier)
    comm.barrier()


def test_many_communicators_leave_nothing_behind(comm: _core.Comm) -> None:
    """MPI has about 2,000 communicators in all, and /dev/shm must not keep our segments."""
    for _i in range(50):
        _mpi.MpiComm(WORLD.handle).close()
    comm.barrier()
    folder = os.environ.get("SWATH_SHM_DIR") or f"/dev/shm/swath-{os.geteuid()}"
    names = os.listdir(folder) if os.path.isdir(folder) else []
    assert not [name for name in names if name.startswith(f"window-{os.getpid()}-")]


def main() -> int:
    """Runs every test of this file on every rank; 1 where one failed."""
    comm = _mpi.MpiComm(WORLD.handle)
    for name, test in list(globals().items()):
        if name.startswith("test_"):
            test(comm)
    comm.close()
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Exception:  # noqa: BLE001 - a rank that fails alone would leave the others waiting
        print(f"rank {RANK}: {traceback.format_exc()}", file=sys.stderr, flush=True)
        WORLD.Abort(1)
