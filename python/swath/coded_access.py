"""Reading and writing arrays whose chunks are coded: the face of core/chunks, and what the ranks agree on around it.

Each rank reads and decodes the chunks that hold its elements, on its own. Writing, each rank encodes whole chunks:
those that it holds alone, all ranks at once; then those that several ranks share, in as many rounds as there are ranks.
In each round a chunk has one writer, which puts its elements into what the writers before it left.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from swath import _core, progress
from swath.formats.description import ChunkFiles, ChunkTable, Codec, CodedLayout, Description
from swath.ranks import Ranks

if TYPE_CHECKING:
    from swath.operation import Operation

Part = npt.NDArray[Any]


class CodedAccess:
    """One array with coded chunks.

    Args:
        layout: of the description.
        description: of the array.

    Raises:
        FormatError: the layout cannot be.
    """

    def __init__(self, layout: CodedLayout, description: Description) -> None:
        self._path = description.path
        self._array = _core_array(layout, description)
        self.can_write = not isinstance(layout.places, ChunkTable)
        self.chunk_bytes: int = self._array.chunk_bytes

    def carry_out(self, operation: Operation, parts: list[Part], ranks: Ranks, ranks_of_node: int) -> _core.Counters:
        """Collective. Moves this rank's parts, with as many threads as it has cores (shared with `ranks_of_node`)."""
        memory = dict(operation.tuning).get("chunk_buffer_bytes", 0)
        is_alone = ranks.size == 1
        arguments = (self._array, operation.decomposition, operation.rank_of_decomposition, parts)
        with progress.watching(f"{operation.direction} {self._path}", ranks.rank) as watched:
            if operation.direction == "read":
                return ranks.run_collectively(
                    operation.asked, lambda: _core.read_chunks(*arguments, memory, ranks_of_node, is_alone, watched)
                )
            own, shared = ranks.run_collectively(operation.asked, lambda: _core.touched_units(*arguments[:3]))
            counters = ranks.run_collectively(
                f"{operation.asked}: chunks of one rank",
                lambda: _core.write_chunks(*arguments, own, memory, ranks_of_node, is_alone, watched),
            )
            rounds = ranks.size if any(ranks.gather_objects(bool(shared))) else 0
            for turn in range(rounds):
                # Of the ranks that share a chunk, each has it in another round.
                units = [unit for unit in shared if (unit + ranks.rank) % ranks.size == turn]
                counters += ranks.run_collectively(
                    f"{operation.asked}: shared chunks, round {turn}",
                    lambda: _core.write_chunks(*arguments, units, memory, ranks_of_node, is_alone, watched),  # noqa: B023
                )
            return counters


class FolderEngine:
    """Stands where an engine stands, for an array that is a folder of chunks: its bytes are moved by core/chunks."""

    name = "chunks"

    def __init__(self, folder: str) -> None:
        self._folder = folder

    def sync(self) -> None:
        """When it returns, all that was written by this node is on the medium; one call, however many files."""
        _core.sync_folder(self._folder)


def open_engine(description: Description, mode: str, engine: str, waiting: dict[str, Any]) -> tuple[Any, str]:
    """(engine, why it is another than the one asked for) of an array of any layout; `waiting`: for turns and locks."""
    layout = description.layout
    if not isinstance(layout, CodedLayout) or isinstance(layout.places, ChunkTable):
        return _core.open_engine(description.path, mode, engine, **waiting)
    reason = "" if engine == "auto" else f"{engine} moves bytes of one file; chunks are read and written by threads"
    return FolderEngine(layout.path), reason


def _tuples(codecs: tuple[Codec, ...]) -> list[tuple[str, dict[str, int | str]]]:
    return [(codec.name, dict(codec.settings)) for codec in codecs]


def _core_array(layout: CodedLayout, description: Description) -> _core.CodedArray:
    common = (
        layout.path,
        description.shape,
        description.dtype.itemsize,
        layout.chunk_shape,
        layout.order,
        _tuples(layout.codecs),
        description.fill,
    )
    places = layout.places
    if isinstance(places, ChunkTable):
        flat = [np.ascontiguousarray(a).ravel().tolist() for a in (places.offsets, places.nbytes, places.skipped)]
        return _core.CodedArray.table(*common, *flat)
    if isinstance(places, ChunkFiles):
        return _core.CodedArray.files(*common, places.first, places.separator, places.scalar)
    files = places.files
    return _core.CodedArray.shards(
        *common,
        files.first,
        files.separator,
        files.scalar,
        places.shape,
        _tuples(places.index_codecs),
        places.index_at_end,
    )
