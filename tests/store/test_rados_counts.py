"""Operations and bytes on the network, for each method: the plan equals the counters of the OSDs.

The comparison is exact for an array's column: an operation is a request of the plan, or one of the small ones that are
named here.
"""

from __future__ import annotations

import collections
import json
from collections.abc import Iterator
from typing import Any

import pytest

import ceph
from mpi_runs import run_well

pytestmark = [
    ceph.needs_cluster,
    pytest.mark.skipif(not ceph.admin_sockets(), reason="the admin sockets of the cluster's OSDs are not here"),
]

READ_RANGES, WRITE_RANGES = 1000, 100
"""The limits of one list operation; see docs/rados.md."""
REQUEST_BYTES = 900
"""Bytes on the network of a request and its answer, besides its data and its list."""
RANGE_BYTES = 90
"""Bytes of a range in a list, besides its data, both ways."""
IDLE_BYTES, IDLE_BYTES_PER_SECOND = 32_000, 16_000
"""The traffic of OSDs with each other and with the monitor."""


@pytest.fixture(scope="module", autouse=True)
def short_heartbeats() -> Iterator[None]:
    """OSDs fill heartbeats up to 2,000 bytes, which belong to no operation."""

    def set_least(least: str) -> None:
        for admin_socket in ceph.admin_sockets():
            ceph.ask_daemon(admin_socket, "config set", var="osd_heartbeat_min_size", val=[least])

    set_least("0")
    yield
    set_least("2000")


class Asked:
    """A column: the pieces of objects of each rank's elements, in order, as stripes cut them."""

    def __init__(self, stripe: str, rows: int, row_bytes: int, element_bytes: int, ranks: int) -> None:
        self.arguments = (stripe, rows, row_bytes, element_bytes)
        self.ranks = ranks
        self.moved = rows * element_bytes
        self.regions = rows
        self.pieces = [
            [
                piece
                for row in range(rank, rows, ranks)
                for piece in pieces_of(stripe, row * row_bytes, row * row_bytes + element_bytes)
            ]
            for rank in range(ranks)
        ]

    def requests(self, method: str, direction: str) -> int:
        """Return the requests of all ranks, for the methods that send their regions."""
        if method == "direct":
            return sum(map(len, self.pieces))
        ranges_max = READ_RANGES if direction == "read" else WRITE_RANGES
        found = 0
        for of_rank in self.pieces:
            for ranges in collections.Counter(of_rank).values():
                found += -(-ranges // ranges_max) if method == "list" else 1
        return found

    def measured(self, *methods: str) -> Iterator[dict[str, Any]]:
        printed = run_well(self.ranks, "rados_counts_ranks.py", *self.arguments, *methods, seconds_max=300)
        lines = [json.loads(line) for line in printed.splitlines()]
        assert [(line["method"], line["direction"]) for line in lines] == [
            (method, direction) for method in methods for direction in ("read", "write")
        ]
        yield from lines


def pieces_of(stripe: str, begin: int, end: int) -> Iterator[int]:
    """Yield the object of each piece of bytes [begin, end) between two ends of stripe units."""
    unit, count, object_bytes = map(int, stripe.split(","))
    of_object = object_bytes // unit
    for number in range(begin // unit, (end - 1) // unit + 1):
        yield number // (of_object * count) * count + number % count


def of_all_ranks(found: dict[str, Any], key: str) -> int:
    """Return the plan's number, which every rank must also have counted."""
    assert [planned[key] for planned in found["planned"]] == [made[key] for made in found["made"]], found
    return sum(planned[key] for planned in found["planned"])


def wire_bytes(found: dict[str, Any]) -> int:
    counted = found["counted"]
    return int(counted["wire_in"] + counted["wire_out"])


def idle_bytes(found: dict[str, Any]) -> float:
    return IDLE_BYTES + IDLE_BYTES_PER_SECOND * found["seconds"]


COLUMNS = {
    "two sets of objects": ("65536,4,4194304", 1700, 10_240, 8),
    "elements that stripes split": ("1000,3,7000", 700, 1032, 24),
}


@pytest.mark.parametrize("ranks", [1, 2])
@pytest.mark.parametrize("column", COLUMNS)
def test_requests_are_those_of_the_plan_and_nothing_else_is_asked(column: str, ranks: int) -> None:
    asked = Asked(*COLUMNS[column], ranks)
    if column != "two sets of objects":
        assert sum(map(len, asked.pieces)) > asked.regions  # some are split
    for found in asked.measured("direct", "list", "datatype"):
        method, direction, counted = found["method"], found["direction"], found["counted"]
        if method == "datatype" and found["took"] != "datatype":
            continue  # the servers have no class, or the plan says why not
        planned = of_all_ranks(found, f"{direction}_requests")
        assert counted["op"] == planned == asked.requests(method, direction), found
        # The class reads when it writes.
        kind = {"read": "op_r", "write": "op_rw" if method == "datatype" else "op_w"}[direction]
        assert counted[kind] == counted["op"], found
        if direction == "read":
            assert (counted["op_out_bytes"], counted["op_in_bytes"]) == (asked.moved, 0), found
        elif method != "datatype":  # whose windows the server writes back, from itself to itself
            assert (counted["op_out_bytes"], counted["op_in_bytes"]) == (0, asked.moved), found
        ranges = asked.regions if method == "list" else 0
        most = asked.moved + ranges * RANGE_BYTES + planned * REQUEST_BYTES + idle_bytes(found)
        assert asked.moved < wire_bytes(found) < most, found


@pytest.mark.parametrize("ranks", [1, 2])
def test_a_region_costs_what_it_holds_by_description_and_eleven_times_that_in_a_list(ranks: int) -> None:
    regions = 65_536
    asked = Asked("65536,4,4194304", regions, 256, 8, ranks)
    for found in asked.measured("list", "datatype"):
        method, direction = found["method"], found["direction"]
        if method == "datatype" and found["took"] != "datatype":
            continue
        planned = of_all_ranks(found, f"{direction}_requests")
        assert found["counted"]["op"] == planned == asked.requests(method, direction), found
        of_region = (wire_bytes(found) - idle_bytes(found)) / regions
        if method == "datatype":
            assert planned == 4 * ranks
            assert of_region < 8 + REQUEST_BYTES * planned / regions < 8.2, found
        else:
            assert 60 < of_region < 8 + RANGE_BYTES, found


@pytest.mark.parametrize("ranks", [1, 2])
def test_methods_of_windows_ask_for_windows_alone(ranks: int) -> None:
    """If another rank has written an object since it was read, it is requested again: this is counted, not planned."""
    asked = Asked("65536,4,4194304", 5000, 4096, 8, ranks)
    for found in asked.measured("sieve", "two-phase"):
        made = [rank["read_requests"] + rank["write_requests"] for rank in found["made"]]
        planned = [rank["read_requests"] + rank["write_requests"] for rank in found["planned"]]
        if ranks > 1 and (found["method"], found["direction"]) == ("sieve", "write"):
            assert sum(planned) <= found["counted"]["op"] <= sum(made), found  # OSDs do not count what they refuse
        else:
            assert found["counted"]["op"] == sum(made) == sum(planned), found
        assert not any(rank["locks"] for rank in found["made"])
