"""The readahead depth of a loop: computed from the times of its steps, by the same rules on every rank."""

from __future__ import annotations

import dataclasses

import numpy as np

from swath.array.iteration.buffers import Buffers
from swath.array.iteration.depth import (
    Decision,
    Measured,
    Measurements,
    decide,
    depth_of_memory,
    first_decision,
    is_point,
    seconds_text,
)

MIB = 1 << 20
NOTHING = Measured()


def measured(computing: float, reading: float, asking: float, nbytes: int = 1000) -> Measured:
    return Measured(8, computing, reading, asking, asking, nbytes)


def decided(depth_max: int, ahead: Measured, without: Measured, depth: int, *, is_long_ago: bool = False) -> Decision:
    return decide(depth_max, Measurements(ahead, without), depth=depth, is_long_ago=is_long_ago)


def test_as_many_steps_are_read_ahead_as_the_memory_holds_beside_two() -> None:
    assert depth_of_memory(100, 51) == -1
    assert depth_of_memory(100, 50) == 0
    assert depth_of_memory(100, 25) == 2
    assert first_decision(0).depth == 0
    assert "memory" in first_decision(0).reason
    without = measured(1e-2, 1e-2, 1e-2)
    assert decided(0, NOTHING, without, 0).depth == 0
    assert decided(1, NOTHING, without, 0).depth == 1


def test_a_loop_begins_without_reading_ahead() -> None:
    assert first_decision(9) == Decision(0, "off: nothing is measured yet")
    assert decided(9, NOTHING, NOTHING, 0).depth == 0


def test_reading_ahead_is_tried_where_it_should_hide_something_and_off_where_it_should_not() -> None:
    tried = decided(9, NOTHING, measured(1e-2, 1e-2, 1e-2), 0)
    assert tried.depth == 2
    assert tried.is_trial
    for computing, reading, reason in (
        (1e-5, 1e-1, "too little computing"),
        (1.0, 1e-2, "too little reading"),
        (1e-3, 2e-5, "handing it over"),
    ):
        off = decided(9, NOTHING, measured(computing, reading, reading), 0)
        assert off.depth == 0
        assert reason in off.reason
        assert not off.is_trial


def test_it_stays_on_where_it_was_faster_and_goes_off_where_it_was_not() -> None:
    without = measured(1e-2, 1e-2, 1e-2)
    on = decided(9, measured(1e-2, 1e-2, 1e-3), without, 2)
    assert on.depth >= 2
    assert on.reason.startswith("on")
    off = decided(9, measured(1.9e-2, 1.9e-2, 0.5e-2), without, 2)
    assert off.depth == 0
    assert "costs more than it hides" in off.reason
    assert decided(9, measured(1.9e-2, 1.9e-2, 0.5e-2), without, 0).depth == 0  # and stays so


def test_what_comes_from_memory_must_be_faster_and_what_comes_from_a_device_not_slower() -> None:
    ahead, without = measured(1e-2, 1e-2, 0.99e-2), measured(1e-2, 1e-2, 1e-2)
    assert decided(9, ahead, without, 2).depth > 0
    large = dataclasses.replace(ahead, nbytes=64 * MIB), dataclasses.replace(without, nbytes=64 * MIB)
    assert decided(9, *large, 2).depth == 0


def test_who_is_late_now_and_then_gets_some_in_store() -> None:
    without = measured(1e-2, 1e-2, 1e-2)
    assert decided(99, measured(1e-2, 0.9e-2, 0.1e-2), without, 2).depth == 3
    assert decided(99, measured(1e-2, 1.1e-2, 0.2e-2), without, 2).depth == 2  # no store helps there


def test_after_a_long_time_the_other_way_is_tried_again() -> None:
    slower, without = measured(1.9e-2, 1.9e-2, 0.5e-2), measured(1e-2, 1e-2, 1e-2)
    again = decided(9, slower, without, 0, is_long_ago=True)
    assert again.is_trial
    assert again.depth > 0
    from_memory = measured(2e-3, 1e-3, 1e-5, nbytes=4 * MIB)
    back = decided(9, from_memory, measured(2e-3, 1e-3, 1e-3), 2, is_long_ago=True)
    assert back.is_trial
    assert back.depth == 0
    of_a_device = measured(1e-2, 1e-2, 1e-3)
    assert not decided(9, of_a_device, without, 2, is_long_ago=True).is_trial


def test_ranks_decide_by_the_slowest_of_each() -> None:
    first = Measurements(Measured(4, 1.0, 2.0, 3.0, 4.0, 50), Measured(1, 1.0, 1.0, 1.0, 1.0, 50))
    second = Measurements(Measured(2, 2.0, 1.0, 9.0, 0.0, 70), Measured(0))
    largest = [max(pair) for pair in zip(first.numbers(), second.numbers(), strict=True)]
    both = Measurements.of_numbers(largest)
    assert both.ahead == Measured(2, 2.0, 2.0, 9.0, 4.0, 70)
    assert both.without.steps == 0


def test_the_latest_steps_weigh_most() -> None:
    steps = Measured()
    for seconds in (1.0, 3.0):
        steps = steps.with_step((seconds, 0.0, 0.0, 0.0), 5)
    assert steps.computing == 2.0
    for _ in range(30):
        steps = steps.with_step((7.0, 0.0, 0.0, 0.0), 5)
    assert abs(steps.computing - 7.0) < 0.01


def test_it_is_decided_now_and_then() -> None:
    assert [step for step in range(300) if is_point(step)] == [2, 4, 8, 16, 32, 64, 128, 192, 256]


def test_seconds_are_told_in_units_that_fit() -> None:
    told = [seconds_text(seconds) for seconds in (0, 3.14e-6, 1.3e-4, 0.0031, 0.25, 2.5, 120)]
    assert told == ["0.0 µs", "3.1 µs", "130 µs", "3.1 ms", "250 ms", "2.5 s", "120 s"]


def test_memory_is_used_again_only_where_nobody_can_see_that() -> None:
    import weakref

    dtype = np.dtype("f8")
    buffers = Buffers(dtype)
    buffers.give(np.zeros((2, 3)))
    taken = buffers.take((2, 3))
    assert taken is not None
    assert buffers.take((2, 3)) is None  # it is somebody's now
    for held in (lambda a: a, lambda a: a[1:], memoryview, weakref.ref, lambda a: a.reshape(-1), lambda a: [a]):
        buffers = Buffers(dtype)
        values = np.zeros((2, 3))
        still = held(values)
        buffers.give(values)
        del values
        assert buffers.take((2, 3)) is None, still
        del still
    for change in (
        lambda a: setattr(a.flags, "writeable", False),
        lambda a: setattr(a, "shape", (3, 2)),
        lambda a: setattr(a, "dtype", "i8"),
    ):
        buffers = Buffers(dtype)
        values = np.zeros((2, 3))
        change(values)
        buffers.give(values)
        del values
        assert buffers.take((2, 3)) is None
    buffers.give(np.zeros((4, 3))[:2])  # a view: whose memory it is is not known
    assert buffers.take((2, 3)) is None
