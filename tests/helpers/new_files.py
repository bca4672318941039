"""New files of one array, made by the formats alone."""

from pathlib import Path
from typing import Any

from swath import formats


def create(path: str | Path, shape: Any, dtype: Any, *, format: str | None = None, **options: Any) -> Any:  # noqa: A002
    """Make a file as `swath.create` does, with its options but for an advised layout, and return its description."""
    kind = formats.format_for(path, format)
    return formats.create_array(
        path, kind, formats.new_array(path, kind, shape, dtype, formats.CreationOptions(**options))
    )
