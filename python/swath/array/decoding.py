"""Decodes stored values by the attributes of CF: which are missing, and how the others are scaled. Pure.

    Decoding.of(np.dtype("i2"), {"_FillValue": np.int16(-1), "scale_factor": np.float32(0.5)}).decode(stored)

It follows netCDF4-python. `_FillValue`, `missing_value` (one or several), `valid_min`, `valid_max` and `valid_range`
mask stored values; so does netCDF's default fill value if the array is filled with it and has no `_FillValue`. Then the
values are multiplied by `scale_factor`, and `add_offset` is added. The dtype is NumPy's for these operations: float32
if all operands are float32, float64 if one is. With `_Unsigned` = "true" stored integers have no sign.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from swath.errors import warn_caller
from swath.formats.netcdf_fills import NETCDF_FILLS

USED = (
    "_FillValue",
    "missing_value",
    "valid_min",
    "valid_max",
    "valid_range",
    "scale_factor",
    "add_offset",
    "_Unsigned",
)
"""The attributes that decoding uses. They do not apply to decoded values."""

AS_STORED = "as stored; decode=True masks and scales"
"""The text for arrays whose attributes mask or scale values."""

_MASKED_KINDS = "biufcSU"

Scalar = npt.NDArray[Any]
"""An array without dimensions."""


@dataclass(frozen=True)
class Decoding:
    """How stored values are decoded.

    Attributes:
        counted: the dtype that stored elements are read as, in the machine's byte order; unsigned with `_Unsigned`.
        missing: the values that are masked, of dtype `counted`.
        valid_min: values below are masked; None for none.
        valid_max: values above are masked; None for none.
        scale: the factor; None for none.
        offset: the summand that is added then; None for none.
        dtype: the dtype of decoded values.
        fill_value: the fill value of the masked arrays, of dtype `dtype`.
    """

    counted: np.dtype[Any]
    missing: tuple[Scalar, ...]
    valid_min: Scalar | None
    valid_max: Scalar | None
    scale: Scalar | None
    offset: Scalar | None
    dtype: np.dtype[Any]
    fill_value: Any

    @classmethod
    def of(cls, stored: np.dtype[Any], attributes: Mapping[str, Any], fill: Any = None, name: str = "") -> Decoding:
        """Return the decoding of values of dtype `stored` with such attributes.

        Warns (UserWarning) about an attribute that cannot be used, and ignores it.

        Args:
            stored: the dtype in the file.
            attributes: the attributes of the variable.
            fill: the value of elements that were never stored; None if it is not known.
            name: the name of the variable, for warnings.
        """
        native = stored.newbyteorder("=")
        if stored.kind not in _MASKED_KINDS:
            return cls(stored, (), None, None, None, None, stored, None)
        known = _Attributes(native, attributes, name)
        low, high = known.valid()
        missing = known.values("_FillValue")[:1]
        missing += known.values("missing_value")
        if "_FillValue" not in attributes and known.counted == native and is_default_fill(native, fill):
            missing.append(np.asarray(fill, native))
        scale, offset, dtype = known.unpacking()
        is_scaled = scale is not None or offset is not None
        fill_value = _fill_value(missing, dtype, is_scaled=is_scaled or dtype != known.counted)
        return cls(known.counted, tuple(missing), low, high, scale, offset, dtype, fill_value)

    def decode(self, stored: npt.NDArray[Any]) -> np.ma.MaskedArray[Any, Any]:
        """Return decoded values as a masked array. It may overwrite the memory of the stored values."""
        if not stored.dtype.isnative and self.counted.isnative:
            stored = stored.byteswap(inplace=True).view(stored.dtype.newbyteorder("="))
        values = stored if stored.dtype == self.counted else stored.view(self.counted)
        mask = self._mask(values)
        with np.errstate(all="ignore"):  # masked values may overflow
            values = self._unpacked(values)
        decoded: np.ma.MaskedArray[Any, Any] = np.ma.MaskedArray(values, mask=mask)
        if self.fill_value is not None:
            decoded.fill_value = self.fill_value
        return decoded

    def _mask(self, values: npt.NDArray[Any]) -> Any:
        """Return the mask of missing values; np.ma.nomask if none is missing."""
        mask = np.zeros(values.shape, bool)
        for value in self.missing:
            mask |= np.isnan(values) if _is_nan(value) else values == value
        if self.valid_min is not None:
            mask |= values < self.valid_min
        if self.valid_max is not None:
            mask |= values > self.valid_max
        return mask if mask.any() else np.ma.nomask

    def _unpacked(self, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        # Each step has the dtype that NumPy gives it: programs that packed the values did the same.
        if self.scale is not None:
            values = np.multiply(values, self.scale, dtype=np.result_type(values.dtype, self.scale.dtype))
        if self.offset is not None:
            values = np.add(values, self.offset, dtype=np.result_type(values.dtype, self.offset.dtype))
        return values.astype(self.dtype, copy=False)


def mean_others(attributes: Mapping[str, Any]) -> bool:
    """Return whether attributes mask or scale values."""
    return any(name in USED for name in attributes)


def is_default_fill(stored: np.dtype[Any], fill: Any) -> bool:
    """Return whether `fill` is what netCDF fills numbers of this dtype with."""
    default = NETCDF_FILLS.get(stored.str[1:])
    return default is not None and fill is not None and bool(np.asarray(fill) == np.asarray(default, stored))


def stored_fill(stored: np.dtype[Any], attributes: Mapping[str, Any]) -> Scalar | None:
    """Return the value of missing elements: `_FillValue`, else the first `missing_value`; None if there is none.

    A value that the dtype cannot hold is ignored.
    """
    for name in ("_FillValue", "missing_value"):
        values = cast_exactly(attributes[name], stored) if name in attributes else None
        if values is not None and values.size:
            return np.asarray(values.reshape(-1)[0], stored)
    return None


def cast_exactly(value: Any, dtype: np.dtype[Any]) -> npt.NDArray[Any] | None:
    """Return one or several values in another dtype; None if that would change one."""
    given = np.asarray(value)
    if given.dtype.kind == "U" and dtype.kind == "S":  # NumPy does not compare characters with bytes
        given = np.char.encode(given, "utf-8")
    try:
        with np.errstate(all="ignore"):
            cast = given.astype(dtype)
            same = (cast == given) & (cast.astype(given.dtype) == given) | (cast != cast) & (given != given)  # NaN
    except (TypeError, ValueError, OverflowError):
        return None
    is_text = [kind in "SU" for kind in (given.dtype.kind, dtype.kind)]
    return cast if np.all(same) and is_text[0] == is_text[1] else None


class _Attributes:
    """The attributes of a variable, as values of its elements.

    Attributes:
        counted: the dtype that stored elements are taken for.
    """

    def __init__(self, native: np.dtype[Any], attributes: Mapping[str, Any], name: str) -> None:
        is_unsigned = native.kind == "i" and str(attributes.get("_Unsigned", "")).lower() == "true"
        self.native = native
        self.counted = np.dtype(f"u{native.itemsize}") if is_unsigned else native
        self._attributes = attributes
        self._name = name

    def values(self, name: str) -> list[Scalar]:
        """Return the values of an attribute; none if it is absent, or the dtype cannot hold them."""
        if name not in self._attributes:
            return []
        given = self._attributes[name]
        cast = cast_exactly(given, self.native)
        if cast is not None:
            cast = cast.view(self.counted)
        elif self.counted != self.native:
            cast = cast_exactly(given, self.counted)  # such as 255 for an int8 with `_Unsigned`
        if cast is None:
            self._warn(name, f"it is no value of dtype {self.native}")
            return []
        return [np.asarray(value) for value in cast.reshape(-1)]

    def valid(self) -> tuple[Scalar | None, Scalar | None]:
        """Return the least and the largest valid value; None for none."""
        if self.native.kind not in "iuf":
            return None, None
        both = self.values("valid_range")
        if len(both) == 2:
            return both[0], both[1]
        if both:
            self._warn("valid_range", f"it has {len(both)} values, not two")
        low, high = self.values("valid_min"), self.values("valid_max")
        return (low[0] if low else None), (high[0] if high else None)

    def unpacking(self) -> tuple[Scalar | None, Scalar | None, np.dtype[Any]]:
        """Return the factor and the summand (None if they change nothing), and the dtype of the result."""
        given = {name: self._attributes[name] for name in ("scale_factor", "add_offset") if name in self._attributes}
        if self.native.kind not in "biufc" or not given:
            return None, None, self.counted
        numbers = {name: np.asarray(value) for name, value in given.items()}
        for name, number in numbers.items():
            if number.size != 1 or number.dtype.kind not in "biuf":
                self._warn(name, "expected a number; values are not scaled")
                return None, None, self.counted
        scale, offset = (
            numbers[name].reshape(()) if name in numbers else None for name in ("scale_factor", "add_offset")
        )
        if scale is not None and offset is not None:
            if scale == 1 and offset == 0:
                return None, None, scale.dtype  # all that they say
        else:
            scale = None if scale is None or scale == 1 else scale
            offset = None if offset is None or offset == 0 else offset
        dtype = self.counted
        for used in (scale, offset):  # one step after the other: int32 + float32 is float64
            dtype = dtype if used is None else np.result_type(dtype, used.dtype)
        return scale, offset, dtype

    def _warn(self, attribute: str, why: str) -> None:
        where = f"{self._name}: " if self._name else ""
        warn_caller(f"{where}{attribute} = {self._attributes[attribute]!r} is not used: {why}")


def _is_nan(value: Scalar) -> bool:
    return value.dtype.kind in "fc" and bool(np.isnan(value))


def _fill_value(missing: list[Scalar], dtype: np.dtype[Any], *, is_scaled: bool) -> Any:
    """Return the stored fill value. Scaled values may be equal to it: for them return NaN, or NumPy's fill value."""
    if not is_scaled:
        return missing[0][()] if missing else None
    return dtype.type(np.nan) if dtype.kind in "fc" else None
