"""Varied HDF5 and netCDF-4 files: types, layouts, filters, scales, groups, links, attributes, texts, lengths."""

from __future__ import annotations

import pathlib
from collections.abc import Callable
from typing import Any

import h5py
import netCDF4
import numpy as np

NUMBERS = ["i1", "u1", "<i2", ">i2", "<u4", ">u4", "<i8", ">u8", "<f2", ">f2", "<f4", ">f4", "<f8", ">f8", "<f16"]
STRUCTURE = np.dtype([("time", "<f8"), ("place", ">i4", (2, 3)), ("name", "S5"), ("is_good", "?")])


def _types(file: h5py.File) -> None:
    for dtype in [*NUMBERS, "?", "c8", ">c8", "c16", "c32", "S1", "S7", "V5", STRUCTURE]:
        name = "of_" + str(np.dtype(dtype).str).strip("<>|") + ("_big" if str(dtype).startswith(">") else "")
        file.create_dataset(name.replace("|", ""), data=np.zeros((3, 2), dtype))
    file["time_of_numpy"] = np.array([0, 1], "M8[s]").astype(h5py.opaque_dtype("M8[s]"))
    file["enumeration"] = np.array([1, 2], h5py.enum_dtype({"a": 1, "b": 2, "größe": -3}, "i2"))
    file["unsigned_enumeration"] = np.array([1], h5py.enum_dtype({"low": 0, "high": 200}, "u1"))
    file.create_dataset("texts", data=["a", "größe", ""], dtype=h5py.string_dtype())
    file.create_dataset("ascii", data=["a", "b"], dtype=h5py.string_dtype("ascii"))
    file.create_dataset("fixed", (2,), dtype=h5py.string_dtype("utf-8", 6))
    file.create_dataset("sequences", (2,), dtype=h5py.vlen_dtype("i4"))
    file.create_dataset("references", (2,), dtype=h5py.ref_dtype)
    file.create_dataset("regions", (2,), dtype=h5py.regionref_dtype)
    file.create_dataset("nothing", data=h5py.Empty("f4"))
    file.create_dataset("structure_with_text", (2,), dtype=[("a", "i4"), ("t", h5py.string_dtype())])
    file["named"] = np.dtype("f8")
    file["named_structure"] = STRUCTURE
    file.create_dataset("of_named", (2,), dtype=file["named"])


def _low_level_types(file: h5py.File) -> None:
    made = {
        "bits": h5py.h5t.STD_B16LE,
        "time": h5py.h5t.UNIX_D32LE,
        "array": h5py.h5t.array_create(h5py.h5t.STD_I32LE, (2, 3)),
        "byte_big": h5py.h5t.STD_I8BE,
        "text_with_spaces": _text(h5py.h5t.STR_SPACEPAD),
        "text_with_end": _text(h5py.h5t.STR_NULLTERM),
        "twelve_bits": _twelve_bits(),
        "odd": _odd_float(),
        "tagged": _tagged(),
        "nested": h5py.h5t.array_create(h5py.h5t.array_create(h5py.h5t.STD_I32LE, (2,)), (3,)),
    }
    for name, kind in made.items():
        h5py.h5d.create(file.id, name.encode(), kind, h5py.h5s.create_simple((4,)))


def _text(padding: int) -> Any:
    made = h5py.h5t.C_S1.copy()
    made.set_size(6)
    made.set_strpad(padding)
    return made


def _twelve_bits() -> Any:
    made = h5py.h5t.STD_I16LE.copy()
    made.set_precision(12)
    return made


def _odd_float() -> Any:
    made = h5py.h5t.IEEE_F32LE.copy()
    made.set_fields(15, 7, 8, 0, 7)
    made.set_size(2)
    return made


def _tagged() -> Any:
    made = h5py.h5t.create(h5py.h5t.OPAQUE, 8)
    made.set_tag(b"of somebody")
    return made


def _layouts(file: h5py.File) -> None:
    values = np.arange(60, dtype="i4").reshape(6, 10)
    file["contiguous"] = values
    file.create_dataset("not_allocated", (6, 10), "f4")
    file.create_dataset("chunked", data=values, chunks=(4, 3))
    file.create_dataset("some_chunks", (6, 10), "f8", chunks=(2, 5))[2:4, :5] = 1
    file.create_dataset("no_chunks", (6, 10), "f8", chunks=(2, 5), fillvalue=7)
    file.create_dataset("growing", data=values, maxshape=(None, 10), chunks=(4, 10))
    file.create_dataset("growing_second", data=values, maxshape=(6, None), chunks=(4, 4))
    file.create_dataset("growing_both", data=values, maxshape=(None, None), chunks=(4, 4))
    file.create_dataset("growing_to_an_end", data=values, maxshape=(12, 10), chunks=(4, 4))
    file.create_dataset("scalar", data=3.5)
    file.create_dataset("empty", (0, 4), "i2", maxshape=(None, 4), chunks=(2, 4))
    file.create_dataset("empty_contiguous", (0, 4), "i2")
    file.create_dataset("never_filled", (6,), "f4", chunks=(4,), fill_time="never")
    file.create_dataset("filled", (6,), ">i2", fillvalue=-3)
    file.create_dataset("filled_text", (6,), "S4", fillvalue=b"ab")
    file.create_dataset("filled_structure", (2,), [("a", "i4"), ("b", ">f8")])
    compact = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    compact.set_layout(h5py.h5d.COMPACT)
    h5py.h5d.create(file.id, b"compact", h5py.h5t.STD_I32LE, h5py.h5s.create_simple((3,)), compact)
    file.create_dataset("external", (4,), "i4", external=[("elsewhere.bin", 0, 16)])
    layout = h5py.VirtualLayout((6, 10), "i4")
    layout[:] = h5py.VirtualSource(file.filename, "contiguous", (6, 10))
    if file.libver[1] != "v108":  # which has no virtual datasets
        file.create_virtual_dataset("virtual", layout)


def _filters(file: h5py.File) -> None:
    values = np.arange(60, dtype="i4").reshape(6, 10)
    file.create_dataset("gzip", data=values, chunks=(4, 3), compression="gzip", compression_opts=6)
    file.create_dataset("all", data=values, chunks=(4, 3), compression="gzip", shuffle=True, fletcher32=True)
    file.create_dataset("checked", data=values, chunks=(4, 3), fletcher32=True)
    file.create_dataset("lzf", data=values, chunks=(4, 3), compression="lzf")
    file.create_dataset("scaled", data=values, chunks=(4, 3), scaleoffset=0)
    file.create_dataset("none_yet", (6, 10), "f8", chunks=(2, 5), compression="gzip", maxshape=(None, 10))
    edges = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    edges.set_chunk((4,))
    edges.set_deflate(1)
    file.create_dataset("mask", (8,), "i4", chunks=(4,), compression="gzip").id.write_direct_chunk((0,), bytes(16), 1)
    file.create_dataset("edges", data=np.arange(6), chunks=(4,), compression="gzip")


def _scales(file: h5py.File) -> None:
    for name, length in (("x", 4), ("y", 3)):
        file[name] = np.arange(length, dtype="f8")
        file[name].make_scale(name)
    file.create_dataset("label", (4, 3), "f4").dims[0].label = "along"
    data = file.create_dataset("data", (4, 3), "f4")
    data.dims[0].attach_scale(file["x"])
    data.dims[1].attach_scale(file["y"])
    half = file.create_dataset("half", (4, 3), "f4")
    half.dims[1].attach_scale(file["y"])
    half.dims[0].label = "first"
    file.create_dataset("two", (2, 2), "f4").make_scale("two")
    gone = file.create_dataset("lost", (4,), "f4")
    gone.dims[0].attach_scale(file["x"])
    file.create_group("g")["z"] = np.arange(2)
    file["g/z"].make_scale("z")
    inner = file.create_dataset("g/inner", (2, 4), "i2")
    inner.dims[0].attach_scale(file["g/z"])
    inner.dims[1].attach_scale(file["x"])
    inner.attrs["coordinates"] = "label other"
    file["image"] = np.zeros((2, 2), "u1")
    file["image"].attrs["CLASS"] = "IMAGE"


def _attributes(holder: Any) -> None:
    attributes = holder.attrs
    for dtype in [*NUMBERS, "?", "c8", ">c16", "S4", "V3"]:
        attributes[f"one {dtype}"] = np.ones((), dtype)
        attributes[f"some {dtype}"] = np.ones(3, dtype)
    attributes["text"] = "größe"
    attributes["ends with zeros"] = np.bytes_(b"ab\0c\0\0")
    attributes["latin"] = np.bytes_("größe".encode("latin-1"))
    attributes["texts"] = ["a", "größe"]
    attributes["one of texts"] = ["a"]
    attributes["square"] = np.arange(4).reshape(2, 2)
    attributes["square of texts"] = np.array([["a", "b"], ["c", "d"]], object)
    attributes["one by one"] = np.ones((1, 1))
    attributes["none"] = np.zeros(0, "i4")
    attributes["no texts"] = np.zeros(0, h5py.string_dtype())
    attributes["empty"] = h5py.Empty("f4")
    attributes["empty text"] = h5py.Empty(h5py.string_dtype())
    attributes["empty bytes"] = h5py.Empty("V3")
    attributes["structure"] = np.zeros(2, STRUCTURE)
    attributes["reference"] = holder.file["/"].ref
    attributes["sequences"] = np.array([np.arange(2), np.arange(3)], h5py.vlen_dtype("i4"))
    attributes.create("enumeration", 1, dtype=h5py.enum_dtype({"a": 1}, "i4"))
    attributes.create("array", np.ones((2, 3)), dtype=np.dtype(("f4", (2, 3))))
    attributes.create("array of one", np.ones((1,)), dtype=np.dtype(("f4", (1,))))
    attributes["größe"] = 1


def _all_attributes(file: h5py.File) -> None:
    _attributes(file)
    _attributes(file.create_group("g", track_order=True))
    _attributes(file.create_dataset("d", (2,), "f4"))
    many = file.create_dataset("many", (2,), "f4", track_order=True)
    for i in range(30):
        many.attrs[f"a{29 - i}"] = i


def _links(file: h5py.File) -> None:
    file["a/b/c"] = np.arange(3)
    file["d"] = np.arange(2)
    file["hard"] = file["a/b/c"]
    file["again"] = file["a"]
    file["a/up"] = file["/"]
    file["soft"] = h5py.SoftLink("/a/b/c")
    file["soft group"] = h5py.SoftLink("a/b")
    file["nowhere"] = h5py.SoftLink("/gone/größe")
    file["outside"] = h5py.ExternalLink("other.h5", "/größe")
    file["type"] = np.dtype("i4")
    file["same type"] = file["type"]
    file["to type"] = h5py.SoftLink("type")
    file.id.links.create_soft("größe".encode("latin-1"), b"/a")
    file.create_group("größe")
    h5py.h5g.create(file.id, "äöü".encode("latin-1"))
    h5py.h5d.create(file["größe"].id, "µ".encode("latin-1"), h5py.h5t.STD_I32LE, h5py.h5s.create_simple((3,)))


def _named_enumerations(file: h5py.File) -> None:
    for name in ("colour", "same"):
        file[name] = h5py.enum_dtype({"red": 0, "blue": 1}, "u1")
    file.create_dataset("of_colour", (2,), dtype=file["colour"])
    file.create_group("g").create_dataset("d", (2,), dtype=h5py.enum_dtype({"blue": 1, "red": 0}, "u1"))
    file["g/own"] = h5py.enum_dtype({"no": 0}, "i4")
    file.create_dataset("g/other", (2,), dtype=h5py.enum_dtype({"no": 0}, "i4"))
    file.create_dataset("nameless", (2,), dtype=h5py.enum_dtype({"none": 0}, "i4"))


def _groups(file: h5py.File) -> None:
    for path in ("b", "a", "a/z", "a/y/x", "c"):
        file.create_group(path)
        file[path].create_dataset("v", (2,), "f4")
    file["last"] = 1


def _many(file: h5py.File) -> None:
    for i in range(40):
        file.create_dataset(f"v{i}", (i + 1,), "i4")[:] = i


def _netcdf_plain(file: netCDF4.Dataset) -> None:
    file.createDimension("time", None)
    file.createDimension("x", 4)
    file.title = "größe"
    file.numbers = np.arange(3, dtype="i2")
    time = file.createVariable("time", "f8", ("time",))
    time.units = "days since 2000-01-01"
    data = file.createVariable("t", "f4", ("time", "x"), zlib=True, fill_value=-9)
    data[:3] = np.ones((3, 4))
    data.coordinates = "lat lon"
    file.createVariable("lat", "f4", ("x",))
    file.createVariable("late", "f4", ("time",))[:1] = 1
    file.createVariable("x", "i4", ("time", "x"))
    file.createVariable("scalar", "i2")
    file.createVariable("letters", "S1", ("x",))
    file.createVariable("words", str, ("x",))[:] = np.array(["a", "b", "c", "größe"], object)


def _netcdf_types(file: netCDF4.Dataset) -> None:
    file.createDimension("n", 3)
    for kind in ("i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f4", "f8"):
        for endian in ("little", "big"):
            file.createVariable(f"{kind}_{endian}", kind, ("n",), endian=endian)
            file.createVariable(f"{kind}_{endian}_never", kind, ("n",), endian=endian, fill_value=False)
    colour = file.createEnumType("u1", "colour", {"red": 0, "blue": 255})
    file.createVariable("of_colour", colour, ("n",), fill_value=0)
    pair = file.createCompoundType(np.dtype([("a", "i4"), ("b", "f8")]), "pair")
    file.createVariable("pairs", pair, ("n",))
    rows = file.createVLType("i4", "rows")
    file.createVariable("of_rows", rows, ("n",))
    inner = file.createGroup("inner")
    inner.createVariable("of_colour", colour, ("n",), fill_value=255)


def _netcdf_groups(file: netCDF4.Dataset) -> None:
    file.createDimension("t", None)
    file.createDimension("x", 2)
    for name in ("b", "a", "a/c"):
        group = file.createGroup(name)
        group.createDimension("own", 3)
        group.createVariable("v", "f4", ("t", "own"))
        group.setncattr("of", name)
    file["a/c"].createDimension("t", 5)
    file["a/c"].createVariable("w", "i4", ("t", "x"))
    file.createVariable("first", "f4", ("t",))[:7] = 1


def _netcdf_lagging(file: netCDF4.Dataset) -> None:
    file.createDimension("t", None)
    file.createDimension("k", None)
    file.createDimension("x", 3)
    file.createVariable("long", "i4", ("t", "x"))[:9] = 1
    file.createVariable("short", "i4", ("t", "x"))[:2] = 1
    file.createVariable("none", "i4", ("t", "x"))
    file.createVariable("both", "f4", ("t", "k"))[:2, :4] = 1
    file.createVariable("unfilled", "f4", ("t", "x"), fill_value=False, chunksizes=(4, 3))[:3] = 1
    file.createVariable("coded", "f4", ("t", "x"), zlib=True)[:5] = 1


def _netcdf_strict(file: netCDF4.Dataset) -> None:
    file.createDimension("t", None)
    file.createVariable("t", "f4", ("t",))[:2] = 1
    file.history = ""


HDF5_FILES: dict[str, Callable[[h5py.File], None]] = {
    "types": _types,
    "low_level_types": _low_level_types,
    "layouts": _layouts,
    "filters": _filters,
    "scales": _scales,
    "attributes": _all_attributes,
    "links": _links,
    "enumerations": _named_enumerations,
    "groups": _groups,
    "many": _many,
}
HDF5_WAYS: dict[str, dict[str, Any]] = {
    "plain": {},
    "latest": {"libver": "latest"},
    "ordered": {"track_order": True},
    "user_block": {"userblock_size": 1024},
    "v108": {"libver": ("earliest", "v108")},
    "paged": {"fs_strategy": "page", "fs_persist": True},
    "v110": {"libver": ("v110", "v110")},
    "both": {"libver": "latest", "track_order": True, "userblock_size": 512},
}
NETCDF_FILES: dict[str, Callable[[netCDF4.Dataset], None]] = {
    "netcdf_plain": _netcdf_plain,
    "netcdf_types": _netcdf_types,
    "netcdf_groups": _netcdf_groups,
    "netcdf_lagging": _netcdf_lagging,
}


def make(folder: pathlib.Path) -> list[str]:
    """Make all of them, about a hundred, in a folder; return their paths."""
    paths = []
    for name, fill in HDF5_FILES.items():
        for way, options in HDF5_WAYS.items():
            path = str(folder / f"{name}_{way}.h5")
            with h5py.File(path, "w", **options) as file:
                fill(file)
            paths.append(path)
    for name, fill_netcdf in NETCDF_FILES.items():
        path = str(folder / f"{name}.nc")
        with netCDF4.Dataset(path, "w") as dataset:
            fill_netcdf(dataset)
        paths.append(path)
    path = str(folder / "netcdf_strict.nc")
    with netCDF4.Dataset(path, "w", format="NETCDF4_CLASSIC") as dataset:
        _netcdf_strict(dataset)
    return [*paths, path]
