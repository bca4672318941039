"""Ranks with different arguments: an error on all of them, for any argument, and nothing has happened."""

from __future__ import annotations

import inspect
import random
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mpi_runs
import swath
from mismatch_cases import (
    NOT_COMPARED,
    SHAPE,
    TABLES,
    VALUES,
    call_copy,
    call_create,
    call_explain_copy,
    call_open,
    call_verify,
    check,
    files_in,
    make_case,
    make_files,
    outcome,
    table_case,
)
from swath.ranks import compared
from swath.simulated import run_ranks

pytestmark = pytest.mark.timeout(600, method="thread")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    make_files(tmp_path)
    return tmp_path


def outcomes_of(case: Any, folder: Path, ranks: int, seed: int) -> list[str]:
    def work(comm: Any) -> str:
        try:
            return outcome(case, folder, comm, comm.rank)
        finally:
            comm.barrier()  # if another rank still waits in a call, this raises an error

    try:
        return run_ranks(ranks, work, seed=seed, nodes=1 + seed % 2, shared_memory=seed % 3 > 0)
    except Exception as error:
        raise AssertionError(f"seed {seed}, {ranks} ranks: {case}") from error


@pytest.mark.parametrize("seeds", [range(100), pytest.param(range(100, 900), marks=pytest.mark.exhaustive)], ids=str)
def test_random_mismatches_are_the_same_error_on_all_ranks(folder: Path, seeds: range) -> None:
    before = files_in(folder)
    for seed in seeds:
        rng = random.Random(seed)
        ranks = rng.randint(2, 4)
        case = make_case(rng, ranks)
        check(case, outcomes_of(case, folder, ranks, seed), before, folder)


@pytest.mark.parametrize("ranks", [2, 3, 4])
def test_random_mismatches_are_the_same_error_on_all_mpi_ranks(tmp_path: Path, ranks: int) -> None:
    printed = mpi_runs.run_well(ranks, "mismatch_ranks.py", tmp_path, 34, seconds_max=300)
    assert "34 mismatches" in printed


@pytest.mark.parametrize("table", TABLES, ids=lambda table: f"{table[0].__name__} {table[1].get('path', '')}")
def test_every_argument_is_compared(folder: Path, table: Any) -> None:
    before = files_in(folder)
    for name, values in table[2].items():
        for value in values:
            case = table_case(table, name, value, frozenset({1}))
            outcomes = outcomes_of(case, folder, 2, 0)
            check(case, outcomes, before, folder)
            assert name in outcomes[0].partition("They differ in ")[2] or name in ("path", "target")


@pytest.mark.parametrize(
    ("function", "call"),
    [
        (swath.open, call_open),
        (swath.create, call_create),
        (swath.copy, call_copy),
        (swath.explain_copy, call_explain_copy),
        (swath.verify, call_verify),
    ],
)
def test_no_argument_is_left_out_of_these_tests(function: Any, call: Any) -> None:
    tried = {name for of_call, _, table in TABLES if of_call is call for name in table}
    assert set(inspect.signature(function).parameters) - tried <= NOT_COMPARED | {"how"}


# ---- what means the same ---------------------------------------------------------------------------------------------

SAME: list[tuple[str, Any, Any]] = [
    ("path", Path("/x/y.npy"), "/x/y.npy"),
    ("path", b"/x/\xff.npy", "/x/\udcff.npy"),
    ("dtype", "f8", np.float64),
    ("dtype", np.dtype([("a", "i1"), ("b", "<f8")], align=True),
     np.dtype({"names": ["a", "b"], "formats": ["i1", "<f8"], "offsets": [0, 8], "itemsize": 16})),
    ("shape", 5, (np.int64(5),)),
    ("shape", (5, 6), [5, 6]),
    ("chunks", np.array([5, 6]), (5, 6)),
    ("stripe", [65536, np.int64(4), 1 << 22], (65536, 4, 1 << 22)),
    ("order", (0, 1), "C"),
    ("order", [2, 1, 0], "F"),
    ("fill", 0, 0.0),
    ("fill", np.float32(3), 3),
    ("fill", float("nan"), np.nan),
    ("attributes", {"a": 1, "b": "x"}, {"b": "x", "a": np.int64(1)}),
    ("attributes", {"a": [1.0, 2.0]}, {"a": np.array([1.0, 2.0])}),
    ("attributes", {}, None),
    ("codecs", "zstd", ["zstd"]),
    ("codecs", {"name": "gzip", "configuration": {"level": 5}}, [{"configuration": {"level": 5}, "name": "gzip"}]),
    ("overwrite", 1, True),
    ("streams", 4, np.int64(4)),
    ("streams", "default", "auto"),
    ("streams", {"read": 4, "write": 2}, "write=2,read=4"),
    ("engine", None, "auto"),
    ("memory", "1MiB", 1 << 20),
    ("workers", np.int32(2), 2),
    ("dimensions", ["y", "x"], ("y", "x")),
]  # fmt: skip


@pytest.mark.parametrize(("name", "one", "other"), SAME, ids=lambda value: str(value)[:20])
def test_what_means_the_same_is_the_same_words(name: str, one: Any, other: Any, monkeypatch: Any) -> None:
    monkeypatch.delenv("SWATH_ENGINE", raising=False)
    monkeypatch.delenv("SWATH_STREAMS", raising=False)
    texts = {compared.call_signature("open", "x", {"dtype": "f8", name: value}) for value in (one, other)}
    assert len(texts) == 1, texts


def test_the_environments_engine_and_streams_are_compared(monkeypatch: Any) -> None:
    def told() -> str:
        return compared.call_signature("open", "x", {"engine": None, "streams": "default"})

    before = told()
    monkeypatch.setenv("SWATH_ENGINE", "uring")
    assert told() != before
    monkeypatch.delenv("SWATH_ENGINE")
    monkeypatch.setenv("SWATH_STREAMS", "3")
    assert told() != before
    assert told() == compared.call_signature("open", "x", {"engine": "auto", "streams": 3})


def test_words_of_anything_raise_nothing_and_hold_no_addresses() -> None:
    class Strange:
        def __repr__(self) -> str:
            raise KeyError("no repr")

        def __fspath__(self) -> str:
            raise KeyError("no path")

    loop: list[Any] = []
    loop.append(loop)
    for value in (
        Strange(),
        loop,
        {1: object(), "a": 2},
        object(),
        lambda: 0,
        threading.Lock(),
        np.array([None]),
        "\ud800",
    ):
        for name in ("path", "shape", "attributes", "streams", "fill", "unknown"):
            told = compared.call_signature("open", value, {name: value})
            assert told
            assert "0x" not in told


def test_an_iterator_is_not_used_up() -> None:
    lengths = iter((2, 3))
    compared.call_signature("create", "x", {"shape": lengths, "attributes": lengths, "fill": lengths, "dtype": lengths})
    assert list(lengths) == [2, 3]


def test_the_error_names_the_attribute_that_differs_and_shows_where(tmp_path: Path) -> None:
    def work(comm: Any) -> str:
        text = "x" * 3000 + str(comm.rank) + "y" * 3000
        with pytest.raises(swath.DisagreementError) as raised:
            swath.create(tmp_path / "a.h5", 3, "f8", attributes={"units": "m", "history": text}, comm=comm)
        return str(raised.value)

    (told,) = set(run_ranks(2, work))
    assert "They differ in attributes['history']. Give" in told
    assert "units" not in told
    assert "digest" in told or "xxx0yyy" in told
    assert len(told) < 1000


def test_arrays_used_in_another_order_name_the_variables(folder: Path) -> None:
    d = swath.Distribution((swath.Block(), swath.Whole()), grid=(2, 1))

    def work(comm: Any) -> str:
        with (
            swath.open(folder / "two.nc", "u", comm=comm) as u,
            swath.open(folder / "two.nc", "v", comm=comm) as v,
        ):
            first, second = (u, v) if comm.rank == 0 else (v, u)
            texts = []
            for array in (first, second):
                with pytest.raises(swath.DisagreementError) as raised:
                    array.read(d)
                texts.append(str(raised.value))
            np.testing.assert_array_equal(u.read(d), VALUES[np.ix_(*d.indices(SHAPE, comm.rank))])
            return texts[0]

    (told,) = set(run_ranks(2, work))
    assert f"rank 0: read {folder}/two.nc:u (>i4 (8, 6), netcdf-classic, from byte " in told
    assert f"rank 1: read {folder}/two.nc:v (>i4 (8, 6), netcdf-classic, from byte " in told


def test_arrays_are_compared_as_sources_of_a_copy_too(folder: Path) -> None:
    before = files_in(folder)

    def work(comm: Any) -> str:
        with (
            swath.open(folder / "a.raw", shape=SHAPE, dtype="i4", comm=comm) as a,
            swath.open(folder / "a.raw", shape=SHAPE, dtype="i4", offset=8, comm=comm) as b,
        ):
            with pytest.raises(swath.DisagreementError, match="differ in source") as raised:
                swath.copy(a if comm.rank == 0 else b, folder / "new.npy", comm=comm)
            with pytest.raises(swath.DisagreementError, match="differ in b"):
                swath.verify(a, a if comm.rank == 0 else b, comm=comm)
            # Each rank may open the same array itself: it is the same source.
            assert swath.verify(swath.open(folder / "a.raw", shape=SHAPE, dtype="i4"), a, comm=comm)
            return str(raised.value)

    (told,) = set(run_ranks(2, work))
    assert "raw, from byte 8, layout " in told
    assert files_in(folder) == before


def test_ranks_learn_alike_though_one_of_them_reads_much_by_itself(tmp_path: Path) -> None:
    assert mpi_runs.run_well(2, "learning_ranks.py", tmp_path / "a.raw").count("well") == 2
