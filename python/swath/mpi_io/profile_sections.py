"""The profiles as backends read them: a section for each calibrated store of this machine."""

from __future__ import annotations

import platform
from pathlib import Path

from swath.base import cache_folder, own_files
from swath.errors import Error
from swath.store import profile


def text() -> str:
    """Return the current sections of all calibrated stores of this machine."""
    sections = []
    for path in sorted(Path(cache_folder.profiles()).glob("*.json")):
        try:
            stored = profile.load(str(path))
            is_current = profile.for_path(stored.store.mount_point) is not None
        except (OSError, Error):  # damaged, or of another machine: `swath info` reports it
            continue
        if is_current and stored.machine.host == platform.node():
            sections.append(f"mount {stored.store.mount_point}\n{stored.core.text()}")
    return "".join(sections)


def write(file: str, first_line: str) -> None:
    """Replace the file. Raises OSError."""
    own_files.replace(file, first_line + text())
