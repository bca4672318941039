"""Layouts of several arrays together: statements, tiles within memory, transfers of loops, the best joint choice."""

from __future__ import annotations

import itertools
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import swath
from swath import _core
from swath.advice import candidates, coupling
from swath.advice.advise import payback_of_several
from swath.advice.candidates import Candidate
from swath.advice.coupling import parse_statement, tilings, transfers
from swath.advice.pricing import Conditions
from swath.advice.question import Form, Question
from swath.advice.together import Computation, Ways
from swath.commands import cli

PRODUCT = "C[i, j] = A[i, k] * B[k, j]"
SHAPES = {"A": (96, 160), "B": (160, 64), "C": (96, 64)}


# ---- What couples ----------------------------------------------------------------------------------------------------


def test_a_statement_says_arrays_indices_loops_and_how_often() -> None:
    found = parse_statement("C[i, j] += A[i, k] * B[k, j] for i by 16, j : 3")
    assert found.target == coupling.Operand("C", ("i", "j"))
    assert [one.array for one in found.sources] == ["A", "B"]
    assert (found.accumulates, found.loops, found.steps, found.times) == (True, ("i", "j"), (("i", 16),), 3)
    assert parse_statement("B[j, i] = A[i, j]").loops is None


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("= A[i, j]", "expected an array"),
        ("C[i, i] = A[i, j]", '"C[i, i]"'),
        ("C[i, 3] = A[i, j]", '"C[i, 3]"'),
        ("C[i] = A[i, j] for l", "index l"),
        ("C[i] = A[i, j] for i by", "no loop"),
        ("C[i] = A[i, j] for i by 0", "no loop"),
        ("C[i, j] = D[i, j]", "array D"),
        ("C[i, j] = A[i, j, k]", "2 dimensions"),
        ("C[j, i] = A[i, j]", "i has 64 values in C, and 96 in A"),
    ],
)
def test_a_statement_that_cannot_be_is_quoted_with_what_is_expected(text: str, says: str) -> None:
    with pytest.raises(swath.ArgumentError) as raised:
        swath.advise_layout([text, "B [:, :]", "A [:, :]", "C [:, :]"], SHAPES, "f8")
    assert says in str(raised.value)
    assert text in str(raised.value)


def simulated(text: str, tiling: coupling.Tiling) -> dict[tuple[str, str], int]:
    """Count the tiles that a program moves in these loops, if it keeps one tile of each array."""
    statement = parse_statement(text)
    lengths = coupling.lengths_of(statement, SHAPES)
    steps = dict(tiling.steps)
    ranges = [range(-(-lengths[index] // steps[index])) for index in tiling.loops]
    moved: dict[tuple[str, str], int] = {}
    in_memory: dict[int, Any] = {}
    begun: set[Any] = set()

    def count(array: str, direction: str) -> None:
        moved[array, direction] = moved.get((array, direction), 0) + 1

    for at in itertools.product(*ranges):
        where = dict(zip(tiling.loops, at, strict=True))
        for place, operand in enumerate(statement.operands):
            tile = tuple(where.get(index, 0) for index in operand.indices)
            if in_memory.get(place) == tile:
                continue
            if place == 0 and place in in_memory:
                count(operand.array, "write")
            if place > 0 or tile in begun or statement.accumulates:
                count(operand.array, "read")
            in_memory[place] = tile
            if place == 0:
                begun.add(tile)
    count(statement.target.array, "write")
    return moved


@pytest.mark.parametrize("text", [PRODUCT, PRODUCT.replace("=", "+="), "C[i, j] = A[i, k] * B[k, j] for k, i, j"])
def test_tiles_that_are_moved_are_those_of_a_program_that_keeps_one_of_each(text: str) -> None:
    sizes = dict.fromkeys(SHAPES, 8)
    seen = 0
    for tiling in tilings(parse_statement(text), SHAPES, sizes, 8192):
        found: dict[tuple[str, str], int] = {}
        for one in transfers(parse_statement(text), tiling, SHAPES):
            found[one.array, one.direction] = found.get((one.array, one.direction), 0) + int(one.times)
        assert found == simulated(text, tiling), tiling
        seen += 1
    assert seen > 10


def test_tiles_fit_in_memory_and_none_could_be_longer() -> None:
    sizes = {"A": 8, "B": 4, "C": 16}
    for memory in (2000, 20_000, 1 << 20):
        for tiling in tilings(parse_statement(PRODUCT), SHAPES, sizes, memory):
            step = dict(tiling.steps)
            each = {"A": step["i"] * step["k"], "B": step["k"] * step["j"], "C": step["i"] * step["j"]}
            assert tiling.nbytes == sum(each[name] * sizes[name] for name in each) <= memory
    whole = tilings(parse_statement(PRODUCT), SHAPES, sizes, 1 << 20)
    assert [(one.loops, dict(one.steps)) for one in whole] == [((), {"i": 96, "j": 64, "k": 160})]
    with pytest.raises(swath.ArgumentError, match="smallest tiles take 28 bytes"):
        tilings(parse_statement(PRODUCT), SHAPES, sizes, 27)


def test_loops_that_are_given_are_kept_and_what_is_not_named_is_whole() -> None:
    advice = swath.advise_layout(f"{PRODUCT} for j by 16, i", SHAPES, "f8", memory="60KiB")
    (tiles,) = advice.tiles
    assert tiles.loops[:1] == ("j",)
    assert tiles.steps["j"] == 16
    assert tiles.steps["k"] == 160


# ---- The joint choice ------------------------------------------------------------------------------------------------


def question(formats: tuple[str, ...]) -> Question:
    return Question(Conditions(_core.default_profile()), formats, (512, "1MiB"), {})


@pytest.mark.parametrize(
    ("texts", "shapes", "memory"),
    [
        (["B[j, i] = A[i, j]"], {"A": (128, 256), "B": (256, 128)}, 64 << 10),
        (["B[j, i] = A[i, j]", "C[j, i] = B[j, i] for j"], {"A": (64, 128), "B": (128, 64), "C": (128, 64)}, 32 << 10),
        ([PRODUCT], SHAPES, 24 << 10),
    ],
)
def test_no_other_tiles_and_orders_are_cheaper(texts: list[str], shapes: dict[str, Any], memory: int) -> None:
    """Prices each tiling of the statements, with every order of every array, one by one."""
    advice = swath.advise_layout(texts, shapes, "f8", memory=memory, formats="raw")
    statements = [parse_statement(text) for text in texts]
    forms = {name: Form(shape, np.dtype("f8")) for name, shape in shapes.items()}
    ways = Ways(question(("raw",)), Computation(forms, tuple(statements), dict.fromkeys(forms, ())), memory)
    sizes = dict.fromkeys(shapes, 8)
    best = math.inf
    for way in itertools.product(*(tilings(one, shapes, sizes, memory) for one in statements)):
        total = 0.0
        for name, shape in shapes.items():
            pricer = ways.pricer(way, name)
            orders = candidates.orders(len(shape), ("raw",))
            total += min(pricer.total(pricer.seconds(one) or ()) for one in orders)
        best = min(best, total)
    assert advice.total == pytest.approx(best, rel=1e-9)


def test_arrays_choose_together_what_none_would_choose_alone() -> None:
    """A panel that is contiguous in one array is not contiguous in the other: chunks as tiles suit both."""
    shapes = {"A": (2048, 2048), "B": (2048, 2048)}
    advice = swath.advise_layout("B[j, i] = A[i, j]", shapes, "f8", memory="8MiB", formats=("hdf5", "npy"))
    assert advice.total < advice.c_order_total
    assert advice.total == pytest.approx(advice["A"].best.total + advice["B"].best.total)
    assert advice.runner_up is not None
    assert advice.runner_up[1] >= advice.total
    (tiles,) = advice.tiles
    assert tiles.nbytes <= 8 << 20
    (read,) = advice["A"].accesses
    (written,) = advice["B"].accesses
    assert written[0].startswith("write ")
    assert read[1] == written[1] == math.prod(-(-2048 // step) for step in tiles.steps.values())


def test_accesses_of_one_of_the_arrays_count_beside_the_statement() -> None:
    shapes = {"A": (512, 512), "B": (512, 512)}
    coupled = ["B[j, i] = A[i, j] for i by 64"]
    alone = swath.advise_layout(coupled, shapes, "f8", formats="npy")
    assert alone["A"].best.name == "C order"
    also = swath.advise_layout([*coupled, "A [:, j]:5000"], shapes, "f8", formats="npy")
    assert also["A"].best.name == "F order"
    assert also["A"].accesses[0] == ("A [:, j]", 5000)
    repeated = swath.advise_layout({coupled[0]: 10}, shapes, "f8", formats="npy")
    assert repeated.total == pytest.approx(10 * alone.total)


@pytest.mark.parametrize(
    ("accesses", "says"),
    [
        (["A [:, :]"], "nothing is said of what is done with B"),
        (["A [:, :]", "D [:, :]"], '"D"'),
        (["A [:, :]", "[:, :]"], '""'),
    ],
)
def test_every_array_is_named(accesses: list[str], says: str) -> None:
    with pytest.raises(swath.ArgumentError) as raised:
        swath.advise_layout(accesses, {"A": (8, 8), "B": (8, 8)}, "f8")
    assert says in str(raised.value)


def test_what_is_advised_is_created_array_by_array(tmp_path: Path) -> None:
    advice = swath.advise_layout(PRODUCT, SHAPES, {"A": "f4", "B": "f8", "C": "f8"}, chunk_bytes=(512, "1MiB"))
    for name in advice:
        one = advice[name]
        suffix = {"raw": ".bin", "npy": ".npy", "hdf5": ".h5", "zarr": ".zarr"}[one.best.formats[0]]
        kind = "raw" if suffix == ".bin" else None
        with swath.create(tmp_path / f"{name}{suffix}", one.shape, one.dtype, layout=one, format=kind) as array:
            assert array.chunks == one.best.chunks
    with pytest.raises(swath.ArgumentError, match=r'advice\["A"\]'):
        swath.create(tmp_path / "x.npy", (96, 160), "f4", layout=advice)  # type: ignore[arg-type]
    with pytest.raises(swath.ArgumentError, match="A, B, C"):
        advice["D"]


def test_copies_of_all_arrays_pay_after_as_many_uses_as_they_save(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.zeros((1024, 1024)))
    shapes = {"A": (1024, 1024), "B": (1024, 1024)}
    texts = ["B[j, i] = A[i, j]", "A [:, j]:200"]
    advice = swath.advise_layout(texts, shapes, "f8", memory="1MiB", store=tmp_path)
    with swath.open(tmp_path / "a.npy") as a:
        pays = payback_of_several(advice, texts, {"A": (a, str(tmp_path / "b.npy"))})
        assert pays.seconds_then == advice.total
        assert pays.seconds_now > 2 * pays.seconds_then
        assert pays.uses == pytest.approx(pays.copy_seconds / (pays.seconds_now - pays.seconds_then))
        assert pays.seconds_now <= advice.c_order_total * (1 + 1e-9), "B has the best layout already"


# ---- The command -----------------------------------------------------------------------------------------------------


def test_the_command_takes_shapes_and_files_and_copies_what_it_is_asked_to(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    values = np.random.default_rng(2).random((256, 320))
    np.save(tmp_path / "a.npy", values)
    target = tmp_path / "b.h5"
    how = [
        "layout",
        "--access",
        "B[j, i] = A[i, j]",
        "--memory",
        "64KiB",
        "--formats",
        "hdf5",
        "--chunk-bytes",
        "4KiB,64MiB",
    ]
    how += ["--array", f"A={tmp_path / 'a.npy'}", "--array", "B=320,256:f8"]
    assert cli.main(how) == 0
    said = capsys.readouterr().out
    assert "B[j, i] = A[i, j]" in said
    assert "in C order" in said
    assert "use once" in said
    assert cli.main([*how, "--apply", f"A={target}", "--json"]) == 0
    plain = json.loads(capsys.readouterr().out)
    assert plain["tiles"][0]["bytes"] <= 64 << 10
    assert plain["targets"] == {"A": str(target)}
    with swath.open(target) as b:
        np.testing.assert_array_equal(b[...], values)
        assert list(b.chunks or ()) == (plain["arrays"]["A"]["ranked"][0]["chunks"] or [])


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (["--array", "8,8:f8"], "name of an array"),
        (["--array", "A=8,8:f8", "8,8", "f8"], "leave out SHAPE"),
        (["--array", "A=8,8:f8", "--apply", "A=b.h5"], "--array A=FILE"),
        (["--array", "A=8,8:f8", "--memory", "1"], "memory"),
    ],
)
def test_what_cannot_be_is_one_line_and_status_2(
    given: list[str], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["layout", "--access", "A[j, i] = A[i, j]", *given]) == 2
    error = capsys.readouterr().err
    assert says in error
    assert error.count("\n") == 1


def test_candidates_of_tiles_are_no_larger_than_chunks_may_be() -> None:
    forms = {"A": Form((1024, 1024), np.dtype("f8")), "B": Form((1024, 1024), np.dtype("f8"))}
    statement = parse_statement("B[j, i] = A[i, j]")
    small = Question(Conditions(_core.default_profile()), ("hdf5",), (512, "64KiB"), {})
    ways = Ways(small, Computation(forms, (statement,), {"A": (), "B": ()}), 4 << 20)
    (_, way), *_ = ways.best(1)
    found = ways._candidates("A", ways.transfers(way, "A"))
    chunked = [one for one in found if isinstance(one, Candidate) and one.chunks is not None]
    assert chunked
    assert all(math.prod(one.chunks or ()) * 8 <= 64 << 10 for one in chunked)
