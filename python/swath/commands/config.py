"""`swath-config`: compiler and linker flags for programs in C and C++. The program itself is a shell script."""

from __future__ import annotations

import os
import sys

from swath.base import c_library
from swath.errors import UnsupportedError


def main() -> int:
    """Replace this process by swath/library/bin/swath-config, with the same arguments."""
    try:
        c_library.get_library_dir()
    except UnsupportedError as error:
        print(f"swath-config: {error}", file=sys.stderr)
        return 1
    script = str(c_library.PREFIX / "bin" / "swath-config")
    return os.execv("/bin/sh", ["sh", script, *sys.argv[1:]])
