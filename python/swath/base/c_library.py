"""Where the library for C and C++ is that comes with this package: libswath.so, its headers, how to link."""

from __future__ import annotations

from pathlib import Path

from swath.errors import UnsupportedError

PREFIX = Path(__file__).parent.parent / "library"
"""As `cmake --install` would have it: include, lib, lib/pkgconfig, lib/cmake, bin/swath-config."""


def get_include() -> str:
    """Return the folder to compile programs of C and C++ with: `-I` it; <swath/swath.h> is below it.

    Raises UnsupportedError where this installation has no library for C.
    """
    return _folder("include")


def get_library_dir() -> str:
    """Return the folder of libswath.so, to link programs of C and C++ with; libswath_mpi.so is in one for each MPI.

    `swath-config --cflags --libs`, with `--mpi` before them for the ranks of MPI, says all that a program needs.

    Raises UnsupportedError where this installation has no library for C.
    """
    return _folder("lib")


def _folder(name: str) -> str:
    if not (PREFIX / name).is_dir():
        raise UnsupportedError(
            f"{PREFIX / name}: this installation has no library for C: install Swath again (pip install "
            "--force-reinstall swath)"
        )
    return str(PREFIX / name)
