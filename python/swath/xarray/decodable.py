"""Attributes that xarray cannot decode: errors with the file, the variable and the attribute, before the decoding.

xarray raises different exceptions for such attributes, some of them only when elements are read.
"""

from __future__ import annotations

import codecs
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import xarray as xr
from xarray import conventions

from swath.errors import Error, FormatError

Decoders = Mapping[str, Any]
"""The arguments of `xarray.open_dataset` that switch decoding off."""


def check(path: str, name: str, variable: xr.Variable, decoders: Decoders) -> None:
    """Raise FormatError for an attribute that decoding uses and that is not valid."""
    rules = {**_RULES, **_RULES_OF_ALL} if decoders.get("decode_coords") == "all" else _RULES
    for attribute, (decoder, is_right, expected) in rules.items():
        value = variable.attrs.get(attribute)
        if value is not None and _is_wanted(decoders, decoder, name) and not is_right(value):
            raise FormatError(
                f"{path}: variable {name}: {attribute} = {value!r} cannot be used; expected {expected}; open it with "
                f"{decoder}=False, or with drop_variables={name!r}"
            )
    if variable.dtype.kind not in _SCALED_KINDS and _is_wanted(decoders, "mask_and_scale", name):
        for attribute in set(variable.attrs) & {"scale_factor", "add_offset"}:
            raise FormatError(
                f"{path}: variable {name} has {attribute}, and its elements are no numbers but of dtype "
                f"{variable.dtype}; open it with mask_and_scale=False, or with drop_variables={name!r}"
            )


def failed(path: str, variables: Mapping[str, xr.Variable], decoders: Decoders, error: Exception) -> Error:
    """Return the error for a failed decoding, with the name of the variable."""
    for name, variable in variables.items():
        words = {of: decoders[of] for of in ("mask_and_scale", "decode_times", "concat_characters") if of in decoders}
        try:
            conventions.decode_cf_variables(
                {name: variable}, {}, **{"mask_and_scale": True, "decode_times": True, **words}, decode_coords=False
            )
        except Exception as again:  # noqa: BLE001 - xarray raises many types
            return FormatError(f"{path}: xarray cannot decode variable {name}: {again or type(again).__name__}")
    return FormatError(f"{path}: xarray cannot make a data set of it: {type(error).__name__}: {error}")


def _is_wanted(decoders: Decoders, decoder: str, name: str) -> bool:
    wanted = decoders.get(decoder)
    if isinstance(wanted, Mapping):
        wanted = wanted.get(name)
    return wanted is None or bool(wanted)


def _is_number(value: Any) -> bool:
    number = np.asarray(value)
    return number.size == 1 and number.dtype.kind in "biuf" and bool(np.isfinite(number).all())


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_encoding(value: Any) -> bool:
    try:
        return isinstance(value, str) and codecs.lookup(value) is not None
    except LookupError:
        return False


_RULES: dict[str, tuple[str, Callable[[Any], bool], str]] = {
    "scale_factor": ("mask_and_scale", _is_number, "one finite number"),
    "add_offset": ("mask_and_scale", _is_number, "one finite number"),
    "_Unsigned": ("mask_and_scale", _is_text, 'the text "true" or "false"'),
    "_Encoding": ("concat_characters", _is_encoding, "the name of an encoding of text"),
    "coordinates": ("decode_coords", _is_text, "names of variables, as one text"),
}
_RULES_OF_ALL = dict.fromkeys(
    ("grid_mapping", "bounds", "ancillary_variables", "cell_measures", "formula_terms"),
    ("decode_coords", _is_text, "names of variables, as one text"),
)
"""If decode_coords is "all"."""
_SCALED_KINDS = "biufcmM"
