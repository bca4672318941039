"""Random metadata through every pair of formats: the copy has listed all differences that the libraries find."""

from __future__ import annotations

import itertools
import os
import random
import warnings
from pathlib import Path

import pytest

import by_library
import metadata_cases
import swath
from file_cases import FORMAT, KINDS, SUFFIX

PAIRS = list(itertools.product(KINDS, KINDS))
CASES = int(os.environ.get("SWATH_METADATA_CASES", "1"))
"""The number of cases for each pair."""


def check_pair(folder: Path, source: str, target: str, seed: int) -> None:
    """Make a file, copy all that the target can store, and compare both by their libraries."""
    dice = random.Random(f"{source} {target} {seed}")
    folder = folder / f"{source}-{target}-{seed}".replace(":", "")
    folder.mkdir()
    a, b = folder / f"a{SUFFIX[source]}", folder / f"b{SUFFIX[target]}"
    metadata_cases.make(a, source, dice)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        copied = swath.copy(a, b, format=FORMAT[target], skip_unsupported=True)
        explained = swath.explain_copy(a, folder / f"c{SUFFIX[target]}", format=FORMAT[target], skip_unsupported=True)
        by_library.check(a, b, copied, {})
        found = swath.verify(a, b)
    assert explained.left_out == copied.left_out
    if not copied.left_out:
        assert found, f"{source} to {target}, seed {seed}: {found}"


@pytest.mark.parametrize("number", range(7))
def test_what_a_copy_does_not_say_libraries_find_the_same(tmp_path: Path, number: int) -> None:
    for pair in PAIRS[number::7]:
        for seed in range(CASES):
            check_pair(tmp_path, *pair, seed)


@pytest.mark.exhaustive
@pytest.mark.parametrize("pair", PAIRS)
def test_what_a_copy_does_not_say_libraries_find_the_same_in_many_files(tmp_path: Path, pair: tuple[str, str]) -> None:
    for seed in range(100, 130):
        check_pair(tmp_path, *pair, seed)
