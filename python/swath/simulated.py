"""Many ranks in one process, for tests: seeded, and a deadlock is an error that says where each rank waits."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, TypeVar

from swath import _core
from swath.errors import DisagreementError

T = TypeVar("T")
LOOK_UP_SECONDS = 0.1
"""How often this thread looks for a signal: one that arrives just before a wait does not end it."""


def run_ranks(
    ranks: int, work: Callable[[Any], T], *, seed: int = 0, nodes: int = 1, shared_memory: bool = True
) -> list[T]:
    """Run `work(comm)` on `ranks` ranks, a thread each, one at a time; give `comm` to `swath.open(..., comm=comm)`.

    At every collective step the seed decides who goes next: one seed is one interleaving.

    Returns what `work` returned on each rank. Raises what the lowest rank raised that did not merely wait for another
    one (a DisagreementError with the place of every rank where all of them wait). If this thread is interrupted
    (Ctrl-C), the ranks end at their next collective call or request before the interrupt is raised here.
    """
    simulation = _core.Simulation(ranks, nodes, seed, shared_memory)
    results: list[Any] = [None] * ranks
    errors: list[BaseException | None] = [None] * ranks

    def run_one(rank: int) -> None:
        simulation.enter(rank)
        try:
            results[rank] = work(simulation.comm(rank))
        except BaseException as error:  # noqa: BLE001 - raised again below
            errors[rank] = error
        finally:
            simulation.leave(rank)

    threads = [threading.Thread(target=run_one, args=(rank,)) for rank in range(ranks)]
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            while thread.is_alive():
                thread.join(LOOK_UP_SECONDS)
    except BaseException:
        simulation.interrupt()
        for rank, thread in enumerate(threads):
            if thread.ident is None:
                simulation.leave(rank)  # the others wait until each has entered or left
        for thread in threads:
            if thread.ident is not None:
                thread.join()
        raise
    raised = [error for error in errors if error is not None]
    for error in sorted(raised, key=lambda e: isinstance(e, DisagreementError)):
        raise error
    return results
