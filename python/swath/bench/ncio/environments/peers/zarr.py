"""zarr-python: a chunked array in a folder, one strided selection for each rank."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import zarr

from .protocol import VALUE_DTYPE, Contender, Pattern, Ranks, Store, Values, all_ranks, chunk_rows, main

CHUNK_BYTES = 4 << 20


class ZarrFolder(Store):
    """Chunks of whole rows, not compressed; or whatever the library chooses."""

    def __init__(self, ranks: Ranks, path: str, *, defaults: bool) -> None:
        super().__init__(ranks, path)
        self._defaults = defaults

    def create(self, pattern: Pattern) -> None:
        """Front to back."""
        layout: dict[str, Any] = {}
        if not self._defaults:
            layout = {"chunks": (chunk_rows(pattern, CHUNK_BYTES), pattern.file_shape[1]), "compressors": None}
        array = zarr.create_array(
            zarr.storage.LocalStore(self.path), shape=pattern.file_shape, dtype=VALUE_DTYPE, overwrite=True, **layout
        )
        for begin, end in pattern.pieces(0, pattern.file_shape[0]):
            array[begin:end] = pattern.image(begin, end, self.stamp)

    def opened(self) -> Any:
        """The array."""
        return zarr.open_array(zarr.storage.LocalStore(self.path), mode="r+")

    def rows(self, pattern: Pattern, begin: int, end: int) -> Values:
        """Through an array of its own."""
        return np.asarray(self.opened()[begin:end])


class ZarrContender(Contender):
    """One process, rank after rank."""

    store: ZarrFolder

    def open(self, pattern: Pattern) -> None:
        """Anew each time."""
        self._array = self.store.opened()

    def operation(self, pattern: Pattern, direction: str, memories: list[Values]) -> Callable[[], object]:
        """By slices; what is read is copied to where it belongs."""
        array = self._array
        selections = [
            ((pattern.rows(rank), slice(pattern.units)), memory[:, : pattern.units])
            for rank, memory in zip(self.held, memories, strict=True)
        ]

        def read() -> None:
            for selection, regions in selections:
                regions[...] = array[selection]

        def write() -> None:
            for selection, regions in selections:
                array[selection] = regions

        return read if direction == "read" else write

    def hints(self) -> dict[str, str]:
        """How it lies on the medium."""
        return {"chunks": str(self._array.chunks), "compressors": str(self._array.compressors)}


def contenders(ranks: Ranks, request: dict[str, Any]) -> list[Contender]:
    """With the library's defaults, and with what suits it best here."""
    return [
        ZarrContender(
            name,
            ZarrFolder(ranks, f"{request['folder']}/zarr-{number}", defaults=name.endswith("defaults")),
            all_ranks(request),
        )
        for number, name in enumerate(request["contenders"])
    ]


if __name__ == "__main__":
    main(Ranks(), contenders)
