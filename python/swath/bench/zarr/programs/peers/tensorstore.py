"""TensorStore: several requests at the same time, as it is made for."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import tensorstore as ts

from .protocol import Contender, Selection, Values, main


class TensorStoreContender(Contender):
    """Nothing is in a cache of its own: each opening has its own context, and by default that keeps no chunks."""

    def open(self) -> None:
        """Anew."""
        self._array = ts.open(
            {
                "driver": "zarr" if self.version == 2 else "zarr3",
                "kvstore": {"driver": "file", "path": f"{self.path}/"},
            },
            context=ts.Context(self.settings.get("context", {})),
            open=True,
            read=True,
        ).result()

    def read(self, selections: Sequence[Selection]) -> list[Values]:
        """Asked for together; tuned, in one batch, so that what they share is read once."""
        views = [self._array[selection] for selection in selections]
        if self.settings.get("batch"):
            with ts.Batch() as batch:
                promised = [view.read(batch=batch) for view in views]
        else:
            promised = [view.read() for view in views]
        return [np.asarray(one.result()) for one in promised]

    def close(self) -> None:
        """With it go files that it has mapped."""
        del self._array


if __name__ == "__main__":
    main(TensorStoreContender)
