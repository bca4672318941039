"""zarr-python, with its own codecs or those of zarrs, as its configuration says."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import zarr

from .protocol import Contender, Selection, Values, main, together


class ZarrContender(Contender):
    """Several requests one after the other; tuned, by threads that each make one."""

    def __init__(self, path: str, version: int, settings: dict[str, Any]) -> None:
        super().__init__(path, version, settings)
        zarr.config.set(settings.get("config", {}))
        threads = settings.get("threads", 0)
        self._pool = ThreadPoolExecutor(threads) if threads else None

    def open(self) -> None:
        """Anew."""
        self._array = zarr.open_array(zarr.storage.LocalStore(self.path, read_only=True), mode="r")

    def read(self, selections: Sequence[Selection]) -> list[Values]:
        """By slices, also of one row: zarrs refuses an index there."""
        return together(self._read_one, selections, self._pool)

    def _read_one(self, selection: Selection) -> Values:
        slices = tuple(slice(part, part + 1) if isinstance(part, int) else part for part in selection)
        dropped = tuple(0 if isinstance(part, int) else slice(None) for part in selection)
        return np.asarray(self._array[slices])[dropped]


if __name__ == "__main__":
    main(ZarrContender)
