"""The distribution of a file over ranks is named from requests, or nothing is: never a wrong one."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from distributed_requests import GENERATORS, Requests, split, with_losses, with_noise
from swath.trace.distribution_forms import Distribution
from swath.trace.distributions import distribution_of, owned_runs

CASES = 8
SEEN = {
    "as they are": lambda of, _: of,
    "in pieces": split,
    "with others among them": with_noise,
    "with some lost": with_losses,
    "in pieces, with some lost": lambda of, random: with_losses(split(of, random), random),
}


def case(generator: int, seen: str, seed: int) -> tuple[Requests, Requests]:
    """Returns all requests, and those that the tracer has."""
    random = np.random.default_rng([generator, seed])
    truth = GENERATORS[generator](random)
    return truth, SEEN[seen](truth, random)


def differing(found: Distribution, truth: Requests) -> set[int]:
    """Returns bytes that it gives to other ranks than have them.

    Bytes before the first or behind the last of either are left out: what is lost there nobody knows.
    """
    _, starts, lengths = found.runs()
    low = max(int(truth.offset.min()), int(starts.min()))
    high = min(int((truth.offset + truth.length).max()), int((starts + lengths).max()))
    wrong = set()
    for rank in range(truth.ranks):
        runs = owned_runs(found, rank)
        given = {
            byte for one, end in zip(runs.starts.tolist(), runs.ends.tolist(), strict=True) for byte in range(one, end)
        }
        wrong |= {byte for byte in given ^ truth.owned(rank) if low <= byte < high}
    return wrong


@pytest.mark.parametrize("seen", SEEN)
def test_a_distribution_has_its_name_or_none(seen: str) -> None:
    named = Counter()
    for generator in range(len(GENERATORS)):
        for seed in range(CASES):
            truth, requests = case(generator, seen, seed)
            found = distribution_of(requests.rank, requests.offset, requests.length, truth.ranks)
            if found is not None:
                assert found.name == truth.name, (generator, seed)
                assert differing(found, truth) == set(), (generator, seed, found)
                assert str(truth.ranks) in found.words or found.name == "tiles"
                named[GENERATORS[generator].__name__] += 1
    assert len(GENERATORS) * CASES * len(SEEN) >= 200
    least = CASES - 1 if seen in ("as they are", "in pieces") else 1
    assert all(named[one.__name__] >= least for one in GENERATORS) or "lost" in seen, named
    assert sum(named.values()) >= len(GENERATORS) * CASES // 3, named


def test_ranks_that_have_no_order_have_no_name() -> None:
    random = np.random.default_rng(3)
    for _ in range(100):
        ranks = int(random.integers(2, 7))
        count = int(random.integers(4 * ranks, 200))
        rank, length = random.integers(0, ranks, count), random.integers(1, 50, count)
        offset = np.cumsum(length + random.integers(0, 30, count))
        found = distribution_of(rank, offset, length, ranks)
        assert found is None, found


def test_a_rank_of_which_nothing_is_seen_leaves_no_name() -> None:
    rank, offset = np.arange(3), 100 * np.arange(3)
    assert distribution_of(rank, offset, np.full(3, 100), 3) is not None
    assert distribution_of(rank, offset, np.full(3, 100), 4) is None
    assert distribution_of(rank[:1], offset[:1], np.full(1, 100), 4) is None


@pytest.mark.parametrize(
    ("offset", "length", "expected"),
    [
        ([0, 10, 20], 10, "contiguous: 30 bytes, from byte 0"),
        ([5, 105, 205, 305], 10, "strided: 4 × 10 bytes, strides of 100 bytes, from byte 5"),
        ([0, 10, 100, 110, 200, 210], 4, "strided: 3 × 2 × 4 bytes, strides of 100, 10 bytes, from byte 0"),
    ],
)
def test_one_rank_alone(offset: list[int], length: int, expected: str) -> None:
    found = distribution_of(np.zeros(len(offset), int), np.array(offset), np.full(len(offset), length))
    assert found is not None
    assert found.words == expected


def test_nothing_has_no_distribution() -> None:
    empty = np.zeros(0, np.int64)
    assert distribution_of(empty, empty, empty) is None
    assert distribution_of(np.zeros(2, int), np.array([5, 9]), np.zeros(2, int)) is None


def test_offsets_too_far_apart_are_no_distribution() -> None:
    rank = np.arange(100)
    assert distribution_of(rank, rank * (1 << 55), np.full(100, 8)) is None


def test_equal_parts_of_records_are_cyclic_by_any_guess() -> None:
    truth, requests = case(2, "in pieces, with some lost", 251)
    found = distribution_of(requests.rank, requests.offset, requests.length, truth.ranks)
    assert found is None or found.name == "cyclic"
