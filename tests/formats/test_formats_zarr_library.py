"""zarr-python reads text of variable length, and codecs that Swath does not have."""

from __future__ import annotations

import builtins
import importlib.util
import pathlib
import pickle
import warnings
from typing import Any

import numpy as np
import pytest

import swath
from swath import Block, Distribution, formats
from swath.errors import Error, FormatError, OutOfMemoryError, UnsupportedError
from swath.formats import LibraryLayout, zarr_library
from swath.formats import zarr as swath_zarr
from swath.simulated import run_ranks
from zarr_cases import V2, foreign, same, store, values_of, zarr

numcodecs = pytest.importorskip("numcodecs")

Path = pathlib.Path
TEXTS = np.array([["a", "", "a longer one"], ["é", "日本", "b" * 1000]], dtype=object)
SELECTIONS = [np.s_[:, :], np.s_[1, :], np.s_[::-1, 2:0:-1], np.s_[0, -1], np.s_[2:1, :], np.s_[-1:0:-2, ::2]]


def texts(path: Path, version: int) -> str:
    array = zarr.create_array(str(path), shape=TEXTS.shape, dtype="string", chunks=(1, 2), zarr_format=version)
    array[...] = TEXTS
    return str(path)


@pytest.mark.parametrize("version", [2, 3])
def test_text_of_variable_length_is_read(tmp_path: Path, version: int) -> None:
    path = texts(tmp_path / "a.zarr", version)
    described = formats.describe(path)
    assert (described.dtype, described.shape) == (np.dtype(object), (2, 3))
    assert described.layout == LibraryLayout("text of variable length", (1, 2))
    for selection in SELECTIONS:
        found = formats.library_read(described, selection)
        same(found, TEXTS[selection])
        assert all(type(text) is str for text in found.ravel().tolist())
    with swath.open(path) as a:
        same(a[...], TEXTS)
        same(a[::-1, 1], TEXTS[::-1, 1])
        assert a.fill_value is None


def test_ranks_read_their_shares_of_text(tmp_path: Path) -> None:
    path = texts(tmp_path / "a.zarr", 3)

    def work(comm: Any) -> None:
        rows = Distribution((Block(), Block()), (comm.size, 1))
        with swath.open(path, comm=comm) as a:
            same(a.read(rows), TEXTS[comm.rank : comm.rank + 1])

    run_ranks(2, work)


@pytest.mark.parametrize("version", [2, 3])
def test_text_is_listed_without_importing_the_library(
    tmp_path: Path, version: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = texts(tmp_path / "a.zarr", version)
    monkeypatch.setattr(zarr_library, "_opened", lambda folder: pytest.fail("it is imported"))
    (variable,) = swath_zarr.contents(path).variables.values()
    assert (variable.dtype, variable.chunks, variable.unsupported) == (np.dtype(object), (1, 2), "")
    assert variable.is_coordinate


def test_without_the_library_it_is_said_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = texts(tmp_path / "a.zarr", 3)
    own_import = builtins.__import__

    def no_zarr(name: str, *rest: Any, **named: Any) -> Any:
        if name == "zarr":
            raise ImportError(name)
        return own_import(name, *rest, **named)

    monkeypatch.setattr(builtins, "__import__", no_zarr)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(UnsupportedError, match=r"text of variable length; .*pip install zarr"):
        formats.describe(path)
    assert "pip install zarr" in swath_zarr.contents(path).variables[""].unsupported


OTHERS: dict[str, tuple[Any, str, dict[str, Any]]] = {
    "delta": (2, "<i4", {"filters": [numcodecs.Delta("<i4")], "compressors": numcodecs.Zlib()}),
    "fixedscaleoffset": (2, "<f8", {"filters": [numcodecs.FixedScaleOffset(1, 2, "<f8", "i2")]}),
    "packbits": (2, "?", {"filters": [numcodecs.PackBits()]}),
    "quantize": (2, "<f4", {"filters": [numcodecs.Quantize(3, "<f4")]}),
    "bz2": (2, ">i2", {"compressors": numcodecs.BZ2()}),
    "lzma": (2, "<M8[s]", {"compressors": numcodecs.LZMA()}),
    "delta of version 3": (3, "<i4", {}),
    "shards in shards": (3, "<i4", {}),
}


@pytest.mark.parametrize("case", OTHERS)
def test_codecs_that_swath_has_not_are_read_by_the_library(tmp_path: Path, case: str) -> None:
    version, dtype, options = OTHERS[case]
    values = values_of((13, 8), "i4").astype(dtype)
    if case == "shards in shards":
        inner = zarr.codecs.ShardingCodec(chunk_shape=(2, 2))
        options = {"serializer": zarr.codecs.ShardingCodec(chunk_shape=(4, 4), codecs=[inner]), "compressors": None}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if case == "delta of version 3":
            options = {"filters": [zarr.codecs.numcodecs.Delta(dtype="<i4")]}
        path = foreign(tmp_path / "a.zarr", values, (8, 4), zarr_format=version, **options)
    described = formats.describe(path)
    assert isinstance(described.layout, LibraryLayout)
    assert described.dtype.newbyteorder("=") == np.dtype(dtype).newbyteorder("=")
    assert swath_zarr.contents(path).variables[""].unsupported == ""
    for selection in (np.s_[...], np.s_[11:2:-3, 1:], np.s_[5], np.s_[-1, 3]):
        with swath.open(path) as a:
            same(a[selection], values[selection])
            assert a.explain().method == "library"


def test_nothing_is_written_through_the_library(tmp_path: Path) -> None:
    path = texts(tmp_path / "a.zarr", 3)
    before = (tmp_path / "a.zarr/c/0/0").read_bytes()
    with (
        swath.open(path, mode="r+") as a,
        pytest.raises(UnsupportedError, match="does not write it; write it with zarr"),
    ):
        a[0, 0] = "other"
    assert (tmp_path / "a.zarr/c/0/0").read_bytes() == before


class Harm:
    """An object that runs code when it is unpickled."""

    def __reduce__(self) -> Any:
        return (pathlib.Path.touch, (pathlib.Path("harm.txt"),))


@pytest.mark.parametrize(
    "change",
    [
        {"dtype": "|O", "filters": [{"id": "pickle", "protocol": 5}]},
        {"filters": [{"id": "pickle", "protocol": 5}]},
        {"compressor": {"id": "pickle", "protocol": 5}},
        {"dtype": "|O", "filters": [{"id": "vlen-utf8"}, {"id": "pickle", "protocol": 5}]},
    ],
)
def test_pickled_objects_are_never_read(
    tmp_path: Path, change: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = store(tmp_path, {**V2, "shape": [1], "chunks": [1], **change})
    (Path(path) / "0").write_bytes(pickle.dumps(Harm()))
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UnsupportedError, match="can run any code"):
        formats.describe(path)
    assert "can run any code" in swath_zarr.contents(path).variables[""].unsupported
    assert not (tmp_path / "harm.txt").exists()


def test_what_the_library_cannot_read_either_is_an_error_of_ours(tmp_path: Path) -> None:
    path = texts(tmp_path / "a.zarr", 3)
    described = formats.describe(path)
    (tmp_path / "a.zarr/c/0/0").write_bytes(b"damaged")
    with pytest.raises(FormatError, match="zarr-python cannot read it"):
        formats.library_read(described, np.s_[:, :])
    (tmp_path / "a.zarr/zarr.json").write_text("{}")
    with pytest.raises(Error):
        formats.library_read(described, np.s_[:, :])


def test_text_that_claims_more_than_memory_holds_is_an_error_of_ours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    described = formats.describe(texts(tmp_path / "a.zarr", 3))

    class TooMuch:
        def __getitem__(self, index: Any) -> Any:
            raise MemoryError("31 GiB")

    monkeypatch.setattr(zarr_library, "_opened", lambda folder: TooMuch())
    with pytest.raises(OutOfMemoryError, match="31 GiB"):
        formats.library_read(described, np.s_[:, :])
