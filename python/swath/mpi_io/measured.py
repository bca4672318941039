"""The results of `swath calibrate` for programs without Python: one file, with a section for each mount point.

It is written again only if its inputs have changed: its first line has their hash. The check takes a millisecond; a
write needs the imports of NumPy and of the core.
"""

from __future__ import annotations

import os

from swath.base import cache_folder

VARIABLE = "SWATH_MPI_IO_PROFILES"
"""The variable with the file's path for the backend (bindings/mpi_io/profiles.h)."""


def file() -> str:
    """Return its path for this host: next to the profiles."""
    return os.path.join(cache_folder.path(), f"mpi-io-profiles-{os.uname().nodename}")


def up_to_date_file() -> str | None:
    """Return the path of the file; writes it if it was not up to date.

    Return None if no store was calibrated, or if it cannot be written.
    """
    profiles = _profiles()
    if not profiles:
        return None
    first_line = _first_line(profiles)
    try:
        with open(file(), encoding="utf-8", errors="replace") as opened:
            is_current = opened.readline() == first_line
    except OSError:
        is_current = False
    if not is_current:
        from swath.mpi_io import profile_sections

        try:
            profile_sections.write(file(), first_line)
        except OSError:
            return None
    return file()


def _profiles() -> list[str]:
    """Return for each profile its name and a property that changes with it: a write replaces the file."""
    try:
        with os.scandir(cache_folder.profiles()) as entries:
            found = [(entry.name, entry.stat()) for entry in entries if entry.name.endswith(".json")]
    except OSError:
        return []
    return sorted(f"{name} {status.st_ino} {status.st_mtime_ns} {status.st_size}" for name, status in found)


def _first_line(profiles: list[str]) -> str:
    """Return the first line, which the backend skips: a hash of all inputs of the sections.

    It changes with the installed Swath, the profiles, and what makes a profile invalid: another machine, a boot, and
    other mounts.
    """
    import hashlib

    made_of = [str(os.stat(__file__).st_mtime_ns), os.environ.get("SWATH_PROFILE", ""), *profiles]
    made_of += [_content("/proc/sys/kernel/random/boot_id"), _content("/proc/self/mountinfo")]
    return f"# made of {hashlib.sha256(os.fsencode(chr(0).join(made_of))).hexdigest()}\n"


def _content(path: str) -> str:
    try:
        with open(path, "rb") as opened:
            return os.fsdecode(opened.read())
    except OSError:
        return ""
