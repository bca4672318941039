"""MPI-IO of Open MPI (OMPIO), in the modes that one process can have; see `swath_bench.ncio.peers.RUNS`."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable
from typing import Any, TypeVar

import answers
import numpy as np
from mpi4py import MPI

from .regions import VALUE_BYTES, VALUE_DTYPE, Contender, Pattern, Ranks, Store, Values, measuring

T = TypeVar("T")
NAP_SECONDS = 50e-6


class MpiRanks(Ranks):
    """The processes of MPI. A waiting process sleeps: otherwise it would take the core of one that works."""

    def __init__(self) -> None:
        self.rank = MPI.COMM_WORLD.rank
        self.size = MPI.COMM_WORLD.size

    def barrier(self) -> None:
        """Collective. All processes wait asleep first, so the barrier is short, and all leave it at one time."""
        self._meet()
        MPI.COMM_WORLD.Barrier()

    def gather(self, mine: T) -> list[T]:
        """Collective."""
        self._meet()
        found: list[T] = MPI.COMM_WORLD.allgather(mine)
        return found

    def _meet(self) -> None:
        meeting = MPI.COMM_WORLD.Ibarrier()
        while not meeting.Test():
            time.sleep(NAP_SECONDS)


class RawFile(Store):
    """A file of nothing but the rows."""

    def create(self, pattern: Pattern) -> None:
        """By plain writes, front to back."""
        with open(self.path, "wb") as file:
            for begin, end in pattern.pieces(0, pattern.file_shape[0]):
                pattern.image(begin, end, self.stamp).astype(VALUE_DTYPE).tofile(file)

    def rows(self, pattern: Pattern, begin: int, end: int) -> Values:
        """By plain reads."""
        width = pattern.file_shape[1]
        offset = begin * width * VALUE_BYTES
        return np.fromfile(self.path, VALUE_DTYPE, (end - begin) * width, offset=offset).reshape(-1, width)


class OmpioContender(Contender):
    """OMPIO with independent or collective calls. The view is set when the file is opened, and not timed."""

    def __init__(self, name: str, store: Store, hints: dict[str, str]) -> None:
        super().__init__(name, store, [MPI.COMM_WORLD.rank])
        self._collective = " collective" in name
        self._asked = hints
        self._file = MPI.FILE_NULL
        self._types: list[MPI.Datatype] = []

    def open(self, pattern: Pattern) -> None:
        """Open once a file. The filetype is one resized region, the best view; a contiguous file has an offset."""
        if self._file != MPI.FILE_NULL:
            return
        info = MPI.Info.Create(self._asked)
        self._file = MPI.File.Open(MPI.COMM_WORLD, self.store.path, MPI.MODE_RDWR, info)
        info.Free()
        width = pattern.file_shape[1]
        offset = pattern.row_starts[MPI.COMM_WORLD.rank] * width * VALUE_BYTES
        if pattern.row_step == 1 and width == pattern.units:
            self._file.Set_view(offset, MPI.INT64_T, MPI.INT64_T, "native")
            return
        region = MPI.INT64_T.Create_contiguous(pattern.units)
        regions = region.Create_resized(0, pattern.row_step * width * VALUE_BYTES).Commit()
        self._file.Set_view(offset, MPI.INT64_T, regions, "native")
        region.Free()
        regions.Free()

    def operation(self, pattern: Pattern, direction: str, memories: list[Values]) -> Callable[[], object]:
        """Return the call, with noncontiguous memory as one vector datatype."""
        self._free_types()
        name = ("Read_at" if direction == "read" else "Write_at") + ("_all" if self._collective else "")
        buffer: list[Any] = [memories[0], pattern.count * pattern.units, MPI.INT64_T]
        if pattern.memory_shape[1] != pattern.units:
            vector = MPI.INT64_T.Create_vector(pattern.count, pattern.units, pattern.memory_shape[1]).Commit()
            self._types.append(vector)
            buffer = [memories[0], 1, vector]
        return functools.partial(getattr(self._file, name), 0, buffer)

    def sync(self) -> None:
        """MPI_File_sync, as for the first MPI."""
        self._file.Sync()

    def close(self) -> None:
        """Collective."""
        if self._file != MPI.FILE_NULL:
            self._file.Close()
        self._free_types()

    def _free_types(self) -> None:
        while self._types:
            self._types.pop().Free()

    def hints(self) -> dict[str, str]:
        """Return the hints in the form that the library accepted."""
        info = self._file.Get_info()
        taken = {key: value.strip() for key, value in info.items()}
        info.Free()
        return {**taken, **{f"asked: {key}": value for key, value in self._asked.items()}}


def contenders(ranks: Ranks, request: dict[str, Any]) -> list[Contender]:
    """Return the contenders of the request; the name says for collective ones if all ranks are aggregators."""
    store = RawFile(f"{request['folder']}/openmpi.bin")
    hints = {"all aggregate": {"cb_nodes": str(ranks.size)}}
    return [
        OmpioContender(name, store, next((of for mode, of in hints.items() if name.endswith(mode)), {}))
        for name in request["contenders"]
    ]


if __name__ == "__main__":
    answers.answer(regions=measuring(contenders, MpiRanks()))
