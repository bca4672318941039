"""Which array in which state of its file: what programs that keep results by their inputs (dask) compare."""

from __future__ import annotations

import os

from swath.base import stored_path
from swath.formats import Description
from swath.formats.description import CodedLayout
from swath.formats.files import store_errors
from swath.formats.identity import identity

Fingerprint = tuple[str, int, int, int]


def fingerprint(description: Description, folder: str) -> Fingerprint:
    """Return the array and where its bytes are, in words, and its file's size, time of change (ns) and inode.

    Of a Zarr array the folder is looked at: what others write into its chunks is not always seen.

    Args:
        description: of the array.
        folder: that a relative path starts from.

    Raises:
        StoreError: the file is not there any more.
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
