"""What `create(layout=)` takes of an advice, which is made above arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol


class AdvisedLayout(Protocol):
    """What `swath.advise_layout` returns for one array."""

    @property
    def stripe(self) -> tuple[int, int, int] | None:
        """Return how a new file in a pool is striped; None: as is usual."""
        raise NotImplementedError

    def creation(self, shape: Sequence[int | None], dtype: Any, format: str) -> dict[str, Any]:  # noqa: A002
        """Return the arguments by which `swath.create` makes the layout; see `LayoutAdvice.creation`."""
        raise NotImplementedError
