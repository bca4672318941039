"""Zarr stores: Swath reads the stores of zarr-python, and the other way round; every selection equals NumPy's."""

from __future__ import annotations

import json
import math
import pathlib
import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import swath
from swath import Block, Boxes, Cyclic, Distribution, Whole, formats
from swath.errors import ArgumentError
from swath.simulated import run_ranks
from swath.store.standalone import page_cache
from zarr_cases import V3, as_zarr_reads, foreign, same, store, values_of, zarr

numcodecs = pytest.importorskip("numcodecs")

Path = pathlib.Path
DTYPES = ["?", "i1", "u1", "<i2", ">u2", "<i4", ">i4", "<u8", "<f2", ">f4", "<f8", "<c8", ">c16"]
TIMES = ["<M8[ns]", "<m8[10s]"]


def blosc(**options: Any) -> Any:
    return zarr.codecs.BloscCodec(**options)


V3_CODECS: dict[str, dict[str, Any]] = {
    "none": {"compressors": None},
    "zstd": {"compressors": zarr.codecs.ZstdCodec(level=3)},
    "zstd-checksum": {"compressors": zarr.codecs.ZstdCodec(level=1, checksum=True)},
    "gzip": {"compressors": zarr.codecs.GzipCodec(level=4)},
    "crc32c": {"compressors": zarr.codecs.Crc32cCodec()},
    "zstd-crc32c": {"compressors": [zarr.codecs.ZstdCodec(), zarr.codecs.Crc32cCodec()]},
    **{
        f"blosc-{name}-{shuffle}": {"compressors": blosc(cname=name, clevel=5, shuffle=shuffle)}
        for name in ("lz4", "lz4hc", "blosclz", "zstd", "zlib")
        for shuffle in ("noshuffle", "shuffle", "bitshuffle")
    },
}
V2_CODECS: dict[str, dict[str, Any]] = {
    "none": {"compressors": None},
    "zstd": {"compressors": numcodecs.Zstd(level=2)},
    "zlib": {"compressors": numcodecs.Zlib(level=2)},
    "gzip": {"compressors": numcodecs.GZip(level=2)},
    "lz4": {"compressors": numcodecs.LZ4()},
    "blosc": {"compressors": numcodecs.Blosc(cname="lz4", shuffle=-1)},
    "shuffle-zlib": {"filters": [numcodecs.Shuffle(4)], "compressors": numcodecs.Zlib()},
    "fletcher32": {"filters": [numcodecs.Fletcher32()], "compressors": numcodecs.LZ4()},
    "crc32c": {"filters": [numcodecs.checksum32.CRC32C()], "compressors": None},
}


@pytest.mark.parametrize("codec", V3_CODECS)
def test_version_3_reads_every_codec(tmp_path: Path, codec: str) -> None:
    values = values_of((37, 23), "<i4")
    path = foreign(tmp_path / "a.zarr", values, (10, 7), **V3_CODECS[codec])
    with swath.open(path) as a:
        same(a[...], values)
        same(a[3:30:4, ::-2], values[3:30:4, ::-2])
        assert a.counters.method == "chunks"


@pytest.mark.parametrize("codec", V2_CODECS)
@pytest.mark.parametrize("order", ["C", "F"])
def test_version_2_reads_every_codec_in_both_orders(tmp_path: Path, codec: str, order: str) -> None:
    values = values_of((37, 23), "<i4")
    path = foreign(tmp_path / "a.zarr", values, (10, 7), zarr_format=2, order=order, **V2_CODECS[codec])
    with swath.open(path) as a:
        same(a[...], values)
        same(a[3:30:4, ::-2], values[3:30:4, ::-2])


def test_version_3_reads_numcodecs_codecs(tmp_path: Path) -> None:
    zarr3 = pytest.importorskip("zarr.codecs.numcodecs")
    values = values_of((20, 20), "<f8")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cases = [([], zarr3.LZ4()), ([], zarr3.Zlib()), ([zarr3.Shuffle(elementsize=8)], zarr3.Zstd())]
    for i, (filters, compressor) in enumerate(cases):
        path = foreign(tmp_path / f"{i}.zarr", values, (7, 7), compressors=[*filters, compressor])
        with swath.open(path) as a:
            same(a[...], values)


@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize("dtype", [*DTYPES, *TIMES, "S5", "<U3"])
def test_every_dtype_in_either_byte_order(tmp_path: Path, version: int, dtype: str) -> None:
    values = values_of((11, 5), dtype)
    endian = "big" if dtype[0] == ">" else "little"
    if version == 2:
        path = str(tmp_path / "a.zarr")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            array = zarr.create_array(path, shape=values.shape, dtype=values.dtype, chunks=(4, 4), zarr_format=2)
            array[...] = values
    else:
        serializer = zarr.codecs.BytesCodec(endian=endian)
        path = foreign(tmp_path / "a.zarr", values, (4, 4), serializer=serializer)
    with swath.open(path) as a:
        assert a.dtype == np.dtype(dtype)
        same(a[...], values)
        swapped = np.empty(values.shape, values.dtype.newbyteorder("S"))
        a.read(out=swapped)
        same(swapped, values)


@pytest.mark.parametrize("dtype", [*DTYPES, *TIMES, "S5", "<U3"])
@pytest.mark.parametrize("format_name", ["zarr", "zarr:v2"])
def test_zarr_reads_every_dtype_that_swath_writes(tmp_path: Path, format_name: str, dtype: str) -> None:
    values = values_of((9, 5), dtype, seed=3)
    with swath.create(tmp_path / "a.zarr", values.shape, dtype, chunks=(4, 3), format=format_name) as a:
        a.write(values)
    same(as_zarr_reads(tmp_path / "a.zarr"), values)
    with swath.open(tmp_path / "a.zarr") as a:
        assert a.dtype == np.dtype(dtype)
        same(a[...], values)


@pytest.mark.parametrize("version", [2, 3])
def test_structures_and_raw_bytes(tmp_path: Path, version: int) -> None:
    for i, dtype in enumerate([np.dtype([("a", "<i4"), ("b", "<f8")]), np.dtype("V3")]):
        values = np.frombuffer(np.arange(20 * dtype.itemsize, dtype="u1").tobytes(), dtype)
        path = foreign(tmp_path / f"{i}.zarr", values, (6,), zarr_format=version)
        with swath.open(path) as a:
            assert a[...].tobytes() == values.tobytes()


ZLIB_9 = {"name": "zlib", "configuration": {"level": 9}}
MADE_IN_V3: list[tuple[Any, list[tuple[str, Any]]]] = [
    ("zlib", [("gzip", {"level": 1})]),
    (["shuffle", ZLIB_9], [("blosc", {"cname": "zlib", "clevel": 9, "shuffle": "shuffle", "typesize": 4})]),
    (["shuffle", "zstd"], [("blosc", {"cname": "zstd", "shuffle": "shuffle", "typesize": 4})]),
    ("lz4", [("blosc", {"cname": "lz4", "clevel": 9, "shuffle": "noshuffle"})]),
    (["fletcher32", "gzip"], [("crc32c", {}), ("gzip", {"level": 5})]),
    (["shuffle"], []),
    ("numcodecs.zlib", [("numcodecs.zlib", {"level": 1})]),
    (["numcodecs.shuffle", "gzip"], [("numcodecs.shuffle", {"elementsize": 4}), ("gzip", {})]),
]


@pytest.mark.parametrize(("codecs", "made"), MADE_IN_V3, ids=str)
def test_version_3_gets_codecs_that_every_reader_has_unless_others_are_named(
    tmp_path: Path, codecs: Any, made: list[tuple[str, Any]]
) -> None:
    values = values_of((23, 17), "<f4")
    with swath.create(tmp_path / "a.zarr", values.shape, values.dtype, chunks=(10, 10), codecs=codecs) as a:
        a[...] = values
    same(as_zarr_reads(tmp_path / "a.zarr"), values)
    found = json.loads((tmp_path / "a.zarr" / "zarr.json").read_text())["codecs"]
    assert [codec["name"] for codec in found] == ["bytes", *(name for name, _ in made)]
    for codec, (_, configured) in zip(found[1:], made, strict=True):
        assert configured.items() <= codec.get("configuration", {}).items()


CREATED = {
    "default": {},
    "chunks": {"chunks": (7, 4, 5)},
    "plain": {"chunks": (7, 4, 5), "codecs": []},
    "blosc": {
        "chunks": (7, 4, 5),
        "codecs": {"name": "blosc", "configuration": {"cname": "zstd", "shuffle": "bitshuffle"}},
    },
    "chain": {"chunks": (7, 4, 5), "codecs": ["gzip", "crc32c"]},
    "shuffled": {"chunks": (7, 4, 5), "codecs": ["shuffle", "zlib"]},
    "order": {"chunks": (7, 4, 5), "order": (1, 2, 0)},
    "shards": {"chunks": (5, 2, 5), "shards": (10, 10, 10)},
    "default in shards": {"shards": (20, 16, 8)},
    "plain shards in F order": {"chunks": (5, 2, 5), "shards": (10, 10, 10), "codecs": [], "order": "F"},
    "v2": {"chunks": (7, 4, 5), "format": "zarr:v2"},
    "v2 in F order": {"chunks": (7, 4, 5), "format": "zarr:v2", "order": "F", "codecs": "blosc"},
    "v2 chain": {"chunks": (7, 4, 5), "format": "zarr:v2", "codecs": ["shuffle", "lz4"]},
    "variable": {"variable": "group/temperature", "attributes": {"units": "K"}, "dimensions": ("z", "y", "x")},
}


@pytest.mark.parametrize("case", CREATED)
def test_zarr_reads_what_swath_writes(tmp_path: Path, case: str) -> None:
    options = CREATED[case]
    values = values_of((23, 17, 9), ">f4")
    path = tmp_path / "a.zarr"
    with swath.create(path, values.shape, values.dtype, fill=-1, **options) as a:
        expected = np.full(values.shape, -1, values.dtype)
        same(a[...], expected)
        a.write(values[:20], selection=np.s_[:20])
        expected[:20] = values[:20]
        a[3:19:5, ::-2, 4] = 7  # the rest of each chunk is kept
        expected[3:19:5, ::-2, 4] = 7
        same(a[...], expected)
    variable = options.get("variable")
    same(as_zarr_reads(path, variable), expected)
    with swath.open(path, variable) as a:
        same(a[...], expected)
    if variable:
        found = zarr.open(str(path), mode="r")[variable]
        assert dict(found.attrs) == {"units": "K", "_FillValue": "AAAAAAAA8L8="}, "as xarray encodes -1.0"
        assert found.metadata.dimension_names == ("z", "y", "x")
    assert not [name for name in path.rglob(".*") if "swath" in name.name]


def test_a_variable_is_found_in_groups_of_both_versions(tmp_path: Path) -> None:
    values = values_of((5, 4), "f8")
    for version in (2, 3):
        root = zarr.open_group(str(tmp_path / f"{version}.zarr"), mode="w", zarr_format=version)
        names = {} if version == 2 else {"dimension_names": ("lat", "lon")}
        t = root.create_array("a/temperature", shape=(5, 4), dtype="f8", chunks=(2, 2), **names)
        t[...] = values
        t.attrs["units"] = "K"
        if version == 2:
            t.attrs["_ARRAY_DIMENSIONS"] = ["lat", "lon"]
        lat = root.create_array(
            "lat", shape=(5,), dtype="f4", chunks=(5,), **({} if version == 2 else {"dimension_names": ("lat",)})
        )
        lat.attrs["_ARRAY_DIMENSIONS"] = ["lat"]
        path = tmp_path / f"{version}.zarr"
        for variable in (None, "a/temperature", "/a/temperature"):
            with swath.open(path, variable) as a:
                same(a[...], values)
                assert a.variable == "a/temperature"
                fill = {"_FillValue": 0.0} if version == 2 else {}
                assert a.attributes == {"units": "K", **fill}
        found = formats.contents(path).variables
        assert found["a/temperature"].dimensions == ("lat", "lon")
        assert found["lat"].is_coordinate
        with swath.open(path / "a" / "temperature") as a:
            same(a[1], values[1])
        with pytest.raises(ArgumentError, match="a/temperature"):
            swath.open(path, "a/temperatur")
        with pytest.raises(ArgumentError, match="no variable"):
            swath.open(path, "../x")


FILLS = [
    ("<f4", "NaN", np.float32("nan")),
    ("<f8", "-Infinity", -np.inf),
    ("<f8", "Infinity", np.inf),
    (">f4", "0x7fc00001", np.frombuffer(b"\x7f\xc0\x00\x01", ">f4")[0]),
    ("<f4", "0x7fc00001", np.frombuffer(b"\x01\x00\xc0\x7f", "<f4")[0]),
    ("<f2", "0x3c00", 1.0),
    ("<f8", 3, 3.0),
    ("<i8", -5, -5),
    ("<u8", 2**64 - 1, 2**64 - 1),
    ("?", True, True),
    ("<c8", [1.5, "NaN"], complex(1.5, math.nan)),
    ("<c16", ["-Infinity", 0], complex(-math.inf, 0)),
]


@pytest.mark.parametrize(("dtype", "stored", "value"), FILLS)
def test_fill_values_of_missing_chunks(tmp_path: Path, dtype: str, stored: Any, value: Any) -> None:
    endian = {"endian": "big" if dtype[0] == ">" else "little"}
    metadata = {
        **V3,
        "data_type": {
            "f2": "float16",
            "f4": "float32",
            "f8": "float64",
            "i8": "int64",
            "u8": "uint64",
            "?": "bool",
            "c8": "complex64",
            "c16": "complex128",
        }[dtype.lstrip("<>")],
        "fill_value": stored,
        "codecs": [{"name": "bytes", "configuration": endian}],
    }
    path = store(tmp_path, metadata)
    with swath.open(path) as a:
        expected = np.full((5, 4), value, dtype)
        assert a[...].tobytes() == expected.tobytes()
        assert a[::3, 1].tobytes() == expected[::3, 1].tobytes()
        assert np.asarray(a.fill_value).tobytes() == expected[0, 0].tobytes()


def test_version_2_without_a_fill_value_reads_zeros(tmp_path: Path) -> None:
    zarr.create_array(str(tmp_path / "a.zarr"), shape=(3,), dtype="f8", chunks=(2,), zarr_format=2, fill_value=None)
    with swath.open(tmp_path / "a.zarr") as a:
        same(a[...], np.zeros(3))


@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize("shape", [(), (1,), (0,), (3, 0, 2), (1, 1, 1)])
def test_scalars_empty_arrays_and_single_elements(tmp_path: Path, version: int, shape: tuple[int, ...]) -> None:
    values = values_of(shape, "<i4", seed=5) + 1
    path = foreign(tmp_path / "a.zarr", values, tuple(max(n, 1) for n in shape), zarr_format=version)
    with swath.open(path, mode="r+") as a:
        same(a[...], values)
        a.write(values + 1)
        same(a.read(), values + 1)
    same(as_zarr_reads(path), values + 1)


@pytest.mark.parametrize("separator", [".", "/"])
@pytest.mark.parametrize("encoding", ["default", "v2"])
def test_names_of_chunks(tmp_path: Path, encoding: str, separator: str) -> None:
    values = values_of((5, 4), "<i4")
    keys = {"name": encoding, "separator": separator}
    path = foreign(tmp_path / "a.zarr", values, (2, 3), chunk_key_encoding=keys)
    with swath.open(path, mode="r+") as a:
        same(a[...], values)
        a[1, 1] = 99
    values[1, 1] = 99
    same(as_zarr_reads(path), values)


@pytest.mark.parametrize("location", ["start", "end"])
def test_shards_of_zarr_with_either_index(tmp_path: Path, location: str) -> None:
    values = values_of((45, 33), "<u2")
    codec = zarr.codecs.ShardingCodec(
        chunk_shape=(5, 4),
        codecs=[zarr.codecs.TransposeCodec(order=(1, 0)), zarr.codecs.BytesCodec(), zarr.codecs.BloscCodec()],
        index_location=location,
    )
    path = foreign(tmp_path / "a.zarr", values, (20, 16), serializer=codec, compressors=None, fill_value=9)
    with swath.open(path, mode="r+") as a:
        same(a[...], values)
        same(a[44:2:-7, 5], values[44:2:-7, 5])
        a[7:29, 3] = 1
        values[7:29, 3] = 1
        same(a[...], values)
    same(as_zarr_reads(path), values)


@st.composite
def cases(draw: st.DrawFn) -> tuple[dict[str, Any], tuple[int, ...], list[Any]]:
    ndim = draw(st.integers(1, 3))
    shape = tuple(draw(st.integers(1, 12)) for _ in range(ndim))
    chunks = tuple(draw(st.integers(1, 6)) for _ in range(ndim))
    options: dict[str, Any] = {
        "chunks": chunks,
        "codecs": draw(st.sampled_from([[], "zstd", "lz4", "crc32c", ["shuffle", "gzip"]])),
    }
    options["order"] = draw(st.sampled_from(["C", "F"]))
    if draw(st.booleans()):
        options["shards"] = tuple(c * draw(st.integers(1, 3)) for c in chunks)
    elif draw(st.booleans()):
        options["format"] = "zarr:v2"
    selections = []
    for _ in range(3):
        items: list[Any] = []
        for n in shape:
            if draw(st.booleans()):
                items.append(draw(st.integers(-n, n - 1)))
            else:
                ends = st.none() | st.integers(-n - 2, n + 2)
                items.append(slice(draw(ends), draw(ends), draw(st.none() | st.sampled_from([1, 2, 3, -1, -2]))))
        selections.append(tuple(items))
    return options, shape, selections


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(case=cases())
def test_any_selection_is_read_and_written_as_numpy_does(tmp_path_factory: Any, case: Any) -> None:
    options, shape, selections = case
    path = tmp_path_factory.mktemp("zarr") / "a.zarr"
    expected = np.full(shape, 3, "<i4")
    with swath.create(path, shape, "<i4", fill=3, **options) as a:
        for i, selection in enumerate(selections[:2]):
            new = values_of(expected[selection].shape, "<i4", seed=i)
            a[selection] = new
            expected[selection] = new
        same(a[...], expected)
        for selection in selections:
            same(a[selection], expected[selection])
    same(as_zarr_reads(path), expected)


DISTRIBUTIONS = [
    lambda n: Distribution((Block(), Whole()), (n, 1)),
    lambda n: Distribution((Whole(), Block()), (1, n)),
    lambda n: Distribution((Whole(), Cyclic(1)), (1, n)),
    lambda n: Distribution((Cyclic(3), Whole()), (n, 1)),
]


@pytest.mark.parametrize("ranks", [1, 2, 3, 4])
@pytest.mark.parametrize(
    "options", [{"chunks": (7, 5)}, {"chunks": (4, 5), "shards": (8, 10)}, {"chunks": (7, 5), "format": "zarr:v2"}]
)
def test_ranks_write_and_read_their_shares(tmp_path: Path, ranks: int, options: dict[str, Any]) -> None:
    values = values_of((30, 23), "<f8")

    for i, distribution_of in enumerate(DISTRIBUTIONS):
        distribution = distribution_of(ranks)

        def work(comm: Any, i: int = i, distribution: Distribution = distribution) -> None:
            mine = np.ix_(*distribution.indices(values.shape, comm.rank))
            with swath.create(tmp_path / f"{i}.zarr", values.shape, "<f8", comm=comm, **options) as a:
                a.write(values[mine], distribution)
                a.sync()
                same(a.read(distribution), values[mine])
                same(a[2:5], values[2:5])
            with swath.open(tmp_path / f"{i}.zarr", comm=comm) as a:
                part = values[3:29:2, ::-1]
                share = np.ix_(*distribution.indices(part.shape, comm.rank))
                same(a.read(distribution, selection=np.s_[3:29:2, ::-1]), part[share])

        run_ranks(ranks, work, seed=i)
        same(as_zarr_reads(tmp_path / f"{i}.zarr"), values)


def test_ranks_write_and_read_boxes_that_share_chunks(tmp_path: Path) -> None:
    values = values_of((20, 20), "<i4")
    boxes = [[((0, 0), (9, 9)), ((9, 0), (20, 7))], [((0, 9), (9, 20))], [((9, 7), (20, 20))]]

    def work(comm: Any) -> None:
        mine = boxes[comm.rank]
        parts = [values[lo[0] : hi[0], lo[1] : hi[1]] for lo, hi in mine]
        with swath.create(tmp_path / "a.zarr", (20, 20), "<i4", chunks=(6, 6), comm=comm) as a:
            a.write(parts, Boxes(mine))
            for found, part in zip(a.read(Boxes(mine)), parts, strict=True):
                same(found, part)

    run_ranks(3, work)
    same(as_zarr_reads(tmp_path / "a.zarr"), values)


@pytest.mark.parametrize("cached", ["all", "nothing", "every-second-chunk"])
@pytest.mark.parametrize("shards", [None, (600, 1400)])
def test_far_apart_elements_of_plain_chunks_are_read_with_and_without_the_page_cache(
    tmp_path: Path, cached: str, shards: Any
) -> None:
    """Windows of the page cache skip wide holes; bytes from the device are read in one piece, and ahead."""
    values = np.arange(600 * 2800, dtype="<f4").reshape(600, 2800)
    values[:300, 700:1400] = 0  # these chunks are not stored, except in shards
    with swath.create(tmp_path / "a.zarr", values.shape, "<f4", chunks=(100, 700), shards=shards, codecs=[]) as a:
        a[:, :700], a[:, 1400:] = values[:, :700], values[:, 1400:]
        a[300:, 700:1400] = values[300:, 700:1400]

    def forget() -> None:
        for number, file in enumerate(sorted((tmp_path / "a.zarr" / "c").rglob("*"))):
            if file.is_file() and (cached == "nothing" or (cached == "every-second-chunk" and number % 2)):
                with file.open("rb") as opened:
                    page_cache.drop(opened.fileno())

    selections = [np.s_[:, 5], np.s_[7], np.s_[::7, ::7], np.s_[::100], np.s_[3::9, 650:750], np.s_[1:-1, 1::699]]
    with swath.open(tmp_path / "a.zarr") as a:
        for selection in selections:
            forget()
            np.testing.assert_array_equal(a[selection], values[selection])
        assert a[...].tobytes() == values.tobytes()
        few = a.read(selection=np.s_[::100])
        np.testing.assert_array_equal(few, values[::100])
        stored = few.nbytes - few[:3, 700:1400].nbytes
        assert cached != "all" or shards or a.counters.read_bytes == stored, "holes of 99 rows are left out"


def test_strided_memory(tmp_path: Path) -> None:
    values = values_of((20, 15), "<f8")
    path = foreign(tmp_path / "a.zarr", values, (6, 15))
    with swath.open(path, mode="r+") as a:
        ghosted = np.zeros((24, 19))
        a.read(out=ghosted[2:-2, 2:-2])
        same(ghosted[2:-2, 2:-2], values)
        assert not ghosted[:2].any()
        fortran = np.zeros((20, 15), order="F")
        a.read(out=fortran)
        same(fortran, values)
        a.write(ghosted.T[2:-2, 2:-2].T * 2)
        same(a[...], values * 2)


def test_memory_is_bounded_by_tuning(tmp_path: Path) -> None:
    values = values_of((64, 64), "<f8")
    path = foreign(tmp_path / "a.zarr", values, (16, 16))
    with swath.open(path) as a:
        same(a.read(selection=np.s_[::3], tuning={"chunk_buffer_bytes": 1}), values[::3])
        one_stored_and_one_decoded = 2 * 16 * 16 * 8 + 16 * 16 + 1024
        assert a.counters.buffer_bytes <= one_stored_and_one_decoded


def test_explain_and_counters(tmp_path: Path) -> None:
    path = foreign(tmp_path / "a.zarr", values_of((30, 10), "<f8"), (10, 10))
    with swath.open(path) as a:
        plan = a.explain()
        assert (plan.method, plan.ranks) == ("chunks", 1)
        assert "zstd" in str(plan)
        assert plan.to_dict()["method"] == "chunks"
        assert plan.cost("chunks", 0)["chunks_decoded"] == 3
        _ = a[:10]
        assert a.counters.read_requests == 1
        assert a.counters.read_bytes == (tmp_path / "a.zarr/c/0/0").stat().st_size
        assert a.last_plan is not None
        assert a.last_plan.cost("chunks", 0)["read_bytes"] == a.counters.read_bytes
        assert a.engine == "chunks"
        assert a.explain(write=True).method == "chunks"


def test_only_what_is_wanted_is_read_of_chunks_without_codecs(tmp_path: Path) -> None:
    values = values_of((100, 100), "<f8")
    path = foreign(tmp_path / "a.zarr", values, (50, 100), compressors=None)
    with swath.open(path) as a:
        same(a[7], values[7])
        assert a.counters.read_bytes == 100 * 8
        same(a[7:9, 20:40:2], values[7:9, 20:40:2])
        assert a.counters.read_bytes < 200 * 8


def test_default_chunks_are_of_a_size_that_suits(tmp_path: Path) -> None:
    for options in ({}, {"shards": (3000, 3000)}):
        with swath.create(tmp_path / "a.zarr", (6000, 6000), "<f8", overwrite=True, **options):
            pass
        with swath.open(tmp_path / "a.zarr") as a:
            chunk = a._description.layout.chunk_shape
            assert 1 << 20 <= math.prod(chunk) * 8 <= 4 << 20
            assert max(chunk) <= 2 * min(chunk)


def test_reading_while_it_is_written_finds_whole_chunks(tmp_path: Path) -> None:
    """A chunk's file is replaced as a whole: the old file, still open, does not change."""
    path = tmp_path / "a.zarr"
    with swath.create(path, (1000,), "<i4", chunks=(1000,), codecs=[]) as a:
        a.write(np.zeros(1000, "<i4"))
    with (path / "c/0").open("rb") as old, swath.open(path, mode="r+") as a:
        a.write(np.ones(1000, "<i4"))
        assert not any(old.read())
        same(a[...], np.ones(1000))


@pytest.mark.slow
def test_tensorstore_reads_what_swath_writes_and_the_other_way_round(tmp_path: Path) -> None:
    ts = pytest.importorskip("tensorstore")
    values = values_of((45, 33), "<u2")
    for i, (driver, options) in enumerate(
        [
            ("zarr3", {"codecs": "zstd"}),
            ("zarr3", {"codecs": ["gzip", "crc32c"], "order": "F"}),
            ("zarr3", {"codecs": "blosc", "chunks": (5, 4), "shards": (20, 16)}),
            ("zarr", {"codecs": "blosc", "format": "zarr:v2"}),
            ("zarr", {"codecs": "zlib", "format": "zarr:v2", "order": "F"}),
        ]
    ):
        path = tmp_path / f"{i}.zarr"
        with swath.create(path, values.shape, "<u2", **{"chunks": (10, 8), **options}) as a:
            a.write(values)
        spec = {"driver": driver, "kvstore": {"driver": "file", "path": str(path)}}
        opened = ts.open(spec, open=True).result()
        same(opened.read().result(), values)
        opened[3:41:2, 7].write(np.full(19, 5, "<u2")).result()
        expected = values.copy()
        expected[3:41:2, 7] = 5
        with swath.open(path) as a:
            same(a[...], expected)
