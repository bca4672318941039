"""Layout advice: accesses as text, the cheapest of all layouts, and files with exactly this layout."""

from __future__ import annotations

import itertools
import math
import os
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import swath
from swath import _core
from swath.advice import accesses as made
from swath.advice import candidates
from swath.advice.advise import payback
from swath.advice.candidates import Candidate
from swath.advice.pricing import Conditions, Pricer
from swath.simulated import run_ranks
from tree import TESTS

GOLDEN = TESTS / "golden" / "advice" / "rows-and-columns.txt"


# ---- What a program does ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "shape", "times", "lengths"),
    [
        ("[:, j]:10", (8, 6), 10, (8, 1)),
        ("[i:i+3, :]:all", (8, 6), 3, (3, 6)),
        ("[i, j]:all", (8, 6), 48, (1, 1)),
        ("write [...]", (8, 6), 1, (8, 6)),
        ("[2:6:2, -1]", (8, 6), 1, (2, 1)),
        ("[block, *] : 2.5", (8, 6), 2.5, (2, 6)),
        ("[*, cyclic(3)]", (8, 12), 1, (8, 3)),
        ("[i, block]", (8, 6), 1, (1, 2)),
    ],
)
def test_an_access_says_how_often_and_how_much(
    text: str, shape: tuple[int, ...], times: float, lengths: tuple[int, ...]
) -> None:
    (found,) = made.checked(text, 4, shape)
    assert found.times == times
    assert found.lengths == lengths
    assert found.direction == ("write" if text.startswith("write") else "read")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("rows", "expected"),
        ("[:, j]:often", "how often"),
        ("[i, i]", "twice"),
        ("[i:j+4, :]", "window"),
        ("[i:i+0, :]", "window"),
        ("[i:i+9, :]", "window of 9"),
        ("[:]", "2 dimensions"),
        ("[:, :, :]", "2 dimensions"),
        ("[..., ...]", "2 dimensions"),
        ("[!, :]", '"!"'),
        ("[:, j]:0", "more than 0"),
        ("[:, 6]", "outside"),
        ("[block(1), :]", "block"),
    ],
)
def test_an_access_that_cannot_be_is_quoted_with_what_is_expected(text: str, says: str) -> None:
    with pytest.raises(swath.ArgumentError) as raised:
        swath.advise_layout(text, (8, 6), "f8", ranks=2)
    assert says in str(raised.value)


def test_texts_and_objects_say_the_same() -> None:
    rows = swath.Distribution((swath.Block(), swath.Whole()), (3, 1))
    by_text = swath.advise_layout({"[:, j]": 10, "[block, *]:2": 1}, (30, 20), "f4", ranks=3)
    objects = [(swath.Access((slice(None), swath.Free())), 10), swath.Access(distribution=rows, times=2)]
    by_object = swath.advise_layout(objects, (30, 20), "f4")
    assert [one.total for one in by_text.ranked] == [one.total for one in by_object.ranked]
    assert [one.name for one in by_text.ranked] == [one.name for one in by_object.ranked]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (((), (8, 6), "f8"), "no accesses"),
        (((5,), (8, 6), "f8"), "expected a text"),
        ((7, (8, 6), "f8"), "expected texts"),
        (("[:]", (0,), "f8"), "no elements"),
        (("[...]", (), "f8"), "no elements"),
    ],
)
def test_arguments_that_cannot_be_are_errors(arguments: tuple[Any, ...], says: str) -> None:
    with pytest.raises(swath.ArgumentError) as raised:
        swath.advise_layout(*arguments)
    assert says in str(raised.value)
    for wrong in ({"formats": "tape"}, {"cached": 2}, {"ranks": 0}, {"chunk_bytes": ("2MiB", "1MiB")}, {"store": 3}):
        with pytest.raises(swath.ArgumentError):
            swath.advise_layout("[:, j]", (8, 6), "f8", **wrong)


# ---- The cheapest ----------------------------------------------------------------------------------------------------

MIXES = [
    ((512, 512), ["[:, j]:10", "[i, :]:1"]),
    ((512, 512), ["[:, j]:3"]),
    ((500, 300), ["[i, :]:all", "[:, j]:all"]),
    ((300, 700), ["[i:i+64, j:j+64]:50", "[:, :]"]),
    ((512, 512), ["[block, *]", "[*, block]:2"]),
    ((512, 512), ["write [block, *]", "[*, cyclic(4)]:3"]),
    ((40, 60, 50), ["[t, :, :]:20", "[:, y, x]:100"]),
    ((33, 65, 129), ["[:, y, :]:5", "[:, :, x]:1", "write [t:t+4, :, :]"]),
    ((1000,), ["[i]:10"]),
    ((1, 1), ["[:, :]"]),
]


def independent(shape: tuple[int, ...], accesses: list[str], limits: tuple[int, int]) -> float:
    """Return the price of the cheapest layout of all orders, and of chunks of lengths of powers of two or the whole."""
    asked = made.checked(accesses, 4, shape)
    pricer = Pricer(shape, 8, asked, Conditions(_core.default_profile()))
    layouts = []
    for order in itertools.permutations(range(len(shape))):
        steps, step = [0] * len(shape), 8
        for d in reversed(order):
            steps[d], step = step, step * shape[d]
        layouts.append(_core.Layout.strided(shape, 8, 0, steps))
    lengths = [sorted({2**k for k in range(12) if 2**k < n} | {n}) for n in shape]
    chunks = [one for one in itertools.product(*lengths) if limits[0] <= math.prod(one) * 8 <= limits[1]]
    layouts += [_core.Layout.tiled(shape, 8, one, 0) for one in chunks]
    return min(pricer.total(pricer.seconds_by_layout(layout)) for layout in layouts)


@pytest.mark.parametrize(("shape", "accesses"), MIXES)
def test_no_layout_of_an_independent_list_is_cheaper(shape: tuple[int, ...], accesses: list[str]) -> None:
    limits = (min(1 << 14, math.prod(shape) * 8), 1 << 20)
    advice = swath.advise_layout(accesses, shape, "f8", ranks=4, chunk_bytes=limits)
    assert advice.best.total <= independent(shape, accesses, limits) * (1 + 1e-9)
    totals = [one.total for one in advice.ranked]
    assert totals == sorted(totals)
    assert any(one.name == "C order" for one in advice.ranked)


def test_layouts_that_cost_too_much_are_left_early_but_none_that_is_ranked() -> None:
    shape, asked = (256, 256), made.checked(["[:, j]:10", "[i, :]:1"], 1, (256, 256))
    pricer = Pricer(shape, 8, asked, Conditions(_core.default_profile()))
    c_order = Candidate((0, 1))
    whole = pricer.total(pricer.seconds(c_order) or ())
    assert pricer.seconds(c_order, whole * 1.001) is not None
    assert pricer.seconds(c_order, whole * 0.5) is None


def test_many_dimensions_have_few_orders_and_few_chunks_that_are_priced() -> None:
    orders = list(candidates.orders(7, ("raw",)))
    assert len(orders) == len(set(orders)) <= 16
    assert len(list(candidates.orders(4, ("raw",)))) == 24
    assert [one.name for one in candidates.orders(3, ("npy",))] == ["C order", "F order"]
    choices = candidates.lengths((64,) * 6, [])
    assert len(candidates.coarse(choices, (1 << 13, 1 << 23), 160)) <= 160
    advice = swath.advise_layout(["[a, :, :, :, :, e]:3", "[:, b, c, :, d, :]"], (16,) * 6, "f4")
    assert advice.priced < 2000


def test_a_chunk_shape_s_neighbours_differ_by_a_step_or_an_exchange() -> None:
    found = set(candidates.neighbours((4, 4), [[2, 4, 8], [4, 16]]))
    assert found == {(2, 4), (8, 4), (4, 16), (2, 16)}


# ---- What is made of it ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("formats", "name", "accesses"),
    [
        ("raw", "a.bin", ["[:, j, k]:10", "[i, :, :]"]),
        ("npy", "a.npy", "[:, :, k]"),
        ("netcdf-classic", "a.nc3", "[:, :, k]"),
        ("hdf5", "a.h5", ["[:, j, k]:10", "[i, :, :]"]),
        ("hdf5", "a.h5", ["[:, j:j+5, k:k+7]:10"]),
        (candidates.FORMATS, "a.h5", ["[:, j, k:k+8]:100", "[i, :, :]:100"]),
    ],
)
def test_what_is_created_has_exactly_the_advised_layout_and_its_price(
    tmp_path: Path, formats: Any, name: str, accesses: Any
) -> None:
    shape = (24, 36, 40)
    advice = swath.advise_layout(accesses, shape, "f8", formats=formats, chunk_bytes=(4096, "1MiB"))
    values = np.random.default_rng(1).random(shape)
    kind = "raw" if name.endswith(".bin") else None
    with swath.create(tmp_path / name, shape, "f8", layout=advice, format=kind) as a:
        a.write(values)
        assert a.chunks == advice.best.chunks
    how = {"shape": shape, "dtype": "f8", "order": advice.best.order} if kind == "raw" else {}
    with swath.open(tmp_path / name, **how) as a:
        np.testing.assert_array_equal(a[...], values)
        if advice.best.chunks is None:
            strides = a._description.layout.strides
            assert tuple(sorted(range(3), key=lambda d: -strides[d])) == advice.best.order
        asked = made.checked(accesses, 1, shape)
        for access, seconds in zip(asked, advice.best.seconds, strict=True):
            prices = []
            for decomposition in access.decompositions:
                operation = _core.Operation(a._form, "read", decomposition)
                prices.append(a._core.explain(operation, 0.0).seconds)
            assert seconds == pytest.approx(np.mean(prices), rel=0.02)


def test_ranks_create_it_together_and_disagree_aloud(tmp_path: Path) -> None:
    advice = swath.advise_layout(["[:, j]:10", "[i, :]:5"], (64, 48), "f8", formats="hdf5", chunk_bytes=(512, "1MiB"))
    other = swath.advise_layout("[i, :]", (64, 48), "f8", formats="hdf5", chunk_bytes=(512, 512))
    assert advice.best.chunks != other.best.chunks
    rows = swath.Distribution((swath.Block(), swath.Whole()), (3, 1))
    values = np.arange(64 * 48, dtype="f8").reshape(64, 48)

    def work(comm: Any) -> None:
        with swath.create(tmp_path / "a.h5", (64, 48), "f8", layout=pickle.loads(pickle.dumps(advice)), comm=comm) as a:
            a.write(values[np.ix_(*rows.indices(values.shape, comm.rank))], rows)

    run_ranks(3, work)
    with swath.open(tmp_path / "a.h5") as a:
        assert a.chunks == advice.best.chunks
        np.testing.assert_array_equal(a[...], values)

    def disagree(comm: Any) -> None:
        layout = other if comm.rank == 1 else advice
        swath.create(tmp_path / "b.h5", (64, 48), "f8", layout=layout, comm=comm)

    with pytest.raises(swath.DisagreementError, match="layout"):
        run_ranks(2, disagree)


def test_an_advice_that_does_not_fit_is_refused(tmp_path: Path) -> None:
    advice = swath.advise_layout("[:, j]", (64, 48), "f8", formats="npy")
    assert advice.best.name == "F order"
    for name, shape, given, says in (
        ("a.h5", (64, 48), {}, "cannot be stored as hdf5"),
        ("a.npy", (48, 64), {}, "advised for an array"),
        ("a.npy", (64, 48), {"order": "F"}, "order would say"),
        ("a.npy", (64, 48), {"layout": "F"}, "advise_layout returns"),
    ):
        with pytest.raises(swath.ArgumentError, match=says):
            swath.create(tmp_path / name, shape, "f8", **{"layout": advice, **given})
        assert not list(tmp_path.iterdir())


def test_a_profile_decides_and_a_store_names_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    numbers = _core.default_profile().to_dict()
    slow = _core.Profile.from_dict({**numbers, "device.read_jump": 0.02, "device.read_jump_batched": 0.02})
    mix = (["[:, j]:10", "[i, :]:5"], (2048, 2048), "f8")
    near, far = swath.advise_layout(*mix), swath.advise_layout(*mix, store=slow)
    assert far.best.name != near.best.name
    assert far.best.total > near.best.total
    monkeypatch.setenv("SWATH_PROFILE", "none")
    assert swath.advise_layout(*mix, store=tmp_path).best == near.best
    assert swath.advise_layout(*mix, cached=1.0).best.total < near.best.total


def test_a_copy_pays_after_as_many_uses_as_its_seconds_are_saved(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.zeros((512, 512)))
    advice = swath.advise_layout("[:, j]:10", (512, 512), "f8", store=tmp_path)
    with swath.open(tmp_path / "a.npy") as a:
        pays = payback(advice, "[:, j]:10", a, tmp_path / "b.npy")
        assert pays.uses == pytest.approx(pays.copy_seconds / (pays.seconds_now - pays.seconds_then))
        assert pays.seconds_now > 2 * pays.seconds_then
        assert "pays after" in str(pays)
        rows = swath.advise_layout("[i, :]", (512, 512), "f8", store=tmp_path)
        assert payback(rows, "[i, :]", a, tmp_path / "b.npy").uses is None
        with pytest.raises(swath.ArgumentError):
            payback(swath.advise_layout("[i]", (5,), "f8"), "[i]", a, tmp_path / "b.npy")


def test_golden_table_of_layouts() -> None:
    advice = swath.advise_layout(["[:, j]:10", "write [block, *]:1"], (1024, 2048), "f4", ranks=4)
    if os.environ.get("SWATH_UPDATE_GOLDEN"):
        GOLDEN.write_text(str(advice))
    assert str(advice) == GOLDEN.read_text()
    assert advice.runner_up is not None
    assert repr(advice) == f"<LayoutAdvice: {advice.best.name} for float32 (1024, 2048)>"
    assert advice.to_dict()["ranked"][0]["layout"] == advice.best.name
