"""The library for C and C++ in this package: libswath.so, its headers, and how to link."""

from __future__ import annotations

from pathlib import Path

from swath.errors import UnsupportedError

PREFIX = Path(__file__).parent.parent / "library"
"""As `cmake --install` installs it: include, lib, lib/pkgconfig, lib/cmake, bin/swath-config."""


def get_include() -> str:
    """Return the folder with the headers for C and C++: compile with `-I` and this folder; it has <swath/swath.h>.

    Raises UnsupportedError if this installation has no library for C.
    """
    return _folder("include")


def get_library_dir() -> str:
    """Return the folder of libswath.so, to link programs of C and C++; there is a libswath_mpi.so for each MPI.

    `swath-config --cflags --libs` prints all options for a program; add `--mpi` before them for ranks of MPI.

    Raises UnsupportedError if this installation has no library for C.
    """
    return _folder("lib")


def _folder(name: str) -> str:
    if not (PREFIX / name).is_dir():
        raise UnsupportedError(
            f"{PREFIX / name}: this installation has no library for C: install Swath again (pip install "
            "--force-reinstall swath)"
        )
    return str(PREFIX / name)
