"""Carries operations out on a simulated machine: `swath.simulate`."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from typing import Any

from swath import _core
from swath.errors import ArgumentError
from swath.simulation import machine as machines
from swath.simulation.machine import Machine
from swath.simulation.operations import AnyOperation, ExactOperation, Operation
from swath.simulation.result import Simulated


def simulate(
    operations: AnyOperation | Sequence[AnyOperation],
    machine: Machine | str | os.PathLike[str],
    *,
    ranks: int,
    settings: Mapping[str, Any] | None = None,
    seed: int = 1,
    noise: float = 0.0,
    data: bool = False,
) -> Simulated:
    """Carry operations out on a simulated machine, one after the other, and return what they took.

    Plans, agreements, messages and requests are those of a real run with as many ranks; only their times are
    those of the machine.

    Args:
        operations: the operations, in their order.
        machine: a machine, the name of one of the package, or a machine file (docs/simulation.md).
        ranks: the number of ranks.
        settings: values of the machine that differ, by their dotted keys: `{"servers.count": 64}`.
        seed: of the noise. Equal arguments give equal results.
        noise: the standard deviation of each time, as a part of it.
        data: whether the bytes are moved, too: for small arrays.

    Raises:
        ArgumentError: an operation and the ranks do not match, or the machine is too small.
        NotFoundError: there is no such machine.
    """
    given = [operations] if isinstance(operations, Operation | ExactOperation) else list(operations)
    if not given:
        raise ArgumentError("simulate: no operation is given")
    if ranks < 1:
        raise ArgumentError(f"simulate: ranks={ranks}: expected at least 1")
    if not 0 <= noise < 1:
        raise ArgumentError(f"simulate: noise={noise}: expected a part, from 0 to less than 1")
    chosen = machine if isinstance(machine, Machine) else machines.load(machine)
    if settings:
        chosen = chosen.with_values(settings)
    described = chosen.for_ranks(ranks)
    given_json = json.dumps([one.to_dict() for one in given])
    found = json.loads(_core.simulate(json.dumps(described), given_json, ranks, seed, noise, data))
    return Simulated(chosen, given, ranks, seed, noise, found)
