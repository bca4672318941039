"""The backends of the stub: their paths, and the families of MPI that they serve."""

from __future__ import annotations

import os
from pathlib import Path

import swath
from swath.ranks.loaded_mpi import FAMILIES

VARIABLE = "SWATH_MPI_IO_BACKENDS"
"""A folder of backends that is searched before all others."""

PACKAGE = Path(__file__).parent
SOURCE = PACKAGE / "source"
"""The sources of a backend."""


def user_folder() -> Path:
    """Return the folder of the user's own backends for this version, as bindings/mpi_io/stub/stub.c finds it."""
    data = os.environ.get("XDG_DATA_HOME", "")
    base = Path(data) if data.startswith("/") else Path.home() / ".local" / "share"
    return base / "swath" / "mpi_io" / swath.__version__


def folders() -> list[Path]:
    """Return the folders that the stub searches for backends, in its order."""
    given = os.environ.get(VARIABLE)
    return [*([Path(given)] if given else []), PACKAGE, user_folder()]


def build_id() -> str:
    """Return the identity of the sources, by which the stub recognises its backends: "0.1.0-89ab…"."""
    text = (SOURCE / "bindings" / "mpi_io" / "build_id.h").read_text(encoding="utf-8")
    return text.split('"')[1]


def file_name(family: str) -> str:
    """Return the name of the family's backend."""
    return f"libswath-mpi-io-{family}.so"


def installed() -> dict[str, Path]:
    """Return, for each family with a backend, the one that the stub would use."""
    found = {}
    for family in FAMILIES:
        paths = [folder / file_name(family) for folder in folders()]
        first = next((path for path in paths if path.exists() and _is_of_this_build(path)), None)
        if first is not None:
            found[family] = first
    return found


def _is_of_this_build(backend: Path) -> bool:
    return build_id().encode() in backend.read_bytes()


def loaded(maps: str) -> list[Path]:
    """Return the backends that a process has loaded, from the text of its /proc/self/maps."""
    names = {file_name(family) for family in FAMILIES}
    paths = {Path(line[line.index("/") :]) for line in maps.splitlines() if "/" in line}
    return sorted(path for path in paths if path.name in names)
