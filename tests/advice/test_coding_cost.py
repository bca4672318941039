"""The costs of coding: measured on the real elements, and included in the prices of copies and layout advice."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import swath
from swath import formats
from swath.advice import compression
from swath.array import coding_cost
from swath.array.coding_cost import CodingCost
from swath.calibration.coding import field

LARGE = (16, 512, 256)
SMALL = (4, 512, 256)


def coded(path: Path, shape: tuple[int, ...], codecs: Any = "zstd") -> Path:
    """Make a file of one array, with a field in each chunk."""
    values = np.broadcast_to(field()[: shape[1], : shape[2]], shape)
    with swath.create(path, shape, "f4", chunks=(1, *shape[1:]), codecs=codecs) as a:
        a.write(values)
    return path


@pytest.fixture
def dear(monkeypatch: pytest.MonkeyPatch) -> Callable[[float, float], None]:
    """Give the measurement a fixed cost in seconds per byte."""

    def cost(decode: float, encode: float) -> None:
        monkeypatch.setattr(coding_cost, "measured", lambda *_: CodingCost(2.0, decode, encode))

    return cost


def test_a_higher_level_costs_more_and_noise_more_than_zeros() -> None:
    def encode(level: int, elements: Any) -> float:
        codecs = formats.check_codecs("hdf5", {"name": "zlib", "configuration": {"level": level}}, 4)
        return min(coding_cost.measured(codecs, [elements]).encode or 0.0 for _ in range(3))

    assert encode(9, field()) > 1.5 * encode(1, field())
    assert encode(4, field()) > 1.5 * encode(4, np.zeros_like(field()))


def test_boxes_lie_as_the_first_part_of_chunks(tmp_path: Path) -> None:
    values = np.arange(64 * 48 * 40, dtype="f8").reshape(64, 48, 40)
    for chunk, wanted in (((4, 48, 40), (4, 48, 40)), ((64, 48, 40), (16, 48, 40)), ((1, 5, 7), (1, 5, 7))):
        boxes = coding_cost.boxes_of(values, chunk)
        assert [one.shape for one in boxes] == [wanted] * len(boxes)
        np.testing.assert_array_equal(boxes[0], values[tuple(slice(n) for n in wanted)])
        assert all(one.flags.c_contiguous and one.nbytes <= coding_cost.CHUNK_BYTES for one in boxes)
    with swath.open(coded(tmp_path / "a.zarr", LARGE)) as a:
        assert {one.shape for one in coding_cost.boxes_of(a)} == {(1, 256, 256)}


def test_a_box_across_many_chunks_of_the_source_decodes_few_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(coding_cost, "READ_BYTES", 4 * 512 * 256 * 4)
    with swath.open(coded(tmp_path / "a.zarr", LARGE)) as a:
        assert {one.shape for one in coding_cost.boxes_of(a, (16, 8, 8))} == {(4, 8, 8)}


@pytest.mark.parametrize("shape", [LARGE, SMALL])
def test_a_copy_is_priced_by_its_own_elements_where_it_is_large(tmp_path: Path, shape: Any, dear: Any) -> None:
    source = coded(tmp_path / "a.zarr", shape)
    nbytes = int(np.prod(shape)) * 4

    def seconds(name: str) -> float:
        return swath.explain_copy(source, tmp_path / name, cached=True).plan.seconds

    for name, decoded, encoded in (("b.zarr", 1, 1), ("b.npy", 1, 0)):
        dear(0.0, 0.0)
        free = seconds(name)
        dear(1e-6, 3e-6)
        cores = min(swath._core.default_profile().to_dict()["cores"], 3.0)
        expected = nbytes * (decoded * 1e-6 + encoded * 3e-6) / cores if shape == LARGE else 0.0
        # The first tile is only read, and the last one only written: nothing hides these.
        assert expected - 0.01 <= seconds(name) - free <= 1.3 * expected + 0.01


def test_a_source_that_cannot_be_decoded_is_priced_by_the_profile(tmp_path: Path) -> None:
    path = coded(tmp_path / "a.zarr", LARGE)
    chunk = next(one for one in sorted((path / "c").rglob("*")) if one.is_file())
    chunk.write_bytes(b"no zstd")
    assert swath.explain_copy(path, tmp_path / "b.npy").plan.seconds > 0
    with pytest.raises(swath.FormatError):
        swath.copy(path, tmp_path / "b.npy")


def test_advice_looks_at_the_codecs_that_a_sample_has(tmp_path: Path, dear: Any) -> None:
    with swath.open(coded(tmp_path / "a.h5", LARGE, ["shuffle", "zlib"])) as a:
        advice = swath.advise_layout("[:, j, :]:9", a.shape, a.dtype, sample=a)
        assert ("shuffle", "zlib") in {one.codecs for one in advice.ranked}
        by_codecs = {one.codecs: one.stored_bytes for one in reversed(advice.ranked) if one.chunks is not None}
        assert by_codecs[("shuffle", "zlib")] < 0.7 * by_codecs[None]
        assert "MiB" in str(advice)
    dear(1.0, 1.0)
    assert compression.costs({"zstd": 3.0}, np.zeros(LARGE))[("zstd",)] == CodingCost(3.0, 1.0, 1.0)
    assert compression.costs({"zstd": 3.0}, np.zeros(5))[("zstd",)] == CodingCost(3.0)


def test_advice_prices_what_a_file_takes_now_by_its_own_elements(tmp_path: Path, dear: Any) -> None:
    from swath.advice.advise import payback

    with swath.open(coded(tmp_path / "a.zarr", LARGE)) as a:
        advice = swath.advise_layout("[:, j, :]:9", a.shape, a.dtype, cached=1.0)
        dear(0.0, 0.0)
        free = payback(advice, "[:, j, :]:9", a, tmp_path / "b.bin").seconds_now
        dear(1e-6, 0.0)
        dearer = payback(advice, "[:, j, :]:9", a, tmp_path / "b.bin").seconds_now
        assert dearer - free == pytest.approx(9 * a.nbytes * 1e-6 / 2, rel=0.2)
