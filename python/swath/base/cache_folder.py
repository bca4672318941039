"""Where Swath keeps what it has measured: in the user's cache folder, as the XDG specification has it."""

from __future__ import annotations

import os


def path() -> str:
    """Return the folder of all that is kept."""
    cache = os.environ.get("XDG_CACHE_HOME", "")
    if not os.path.isabs(cache):  # as the XDG specification says, empty or not
        cache = os.path.join(os.path.expanduser("~"), ".cache")
    return os.path.join(cache, "swath")


def profiles() -> str:
    """Return the folder of the profiles that `swath calibrate` has made."""
    return os.path.join(path(), "profiles")
