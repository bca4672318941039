"""The scratch files of one rank for operations of Swath and accesses of pieces: open arrays of the core."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from swath import _core
from swath.array import opening
from swath.array.open_array import Array
from swath.errors import UnsupportedError
from swath.replay.actions import Action, Run


class Operations:
    """The exact operations of a run, on their scratch files. All ranks make the same ones in the same order."""

    def __init__(self, run: Run, paths: Sequence[str], comm: Any, engine: str | None) -> None:
        self._run = run
        self._paths = paths
        self._comm = comm
        self._engine = engine
        self._rank: int = 0 if comm is None else comm.rank
        self._size: int = 1 if comm is None else comm.size
        self._files: dict[tuple[int, bool], Array] = {}
        self._arrays: dict[tuple[int, bool, bytes], _core.StoredArray] = {}
        self._exact: dict[tuple[int, tuple[tuple[str, int], ...]], _core.Operation] = {}
        self._parts: dict[int, list[Any]] = {}

    def open_before(self, actions: Sequence[Action]) -> None:
        """Open what the actions need. Collective where they are."""
        for one in actions:
            if one.name == "operation":
                self._of(one)
            elif one.name in ("collective", "pieces"):
                self._opened(one.file, is_shared=one.name == "collective")

    def carry_out(self, action: Action) -> int:
        """Carry out an operation, and return the bytes that this rank moved."""
        if action.name == "sync":
            for (file, _), opened in self._files.items():
                if file == action.file:
                    opened._stored.core_file.sync()
            return 0
        if action.name in ("collective", "pieces"):
            assert action.pieces is not None
            return self.carry_out_pieces(action, np.zeros(int(action.pieces.lengths.sum()), "u1"))
        operation, array = self._of(action)
        if action.operation not in self._parts:
            self._parts = {action.operation: _memory(operation, self._rank if operation.ranks > 1 else 0)}
        call = array.write if operation.direction == "write" else array.execute
        return _moved(call(operation, self._parts[action.operation]))

    def _of(self, action: Action) -> tuple[_core.Operation, _core.StoredArray]:
        """Return the exact operation and its array."""
        key = (action.operation, action.tuning)
        if key not in self._exact:
            self._exact[key] = exact_operation(self._run.operations[action.operation], action.tuning)
        operation = self._exact[key]
        is_shared = operation.ranks > 1 and self._comm is not None
        form = operation.array
        of_array = (action.file, is_shared, form.serialise())
        if of_array not in self._arrays:
            given = {"path": "", "can_grow": False, "may_get_chunk_places": False, "is_new": False}
            file = self._opened(action.file, is_shared=is_shared)
            self._arrays[of_array] = file._stored.file.shared.make_array(form, None, bytes(form.element_bytes), given)
        return operation, self._arrays[of_array]

    def _opened(self, file: int, *, is_shared: bool) -> Array:
        if (file, is_shared) not in self._files:
            bytes_needed = max(os.path.getsize(self._paths[file]), 1)
            self._files[file, is_shared] = opening.open(
                self._paths[file],
                shape=(bytes_needed,),
                dtype="u1",
                mode="r+",
                comm=self._comm if is_shared else None,
                engine=self._engine,
                streams=self._run.streams if self._run.streams is not None else "default",
            )
        return self._files[file, is_shared]

    def carry_out_pieces(self, action: Action, values: npt.NDArray[np.uint8]) -> int:
        """Read the bytes of the pieces into `values`, or write them; return the bytes that this rank moved."""
        assert action.pieces is not None
        is_shared = action.name == "collective" and self._comm is not None
        array = self._opened(action.file, is_shared=is_shared)
        nest = _core.Nest.blocks(action.pieces.offsets, action.pieces.lengths)
        place = (self._rank, self._size) if is_shared else (0, 1)
        own = _core.Decomposition.own_view(nest, *place, array.shape, False)
        operation = _core.Operation(array._form, action.direction, own, action.method, action.tuning)
        part: list[Any] = [_packed(values)]
        if action.direction == "write":
            return _moved(array._stored.write(operation, part))
        return _moved(array._stored.core.execute(operation, part))

    def close(self) -> None:
        """Close the files. Collective where they are shared."""
        self._arrays.clear()
        for array in self._files.values():
            array.close()


def exact_operation(stored: bytes, tuning: tuple[tuple[str, int], ...] = ()) -> _core.Operation:
    """Return the operation, with further tuning. Raise UnsupportedError if a replay cannot carry it out."""
    found = _core.Operation.parse(stored)
    form = found.array
    if form.layout is not None and form.layout.has_absent_chunks and found.direction == "write":
        raise UnsupportedError(
            f"replay: {form.identity}: a write that allocates chunks in the file cannot be replayed. Trace the "
            "program's file calls instead of its operations: swath trace PROGRAM, without Swath's own"
        )
    if tuning:
        merged = tuple({**dict(found.tuning), **dict(tuning)}.items())
        return _core.Operation(form, found.direction, found.decomposition, found.method, merged)
    return found


def _memory(operation: _core.Operation, rank: int) -> list[Any]:
    """Return memory for the parts of a rank."""
    shapes = operation.local_shapes(rank)
    if operation.decomposition.is_views:
        return [_packed(np.zeros(shapes[0][0], "u1"))]
    return [np.zeros(tuple(shape), f"V{operation.array.element_bytes}") for shape in shapes]


def _packed(values: npt.NDArray[np.uint8]) -> _core.ViewMemory:
    """Return memory for the bytes of a view, one behind the other."""
    return _core.ViewMemory(values, _core.Nest.block(len(values)) if len(values) else _core.Nest())


def _moved(done: _core.Execution) -> int:
    return done.counters.read_bytes + done.counters.written_bytes
