"""`swath.copy` compared with NumPy: any layout, dtype and format into any other, in small budgets."""

from __future__ import annotations

import itertools
import math
import os
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
import zarr
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import swath
from swath.copying import workers
from swath.copying.one_pass import CHUNK_BYTES
from swath.ranks.ranks import Ranks
from swath.simulated import run_ranks
from swath.store.standalone import page_cache

FORMATS = ("raw", "npy", "netcdf-classic", "hdf5", "hdf5-chunked", "zarr-chunked", "zarr-sharded", "zarr:v2-chunked")
CHUNKED = ("hdf5-chunked", "zarr-chunked", "zarr-sharded", "zarr:v2-chunked")
CODECS = {"zarr-chunked": [], "zarr-sharded": ["zstd", "crc32c"], "zarr:v2-chunked": "blosc"}
DTYPES = ("<f8", ">f8", "<f4", ">i4", "<i2", "u1")
SUFFIX = {"raw": ".bin", "npy": ".npy", "netcdf-classic": ".nc3", "hdf5": ".h5", "hdf5-chunked": ".h5"}
SUFFIX |= dict.fromkeys(CODECS, ".zarr")
FRESH = itertools.count()


def values_of(shape: tuple[int, ...], dtype: str) -> np.ndarray:
    """Return values whose neighbours differ; every value fits into a byte."""
    return (np.arange(math.prod(shape)) * 7 % 127).reshape(shape).astype(dtype)


def written(path: Path, kind: str, values: np.ndarray, order: Any, chunks: Any) -> swath.Array:
    """`values` in a file of this kind, open for reading."""
    options: dict[str, Any] = stored_as(kind, chunks)
    if kind in ("raw", "npy") or kind in CODECS:
        options["order"] = order
    with swath.create(path, values.shape, values.dtype, **options) as a:
        a.write(values.astype(a.dtype))
    raw = {"shape": values.shape, "dtype": values.dtype, "order": order} if kind == "raw" else {}
    return swath.open(path, **raw)


def stored_as(kind: str, chunks: Any) -> dict[str, Any]:
    """Return format, chunks, shards and codecs as arguments of `swath.create` and `swath.copy`."""
    options: dict[str, Any] = {"format": kind.removesuffix("-chunked").removesuffix("-sharded")}
    if kind in CHUNKED:
        options["chunks"] = chunks
    if kind in CODECS:
        options["codecs"] = CODECS[kind]
    if kind == "zarr-sharded":
        options["shards"] = tuple(2 * c for c in chunks)
    return options


def read_back(path: Path, kind: str, shape: tuple[int, ...], dtype: Any, order: Any) -> np.ndarray:
    """Read the file, by another library if there is one."""
    if kind == "raw":
        dimensions = {"C": range(len(shape)), "F": reversed(range(len(shape)))}.get(order, order)
        dense = list(dimensions)
        stored = np.fromfile(path, dtype).reshape([shape[d] for d in dense])
        return stored.transpose(np.argsort(dense)) if dense else stored
    if kind == "npy":
        return np.load(path)
    if kind == "netcdf-classic":
        with swath.open(path) as a:
            return np.asarray(a[...])
    if kind in CODECS:
        return np.asarray(zarr.open_array(path / "data" if (path / "data").is_dir() else path, mode="r")[...])
    with h5py.File(path) as file:
        return np.asarray(file["data"][()])


@st.composite
def copies(draw: st.DrawFn) -> dict[str, Any]:
    """Draw a copy of a small array; budgets range from a few elements to everything."""
    shape = tuple(draw(st.lists(st.integers(0, 9), max_size=3)))
    orders: Any = st.permutations(range(len(shape))).map(tuple)
    kinds = st.sampled_from(FORMATS)
    source, target = draw(kinds), draw(kinds)
    axes = draw(st.one_of(st.none(), orders))
    turned = tuple(shape[a] for a in axes) if axes is not None else shape

    def order(kind: str) -> Any:
        if kind in ("raw", "zarr-chunked", "zarr-sharded"):
            return draw(orders)
        return draw(st.sampled_from("CF")) if kind in ("npy", "zarr:v2-chunked") else "C"

    def chunks(of: tuple[int, ...]) -> Any:
        return tuple(draw(st.integers(1, max(n, 1))) for n in of)

    return {
        "shape": shape,
        "source": (source, order(source), chunks(shape)),
        "target": (target, order(target), chunks(turned)),
        "dtypes": (draw(st.sampled_from(DTYPES)), draw(st.sampled_from(DTYPES))),
        "axes": axes,
        "memory": draw(st.integers(400, 40_000)),
    }


def with_tables(memory: int, *kinds: tuple[str, tuple[int, ...], Any]) -> int:
    """Return `memory` plus the memory of the tables of chunks: (kind, shape, chunks) of source and target."""
    tables = sum(
        math.prod(-(-n // c) for n, c in zip(shape, chunks, strict=True))
        for kind, shape, chunks in kinds
        if kind == "hdf5-chunked"
    )
    # Four copies of each chunk exist while it is decoded and encoded. Shards, with twice as many elements along each
    # dimension, are written as a whole, and tiles contain whole ones.
    units = [
        math.prod(chunks) * (2 ** len(shape) if kind == "zarr-sharded" else 1)
        for kind, shape, chunks in kinds
        if kind in CODECS
    ]
    return memory + CHUNK_BYTES * tables * 4 // 3 + 2 * 8 * 16 * sum(units) + 1000 * len(units)


def can_be_stored(kind: str, shape: tuple[int, ...], dtype: str) -> bool:
    if kind == "netcdf-classic":
        return 0 not in shape[1:]
    return kind not in CHUNKED or len(shape) > 0


def check_copy(tmp_path: Path, case: dict[str, Any]) -> None:
    """Copy, and compare with NumPy; nothing else is left in the folder."""
    shape, axes = case["shape"], case["axes"]
    (kind, order, chunks), (new_kind, new_order, new_chunks) = case["source"], case["target"]
    dtype, new_dtype = case["dtypes"]
    values = values_of(shape, dtype)
    expected = values.transpose(axes) if axes is not None else values
    if not (can_be_stored(kind, shape, dtype) and can_be_stored(new_kind, expected.shape, new_dtype)):
        return
    folder = tmp_path / str(next(FRESH))
    folder.mkdir()
    target = folder / f"b{SUFFIX[new_kind]}"
    with written(folder / f"a{SUFFIX[kind]}", kind, values, order, chunks) as source:
        options = {"axes": axes, "order": new_order, "dtype": new_dtype, "casting": "unsafe"}
        tables = (kind, shape, chunks), (new_kind, expected.shape, new_chunks)
        options["memory"] = with_tables(case["memory"], *tables)
        none = {"chunks": (), "codecs": []} if new_kind.startswith("hdf5") else {}
        swath.copy(source, target, checkpoint_bytes=64, **options, **{**none, **stored_as(new_kind, new_chunks)})
    found = read_back(target, new_kind, expected.shape, new_dtype, new_order)
    np.testing.assert_array_equal(found, expected.astype(new_dtype))
    assert found.dtype.newbyteorder("=") == np.dtype(new_dtype).newbyteorder("=")
    assert sorted(p.name for p in folder.iterdir()) == sorted({f"a{SUFFIX[kind]}", target.name})


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(copies())
def test_any_layout_into_any_other_equals_numpy(tmp_path: Path, case: dict[str, Any]) -> None:
    check_copy(tmp_path, case)


@pytest.mark.exhaustive
@pytest.mark.timeout(1000)
@settings(max_examples=2000, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(copies())
def test_any_layout_into_any_other_equals_numpy_many_times(tmp_path: Path, case: dict[str, Any]) -> None:
    check_copy(tmp_path, case)


def test_every_format_into_every_other(tmp_path: Path) -> None:
    """The same without random choices: every pair, with many tiles each."""
    values = values_of((23, 17, 5), "<f4")
    for number, (kind, new_kind) in enumerate(itertools.product(FORMATS, FORMATS)):
        target = tmp_path / f"b{number}{SUFFIX[new_kind]}"
        chunks = (3, 2, 2)
        with written(tmp_path / f"a{number}{SUFFIX[kind]}", kind, values, "F", (5, 4, 2)) as source:
            memory = with_tables(4000, (kind, values.shape, (5, 4, 2)), (new_kind, values.shape, chunks))
            copied = swath.copy(
                source, target, order="C", dtype="<f4", memory=memory, variable=None, **stored_as(new_kind, chunks)
            )
        assert copied.plan.passes[0].tiles > 1 or {kind, new_kind} & CODECS.keys()
        found = read_back(target, new_kind, values.shape, "<f4", "C")
        np.testing.assert_array_equal(found, values)


def test_two_passes_go_through_a_scratch_file_that_is_gone_afterwards(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from swath.copying import plan

    monkeypatch.setattr(plan, "_gain_max", lambda *_: math.inf)
    monkeypatch.setattr(plan, "SECOND_PASS_PAYS", 1e9)  # whatever they cost
    values = values_of((130, 70), "<f8")
    np.save(tmp_path / "a.npy", values)
    copied = swath.copy(tmp_path / "a.npy", tmp_path / "b.npy", axes=(1, 0), dtype=">f4", memory=20_000)
    assert len(copied.plan.passes) == 2
    np.testing.assert_array_equal(np.load(tmp_path / "b.npy"), values.T.astype(">f4"))
    assert {p.name for p in tmp_path.iterdir()} == {"a.npy", "b.npy"}


def test_compressed_chunks_of_hdf5_are_decoded_on_the_way(tmp_path: Path) -> None:
    values = values_of((60, 50), "<i4")
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file.create_dataset("x", data=values, chunks=(16, 16), compression="gzip")
    swath.copy(tmp_path / "a.h5", tmp_path / "b.npy", memory=30_000)
    np.testing.assert_array_equal(np.load(tmp_path / "b.npy"), values)


def test_chunks_that_are_not_stored_are_copied_as_the_fill_value(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "a.h5", "w") as file:
        dataset = file.create_dataset("x", (20, 20), "<f4", chunks=(8, 8), fillvalue=2.5)
        dataset[3:7, 2:9] = 1
        expected = dataset[...]
    swath.copy(tmp_path / "a.h5", tmp_path / "b.npy", memory=20_000)
    np.testing.assert_array_equal(np.load(tmp_path / "b.npy"), expected)


def test_a_zarr_store_is_copied_with_chunks_fill_value_and_names(tmp_path: Path) -> None:
    values = values_of((20, 30), "<f4")
    names = {"variable": "t", "dimensions": ("y", "x"), "attributes": {"units": "K"}}
    with swath.create(tmp_path / "a.zarr", (20, 30), "<f4", chunks=(4, 7), fill=-9.0, **names) as a:
        a.write(values[:10], selection=np.s_[:10])  # the rest is not stored
    swath.copy(tmp_path / "a.zarr", tmp_path / "b.zarr", axes=(1, 0), memory=40_000)
    made = zarr.open_group(tmp_path / "b.zarr", mode="r")["t"]
    values[10:] = -9
    np.testing.assert_array_equal(made[...], values.T)
    assert made.chunks == (7, 4)
    assert made.fill_value == -9
    assert made.metadata.dimension_names == ("x", "y")
    assert made.attrs["units"] == "K"
    assert swath.verify(tmp_path / "a.zarr", tmp_path / "b.zarr", axes=(1, 0), memory=40_000)


def test_a_zarr_store_is_replaced_by_one_that_is_complete(tmp_path: Path) -> None:
    values = values_of((20, 30), "<f4")
    np.save(tmp_path / "a.npy", values)
    swath.copy(tmp_path / "a.npy", tmp_path / "b.zarr", chunks=(5, 5))
    swath.copy(tmp_path / "a.npy", tmp_path / "b.zarr", chunks=(10, 30), codecs=[], overwrite=True)
    assert zarr.open_array(tmp_path / "b.zarr", mode="r").chunks == (10, 30)
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "precious").touch()
    with pytest.raises(swath.ExistsError, match="something else than a Zarr store"):
        swath.copy(tmp_path / "a.npy", tmp_path / "folder", format="zarr", overwrite=True)


def test_record_variables_of_netcdf_are_copied(tmp_path: Path) -> None:
    netCDF4 = pytest.importorskip("netCDF4")
    with netCDF4.Dataset(tmp_path / "a.nc", "w", format="NETCDF3_CLASSIC") as file:
        file.createDimension("t", None)
        file.createDimension("x", 7)
        for name in ("u", "v"):
            file.createVariable(name, "f4", ("t", "x"))[:] = np.arange(91).reshape(13, 7) + (name == "v")
        file["v"].units = "m/s"
    swath.copy(tmp_path / "a.nc", tmp_path / "b.nc", variable="v", memory=2000)
    with netCDF4.Dataset(tmp_path / "b.nc") as file:
        np.testing.assert_array_equal(file["v"][:], np.arange(91).reshape(13, 7) + 1)
        assert file["v"].dimensions == ("t", "x")
        assert file["v"].units == "m/s"


@pytest.mark.not_by_library("it reads both files")
@pytest.mark.parametrize("axes", [(0, 1), (1, 0)])
def test_pages_are_dropped_behind_a_copy_that_is_larger_than_the_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, axes: tuple[int, int]
) -> None:
    monkeypatch.setattr("swath.copying.prepare.available_bytes", lambda: 3 << 20)
    values = np.random.default_rng(1).random((512, 512))
    np.save(tmp_path / "a.npy", values)
    with (tmp_path / "a.npy").open("rb") as file:
        os.fsync(file.fileno())  # dirty pages stay
    swath.copy(tmp_path / "a.npy", tmp_path / "b.npy", axes=axes, memory="512KiB")
    for name in ("a.npy", "b.npy") if axes == (0, 1) else ("b.npy",):  # else the source is not read in its own order
        with (tmp_path / name).open("rb") as file:
            left = page_cache.cached_bytes(file.fileno(), values.nbytes)
        assert left is None or left < values.nbytes / 2, name
    np.testing.assert_array_equal(np.load(tmp_path / "b.npy"), values.transpose(axes))


def test_structures_and_strings_are_copied_byte_for_byte(tmp_path: Path) -> None:
    for dtype in ("S5", [("a", "<i2"), ("b", ">f8")], "<c16", "<M8[s]", "?"):
        values = np.zeros((9, 8), dtype)
        values.reshape(-1).view(np.uint8)[:] = np.arange(values.nbytes) % (2 if dtype == "?" else 100)
        np.save(tmp_path / "a.npy", values)
        swath.copy(tmp_path / "a.npy", tmp_path / "b.npy", order="F", memory=4000, overwrite=True)
        found = np.load(tmp_path / "b.npy")
        assert found.dtype == values.dtype
        assert found.tobytes() == values.tobytes()


def test_the_fill_value_and_attributes_go_along(tmp_path: Path) -> None:
    with swath.create(tmp_path / "a.nc", (4, 5), "f4", fill=-9.0, variable="t", attributes={"units": "K"}) as a:
        a.write(np.ones((4, 5), a.dtype))
    swath.copy(tmp_path / "a.nc", tmp_path / "b.h5")
    with swath.open(tmp_path / "b.h5") as b:
        assert b.variable == "t"
        assert b.attributes["units"] == "K"
        assert b.attributes["_FillValue"] == -9


def test_order_is_the_sources_unless_axes_or_order_are_given(tmp_path: Path) -> None:
    values = np.asfortranarray(values_of((6, 7), "<i4"))
    np.save(tmp_path / "a.npy", values)
    swath.copy(tmp_path / "a.npy", tmp_path / "same.npy")
    swath.copy(tmp_path / "a.npy", tmp_path / "turned.npy", axes=(1, 0))
    swath.copy(tmp_path / "a.npy", tmp_path / "c.npy", order="C")
    assert np.load(tmp_path / "same.npy").flags.f_contiguous
    assert np.load(tmp_path / "turned.npy").flags.c_contiguous
    assert np.load(tmp_path / "c.npy").flags.c_contiguous
    np.testing.assert_array_equal(np.load(tmp_path / "turned.npy"), values.T)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"axes": (0, 0)}, "each of the source's 2 dimensions"),
        ({"axes": (0,)}, "each of the source's 2 dimensions"),
        ({"dtype": "i4"}, "cannot become int32 by the rule 'same_kind'"),
        ({"dtype": "O"}, "no fixed number of bytes"),
        ({"casting": "sometimes"}, "expected one of no, equiv"),
        ({"chunks": (2, 2)}, "stores no chunks"),
        ({"order": "K"}, "order must be"),
        ({"memory": "lots"}, 'text such as "256MiB"'),
        ({"memory": 0}, 'text such as "256MiB"'),
        ({"memory": 10}, "too small"),
        ({"checkpoint_bytes": 0}, "at least 1"),
        ({"format": "bmp"}, "unknown"),
        ({"codecs": "zstd"}, "creates none in npy"),
        ({"shards": (10, 10)}, "creates none in .npy"),
        ({"format": "zarr", "codecs": 7}, "expected names such as"),
        ({"format": "zarr", "codecs": "zip"}, "zip"),
        ({"format": "zarr", "chunks": (0, 3)}, "expected one positive length"),
        ({"format": "zarr", "chunks": (4, 4), "shards": (6, 6)}, "not whole chunks"),
        ({"format": "zarr", "chunks": (50, 60), "memory": 30_000}, "too small: the smallest tile"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_is_written(tmp_path: Path, options: Any, words: str) -> None:
    np.save(tmp_path / "a.npy", np.zeros((50, 60)))
    with pytest.raises((swath.ArgumentError, swath.UnsupportedError), match=words):
        swath.copy(tmp_path / "a.npy", tmp_path / "b.npy", **options)
    assert [p.name for p in tmp_path.iterdir()] == ["a.npy"]


def test_an_existing_target_is_replaced_only_when_asked(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.ones(5))
    (tmp_path / "b.npy").write_text("precious")
    with pytest.raises(swath.ExistsError, match="overwrite=True"):
        swath.copy(tmp_path / "a.npy", tmp_path / "b.npy")
    assert (tmp_path / "b.npy").read_text() == "precious"
    swath.copy(tmp_path / "a.npy", tmp_path / "b.npy", overwrite=True)
    np.testing.assert_array_equal(np.load(tmp_path / "b.npy"), np.ones(5))
    swath.copy(tmp_path / "b.npy", tmp_path / "b.npy", dtype="f4", overwrite=True)  # onto itself
    assert np.load(tmp_path / "b.npy").dtype == np.float32


@pytest.mark.parametrize("most", [1, 2, 8])
@pytest.mark.parametrize("ranks", [2, 3, 5])
@pytest.mark.parametrize("nodes", [1, 2])
def test_ranks_together_make_the_same_bytes_as_one_process(tmp_path: Path, ranks: int, nodes: int, most: int) -> None:
    np.save(tmp_path / "a.npy", values_of((61, 47), "<f8"))
    options: dict[str, Any] = {"axes": (1, 0), "dtype": ">f4", "memory": 12_000, "checkpoint_bytes": 4000}
    swath.copy(tmp_path / "a.npy", tmp_path / "one.npy", **options)
    together = tmp_path / "many.npy"
    copied = run_ranks(
        ranks, lambda comm: swath.copy(tmp_path / "a.npy", together, comm=comm, workers=most, **options), nodes=nodes
    )
    assert {c.working_ranks for c in copied} == {min(ranks, nodes * most)}
    assert together.read_bytes() == (tmp_path / "one.npy").read_bytes()
    compared = run_ranks(
        ranks, lambda comm: swath.verify(tmp_path / "a.npy", together, axes=(1, 0), memory=8000, comm=comm)
    )
    assert all(compared)


def test_of_each_node_as_many_ranks_work_and_share_the_tiles() -> None:
    found = run_ranks(7, lambda comm: (workers.Workers.of(Ranks(comm), 2), comm.node_of(comm.rank)), nodes=2)
    assert len({chosen for chosen, _ in found}) == 1
    chosen = found[0][0]
    nodes = [found[rank][1] for rank in chosen.ranks]
    assert chosen.ranks[0] == 0
    assert (sorted(nodes), chosen.most_on_a_node) == ([0, 0, 1, 1], 2)
    dealt = [list(chosen.tiles_of(rank, 3, 13)) for rank in range(7)]
    assert sorted(itertools.chain(*dealt)) == list(range(3, 13))
    assert all(len(tiles) in (2, 3) if rank in chosen.ranks else not tiles for rank, tiles in enumerate(dealt))


def test_an_error_of_one_rank_reaches_all_of_them(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", values_of((64, 64), "<f8"))

    def work(comm: Any) -> str:
        # Rank 1's third write fails.
        how: dict[str, Any] = {"order": "F", "memory": 8000, "workers": 3}
        engine = "fault:write@2=ENOSPC" if comm.rank == 1 else "posix"
        with pytest.raises(swath.StoreError) as raised:
            swath.copy(tmp_path / "a.npy", tmp_path / "b.npy", comm=comm, engine=engine, **how)
        return str(raised.value)

    told = run_ranks(3, work)
    assert len(set(told)) == 1
    assert "No space left on device" in told[0]
    assert "rank 1" in told[0]
    assert [p.name for p in tmp_path.iterdir()] == ["a.npy"]
