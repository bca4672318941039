"""Fingerprint of an array and of its file's state. Programs that cache results by inputs (dask) compare it."""

from __future__ import annotations

import os

from swath.base import stored_path
from swath.formats import Description
from swath.formats.description import CodedLayout
from swath.formats.files import store_errors
from swath.formats.identity import identity

Fingerprint = tuple[str, int, int, int]


def fingerprint(description: Description, folder: str) -> Fingerprint:
    """Return the identity of the array in words, and the size, modification time (ns) and inode of its file.

    For a Zarr array they are those of the folder: writes of other programs into its chunks may go unseen.

    Args:
        description: the description of the array.
        folder: the folder that a relative path starts from.

    Raises:
        StoreError: the file no longer exists.
    """
    path = os.path.join(folder, description.path)
    layout = description.layout
    stored = layout.path if isinstance(layout, CodedLayout) else description.path
    in_store = stored_path.of(stored)
    if not in_store.is_local:
        return identity(description, stored), in_store.size(), 0, 0
    with store_errors(path, "look at"):
        status = os.stat(os.path.join(folder, stored))
    return identity(description, path), status.st_size, status.st_mtime_ns, status.st_ino
