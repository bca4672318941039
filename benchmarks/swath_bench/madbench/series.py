"""The runs of `--series must-show`: the use of throttling, on every modelled disk, in virtual time."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

from swath_bench.madbench.options import ALL, AUTO, PRESETS, Options

SWEET_SPOT = "sweet spot"
REGIME = "regime change"
SINGLE_DISK = "16 tasks, single disk"
TASKS = {"xeon-eide": 4}
"""The numbers of tasks in table 4 of the paper; all other disks have `TASKS_OTHERWISE`."""
TASKS_OTHERWISE = 16
REGIMES = (("p690-scsi", "ssd"), ("ssd", "p690-scsi"), ("p690-raid5", "ssd"), ("ssd", "p690-raid5"))


def static_counts(tasks: int) -> tuple[str, ...]:
    """1, 2, 4 ... below the number of tasks, and all of them."""
    counts = []
    count = 1
    while count < tasks:
        counts.append(str(count))
        count *= 2
    return (*counts, ALL)


def must_show(options: Options) -> Iterator[tuple[str, Options]]:
    """Return the runs, each with the name of its group; the sizes come from `options`.

    On every disk: all static numbers of readers and auto, with one writer, so that files are in order, as in section
    6.2.4; the same with a disk that turns into another one when W begins; and all writers with all readers, and auto.
    """
    base = dataclasses.replace(
        options,
        virtual=True,
        disks=options.disks or PRESETS,
        compute=False,
        peers=(),
        caches=("cold",),
        series="grid",
    )
    for disk in base.disks:
        yield from _readers(SWEET_SPOT, base, disk, None)
    for disk, then in REGIMES:
        yield from _readers(REGIME, base, disk, then)
    for readers in (ALL, AUTO):
        yield SINGLE_DISK, _one(base, "p690-scsi", None, ALL, readers)


def _readers(group: str, base: Options, disk: str, then: str | None) -> Iterator[tuple[str, Options]]:
    tasks = TASKS.get(disk, TASKS_OTHERWISE)
    for readers in (*static_counts(tasks), AUTO):
        yield group, _one(base, disk, then, "1", readers)


def _one(base: Options, disk: str, then: str | None, writers: str, readers: str) -> Options:
    tasks = TASKS.get(disk, TASKS_OTHERWISE)
    return dataclasses.replace(base, tasks=tasks, disks=(disk,), switch_to=then, writers=(writers,), readers=(readers,))
