"""The folder for Swath's measurements: in the user's cache folder, by the XDG specification."""

from __future__ import annotations

import os


def path() -> str:
    """Return the folder of all cached files."""
    cache = os.environ.get("XDG_CACHE_HOME", "")
    if not os.path.isabs(cache):  # by the XDG specification, also if it is empty
        cache = os.path.join(os.path.expanduser("~"), ".cache")
    return os.path.join(cache, "swath")


def profiles() -> str:
    """Return the folder of the profiles from `swath calibrate`."""
    return os.path.join(path(), "profiles")
