"""The interface of a layout advice that `create(layout=)` needs. A higher layer makes advice."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol


class AdvisedLayout(Protocol):
    """The advice of `swath.advise_layout` for one array."""

    @property
    def stripe(self) -> tuple[int, int, int] | None:
        """Return the striping of a new file in a pool; None for the default."""
        raise NotImplementedError

    def creation(self, shape: Sequence[int | None], dtype: Any, format: str) -> dict[str, Any]:  # noqa: A002
        """Return the arguments of `swath.create` for the layout; see `LayoutAdvice.creation`."""
        raise NotImplementedError
