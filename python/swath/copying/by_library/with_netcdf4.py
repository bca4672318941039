"""netCDF files, classic and netCDF-4, as netCDF4-python reads them."""

from __future__ import annotations

import contextlib
import threading
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from swath.copying.by_library.held import CLASSIC_TYPES, NETCDF_TYPES, Held, Stored, Value, joined, value_of

CACHE_BYTES = 1 << 20
_turn = threading.RLock()
"""netCDF's library serves one thread at a time."""


def held(path: str) -> Held:
    """Return the contents of the file."""
    import netCDF4

    with _opened(path) as file:
        model = file.data_model
        is_old = model in ("NETCDF3_CLASSIC", "NETCDF3_64BIT_OFFSET")
        kind = "netcdf4" if model.startswith("NETCDF4") else "netcdf-classic"
        found = Held(f"netCDF4 {netCDF4.__version__}", kind, CLASSIC_TYPES if is_old else NETCDF_TYPES)
        _group(found, "", file)
    return found


@contextlib.contextmanager
def values(path: str) -> Iterator[Any]:
    """Open the file, to read boxes of a variable."""
    with _opened(path) as file:
        is_chunked = file.data_model.startswith("NETCDF4")
        known: set[str] = set()

        def read(name: str, box: tuple[slice, ...]) -> npt.NDArray[Any]:
            with _turn:
                variable = file[name]
                _as_stored(variable)
                if is_chunked and variable.shape and name not in known:
                    known.add(name)
                    variable.set_var_chunk_cache(CACHE_BYTES)  # the default is 64 MiB for each variable
                return np.asarray(variable[box] if variable.shape else variable[...])

        yield read


@contextlib.contextmanager
def _opened(path: str) -> Iterator[Any]:
    import netCDF4

    with _turn, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about a fill value that is not valid
        file = netCDF4.Dataset(path)
    try:
        yield file
    finally:
        with _turn:
            file.close()


def _as_stored(variable: Any) -> None:
    variable.set_auto_maskandscale(False)
    variable.set_auto_chartostring(False)


def _group(found: Held, path: str, group: Any) -> None:
    found.groups[path] = _attributes(group)
    for name, dimension in group.dimensions.items():
        if not name.startswith("phony_dim_"):
            found.dimensions[joined(path, name)] = len(dimension), dimension.isunlimited()
    for name, variable in group.variables.items():
        found.variables[joined(path, name)] = _stored(variable)
    for name, inside in group.groups.items():
        _group(found, joined(path, name), inside)


def _stored(variable: Any) -> Stored:
    import netCDF4

    _as_stored(variable)
    attributes = _attributes(variable)
    datatype = variable.datatype
    names = None
    if isinstance(datatype, netCDF4.EnumType):
        names = {name: int(number) for name, number in datatype.enum_dict.items()}
    is_text = variable.dtype is str
    kind = "text" if is_text else "sequences" if isinstance(datatype, netCDF4.VLType) else ""
    chunks = variable.chunking()
    return Stored(
        tuple(variable.shape),
        np.dtype(object) if kind else np.dtype(variable.dtype),
        tuple("" if name.startswith("phony_dim_") else name for name in variable.dimensions),
        attributes,
        attributes.pop("_FillValue", None),
        names,
        tuple(chunks) if isinstance(chunks, list) and variable.shape else None,
        kind,
    )


def _attributes(holder: Any) -> dict[str, Value]:
    return {name: _attribute(holder, name) for name in holder.ncattrs()}


def _attribute(holder: Any, name: str) -> Value:
    try:
        return value_of(holder.getncattr(name))
    except Exception as error:  # noqa: BLE001  attributes of types of the user's
        return "what netCDF4 cannot read", str(error)
