"""netCDF's default fill values: they are read if nothing was written, and no other fill value was given."""

from __future__ import annotations

from typing import Any

NETCDF_FILLS: dict[str, Any] = {
    "i1": -127,
    "u1": 255,
    "i2": -32767,
    "u2": 65535,
    "i4": -2147483647,
    "u4": 4294967295,
    "i8": -9223372036854775806,
    "u8": 18446744073709551614,
    "f4": 9.9692099683868690e36,
    "f8": 9.9692099683868690e36,
    "S1": b"",
}
"""By type, without its byte order (netcdf.h, NC_FILL_BYTE and so on): the types that netCDF has."""
