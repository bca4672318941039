"""What `swath calibrate` measured, for programs that have no Python: one file, a section a mount point."""

from __future__ import annotations

import os
import platform
from pathlib import Path

from swath.errors import Error
from swath.store import own_files, profile

VARIABLE = "SWATH_MPI_IO_PROFILES"
"""Names the file to the backend (bindings/mpi_io/profiles.h)."""


def file() -> str:
    """Return where they are kept for this host: beside the profiles themselves."""
    return os.path.join(os.path.dirname(profile.folder()), f"mpi-io-profiles-{platform.node()}")


def text() -> str:
    """Return the sections of all stores of this machine that were calibrated, as they are now."""
    sections = []
    for path in sorted(Path(profile.folder()).glob("*.json")):
        try:
            stored = profile.load(str(path))
            is_current = profile.for_path(stored.store.mount_point) is not None
        except (OSError, Error):  # damaged, or of another machine: `swath info` says so
            continue
        if is_current and stored.machine.host == platform.node():
            sections.append(f"mount {stored.store.mount_point}\n{stored.core.text()}")
    return "".join(sections)


def write() -> str | None:
    """Write the file and return its path; None where nothing was calibrated, or it cannot be written."""
    sections = text()
    if not sections:
        return None
    try:
        own_files.replace(file(), sections)
    except OSError:
        return None
    return file()
