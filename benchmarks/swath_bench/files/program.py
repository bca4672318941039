"""The program of one measurement: a run with small files, then the timed run, then the comparison."""

from __future__ import annotations

import concurrent.futures
import contextlib
import os
import shutil
import time
from typing import Any

from swath.ranks.ranks import Ranks, ranks_of
from swath.store.standalone import page_cache
from swath_bench.files.checks import check
from swath_bench.files.contenders import CONTENDERS
from swath_bench.files.contenders.base import Contender
from swath_bench.files.job import Job
from swath_bench.files.sizes import Sizes
from swath_bench.measure import timed
from swath_bench.standalone import answers, memory_watch

SHORT_SECONDS = 0.5
"""A measurement is repeated within its process until it has taken this time in total, at most TIMES_MAX times."""
TIMES_MAX = 5
SYNCS_AT_ONCE = 16


def measure(request: dict[str, Any]) -> None:
    """Carry out one job: rank 0 writes the repetitions as a line of the answer."""
    ranks = _ranks(request["ranks"])
    sizes = Sizes(**request["sizes"])
    told = {name: request[name] for name in ("case", "contender", "cache", "folder", "target")}
    job = Job(**told, sizes=sizes, ranks=ranks)
    contender = CONTENDERS[job.contender]
    once(contender, job.small())
    repetitions: list[dict[str, Any]] = []
    while len(repetitions) < TIMES_MAX and sum(r["seconds"] for r in repetitions) < SHORT_SECONDS:
        if ranks.rank == 0:
            answers.keep(request["kept"], {"begun": len(repetitions)})  # a sign of life
        repetitions.append(once(contender, job))
    if ranks.rank == 0:
        answers.keep(request["kept"], {"repetitions": repetitions})


def _ranks(count: int) -> Ranks:
    if count == 1:
        return ranks_of(None)
    from mpi4py import MPI

    return ranks_of(MPI.COMM_WORLD)


def once(contender: Contender, job: Job) -> dict[str, Any]:
    """Collective. Run once, from a cold or warm cache, to memory or to the medium; check and remove the result."""
    _prepare(contender, job)
    outcome: list[Any] = []
    synced = [0.0]

    def work() -> None:
        outcome.append(getattr(contender, job.what.work)(job))
        if job.what.writes and not contender.syncs and job.ranks.rank == 0:
            begin = time.perf_counter()
            _sync(job.made(contender.target_suffix(job)))
            synced[0] = time.perf_counter() - begin

    if job.what.work == "dump":
        assert job.dumped  # made now
    elif not job.what.reads:
        assert job.appended
    with memory_watch.watched() if job.what.watches_memory else contextlib.nullcontext([0]) as peak:
        took = timed(job.ranks, work)
    check(job, contender.target_suffix(job), outcome.pop())
    if job.ranks.rank == 0 and job.what.writes:
        _remove(job.made(contender.target_suffix(job)))
    job.ranks.comm.barrier()
    return {
        "seconds": took["seconds"],
        "sync_seconds": synced[0],
        "device_bytes": took["device_bytes"],
        "peak_bytes": peak[0],
    }


def _prepare(contender: Contender, job: Job) -> None:
    if job.what.reads and job.ranks.rank == 0:
        forget = page_cache.drop if job.cache == "cold" else None
        page_cache.prepare(page_cache.files_of(contender.source(job)), forget)
    job.ranks.comm.barrier()


def _sync(target: str) -> None:
    """Sync all files and folders of a target, several at once, which share the journal's writes; then its folder."""
    inside = [os.path.join(folder, name) for folder, _, names in os.walk(target) for name in (*names, "")]
    with concurrent.futures.ThreadPoolExecutor(SYNCS_AT_ONCE) as pool:
        list(pool.map(_sync_one, inside or [target]))
    _sync_one(os.path.dirname(target))


def _sync_one(path: str) -> None:
    with page_cache.opened(path) as fd:
        os.fsync(fd)


def _remove(path: str) -> None:
    if os.path.isdir(path):
        shutil.rmtree(path)
    else:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)


if __name__ == "__main__":
    answers.answer(files=measure)
