"""What a profile learns from operations: when, from which, and of what."""

import pytest

from swath import _core
from swath.learning import Learning

GROUP_OPERATIONS = _core.GROUP_OPERATIONS
GROUP_SECONDS = _core.GROUP_NANOSECONDS * 1e-9
SHORT = 1e-3
PLACE = "list/read/cache/small"
COMMON = "any/read/cache/small"


class Priced:
    """What learning needs of a plan: a price of so many seconds of work, as the profile has it now."""

    def __init__(self, learning, work, fixed=0.0):
        known = learning.profile.corrections
        factor = known.get(PLACE, (1.0, 0))[0] * known.get(COMMON, (1.0, 0))[0]
        self.price = {"seconds": work * factor + fixed, "fixed": fixed, "correction": factor, "place": PLACE}


def execute(learning, plan, seconds):
    """One operation and the agreement after it, where this rank is the slowest."""
    learning.measured(plan, seconds=seconds)
    learning.set_slowest(learning.own_nanoseconds())


def test_one_long_operation_teaches_at_once():
    learning = Learning(None)
    execute(learning, Priced(learning, GROUP_SECONDS), 1.5 * GROUP_SECONDS)
    factors = learning.profile.corrections
    assert {place: seen for place, (_, seen) in factors.items()} == {PLACE: 1, COMMON: 1}
    assert factors[COMMON][0] == pytest.approx(1 + 0.5 / 8)
    assert factors[PLACE][0] == pytest.approx(1 + 0.5 / 16)


def test_operations_that_take_long_together_teach_by_their_median():
    learning = Learning(None)
    plan = Priced(learning, GROUP_SECONDS / 10)
    for turn in range(3):
        execute(learning, plan, GROUP_SECONDS * (0.5 if turn == 1 else 0.2))  # one of them disturbed
        assert learning.profile.corrections == {}
    execute(learning, plan, GROUP_SECONDS * 0.2)
    assert learning.profile.corrections[PLACE][1] == 1
    assert learning.profile.corrections[COMMON][0] == pytest.approx(1 + 1 / 8)


def test_short_operations_teach_by_the_median_of_a_group():
    learning = Learning(None)
    plan = Priced(learning, SHORT / 10)
    for turn in range(GROUP_OPERATIONS - 1):
        execute(learning, plan, SHORT / (2 if turn < 2 else 5))  # two of them disturbed
        assert learning.profile.corrections == {}
    execute(learning, plan, SHORT / 5)
    for _ in range(30 * GROUP_OPERATIONS):
        execute(learning, plan, SHORT / 5)
        if learning.profile.corrections[PLACE][1] != plan.price.get("seen"):
            plan = Priced(learning, SHORT / 10)
            plan.price["seen"] = learning.profile.corrections[PLACE][1]
    assert plan.price["correction"] == pytest.approx(2, rel=0.1)


def test_a_group_is_of_one_plan():
    learning = Learning(None)
    plans = [Priced(learning, SHORT / 10) for _ in range(2)]
    for turn in range(3 * GROUP_OPERATIONS):
        execute(learning, plans[turn % 2], SHORT / 2)
    assert learning.profile.corrections == {}


def test_a_price_that_is_about_right_is_left_alone():
    """So that plans which are kept, and were made from this profile, stay of use."""
    learning = Learning(None)
    profile = learning.profile
    for seconds in (1.08, 0.92):
        plan = Priced(learning, SHORT / 10)
        for _ in range(GROUP_OPERATIONS):
            execute(learning, plan, seconds * SHORT / 10)
    assert learning.profile is profile


@pytest.mark.parametrize(("work", "teaches"), [(0.0, False), (0.9e-4, False), (1.1e-4, True)])
def test_an_operation_that_is_mostly_fixed_teaches_nothing(work, teaches):
    learning = Learning(None)
    plan = Priced(learning, work, fixed=1e-4)
    for _ in range(GROUP_OPERATIONS):
        execute(learning, plan, max(1.5 * work, 1e-6))  # without what is fixed
    if teaches:
        known = learning.profile.corrections
        assert 1.1 < known[COMMON][0] * known[PLACE][0] < 1.5
    else:
        assert learning.profile.corrections == {}


def test_a_plan_without_a_price_teaches_nothing():
    learning = Learning(None)
    execute(learning, Priced(learning, 0.0), 1.0)
    assert learning.profile.corrections == {}


def test_the_slowest_rank_counts_and_nobody_who_did_not_take_part():
    learning = Learning(None)
    learning.set_slowest(10**9)  # of an operation before this array was opened, say
    assert learning.profile.corrections == {}
    learning.measured(Priced(learning, 1.0), seconds=1.0)
    assert learning.own_nanoseconds() == 10**9
    learning.set_slowest(2 * 10**9)
    assert learning.profile.corrections[COMMON][0] == pytest.approx(1 + 1 / 8)


def test_a_frozen_profile_learns_nothing():
    learning = Learning(None, frozen=True)
    execute(learning, Priced(learning, 1.0), 2.0)
    assert learning.profile.corrections == {}


def test_what_is_observed_must_have_a_place():
    with pytest.raises(Exception, match="no place of a correction"):
        _core.default_profile().observed("two-phase/read/cache", 2.0)
