"""Paths are text, bytes or os.PathLike; URLs are refused, and unknown suffixes give a warning."""

from __future__ import annotations

import os
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import swath
from swath.formats import registry
from swath.simulated import run_ranks

VALUES = np.arange(6.0)


class BytesPath:
    """An os.PathLike of bytes."""

    def __init__(self, path: str) -> None:
        self._path = os.fsencode(path)

    def __fspath__(self) -> bytes:
        return self._path


@pytest.mark.parametrize("kind", [str, os.fsencode, Path, BytesPath])
def test_a_path_may_be_of_any_kind(tmp_path: Path, kind: Any) -> None:
    first, second, third = (kind(str(tmp_path / name)) for name in ("a.nc", "b.nc", "c.npy"))
    with swath.create_file(first) as f:
        f.create("t", VALUES.shape, "f8")[...] = VALUES
    with swath.open_file(first) as f:
        assert f["t"][5] == 5
        assert f.path == str(tmp_path / "a.nc")
    with swath.create(second, VALUES.shape, "f8", variable="t") as a:
        a[...] = VALUES
    with swath.open(second) as a:
        assert a[5] == 5
    swath.copy(first, third)
    assert swath.explain_copy(first, third, overwrite=True)
    assert swath.verify(first, third, variable="t")
    assert np.load(tmp_path / "c.npy")[5] == 5


URLS = ["s3://bucket/a.zarr", "https://x.org/a.nc", "HTTP://x.org/a.nc", "gs://b/a.zarr", "hdfs://n/a", "s3:/b/a.zarr"]


@pytest.mark.parametrize("url", URLS)
def test_a_url_is_refused_with_what_is_possible(tmp_path: Path, url: str) -> None:
    np.save(tmp_path / "a.npy", VALUES)
    calls = [
        lambda: swath.open(url),
        lambda: swath.open(os.fsencode(url)),
        lambda: swath.open_file(Path(url)),
        lambda: swath.create(url, (3,), "f4"),
        lambda: swath.create_file(url, format="zarr"),
        lambda: swath.copy(url, tmp_path / "a.nc"),
        lambda: swath.copy(tmp_path / "a.npy", url),
        lambda: swath.verify(url, url),
    ]
    for call in calls:
        with pytest.raises(swath.ArgumentError, match="files, not URLs: copy it to a disk of this machine, or mount"):
            call()


@pytest.mark.parametrize("url", ["file:///tmp/a%20b.nc", "file://localhost/tmp/a%20b.nc", "file:/tmp/a%20b.nc"])
def test_the_url_of_a_file_is_refused_with_its_path(url: str) -> None:
    with pytest.raises(swath.ArgumentError, match=r"give the path itself, '/tmp/a b\.nc'"):
        swath.open(url)


def test_a_file_whose_name_looks_like_a_url_has_another_name_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "s3:" / "x").mkdir(parents=True)
    np.save(tmp_path / "s3:" / "x" / "a.npy", VALUES)
    with pytest.raises(swath.ArgumentError, match=r"is '\./s3://x/a.npy'"):
        swath.open("s3://x/a.npy")
    with swath.open("./s3://x/a.npy") as a:
        assert a[1] == 1
    np.save(tmp_path / "a:b.npy", VALUES)
    swath.open("a:b.npy").close()


@pytest.fixture
def no_suffix_warned_of(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_warned_of", set())


@pytest.mark.usefixtures("no_suffix_warned_of")
def test_an_unknown_suffix_is_told_of_once_at_the_line_that_creates(tmp_path: Path) -> None:
    with pytest.warns(UserWarning, match=r"suffix \.grib.*raw file.*format=\"raw\".*netcdf-classic") as warned:
        swath.create(tmp_path / "a.grib", (3,), "f4").close()
    assert [Path(one.filename).name for one in warned] == [Path(__file__).name]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        swath.create(tmp_path / "b.GRIB", (3,), "f4").close()
    assert (tmp_path / "a.grib").stat().st_size == 12


@pytest.mark.usefixtures("no_suffix_warned_of")
@pytest.mark.parametrize("name", ["a", "a.raw", "a.bin", "a.DAT", "a.npy", "a.nc", ".hidden"])
def test_known_suffixes_and_none_are_silent(tmp_path: Path, name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        swath.create(tmp_path / name, (3,), "f4").close()
        swath.create(tmp_path / "a.grib", (3,), "f4", format="raw").close()


@pytest.mark.usefixtures("no_suffix_warned_of")
def test_one_rank_tells_of_a_suffix_and_an_error_made_of_it_is_one_on_all(tmp_path: Path) -> None:
    def work(comm: Any) -> None:
        with pytest.raises(swath.Error, match=r"suffix \.grib"):
            swath.create(tmp_path / "a.grib", (4,), "f4", comm=comm)

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run_ranks(2, work)
    assert list(tmp_path.iterdir()) == []
