"""Copies of whole files from each format to each, with every codec, read by the formats' libraries."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import swath

h5py = pytest.importorskip("h5py")
hdf5plugin = pytest.importorskip("hdf5plugin")
hdf5plugin.register(force=True)  # the filters that netCDF4 brings along call another HDF5 library
netCDF4 = pytest.importorskip("netCDF4")
zarr = pytest.importorskip("zarr")
numcodecs = pytest.importorskip("numcodecs")

VALUES = np.random.default_rng(1).integers(0, 9, (50, 30)).astype("<i4")
CHUNKS = (20, 30)
"""The array does not fill the chunk at the edge."""
CNAMES = ("blosclz", "lz4", "lz4hc", "zlib", "zstd")
SHUFFLES = ("noshuffle", "shuffle", "bitshuffle")

HDF5: dict[str, dict[str, Any]] = {
    "plain": {},
    "gzip": {"compression": 4},
    "shuffle_gzip": {"compression": 9, "shuffle": True},
    "shuffle": {"shuffle": True},
    "fletcher32": {"fletcher32": True},
    "all_of_hdf5": {"compression": 1, "shuffle": True, "fletcher32": True},
    "lzf": {"compression": "lzf", "shuffle": True},
    "scaleoffset": {"scaleoffset": 0},
    "zstd": dict(hdf5plugin.Zstd(clevel=3)),
    "shuffle_zstd": {**hdf5plugin.Zstd(clevel=9), "shuffle": True},
    "lz4": dict(hdf5plugin.LZ4()),
    "lz4_blocks": dict(hdf5plugin.LZ4(nbytes=512)),
    "shuffle_lz4": {**hdf5plugin.LZ4(), "shuffle": True},
    "bitshuffle": dict(hdf5plugin.Bitshuffle()),
    "bzip2": dict(hdf5plugin.BZip2()),
    "blosc2": dict(hdf5plugin.Blosc2()),
    **{
        f"blosc_{cname}_{number}": dict(hdf5plugin.Blosc(cname=cname, shuffle=number))
        for cname in CNAMES
        for number in range(3)
    },
}
NETCDF4: dict[str, dict[str, Any]] = {
    "plain": {},
    "fletcher32": {"fletcher32": True},
    **{
        f"{name}_{shuffle}": {"compression": name, "shuffle": shuffle}
        for name in ("zlib", "zstd", "bzip2", "blosc_lz", "blosc_lz4", "blosc_lz4hc", "blosc_zlib", "blosc_zstd")
        for shuffle in (False, True)
    },
}
ZARR3: dict[str, dict[str, Any]] = {
    "plain": {"compressors": None},
    "zstd": {"compressors": zarr.codecs.ZstdCodec(level=3, checksum=True)},
    "gzip": {"compressors": zarr.codecs.GzipCodec(level=4)},
    "crc32c": {"compressors": zarr.codecs.Crc32cCodec()},
    "gzip_crc32c": {"compressors": [zarr.codecs.GzipCodec(level=1), zarr.codecs.Crc32cCodec()]},
    "shards": {"compressors": zarr.codecs.ZstdCodec(), "chunks": (10, 10), "shards": (50, 30)},
    **{
        f"blosc_{cname}_{shuffle}": {"compressors": zarr.codecs.BloscCodec(cname=cname, shuffle=shuffle)}
        for cname in CNAMES
        for shuffle in SHUFFLES
    },
}
ZARR2: dict[str, dict[str, Any]] = {
    "plain": {"compressors": None},
    "zlib": {"compressors": numcodecs.Zlib(level=2)},
    "gzip": {"compressors": numcodecs.GZip(level=2)},
    "zstd": {"compressors": numcodecs.Zstd(level=2)},
    "lz4": {"compressors": numcodecs.LZ4(acceleration=3)},
    "bz2": {"compressors": numcodecs.BZ2()},
    "shuffle_zlib": {"filters": [numcodecs.Shuffle(4)], "compressors": numcodecs.Zlib()},
    "shuffle_lz4": {"filters": [numcodecs.Shuffle(4)], "compressors": numcodecs.LZ4()},
    "fletcher32": {"filters": [numcodecs.Fletcher32()], "compressors": None},
    "delta": {"filters": [numcodecs.Delta("<i4")], "compressors": numcodecs.Zlib()},
    **{
        f"blosc_{cname}_{number}": {"compressors": numcodecs.Blosc(cname=cname, shuffle=number)}
        for cname in CNAMES
        for number in range(3)
    },
}
OF_SWATH: dict[str, list[Any]] = {
    "h5": ["zlib", "shuffle", "fletcher32", "zstd", "blosc", "lz4"],
    "nc4": ["zlib", "shuffle", "fletcher32", "zstd", "blosc", "lz4"],
    "zarr": ["zstd", "blosc", "lz4", "gzip", "zlib", "crc32c", "fletcher32", "shuffle"],
}
REGISTERED = {"bytes", "transpose", "sharding_indexed", "blosc", "gzip", "zstd", "crc32c"}
"""Zarr 3's codecs that readers other than zarr-python also have."""


def by_h5py(path: Path) -> list[str]:
    with h5py.File(path, "w") as file:
        for name, options in HDF5.items():
            file.create_dataset(name, data=VALUES, chunks=CHUNKS, **options)
    return list(HDF5)


def by_netcdf4(path: Path) -> list[str]:
    with netCDF4.Dataset(path, "w") as file:
        file.createDimension("x", VALUES.shape[0])
        file.createDimension("y", VALUES.shape[1])
        for name, options in NETCDF4.items():
            file.createVariable(name, "<i4", ("x", "y"), chunksizes=CHUNKS, **options)[:] = VALUES
    return list(NETCDF4)


def by_classic(path: Path) -> list[str]:
    with netCDF4.Dataset(path, "w", format="NETCDF3_64BIT_OFFSET") as file:
        file.createDimension("x", VALUES.shape[0])
        file.createDimension("y", VALUES.shape[1])
        file.createVariable("plain", "<i4", ("x", "y"))[:] = VALUES
    return ["plain"]


def by_zarr(path: Path, version: int) -> list[str]:
    group = zarr.create_group(path, zarr_format=version)
    several = ZARR3 if version == 3 else ZARR2
    for name, options in several.items():
        group.create_array(name, data=VALUES, **{"chunks": CHUNKS, **options})
    return list(several)


def by_swath(path: Path, suffix: str) -> list[str]:
    codecs = OF_SWATH[suffix]
    several = {"none": [], **{one: [one] for one in codecs}}
    several |= {f"shuffle_{one}": ["shuffle", one] for one in codecs if one not in ("shuffle", "fletcher32", "crc32c")}
    with swath.create_file(path) as file:
        for name, chain in several.items():
            with file.create(name, VALUES.shape, VALUES.dtype, chunks=CHUNKS, codecs=chain) as a:
                a[...] = VALUES
    return list(several)


SOURCES: dict[str, Any] = {
    "h5py.h5": by_h5py,
    "netcdf4.nc4": by_netcdf4,
    "classic.nc": by_classic,
    "three.zarr": lambda path: by_zarr(path, 3),
    "two.zarr": lambda path: by_zarr(path, 2),
    "own.h5": lambda path: by_swath(path, "h5"),
    "own.nc4": lambda path: by_swath(path, "nc4"),
    "own.zarr": lambda path: by_swath(path, "zarr"),
}
TARGETS: dict[str, dict[str, Any]] = {
    "made.h5": {},
    "made.nc4": {},
    "made.nc": {"format": "netcdf-classic"},
    "made.zarr": {"format": "zarr"},
    "made2.zarr": {"format": "zarr:v2"},
}


def check_h5py(path: Path, names: list[str], coded: set[str]) -> None:
    with h5py.File(path) as file:
        for name in names:
            np.testing.assert_array_equal(file[name][...], VALUES, err_msg=name)
            has_filters = file[name].id.get_create_plist().get_nfilters() > 0
            assert has_filters == (name in coded), f"{name}: compressed as in the source"


def check_netcdf4(path: Path, names: list[str]) -> None:
    with netCDF4.Dataset(path) as file:
        for name in names:
            np.testing.assert_array_equal(file[name][...], VALUES, err_msg=name)


def check_zarr(path: Path, names: list[str], version: int) -> None:
    group = zarr.open_group(path, mode="r")
    for name in names:
        assert group[name].metadata.zarr_format == version
        np.testing.assert_array_equal(group[name][...], VALUES, err_msg=name)
        if version == 3:
            found = {codec["name"] for codec in group[name].metadata.to_dict()["codecs"]}
            assert found <= REGISTERED, f"{name}: codecs that every reader of Zarr 3 has"


@pytest.mark.filterwarnings("ignore")  # zarr-python's, at numcodecs' codecs
@pytest.mark.parametrize("source", SOURCES)
def test_whole_files_of_every_codec_are_copied_into_every_format(tmp_path: Path, source: str) -> None:
    names = SOURCES[source](tmp_path / source)
    coded = {name for name in names if name not in ("plain", "none")}
    if source == "own.zarr":
        coded.remove("shuffle")  # which Zarr 3 has only together with a compressor
    for target, options in TARGETS.items():
        path = tmp_path / target
        swath.copy(tmp_path / source, path, **options)
        if target == "made.h5":
            check_h5py(path, names, coded)
        elif target in ("made.nc4", "made.nc"):
            check_netcdf4(path, names)
        else:
            check_zarr(path, names, 2 if target == "made2.zarr" else 3)


def test_filters_that_swath_has_not_become_deflate_and_are_not_lost(tmp_path: Path) -> None:
    by_h5py(tmp_path / "a.h5")
    swath.copy(tmp_path / "a.h5", tmp_path / "b.h5")
    with h5py.File(tmp_path / "b.h5") as file:
        for name in ("lzf", "scaleoffset", "bitshuffle", "bzip2", "blosc2"):
            assert (file[name].compression, file[name].shuffle) == ("gzip", True), name
        assert file["blosc_zstd_2"].id.get_create_plist().get_filter(0)[0] == hdf5plugin.BLOSC_ID
        assert file["lz4_blocks"].id.get_create_plist().get_filter(0)[2] == (512,)
