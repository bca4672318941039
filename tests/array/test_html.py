"""The display in notebooks: well-formed, escaped, without scripts, and with the ranks' elements."""

from __future__ import annotations

import itertools
import os
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import swath
from swath import Block, Boxes, Cyclic, Distribution, Whole
from swath.array import html
from swath.simulated import run_ranks
from tree import TESTS

GOLDEN = TESTS / "golden" / "html"
SVG = "{http://www.w3.org/2000/svg}"
NAMES = ("time", "latitude & <north>", "longitude")

PICTURES = {
    "C": html.layout_picture(html.Pictured((12, 180, 360), NAMES, (0, 1, 2))),
    "F": html.layout_picture(html.Pictured((12, 180, 360), NAMES, (2, 1, 0))),
    "vector": html.layout_picture(html.Pictured((360,), (), (0,))),
    "chunks": html.layout_picture(html.Pictured((5000, 30, 400), NAMES, None, (1000, 10, 400))),
    "block-cyclic": html.shares_picture(
        html.Shared("read", (180, 360), NAMES[1:], Distribution((Block(), Cyclic(40)), grid=(3, 2)))
    ),
    "boxes": html.shares_picture(
        html.Shared("write", (100, 100), (), Boxes([((0, 0), (10, 20)), ((50, 50), (100, 60))]), 3)
    ),
    "page": html.page('swath.Array "t"', [("file", "a & <b>.nc"), ("shape", "3")], []),
}


@pytest.mark.parametrize("name", PICTURES)
def test_golden_pictures(name: str) -> None:
    path = GOLDEN / f"{name}.html"
    found = PICTURES[name].replace("><", ">\n<") + "\n"
    if os.environ.get("SWATH_UPDATE_GOLDEN"):
        path.parent.mkdir(exist_ok=True)
        path.write_text(found)
    assert found == path.read_text()


def tree(fragment: str) -> ET.Element:
    return ET.fromstring(fragment)


@st.composite
def shared_arrays(draw: st.DrawFn) -> tuple[tuple[int, ...], Distribution]:
    shape = tuple(draw(st.lists(st.integers(1, 40), min_size=1, max_size=4)))
    rules = tuple(draw(st.sampled_from([Block(), Cyclic(), Cyclic(3), Whole()])) for _ in shape)
    grid = tuple(1 if isinstance(rule, Whole) else draw(st.integers(1, 4)) for rule in rules)
    places = int(np.prod(grid))
    ranks = draw(st.none() | st.permutations(list(range(places + 2))).map(lambda all_ranks: all_ranks[:places]))
    return shape, Distribution(rules, grid, ranks)


@settings(deadline=None, max_examples=60)
@given(shared_arrays())
def test_each_drawn_part_is_of_the_rank_that_owns_its_elements(case: Any) -> None:
    shape, d = case
    owner = np.full(shape, -1)
    for rank in range(d.size + 2):
        owner[np.ix_(*d.indices(shape, rank))] = rank
    picture = html.shares_picture(html.Shared("read", shape, (), d))
    divided = [not isinstance(rule, Whole) for rule in d.rules]
    drawn = html._drawn_dimensions(shape, divided)
    plane = owner[tuple(slice(None) if n in drawn else 0 for n in range(len(shape)))]
    plane = plane.reshape(1, -1) if plane.ndim == 1 else plane
    sizes = [1, *(html._block_size(d.rules[dim], d.grid[dim], shape[dim]) for dim in drawn)][-2:]
    rows, columns = (range(0, n, size)[: html.PARTS_MAX] for n, size in zip(plane.shape, sizes, strict=True))
    told = [title.text for title in tree(picture).iter(f"{SVG}title")]
    assert len(told) == len(rows) * len(columns)
    for words, (i, j) in zip(told, itertools.product(rows, columns), strict=True):
        assert words is not None
        assert set(plane[i : i + sizes[0], j : j + sizes[1]].flat) == {int(words.removeprefix("rank "))}


@pytest.mark.parametrize("shape", [(), (0,), (3, 0), (1,), (1, 1, 1), (10**12, 10**12), (2, 1, 10**9)])
def test_a_picture_is_small_whatever_the_shape(shape: tuple[int, ...]) -> None:
    ones = (1,) * len(shape)
    d = Distribution(tuple(Cyclic() for _ in shape), tuple(2 for _ in shape))
    for picture in (
        html.layout_picture(html.Pictured(shape, (), tuple(range(len(shape))))),
        html.layout_picture(html.Pictured(shape, (), None, ones)),
        html.shares_picture(html.Shared("read", shape, (), d)),
    ):
        assert (picture == "") == (0 in shape or shape == ())
        assert len(picture) < 80_000
        if picture:
            tree(picture)


def test_an_open_array_shows_its_facts_its_layout_and_who_owned_what(tmp_path: Path) -> None:
    path = tmp_path / "<script>.nc"
    attributes = {"title": "<script>alert(1)</script>", "scale_factor": np.float32(0.5)}
    with swath.create(path, (8, 6), "i2", variable="t", dimensions=("y", "x"), attributes=attributes) as a:
        a[...] = 0

    def work(comm: Any) -> str:
        with swath.open(path, comm=comm) as a:
            before = a._repr_html_()
            a.read(Distribution((Block(), Whole()), grid=(2, 1)), selection=np.s_[2:])
            a[0]  # of this rank alone
            after = a._repr_html_()
            a.read(Boxes([((comm.rank, 0), (comm.rank + 1, 6))]))
            assert f"1 boxes of rank {comm.rank}" in a._repr_html_()
            assert before.count("<svg") == 1
            assert a.decoded._repr_html_() == a._repr_html_()
            return after

    shown, other = run_ranks(2, work)
    assert shown == other
    assert shown.count("<svg") == 2
    assert "<script" not in shown
    assert "read [2:8, 0:6]: whose elements" in shown
    assert "as stored; decode=True masks and scales" in shown
    assert "8 × x 6" in shown
    tree(shown)


def test_a_file_lists_its_variables(tmp_path: Path) -> None:
    with swath.create_file(tmp_path / "a.nc", format="netcdf-classic", attributes={"title": "a & b"}) as f:
        f.create("t", (None, 3), "f4", dimensions=("time", "x"))
        shown = f._repr_html_()
    tree(shown)
    text = re.sub("<[^>]*>", " ", shown)
    for words in ("time 0 (unlimited), x 3", "netcdf-classic CDF-", "a &amp; b", "0 × 3"):
        assert words in text


def test_names_that_are_no_utf8_are_shown_escaped(tmp_path: Path) -> None:
    with swath.create(os.fsencode(tmp_path) + b"/\xff.npy", (3,), "f4") as a:
        a[...] = 0
        assert "\\udcff" in a._repr_html_()
        a._repr_html_().encode()


def test_the_repr_says_where_values_are_not_what_they_mean(tmp_path: Path) -> None:
    for name, attributes, said in (("a", {"scale_factor": 2.0}, True), ("b", {"units": "K"}, False)):
        with swath.create(tmp_path / f"{name}.nc", (3,), "i2", variable="t", attributes=attributes) as a:
            assert ("values as stored; decode=True masks and scales" in repr(a)) == said
            assert repr(a).startswith(f"<swath.Array int16 (3,) in {tmp_path}/{name}.nc:t: C order at offset ")
