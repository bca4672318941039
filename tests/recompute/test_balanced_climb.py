"""Measured iterations correct predictions: the climb of the share on disk, on simulated machines."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from swath.recompute.climb import LITTLE_LOSS_MAX, LOSS_MAX, NEAR, STEP_MIN, Climb, Iteration

Curve = Callable[[float], float]


def flat(_: float) -> float:
    return 1.0


def v_shaped(computing: float, reading: float, using: float = 0.0) -> Curve:
    return lambda share: max(computing * (1 - share) + using, reading * share)


def best_of(curve: Curve) -> float:
    return min(curve(point / 200) for point in range(201))


def best_share(curve: Curve) -> float:
    return min((curve(point / 200), point / 200) for point in range(201))[1]


def run(true: Curve, model: Curve, iterations: int, noise: float = 0.0, seed: int = 0) -> list[float]:
    """Return the share of each iteration."""
    climb, shares, numbers = Climb(), [], random.Random(seed)
    for _ in range(iterations):
        share, words = climb.next(best_share(model), model)
        assert 0 <= share <= 1
        assert words
        seconds = true(share) * (1 + numbers.uniform(0, noise))
        shares.append(share)
        climb.learn(Iteration(share, seconds, 0.0))
    return shares


def test_a_model_that_is_right_is_followed() -> None:
    true = v_shaped(1.0, 1.0)
    shares = run(true, true, 30)
    assert shares.count(0.5) >= 26
    assert max(shares) <= 0.56  # a little step in a while: is the disk really busy?


@pytest.mark.parametrize(
    ("true", "model"),
    [
        (v_shaped(1.0, 0.3, using=0.2), v_shaped(1.0, 1.0, using=0.2)),  # reading is faster than it was thought
        (lambda share: 1.0 + 0.3 * share, lambda share: 1.0 - 0.04 * share),  # nothing on disk wins: reading disturbs
        (lambda share: 1.0 - 0.3 * share, lambda share: 1.0 + 0.04 * share),  # all on disk wins
        (lambda share: 1 + (share - 0.3) ** 2, lambda share: 1 + 0.1 * (share - 0.8) ** 2),
    ],
)
def test_it_ends_within_a_tenth_of_the_best_although_the_model_is_wrong(true: Curve, model: Curve) -> None:
    shares = run(true, model, 20)
    assert true(shares[-1]) <= 1.1 * best_of(true), shares


@pytest.mark.parametrize("end", [0.0, 1.0])
def test_an_end_that_wins_is_taken(end: float) -> None:
    def true(share: float) -> float:
        return 1.0 if share == end else 1.5

    shares = run(true, lambda share: 1.0 + 0.05 * abs(share - 0.5), 20)
    assert shares[-1] == end


@settings(deadline=None, max_examples=200)
@given(st.floats(0.3, 3.0), st.floats(0.3, 3.0), st.floats(0, 1), st.integers(0, 1000))
def test_noise_makes_it_neither_swing_nor_stay_away_from_the_best(
    computing: float, reading: float, using: float, seed: int
) -> None:
    true = v_shaped(computing, reading, using)
    shares = run(true, true, 40, noise=0.05, seed=seed)
    late = [true(share) for share in shares[20:]]
    assert sorted(late)[len(late) // 2] <= (1 + LOSS_MAX) * best_of(true)
    moves = sum(abs(one - other) > NEAR for one, other in itertools.pairwise(shares[20:]))
    assert moves <= 8, shares  # a trial and the way back, and not many of them


@settings(deadline=None, max_examples=100)
@given(st.floats(0.3, 3.0), st.floats(0.3, 3.0), st.floats(0.3, 3.0), st.floats(0.3, 3.0))
def test_no_trial_is_predicted_to_cost_more_than_it_may(c: float, r: float, other_c: float, other_r: float) -> None:
    true, model = v_shaped(c, r, 0.1), v_shaped(other_c, other_r, 0.1)
    climb, measured = Climb(), {}
    for _ in range(30):
        share, _ = climb.next(best_share(model), model)
        if measured and share not in measured:
            limits = [model(share) / model(one) * seconds / min(measured.values()) for one, seconds in measured.items()]
            is_little = min(abs(share - one) for one in measured) <= STEP_MIN + 1e-9
            assert min(limits) <= 1 + (LITTLE_LOSS_MAX if is_little else LOSS_MAX) + 1e-9
        measured[share] = true(share)
        climb.learn(Iteration(share, true(share), 0.0))


def test_when_things_change_all_is_measured_anew() -> None:
    slow_disk, fast_disk = v_shaped(1.0, 1.0, 0.3), v_shaped(1.0, 0.1, 0.3)
    climb = Climb()
    for number in range(80):
        share, _ = climb.next(0.5, flat)
        true = slow_disk if number < 20 else fast_disk
        climb.learn(Iteration(share, true(share), 0.0))
    assert fast_disk(share) <= 1.1 * best_of(fast_disk)


def test_a_share_that_the_disk_does_not_take_is_given_up() -> None:
    climb, model = Climb(), v_shaped(1.0, 0.1)
    seen = []
    for _ in range(20):
        share, _ = climb.next(1.0, model)
        seen.append(min(share, 0.4))
        climb.learn(Iteration(seen[-1], 0.6, 0.0))
    assert climb.next(1.0, model)[0] == 0.4


def test_a_trial_that_is_never_written_is_given_up() -> None:
    climb, model = Climb(), v_shaped(1.0, 0.1)
    climb.learn(Iteration(0.0, 1.0, 0.0))
    asked = [climb.next(1.0, model)[0] for _ in range(10)]
    assert asked[0] > 0
    assert 0.0 in asked


def test_less_on_disk_is_tried_first_where_the_program_waits_for_the_disk() -> None:
    for waited, is_less in ((0.2, True), (0.0, False)):
        climb = Climb()
        climb.learn(Iteration(0.5, 1.0, waited))
        assert (climb.next(0.5, flat)[0] < 0.5) == is_less
