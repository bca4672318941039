"""Open arrays become objects of dask and xarray by a module that is loaded when the first one does.

Importing this module tells them which one: that opens files, for coordinates, and arrays import nothing that does.
"""

from __future__ import annotations

import importlib
from typing import Any

from swath.array import numpy_protocol


def _load() -> Any:
    return importlib.import_module("swath.xarray.conversion")


numpy_protocol.convert_by(_load)
