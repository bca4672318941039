"""The conditions of a measurement: a number without them means little."""

from __future__ import annotations

import contextlib
import os
import platform
import re
from typing import Any

import numpy as np

import swath
from swath.base import units
from swath.ranks import mpi


def conditions(folder: str) -> dict[str, Any]:
    """Machine, load, file system of `folder`, and versions, as plain data."""
    return {
        "cores": len(os.sched_getaffinity(0)),
        "processor": _first(r"^model name\s*: (.*)$", "/proc/cpuinfo") or platform.machine(),
        "memory_bytes": memory_bytes("MemTotal"),
        "load_average": os.getloadavg()[0],
        "kernel": f"{platform.system()} {platform.release()}",
        "file_system": file_system(folder),
        **_mpi_versions(),
        "python": platform.python_version(),
        "numpy": np.__version__,
        "swath": swath.__version__,
        "environment": {name: value for name, value in sorted(os.environ.items()) if name.startswith("SWATH_")},
    }


def _mpi_versions() -> dict[str, str]:
    """Return the versions of MPI, or nothing without MPI: runs in virtual time need none."""
    try:
        import mpi4py
    except ImportError:
        return {"mpi": "no MPI", "mpi4py": "none"}
    return {"mpi": mpi.library_version(), "mpi4py": mpi4py.__version__}


def in_words(found: dict[str, Any]) -> str:
    """Return the conditions as two lines of text."""
    memory = "" if found["memory_bytes"] is None else f", {units.in_bytes(found['memory_bytes'])} of memory"
    load = f"load average {found['load_average']:.1f} before"
    if "load_average_after" in found:
        load += f", {found['load_average_after']:.1f} after"
    return (
        f"{found['cores']} cores of {found['processor']}{memory}, {found['file_system']}; {load}\n"
        f"{found['kernel']}, {found['mpi'].replace(' Version:', '')}, mpi4py {found['mpi4py']}, Python "
        f"{found['python']}, NumPy {found['numpy']}, Swath {found['swath']}"
    )


def memory_bytes(what: str) -> int | None:
    """Return a line of /proc/meminfo ("MemTotal", "MemAvailable") in bytes; None where there is none."""
    found = _first(rf"^{what}:\s+(\d+) kB$", "/proc/meminfo")
    return None if found is None else int(found) * 1024


def file_system(folder: str) -> str:
    """The type of the file system that holds `folder`, "ext4"; "unknown file system" where the kernel does not tell."""
    device = os.stat(folder).st_dev
    name = f"{os.major(device)}:{os.minor(device)}"
    return _first(rf"^\d+ \d+ {name} .* - (\S+) ", "/proc/self/mountinfo") or "unknown file system"


def _first(pattern: str, path: str) -> str | None:
    with contextlib.suppress(OSError), open(path, encoding="utf-8", errors="replace") as told:
        found = re.search(pattern, told.read(), re.MULTILINE)
        return found[1] if found else None
    return None
