"""What the backends read of profiles: a section for each store of this machine that was calibrated."""

from __future__ import annotations

import platform
from pathlib import Path

from swath.base import cache_folder, own_files
from swath.errors import Error
from swath.store import profile


def text() -> str:
    """Return the sections of all stores of this machine that were calibrated, as they are now."""
    sections = []
    for path in sorted(Path(cache_folder.profiles()).glob("*.json")):
        try:
            stored = profile.load(str(path))
            is_current = profile.for_path(stored.store.mount_point) is not None
        except (OSError, Error):  # damaged, or of another machine: `swath info` says so
            continue
        if is_current and stored.machine.host == platform.node():
            sections.append(f"mount {stored.store.mount_point}\n{stored.core.text()}")
    return "".join(sections)


def write(file: str, first_line: str) -> None:
    """Replace the file. Raises OSError."""
    own_files.replace(file, first_line + text())
