"""netCDF classic files: CDF-1, CDF-2 (64-bit offsets) and CDF-5 (64-bit sizes and more types).

The core implements the format (core/formats/netcdf/).
"""

from __future__ import annotations

from typing import BinaryIO

from swath.formats.through_core import FormatOfCore

FLAVOURS: tuple[str, ...] = ("cdf1", "cdf2", "cdf5")
"""The versions by the names that `format` gives them."""

_core_format = FormatOfCore("netcdf-classic")

add = _core_format.add
contents = _core_format.contents
create = _core_format.create
create_file = _core_format.create_file
describe = _core_format.describe
describe_many = _core_format.describe_many
extend = _core_format.extend
refusals = _core_format.refusals
set_attributes = _core_format.set_attributes
set_length = _core_format.set_length
start = _core_format.start
to_add = _core_format.to_add


def matches(file: BinaryIO, size: int) -> bool:
    """Return whether the file begins like one of the three versions."""
    del size
    return file.read(4) in (b"CDF\1", b"CDF\2", b"CDF\5")
