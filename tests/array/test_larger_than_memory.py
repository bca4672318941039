"""Arrays larger than memory: a too large request is refused with its size; smaller ones are read and written."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import swath
from swath import Block, Boxes, Distribution
from swath.commands import cli
from swath.copying.pipeline import Pipeline
from swath.errors import OutOfMemoryError, from_wire, to_wire
from swath.simulated import run_ranks

h5py = pytest.importorskip("h5py")

LENGTH = 2**50
TAKES = f"{8 * LENGTH:,} bytes"


def store(path: Path) -> None:
    swath.create(path, (LENGTH,), "<f8", chunks=(2**20,), fill=3).close()


def contiguous(path: Path) -> None:
    with h5py.File(path, "w") as file:
        file.create_dataset("v", shape=(LENGTH,), dtype="<f8", fillvalue=3)


def chunked(path: Path) -> None:
    """The array has more chunks than a table can have."""
    with h5py.File(path, "w") as file:
        file.create_dataset("v", shape=(LENGTH,), dtype="<f8", chunks=(1024,), fillvalue=3)


@pytest.fixture(params=[(store, "a.zarr"), (contiguous, "a.h5"), (chunked, "b.h5")], ids=lambda p: p[0].__name__)
def path(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    """Return a file with an array of 8 PiB, of which nothing is stored."""
    make, name = request.param
    make(tmp_path / name)
    return tmp_path / name


def test_what_fits_in_no_memory_is_refused_with_how_much_it_takes(path: Path) -> None:
    whole = f"{path.name}.*0:{LENGTH}.*out of memory.*{TAKES}.*swath.copy"
    quarter = Distribution((Block(),), grid=(4,))
    with swath.open(path, mode="r+") as a:
        for use in (
            lambda: a[...],
            a.read,
            lambda: a.read(Boxes([((0,), (LENGTH,))])),
            lambda: a.explain(analyze=True),
            lambda: a.__setitem__(..., 5),
        ):
            with pytest.raises(OutOfMemoryError, match=whole):
                use()
        with pytest.raises(MemoryError, match=f"{2 * LENGTH:,} bytes"):
            a.read(quarter, rank=1)
        assert "read" in str(a.explain(quarter))
        assert a[-1] == 3
        assert a[:: LENGTH - 1].tolist() == [3, 3]


def test_info_tells_of_it(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with swath.open(path) as a:
        name = "" if a.variable is None else f":{a.variable}"
    assert cli.main(["info", f"{path}{name}", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["bytes"] == 8 * LENGTH


def test_more_than_64_bits_count_is_out_of_memory_too(tmp_path: Path) -> None:
    with swath.create(tmp_path / "a.zarr", (2**40, 2**40), "<f8", chunks=(2**12, 2**12)) as a:
        with pytest.raises(OutOfMemoryError, match=f"{8 * 2**80:,} bytes"):
            a[...]
        assert a[-1, -1] == 0


def test_a_copy_that_finds_no_memory_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: Pipeline) -> Pipeline:
        raise MemoryError("Unable to allocate 8 EiB")

    monkeypatch.setattr(Pipeline, "__enter__", refuse)
    np.save(tmp_path / "a.npy", np.zeros((4, 4)))
    with pytest.raises(OutOfMemoryError, match=r"copy .*a.npy to .*out of memory: Unable to allocate 8 EiB"):
        swath.copy(tmp_path / "a.npy", tmp_path / "b.zarr")
    assert not (tmp_path / "b.zarr").exists()


def test_every_rank_hears_of_the_one_that_has_no_memory(path: Path) -> None:
    """Rank 0 requests few elements, rank 1 all."""

    def read(comm: Any) -> str:
        with swath.open(path, comm=comm) as a:
            end = 1 if comm.rank == 0 else LENGTH
            with pytest.raises(OutOfMemoryError) as found:
                a.read(Boxes([((0,), (end,))]))
            return str(found.value)

    first, second = run_ranks(2, read)
    assert first == second
    assert TAKES in first


def test_chunks_that_no_memory_holds_are_named(tmp_path: Path) -> None:
    with swath.create(tmp_path / "a.zarr", (2**54,), "u1", chunks=(2**54,), codecs="zstd") as a:
        assert a[5] == 0  # a chunk that is not stored needs no memory
    (tmp_path / "a.zarr" / "c").mkdir()
    (tmp_path / "a.zarr" / "c" / "0").write_bytes(bytes(100))
    with swath.open(tmp_path / "a.zarr", mode="r+") as a:
        for use in (lambda: a[5], lambda: a.__setitem__(5, 1)):
            with pytest.raises(OutOfMemoryError, match=rf"chunk \(0,\) of .*a.zarr: out of memory.*{2**54:,} bytes"):
                use()


@pytest.mark.parametrize(
    "error", [MemoryError("Unable to allocate 8 EiB"), MemoryError(), OSError(12, "Cannot allocate memory")], ids=repr
)
def test_foreign_errors_of_memory_travel_as_ours(error: BaseException) -> None:
    again = from_wire(to_wire(error))
    assert type(again) is OutOfMemoryError
    assert isinstance(again, MemoryError)
    assert "memory" in str(again) or "allocate" in str(again)
    assert again.errno == 12
