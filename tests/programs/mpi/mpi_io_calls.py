"""Every call of MPI that moves data: read or write, at an offset or by a pointer, independent or collective."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from mpi4py import MPI


@dataclass(frozen=True)
class Call:
    """One form of a call: `by` is "offset", "pointer", "shared" or "ordered"; `way` is "now", "beside" or "split"."""

    name: str  # the name of the read call, such as Read_at_all
    by: str
    is_collective: bool
    way: str

    def __call__(self, file: MPI.File, direction: str, spec: list[Any], offset: int) -> MPI.Status:
        """Carry out the call, to its end; only calls with an offset get it."""
        name = self.name if direction == "read" else self.name.replace("read", "write").replace("Read", "Write")
        arguments = (offset, spec) if self.by == "offset" else (spec,)
        status = MPI.Status()
        if self.way == "beside":
            getattr(file, name)(*arguments).Wait(status)
        elif self.way == "split":
            getattr(file, f"{name}_begin")(*arguments)
            getattr(file, f"{name}_end")(spec, status)
        else:
            getattr(file, name)(*arguments, status)
        return status


CALLS = [
    Call("Read_at", "offset", False, "now"),
    Call("Iread_at", "offset", False, "beside"),
    Call("Read_at_all", "offset", True, "now"),
    Call("Iread_at_all", "offset", True, "beside"),
    Call("Read_at_all", "offset", True, "split"),
    Call("Read", "pointer", False, "now"),
    Call("Iread", "pointer", False, "beside"),
    Call("Read_all", "pointer", True, "now"),
    Call("Iread_all", "pointer", True, "beside"),
    Call("Read_all", "pointer", True, "split"),
    Call("Read_shared", "shared", False, "now"),
    Call("Iread_shared", "shared", False, "beside"),
    Call("Read_ordered", "ordered", True, "now"),
    Call("Read_ordered", "ordered", True, "split"),
]


def calls(*by: str) -> Iterator[Call]:
    """Return the calls that find their place in one of these ways."""
    return (call for call in CALLS if call.by in by)


def main(parts: dict[str, Callable[..., None]]) -> None:
    """Run the part that the command line names, with its arguments; an exception on any rank ends all ranks."""
    import sys
    import traceback

    try:
        parts[sys.argv[1]](*sys.argv[2:])
        MPI.COMM_WORLD.Barrier()
        if MPI.COMM_WORLD.rank == 0:
            print("all right")
    except BaseException:  # noqa: BLE001
        traceback.print_exc()
        sys.stderr.flush()
        MPI.COMM_WORLD.Abort(1)
