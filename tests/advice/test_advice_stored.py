"""Chunks in files, in shards, and compressed, as candidates: priced by the planner, created and copied as advised."""

from __future__ import annotations

import itertools
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import swath
from swath import _core
from swath.advice import accesses as made
from swath.advice import candidates, compression
from swath.advice.advise import payback
from swath.advice.candidates import Candidate, Storage
from swath.advice.pricing import Conditions, Pricer
from swath.array.coding_cost import CodingCost
from swath.commands import cli

SHAPE = (48, 64)


def smooth(shape: tuple[int, ...]) -> Any:
    """Values that compress."""
    return np.round(np.add.outer(*(np.arange(n, dtype="f8") for n in shape)) / 8)


def pricer_of(texts: list[str], shape: tuple[int, ...] = SHAPE, **profile: float) -> Pricer:
    """Return a pricer with some numbers of the default profile changed."""
    numbers = {**_core.default_profile().to_dict(), **profile}
    asked = made.checked(texts, 4, shape)
    return Pricer(shape, 8, asked, Conditions(_core.Profile.from_dict(numbers)))


def total(pricer: Pricer, candidate: Candidate) -> float:
    return pricer.total(pricer.seconds(candidate) or ())


# ---- What is looked at -----------------------------------------------------------------------------------------------


def test_every_format_and_codec_is_a_way_to_store_chunks() -> None:
    found = candidates.storages(
        ("hdf5", "zarr", "npy"), {name: CodingCost(1.0) for name in (("zstd",), ("fletcher32",), ("crc32c",))}
    )
    assert len(found) == len(set(found))
    assert {(one.format, one.codecs, one.is_sharded) for one in found} == {
        ("hdf5", (), False),
        ("hdf5", ("zstd",), False),
        ("hdf5", ("fletcher32",), False),
        *itertools.product(("zarr",), ((), ("zstd",), ("crc32c",)), (False, True)),
    }
    assert candidates.storages(("npy",), {("zstd",): CodingCost(2.0)}) == []


def test_shards_are_of_whole_chunks_within_their_bytes() -> None:
    for shape, chunks in itertools.product([(4096, 4096), (100, 30_000), (7, 9)], [(1, 1), (7, 9), (3, 2)]):
        shards = candidates.shards_of(shape, chunks, math.prod(chunks) * 8)
        assert shards is None or all(s % c == 0 for s, c in zip(shards, chunks, strict=True))
        if shards is not None:
            assert math.prod(shards) * 8 <= candidates.SHARD_BYTES_MAX
            assert all(s < n + c for s, n, c in zip(shards, shape, chunks, strict=True))
    assert candidates.shards_of((7, 9), (7, 9), 504) is None
    huge = candidates.shards_of((1 << 20, 1 << 20), (1024, 1024), 8 << 20)
    assert huge is not None
    assert math.prod(huge) * 8 > candidates.SHARD_BYTES_MAX // 2


@pytest.mark.parametrize("formats", ["zarr", "hdf5"])
def test_no_shape_of_an_independent_list_is_cheaper(formats: str) -> None:
    """All chunks of powers of two, compressed, in files and in shards."""
    shape, texts = (256, 512), ["[:, j:j+8]:20", "[i, :]:5", "write [block, *]:1"]
    limits, codecs = (1 << 12, 1 << 20), {"zstd": 2.5}
    advice = swath.advise_layout(texts, shape, "f8", ranks=4, formats=formats, chunk_bytes=limits, codecs=codecs)
    pricer = pricer_of(texts, shape)
    best = math.inf
    lengths = [[2**k for k in range(10) if 2**k <= n] for n in shape]
    for chunks in itertools.product(*lengths):
        if not limits[0] <= math.prod(chunks) * 8 <= limits[1]:
            continue
        for storage in candidates.storages((formats,), {("zstd",): CodingCost(2.5)}):
            shards = candidates.shards_of(shape, chunks, math.prod(chunks) * 8) if storage.is_sharded else None
            if not storage.is_sharded or shards is not None:
                best = min(best, total(pricer, Candidate((0, 1), chunks, storage, shards)))
    assert advice.best.total <= best * (1 + 1e-9)


def test_the_best_of_every_way_to_store_chunks_is_shown() -> None:
    advice = swath.advise_layout(["[:, j]:10", "[i, :]:10"], (1024, 1024), "f8", codecs={"zstd": 1.5})
    text = str(advice)
    for words in ("a file each", "in shards of", "zstd", "C order"):
        assert words in text
    assert {one.codecs for one in advice.ranked} >= {None, (), ("zstd",)}


# ---- Prices ----------------------------------------------------------------------------------------------------------

CHUNKS = (16, 16)
PLAIN = Candidate((0, 1), CHUNKS, Storage("zarr"))
CODED = Candidate((0, 1), CHUNKS, Storage("zarr", ("zstd",), CodingCost(2.0)))
SHARDED = Candidate((0, 1), CHUNKS, Storage("zarr", is_sharded=True), (48, 64))
TABLE = Candidate((0, 1), CHUNKS, Storage("hdf5", ("zstd",), CodingCost(2.0)))


def test_files_are_opened_one_a_chunk_or_one_a_shard() -> None:
    """A column touches 3 chunks, which are in one shard."""
    for opening in (0.001, 0.01):
        pricer = pricer_of(["[:, 5]"], chunk_open_seconds=0.0, cores=1.0)
        slow = pricer_of(["[:, 5]"], chunk_open_seconds=opening, cores=1.0)
        for candidate, files in ((PLAIN, 3), (CODED, 3), (SHARDED, 1), (TABLE, 0)):
            assert total(slow, candidate) - total(pricer, candidate) == pytest.approx(files * opening, abs=1e-9)


def test_what_is_compressed_is_decoded_whole_and_takes_fewer_bytes_of_the_store() -> None:
    """One element costs as much to decode as its whole chunk; a column touches 3 of the 12 chunks of 2 KiB."""
    for texts, chunks in ((["[5, 7]"], 1), (["[:, 5]"], 3), (["[:, :]"], 12)):
        asked = {"cores": 1.0, "device.read_jump": 0.0, "device.read_jump_batched": 0.0}
        # The device's read time hides the decoding; with cached data nothing hides it.
        fast, slow = (pricer_of(texts, **asked, **{"zstd.decode": seconds}) for seconds in (0.0, 1e-6))
        for one in (fast, slow):
            one.cached = 1.0
        assert total(slow, CODED) - total(fast, CODED) == pytest.approx(chunks * 2048 * 1e-6)
        assert total(slow, PLAIN) == total(fast, PLAIN)
    better = Candidate((0, 1), CHUNKS, Storage("zarr", ("zstd",), CodingCost(8.0)))
    pricer = pricer_of(["[:, :]"], **{"zstd.decode": 0.0})
    assert total(pricer, better) < total(pricer, CODED)


def test_a_ratio_and_the_cost_of_decoding_decide() -> None:
    asked = (["[:, :]:10", "[i:i+64, :]:10"], (1024, 1024), "f8")
    numbers = _core.default_profile().to_dict()
    free = _core.Profile.from_dict({**numbers, "zstd.decode": 1e-12, "zstd.encode": 1e-12})
    dear = _core.Profile.from_dict({**numbers, "zstd.decode": 1e-7})
    assert swath.advise_layout(*asked, formats="zarr", codecs={"zstd": 4}, store=free).best.codecs == ("zstd",)
    assert swath.advise_layout(*asked, formats="zarr", codecs={"zstd": 4}, store=dear).best.codecs == ()
    assert swath.advise_layout(*asked, formats="zarr", codecs={"zstd": 0.9}, store=free).best.codecs == ()


@pytest.mark.parametrize(("codecs", "shards"), [([], None), (["zstd"], None), (["zstd"], (48, 64))])
@pytest.mark.parametrize("text", ["[:, 5]", "[3:20, :]", "write [0:16, :]", "write [2:9, 3:40]"])
def test_a_price_is_that_of_a_store_that_has_the_layout(
    tmp_path: Path, codecs: list[str], shards: Any, text: str
) -> None:
    """The price equals that of `explain` for a real store of random bytes, which cannot be compressed."""
    values = np.frombuffer(np.random.default_rng(0).bytes(48 * 64 * 8), "f8").reshape(SHAPE)
    path = tmp_path / "a.zarr"
    with swath.create(path, SHAPE, "f8", chunks=CHUNKS, shards=shards, codecs=codecs) as a:
        a.write(values)
    candidate = Candidate((0, 1), CHUNKS, Storage("zarr", tuple(codecs), CodingCost(1.0), shards is not None), shards)
    pricer = pricer_of([text])
    with swath.open(path, mode="r+") as a:
        (now,) = pricer.seconds_now(a)
        (access,) = pricer.accesses
        plan = a._core.explain_chunks(_core.Operation(a._form, access.direction, access.decompositions[0]), 0.0)
        (advised,) = pricer.seconds(candidate) or ()
        assert now == pytest.approx(plan.price["seconds"] + plan.price["sync"])
        assert advised == pytest.approx(now, rel=0.05)


def test_plans_of_chunks_that_are_not_compressed_count_what_is_then_read(tmp_path: Path) -> None:
    """The read goes from the first wanted byte of a chunk to the last."""
    with swath.create(tmp_path / "a.zarr", SHAPE, "f8", chunks=CHUNKS, codecs=[]) as a:
        a.write(np.zeros(SHAPE))
    with swath.open(tmp_path / "a.zarr") as a:
        for as_slices in (np.s_[:, 5:6], np.s_[3:20, 2:40:3], np.s_[:, :]):
            plan = a.explain(selection=as_slices, cached=0.0)
            a.read(selection=as_slices)
            assert plan.cost("chunks", 0)["read_bytes"] >= a.counters.read_bytes
            wanted = [range(*one.indices(n)) for one, n in zip(as_slices, SHAPE, strict=True)]
            spans = 0
            for at in itertools.product(range(3), range(4)):
                inside = [[i for i in of if i // 16 == c] for of, c in zip(wanted, at, strict=True)]
                if all(inside):
                    rows, columns = (one[-1] - one[0] for one in inside)
                    spans += (rows * 16 + columns + 1) * 8
            assert plan.cost("chunks", 0)["read_bytes"] == spans


# ---- Ratios ----------------------------------------------------------------------------------------------------------


def test_ratios_are_measured_on_a_sample_or_given(tmp_path: Path) -> None:
    values = smooth((600, 700))
    noise = np.random.default_rng(0).random((600, 700))
    assert compression.costs(["zstd"], values)[("zstd",)].ratio > 5
    assert compression.costs(["zstd"], noise)[("zstd",)].ratio < 1.5
    assert compression.costs("shuffle+zlib", values)[("shuffle", "zlib")].ratio > 5
    assert compression.costs(["fletcher32"], noise)[("fletcher32",)].ratio == pytest.approx(1, abs=0.01)
    assert compression.costs({"zstd": 3}, None) == {("zstd",): CodingCost(3.0)}
    np.save(tmp_path / "a.npy", values)
    with swath.open(tmp_path / "a.npy") as a:
        found = (compression.costs(["zstd"], one)[("zstd",)].ratio for one in (a, values))
        assert next(found) == next(found)


def test_a_sample_s_ratio_is_what_the_codec_makes_of_the_whole(tmp_path: Path) -> None:
    values = smooth((512, 512)) + np.random.default_rng(0).integers(0, 9, (512, 512))
    measured = compression.costs(["zstd"], values)[("zstd",)].ratio
    with swath.create(tmp_path / "a.zarr", values.shape, "f8", chunks=(256, 256), codecs=["zstd"]) as a:
        a.write(values)
    stored = sum(
        path.stat().st_size for path in (tmp_path / "a.zarr").rglob("*") if path.is_file() and path.suffix == ""
    )
    assert measured == pytest.approx(values.nbytes / stored, rel=0.3)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"codecs": "zstd"}, "sample="),
        ({"codecs": ["tape"], "sample": np.zeros(5)}, "'tape'"),
        ({"codecs": {"zstd": 0}}, "ratio"),
        ({"codecs": {"zstd+tape": 2}}, "expected zstd"),
        ({"codecs": {"crc32c+fletcher32": 2}}, "one format"),
        ({"codecs": 3}, "codecs"),
        ({"codecs": ["zstd"], "sample": 3}, "sample"),
    ],
)
def test_codecs_that_cannot_be_are_errors(given: dict[str, Any], says: str) -> None:
    with pytest.raises(swath.ArgumentError) as raised:
        swath.advise_layout("[:, :]", SHAPE, "f8", **given)
    assert says in str(raised.value)


# ---- What is made of it ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("formats", "codecs", "name"),
    [("zarr", None, "a.zarr"), ("zarr", {"zstd": 9}, "a.zarr"), ("hdf5", {"shuffle+zlib": 9}, "a.h5")],
)
def test_what_is_created_and_copied_is_what_is_advised(tmp_path: Path, formats: str, codecs: Any, name: str) -> None:
    values = smooth((256, 320))
    numbers = _core.default_profile().to_dict()
    free = {f"{codec}.{way}": 1e-12 for codec in ("zstd", "deflate", "shuffle") for way in ("decode", "encode")}
    advice = swath.advise_layout(
        ["[:, j:j+64]:9", "[i:i+64, :]:9"],
        values.shape,
        "f8",
        formats=formats,
        codecs=codecs,
        chunk_bytes=(4096, "1MiB"),
        store=_core.Profile.from_dict({**numbers, **free}),
    )
    wanted = () if codecs is None else tuple(next(iter(codecs)).split("+"))
    assert advice.best.codecs == wanted
    with swath.create(tmp_path / name, values.shape, "f8", layout=advice) as a:
        a.write(values)
    np.save(tmp_path / "source.npy", values)
    swath.copy(tmp_path / "source.npy", tmp_path / f"copied-{name}", **advice.best.creation)
    for path in (tmp_path / name, tmp_path / f"copied-{name}"):
        with swath.open(path) as a:
            np.testing.assert_array_equal(a[...], values)
            assert a.chunks == advice.best.chunks
            stored = sum(one.stat().st_size for one in [path, *path.rglob("*")] if one.is_file())
            assert (stored < values.nbytes / 3) == (codecs is not None)
    with pytest.raises(swath.ArgumentError, match="cannot be stored as npy"):
        swath.create(tmp_path / "b.npy", values.shape, "f8", layout=advice)
    with pytest.raises(swath.ArgumentError, match="codecs would say"):
        swath.create(tmp_path / f"b-{name}", values.shape, "f8", layout=advice, codecs=["zlib"])


def test_a_copy_of_compressed_chunks_pays_as_any(tmp_path: Path) -> None:
    values = smooth((1024, 1024))
    with swath.create(tmp_path / "a.zarr", values.shape, "f8", chunks=(1, 1024), codecs=["zstd"]) as a:
        a.write(values)
    advice = swath.advise_layout("[:, j]:10", values.shape, "f8", store=tmp_path)
    with swath.open(tmp_path / "a.zarr") as a:
        pays = payback(advice, "[:, j]:10", a, tmp_path / "b.npy")
    assert pays.seconds_now > 100 * pays.seconds_then
    assert pays.uses is not None


def test_the_command_measures_ratios_on_the_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    np.save(tmp_path / "a.npy", smooth((256, 320)))
    how = ["layout", "--access", "[:, j]:10", "--file", str(tmp_path / "a.npy"), "--formats", "zarr"]
    assert cli.main([*how, "--codecs", "zstd,gzip"]) == 0
    said = capsys.readouterr().out
    assert "zstd" in said
    assert "gzip" in said
    assert "use once" in said
    assert cli.main([*how, "--codecs", "zstd=2.5,gzip"]) == 2
    assert "for each" in capsys.readouterr().err
