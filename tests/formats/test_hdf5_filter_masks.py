"""Filter masks of HDF5's chunks: Swath skips only the blosc filter, and reads chunks with other skipped filters."""

from __future__ import annotations

import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import swath

h5py = pytest.importorskip("h5py")
netCDF4 = pytest.importorskip("netCDF4")


@pytest.mark.parametrize("codecs", ["zlib", ["shuffle", "zlib", "fletcher32"], "zstd", "lz4"], ids=str)
def test_incompressible_chunks_are_compressed_all_the_same(tmp_path: Path, codecs: Any) -> None:
    if codecs in ("zstd", "lz4"):
        pytest.importorskip("hdf5plugin").register(codecs, force=True)
    noise, infos = written_noise(tmp_path / "a.h5", codecs)
    assert [info.filter_mask for info in infos] == [0] * 4
    assert infos[2].size < noise.shape[1] < infos[0].size


def test_blosc_alone_is_left_out_of_incompressible_chunks(tmp_path: Path) -> None:
    pytest.importorskip("hdf5plugin").register("blosc", force=True)
    _, infos = written_noise(tmp_path / "a.h5", "blosc")
    assert [info.filter_mask for info in infos] == [1, 1, 0, 1]
    assert [info.size for info in infos if info.filter_mask] == [5000] * 3


def written_noise(path: Path, codecs: Any) -> tuple[np.ndarray, list[Any]]:
    """Write four chunks, only one of them compressible; return the values, and HDF5's information on the chunks."""
    noise = np.random.default_rng(3).integers(0, 256, (4, 5000), np.uint8)
    noise[2] = 7
    with swath.create(path, noise.shape, "u1", chunks=(1, 5000), codecs=codecs) as a:
        a.write(noise)
        np.testing.assert_array_equal(a[...], noise)
    with h5py.File(path) as file:
        np.testing.assert_array_equal(file["data"][...], noise)
        return noise, [file["data"].id.get_chunk_info_by_coord((row, 0)) for row in range(4)]


def chunk_sizes(path: Path) -> list[int]:
    """Return the stored size of each chunk of 64 elements, in bytes."""
    with h5py.File(path) as file:
        data = file["data"]
        return [data.id.get_chunk_info_by_coord((first,)).size for first in range(0, data.shape[0], 64)]


def of_rising_entropy(seed: int) -> np.ndarray:
    """Return 3,000 chunks of 64 bytes: the first compress well, the last do not compress at all."""
    rng = np.random.default_rng(seed)
    return np.concatenate([rng.integers(0, 1 + i // 12, 64, np.uint8) for i in range(3000)])


def compressed_to(path: Path, values: np.ndarray, size: int) -> np.ndarray:
    """Return a chunk of 64 of these values that takes `size` bytes in a file."""
    return values.reshape(-1, 64)[chunk_sizes(path).index(size)]


def rewrite(by: str, path: Path, first: int, values: np.ndarray) -> None:
    """Write by another library."""
    with h5py.File(path, "r+") if by == "h5py" else netCDF4.Dataset(path, "a") as file:
        file["data"][first : first + len(values)] = values


def check_read_by_all(path: Path, expected: np.ndarray) -> None:
    np.testing.assert_array_equal(swath.open(path)[...], expected)
    with h5py.File(path) as file:
        np.testing.assert_array_equal(file["data"][...], expected)
    with netCDF4.Dataset(path) as dataset:
        np.testing.assert_array_equal(dataset["data"][...].data, expected)


@pytest.mark.parametrize("by", ["h5py", "netCDF4"])
@pytest.mark.parametrize("codecs", ["zlib", ["shuffle", "zlib"], "zstd"], ids=str)
def test_chunks_that_swath_wrote_are_right_after_others_rewrite_them_at_the_same_size(
    tmp_path: Path, codecs: Any, by: str
) -> None:
    if codecs == "zstd":
        pytest.importorskip("hdf5plugin").register("zstd", force=True)
    path, tried = tmp_path / "a.nc4", tmp_path / "tried.nc4"
    options = {"chunks": (64,), "codecs": codecs, "format": "netcdf4", "fill": 0}
    candidates = of_rising_entropy(1)
    with swath.create(tried, candidates.shape, "u1", **options) as a:
        a.write(0 * candidates)
    rewrite(by, tried, 0, candidates)
    expected = np.random.default_rng(2).integers(0, 256, 192, np.uint8)  # incompressible
    with swath.create(path, (192,), "u1", **options) as a:
        a.write(expected)
    # The new chunk is as long as the stored one, or as a raw one: HDF5's library then changes only the bytes.
    for first, size in ((0, chunk_sizes(path)[0]), (64, 64)):
        expected[first : first + 64] = compressed_to(tried, candidates, size)
        rewrite(by, path, first, expected[first : first + 64])
        check_read_by_all(path, expected)
    with swath.open(path, mode="r+") as a:
        a[32:160] = expected[32:160][::-1]
    expected[32:160] = expected[32:160][::-1].copy()
    check_read_by_all(path, expected)


@pytest.mark.parametrize("libver", ["earliest", "latest"])
@pytest.mark.parametrize("maxshape", [(192,), (None,)], ids=str)
def test_a_chunk_that_others_stored_raw_is_compressed_to_the_same_size_and_its_mask_changed(
    tmp_path: Path, libver: str, maxshape: Any
) -> None:
    path, tried, candidates = tmp_path / "a.h5", tmp_path / "tried.h5", of_rising_entropy(3)
    expected = np.random.default_rng(4).integers(0, 256, 192, np.uint8)
    with h5py.File(path, "w", libver=libver) as file:
        data = file.create_dataset("data", (192,), "u1", chunks=(64,), maxshape=maxshape, compression=9)
        data[...] = expected
        data.id.write_direct_chunk((64,), expected[64:128].tobytes(), filter_mask=1)
    with swath.create(
        tried, candidates.shape, "u1", chunks=(64,), codecs={"name": "zlib", "configuration": {"level": 9}}
    ) as a:
        a.write(candidates)
    with swath.open(path, mode="r+") as a:
        np.testing.assert_array_equal(a[...], expected)
        expected[64:128] = compressed_to(tried, candidates, 64)
        a[64:128] = expected[64:128]
        np.testing.assert_array_equal(a[...], expected)
    with h5py.File(path) as file:
        np.testing.assert_array_equal(file["data"], expected)
        info = file["data"].id.get_chunk_info_by_coord((64,))
        assert (info.filter_mask, info.size) == (0, 64)


def test_chunks_of_which_others_left_filters_out_are_read_and_rewritten_with_all_of_them(tmp_path: Path) -> None:
    path = tmp_path / "a.h5"
    expected = np.arange(4 * 16, dtype="<i4") * 1000
    with h5py.File(path, "w") as file:
        data = file.create_dataset("data", (64,), "<i4", chunks=(16,), shuffle=True, compression=5)
        for mask, chunk in enumerate(expected.reshape(4, 16)):  # bit 0 skips the shuffle, bit 1 the deflate filter
            stored = chunk.tobytes() if mask & 1 else chunk.view("u1").reshape(16, 4).T.tobytes()
            data.id.write_direct_chunk((16 * mask,), stored if mask & 2 else zlib.compress(stored, 5), mask)
        np.testing.assert_array_equal(data[...], expected)
    with swath.open(path, mode="r+") as a:
        np.testing.assert_array_equal(a[...], expected)
        for first in range(5, 64, 16):  # the rest of each chunk is kept
            a[first : first + 3] = expected[first : first + 3] = -first
        np.testing.assert_array_equal(a[...], expected)
    with h5py.File(path) as file:
        np.testing.assert_array_equal(file["data"], expected)
        masks = [file["data"].id.get_chunk_info(i).filter_mask for i in range(4)]
    assert masks == [0] * 4
