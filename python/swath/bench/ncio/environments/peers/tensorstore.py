"""TensorStore: a zarr v3 array in a folder, one strided selection for each rank."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import tensorstore as ts

from .protocol import Contender, Pattern, Ranks, Store, Values, all_ranks, chunk_rows, main

CHUNK_BYTES = 4 << 20


class TensorStoreFolder(Store):
    """Chunks of whole rows; or whatever the library chooses. Without a codec both are not compressed."""

    def __init__(self, ranks: Ranks, path: str, *, defaults: bool, sync: bool) -> None:
        super().__init__(ranks, path)
        self._defaults = defaults
        self._spec = {"driver": "zarr3", "kvstore": {"driver": "file", "path": path}}
        self._sync = sync

    def _open(self, **options: Any) -> Any:
        # Anew, so that nothing is in a cache of its own. It syncs by itself: not where nobody is asked to.
        return ts.open(self._spec, context=ts.Context({"file_io_sync": self._sync}), **options).result()

    def create(self, pattern: Pattern) -> None:
        """Front to back."""
        layout = {}
        if not self._defaults:
            chunk = (chunk_rows(pattern, CHUNK_BYTES), pattern.file_shape[1])
            layout = {"chunk_layout": ts.ChunkLayout(chunk_shape=chunk)}
        array = self._open(create=True, delete_existing=True, dtype=ts.int64, shape=pattern.file_shape, **layout)
        for begin, end in pattern.pieces(0, pattern.file_shape[0]):
            array[begin:end].write(pattern.image(begin, end, self.stamp)).result()

    def opened(self) -> Any:
        """The array."""
        return self._open(open=True)

    def rows(self, pattern: Pattern, begin: int, end: int) -> Values:
        """Through an array of its own."""
        return np.asarray(self.opened()[begin:end].read().result())


class TensorStoreContender(Contender):
    """One process, which has threads of its own; the ranks' selections at the same time."""

    store: TensorStoreFolder

    def open(self, pattern: Pattern) -> None:
        """Anew each time."""
        self._array = self.store.opened()

    def operation(self, pattern: Pattern, direction: str, memories: list[Values]) -> Callable[[], object]:
        """By strided views; what is read is copied to where it belongs."""
        moves = [
            (self._array[pattern.rows(rank), : pattern.units], memory[:, : pattern.units])
            for rank, memory in zip(self.held, memories, strict=True)
        ]

        def read() -> None:
            for (_, regions), found in zip(moves, [view.read() for view, _ in moves], strict=True):
                regions[...] = found.result()

        def write() -> None:
            with ts.Transaction() as together:  # ranks that share a chunk: it is read and written once
                for view, regions in moves:
                    view.with_transaction(together).write(regions).result()

        return read if direction == "read" else write

    def hints(self) -> dict[str, str]:
        """How it lies on the medium."""
        return {
            "chunks": str(self._array.chunk_layout.write_chunk.shape),
            "codec": str(self._array.codec and self._array.codec.to_json()),
        }


def contenders(ranks: Ranks, request: dict[str, Any]) -> list[Contender]:
    """With the library's defaults, and with smaller chunks."""
    return [
        TensorStoreContender(
            name,
            TensorStoreFolder(
                ranks,
                f"{request['folder']}/tensorstore-{number}/",
                defaults=name.endswith("defaults"),
                sync=request["options"]["sync"],
            ),
            all_ranks(request),
        )
        for number, name in enumerate(request["contenders"])
    ]


if __name__ == "__main__":
    main(Ranks(), contenders)
