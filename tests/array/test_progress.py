"""The progress of operations: `swath.progress` with functions, with tqdm's classes, and dask's own bar."""

from __future__ import annotations

import io
import threading
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

import swath
from swath.array import progress
from xarray_cases import xr

pytest.importorskip("dask")
pytest.importorskip("h5py")

import swath.xarray


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int, int]]:
    monkeypatch.setattr(progress, "SECONDS_BETWEEN", 0.001)
    return []


def grow(path: Path) -> None:
    with swath.create(path, (100, 200), "f8") as a:
        a[...] = 1.0


def test_a_function_is_called_with_the_bytes_of_reads_writes_and_copies(tmp_path: Path, calls: list[Any]) -> None:
    with swath.progress(lambda *told: calls.append(told)):
        grow(tmp_path / "a.npy")
        with swath.open(tmp_path / "a.npy") as a:
            a.read()
        swath.copy(tmp_path / "a.npy", tmp_path / "b.zarr")
    names = [told[0] for told in calls]
    assert [name for number, name in enumerate(names) if name not in names[:number]] == [
        f"write {tmp_path / 'a.npy'}",
        f"read {tmp_path / 'a.npy'}",
        names[-1],  # of the copy; what it reads and writes is part of it
    ]
    for name in set(names):
        done = [(bytes_done, total) for label, bytes_done, total in calls if label == name]
        assert [d for d, _ in done] == sorted(d for d, _ in done)
        assert done[-1][0] == done[-1][1] > 0, name
    count = len(calls)
    with swath.open(tmp_path / "a.npy") as a:
        a.read()
    assert len(calls) == count  # the block is left


@pytest.mark.parametrize("chunks", [None, 10])
def test_a_data_set_is_one_operation_whose_bytes_are_those_of_all_variables(
    tmp_path: Path, calls: list[Any], chunks: int | None
) -> None:
    data_set = xr.Dataset({"a": ("x", np.arange(100.0)), "b": ("x", np.arange(100, dtype="f4"))})
    with swath.progress(lambda *told: calls.append(told)):
        (data_set.chunk(x=chunks) if chunks else data_set).swath.to_file(tmp_path / "a.nc4", memory=160)
    assert {told[0] for told in calls if told[0].startswith("write")} == {calls[0][0]}
    assert calls[-1][1:] == (1200, 1200)


class Bar:
    """The part of tqdm that Swath calls."""

    made: ClassVar[list[Bar]] = []

    def __init__(self, *, desc: str, total: int, unit: str, unit_scale: bool) -> None:
        self.words = desc, unit, unit_scale
        self.total, self.n, self.is_closed = total, 0, False
        Bar.made.append(self)

    def update(self, count: int) -> None:
        self.n += count

    def __enter__(self) -> Bar:
        return self

    def __exit__(self, *error: object) -> None:
        self.is_closed = True


def test_a_class_such_as_tqdm_gets_a_bar_for_each_long_operation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, calls: list[Any]
) -> None:
    monkeypatch.setattr(Bar, "made", [])
    with swath.progress(Bar):
        grow(tmp_path / "a.npy")
    assert Bar.made == []  # it took less than two seconds
    monkeypatch.setattr(progress, "SHOWN_AFTER_SECONDS", 0.0)
    monkeypatch.setattr(progress, "_is_watching", False)
    watched = type("Watched", (), {"bytes_done": 10, "bytes_total": 30})()
    with swath.progress(Bar), progress.watching("work", 0, watched):
        while not Bar.made:
            threading.Event().wait(0.001)
        watched.bytes_done = 30
    (bar,) = Bar.made
    assert (bar.words, bar.n, bar.total, bar.is_closed) == (("work", "B", True), 30, 30, True)


def test_tqdm_itself_is_such_a_class(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    tqdm = pytest.importorskip("tqdm").tqdm
    monkeypatch.setattr(progress, "SHOWN_AFTER_SECONDS", 0.0)
    watched = type("Watched", (), {"bytes_done": 3000, "bytes_total": 3000})()
    with swath.progress(tqdm), progress.watching("work", 0, watched):
        threading.Event().wait(0.3)
    assert "work: 100%" in capsys.readouterr().err


def test_what_reports_nothing_is_refused_and_other_ranks_report_nothing(calls: list[Any]) -> None:
    with (
        pytest.raises(swath.ArgumentError, match="expected nothing, a class such as tqdm, or a function"),
        swath.progress(5),
    ):
        pass
    with swath.progress(lambda *told: calls.append(told)), progress.watching("work", 1):
        pass
    assert calls == []


def test_dasks_own_bar_shows_what_is_computed(tmp_path: Path) -> None:
    diagnostics = pytest.importorskip("dask.diagnostics")
    out = io.StringIO()
    data_set = xr.Dataset({"a": ("x", np.arange(100.0))}).chunk(x=10) + 1
    with diagnostics.ProgressBar(out=out):
        data_set.swath.to_file(tmp_path / "a.nc4")
    assert "100% Completed" in out.getvalue()
