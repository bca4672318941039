"""What `swath calibrate` measured, for programs that have no Python: one file, a section a mount point.

It is written again only where something has changed that it was made of: its first line tells. To see that takes a
millisecond, to write it takes the imports of NumPy and of the core.
"""

from __future__ import annotations

import os

from swath.base import cache_folder

VARIABLE = "SWATH_MPI_IO_PROFILES"
"""Names the file to the backend (bindings/mpi_io/profiles.h)."""


def file() -> str:
    """Return where it is kept for this host: beside the profiles themselves."""
    return os.path.join(cache_folder.path(), f"mpi-io-profiles-{os.uname().nodename}")


def up_to_date_file() -> str | None:
    """Return the path of the file, written where it was not up to date.

    None where no store was calibrated, or it cannot be written.
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
    """Return of each profile its name and what changes with it: the file is replaced whenever it is written."""
    try:
        with os.scandir(cache_folder.profiles()) as entries:
            found = [(entry.name, entry.stat()) for entry in entries if entry.name.endswith(".json")]
    except OSError:
        return []
    return sorted(f"{name} {status.st_ino} {status.st_mtime_ns} {status.st_size}" for name, status in found)


def _first_line(profiles: list[str]) -> str:
    """Return what the backend reads over: a hash of all that decides what the sections say.

    It changes with the installed Swath, the profiles, and what makes a profile invalid: another machine, which takes a
    boot, and other mounts.
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
