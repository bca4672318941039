"""Files of many variables that the libraries of their formats make and read, for the tests of whole copies."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import h5py
import netCDF4
import numpy as np
import xarray as xr
import zarr

KINDS = ("cdf1", "cdf2", "cdf5", "netcdf4", "hdf5", "zarr", "zarr:v2")
CLASSIC = ("cdf1", "cdf2", "cdf5")
SUFFIX = {**dict.fromkeys(CLASSIC, ".nc"), "netcdf4": ".nc4", "hdf5": ".h5", "zarr": ".zarr", "zarr:v2": ".zarr"}
FORMAT = {**{kind: f"netcdf-classic:{kind}" for kind in CLASSIC}, **{kind: kind for kind in KINDS[3:]}}

_OLD = ("i1", "i2", "i4", "f4", "f8")
_NETCDF = (*_OLD, "u1", "u2", "u4", "i8", "u8")
_ALL = (*_NETCDF, "f2", "c8", "c16", "?")
DTYPES = {
    "cdf1": _OLD,
    "cdf2": _OLD,
    "cdf5": _NETCDF,
    "netcdf4": _NETCDF,
    **dict.fromkeys(("hdf5", "zarr", "zarr:v2"), _ALL),
}
OWN = {"CLASS", "NAME", "DIMENSION_LIST", "REFERENCE_LIST", "_Netcdf4Dimid", "_Netcdf4Coordinates", "_NCProperties"}
DIMENSION_ONLY = b"This is a netCDF dimension"


@dataclasses.dataclass
class One:
    """A variable: `fill` is its attribute _FillValue, which is not among the others; None for none."""

    values: np.ndarray
    dimensions: tuple[str, ...]
    attributes: dict[str, Any]
    fill: Any = None
    chunks: tuple[int, ...] | None = None


@dataclasses.dataclass
class Held:
    """The contents of a file; for dimensions, by their groups, the length, and whether it is unlimited."""

    variables: dict[str, One]
    groups: dict[str, dict[str, Any]]
    dimensions: dict[str, tuple[int, bool]]


def example(source: str, target: str) -> Held:
    """Return at least 12 variables with everything that two formats share."""
    t = np.arange(5 * 4 * 6).reshape(5, 4, 6)
    packed = (t * 3 - 100).astype("i2")
    packed[1, 2] = packed[4, :, 5] = -9999
    masked = np.linspace(-1, 1, 24).reshape(4, 6)
    masked[2, 3:] = 1e20
    about = {"long_name": "größe", "valid_range": np.array([-100, 400], "i2"), "missing_value": np.int16(-9999)}
    about |= {"scale_factor": np.float32(0.5), "add_offset": np.float64(273.15)}
    variables = {
        "time": One(np.arange(5) * 6.0, ("time",), {"units": "hours since 2000-01-01"}),
        "y": One(np.arange(4, dtype="i4") * 10, ("y",), {"units": "m"}),
        "x": One(np.arange(6, dtype="f4"), ("x",), {}),
        "lat": One(np.arange(24.0).reshape(4, 6), ("y", "x"), {"units": "degrees_north"}),
        "t": One(packed, ("time", "y", "x"), {**about, "coordinates": "lat"}, np.int16(-9999), (2, 4, 3)),
        "u": One(np.arange(5, dtype="f4"), ("time",), {}, np.float32("nan")),
        "v": One(masked, ("y", "x"), {"missing_value": np.float64(1e20)}, np.float64(1e20)),
        "crs": One(np.int32(7), (), {"grid_mapping_name": "stereographic", "axes": np.array([6378137.0, 0.5])}),
        "one": One(np.array([1.5], "f8"), ("single",), {"weights": np.array([1, 2, 3], "i4")}),
    }
    text = np.array([[b"north", b"south-we", b"", b"e"], [b"1", b"22", b"333", b"4444"]], "S8")
    if source in ("hdf5", "zarr", "zarr:v2"):
        variables["label"] = One(text, ("two", "y"), {})
    else:
        variables["label"] = One(text.view("S1").reshape(2, 4, 8), ("two", "y", "string8"), {})
    for dtype in DTYPES[source]:
        if dtype in DTYPES[target]:
            name = "bool" if dtype == "?" else dtype
            variables[f"d_{name}"] = One((np.arange(6) % 2 if dtype == "?" else np.arange(6)).astype(dtype), ("x",), {})
    groups: dict[str, dict[str, Any]] = {
        "": {
            "title": "all of it",
            "history": "made\nhere",
            "version": np.float32(1.5),
            "levels": np.array([1, 2], "i4"),
        }
    }
    if source not in CLASSIC and target not in CLASSIC:
        groups |= {"ocean": {"depth": "4000 m"}, "ocean/deep": {}, "bare": {"number": np.int32(3)}}
        variables["ocean/salt"] = One(np.ones((5, 4), "f4"), ("time", "y"), {"units": "1e-3"}, np.float32(-1))
        variables["ocean/deep/z"] = One(np.arange(3, dtype="i2"), ("z",), {})
        variables["nothing"] = One(np.zeros((0, 6), "i4"), ("none", "x"), {})
    return Held(variables, groups, dimensions_of(variables))


def dimensions_of(variables: dict[str, One]) -> dict[str, tuple[int, bool]]:
    """Return the dimensions in the order of their first use."""
    found: dict[str, tuple[int, bool]] = {}
    for path, one in variables.items():
        for name, length in zip(one.dimensions, one.values.shape, strict=True):
            group = path.rpartition("/")[0]
            if not any(joined(above, name) in found for above in with_those_above(group)):
                found[joined(group, name)] = (length, name in ("time", "none"))
    return found


def joined(group: str, name: str) -> str:
    return f"{group}/{name}" if group else name


def with_those_above(group: str) -> list[str]:
    parts = group.split("/") if group else []
    return ["/".join(parts[:i]) for i in range(len(parts), -1, -1)]


# ---- Made by the libraries -------------------------------------------------------------------------------------------


def make(path: Path, kind: str, held: Held) -> None:
    """Make a file."""
    {"hdf5": _make_hdf5, "zarr": _make_zarr, "zarr:v2": _make_zarr}.get(kind, _make_netcdf)(path, kind, held)


def _make_netcdf(path: Path, kind: str, held: Held) -> None:
    version = {"cdf1": "NETCDF3_CLASSIC", "cdf2": "NETCDF3_64BIT_OFFSET", "cdf5": "NETCDF3_64BIT_DATA"}
    with netCDF4.Dataset(path, "w", format=version.get(kind, "NETCDF4")) as file:
        for group, attributes in held.groups.items():
            (file.createGroup(group) if group else file).setncatts(attributes)
        for name, (length, is_unlimited) in held.dimensions.items():
            group, _, short = name.rpartition("/")
            (file[group] if group else file).createDimension(short, None if is_unlimited else length)
        for name, one in held.variables.items():
            how: dict[str, Any] = {"fill_value": one.fill}
            if one.chunks and kind == "netcdf4":
                how |= {"chunksizes": one.chunks, "compression": "zlib", "complevel": 2, "shuffle": True}
            made = file.createVariable(name, one.values.dtype, one.dimensions, **how)
            made.set_auto_maskandscale(False)
            made.set_auto_chartostring(False)
            made.setncatts(one.attributes)
            made[...] = one.values


def _make_hdf5(path: Path, kind: str, held: Held) -> None:
    with h5py.File(path, "w", track_order=True) as file:
        for group, attributes in held.groups.items():
            _set(file.require_group(group) if group else file, attributes)
        for name, one in held.variables.items():
            group = name.rpartition("/")[0]
            lengths = [_seen(held, group, dimension)[1] for dimension in one.dimensions]
            how: dict[str, Any] = {"fillvalue": one.fill}
            if one.chunks:
                how |= {"chunks": one.chunks, "compression": "gzip", "compression_opts": 2, "shuffle": True}
            longest = tuple(None if grows else n for n, grows in lengths)
            made = file.create_dataset(name, data=one.values, maxshape=longest if None in longest else None, **how)
            _set(made, one.attributes if one.fill is None else {"_FillValue": one.fill, **one.attributes})
        for name, (length, grows) in held.dimensions.items():
            if name not in held.variables:
                longest = (None if grows else length,)
                file.create_dataset(name, (length,), ">f4", maxshape=longest, chunks=(64,) if grows else None)
                file[name].make_scale(f"{DIMENSION_ONLY.decode()} but not a netCDF variable.{length:10d}")
            else:
                file[name].make_scale(name.rpartition("/")[2])
        for name, one in held.variables.items():
            for i, dimension in enumerate(one.dimensions):
                scale = _seen(held, name.rpartition("/")[0], dimension)[0]
                if scale != name:
                    file[name].dims[i].attach_scale(file[scale])


def _set(holder: Any, attributes: dict[str, Any]) -> None:
    for name, value in attributes.items():
        holder.attrs[name] = value


def _seen(held: Held, group: str, dimension: str) -> tuple[str, tuple[int, bool]]:
    found = next(
        joined(above, dimension) for above in with_those_above(group) if joined(above, dimension) in held.dimensions
    )
    return found, held.dimensions[found]


def _make_zarr(path: Path, kind: str, held: Held) -> None:
    version = 2 if kind == "zarr:v2" else 3
    root = zarr.open_group(path, mode="w", zarr_format=version)
    for group, attributes in held.groups.items():
        (root.require_group(group) if group else root).attrs.update({k: _json(v) for k, v in attributes.items()})
    for name, one in held.variables.items():
        fill = one.fill if version == 2 else None
        attributes = {key: _json(value) for key, value in one.attributes.items()}
        if version == 2:
            attributes["_ARRAY_DIMENSIONS"] = list(one.dimensions)
        elif one.fill is not None:
            attributes["_FillValue"] = xr.backends.zarr.FillValueCoder.encode(one.fill, one.values.dtype)
        shape = one.values.shape
        root.create_array(
            name,
            shape=shape,
            dtype=one.values.dtype,
            chunks=one.chunks or tuple(max(n, 1) for n in shape),
            fill_value=fill,
            dimension_names=one.dimensions if version == 3 else None,
            attributes=attributes,
        )[...] = one.values


def _json(value: Any) -> Any:
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else value


# ---- Read by the libraries -------------------------------------------------------------------------------------------


def read(path: Path, kind: str) -> Held:
    """Return the contents of a file by its library."""
    return {"hdf5": _read_hdf5, "zarr": _read_zarr, "zarr:v2": _read_zarr}.get(kind, _read_netcdf)(path)


def _read_netcdf(path: Path) -> Held:
    held = Held({}, {}, {})

    def visit(group: Any, prefix: str) -> None:
        held.groups[prefix] = {name: group.getncattr(name) for name in group.ncattrs()}
        for name, dimension in group.dimensions.items():
            held.dimensions[joined(prefix, name)] = (len(dimension), dimension.isunlimited())
        for name, variable in group.variables.items():
            variable.set_auto_maskandscale(False)
            variable.set_auto_chartostring(False)
            attributes = {key: variable.getncattr(key) for key in variable.ncattrs()}
            chunking = variable.chunking()
            chunks = None if chunking in (None, "contiguous") or not variable.shape else tuple(chunking)
            fill = attributes.pop("_FillValue", None)
            held.variables[joined(prefix, name)] = One(variable[...], variable.dimensions, attributes, fill, chunks)
        for name, inside in group.groups.items():
            visit(inside, joined(prefix, name))

    with netCDF4.Dataset(path) as file:
        visit(file, "")
    return held


def _read_hdf5(path: Path) -> Held:
    held = Held({}, {}, {})
    with h5py.File(path) as file:
        found: list[tuple[str, Any]] = [("", file)]
        file.visititems(lambda name, item: found.append((name, item)))
        for name, item in found:
            attributes = {key: value for key, value in item.attrs.items() if key not in OWN}
            if isinstance(item, h5py.Group):
                held.groups[name] = attributes
                continue
            if item.is_scale:
                held.dimensions[name] = (item.shape[0], item.maxshape[0] is None)
                if item.attrs.get("NAME", b"").startswith(DIMENSION_ONLY):
                    continue
            scales = [dimension[0].name for dimension in item.dims if len(dimension)]
            own = (item.name,) if item.is_scale else tuple(scales)
            dimensions = tuple(scale.rpartition("/")[2] for scale in own)
            held.variables[name] = One(
                item[...], dimensions, attributes, attributes.pop("_FillValue", None), item.chunks
            )
    return held


def _read_zarr(path: Path) -> Held:
    held = Held({}, {}, {})
    root = zarr.open_group(path, mode="r", use_consolidated=False)
    held.groups[""] = dict(root.attrs)
    for name, item in root.members(max_depth=None):
        attributes = dict(item.attrs)
        if isinstance(item, zarr.Group):
            held.groups[name] = attributes
            continue
        stored = item.fill_value if item.metadata.zarr_format == 2 else None
        fill = attributes.pop("_FillValue", None)
        fill = stored if fill is None else xr.backends.zarr.FillValueCoder.decode(fill, item.dtype)
        dimensions = attributes.pop("_ARRAY_DIMENSIONS", None) or getattr(item.metadata, "dimension_names", None) or ()
        held.variables[name] = One(np.asarray(item[...]), tuple(dimensions), attributes, fill, item.chunks)
    for attributes in held.groups.values():
        attributes.pop("_nc_unlimited_dimensions", None)
    held.dimensions = dimensions_of(held.variables)
    return held
