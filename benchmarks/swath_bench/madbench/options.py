"""The options of MADbench: the problem, the numbers of readers and writers at a time, and the disk."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator

from swath.errors import ArgumentError
from swath_bench.madbench.problem import PATTERN_CHUNKS_MAX, Problem

PRESETS = ("xeon-eide", "p690-scsi", "p690-raid5", "cluster-nfs-raid5", "ssd")
"""The modelled disks: those of table 2 of the paper, and an SSD."""
CACHES = ("cold", "warm")
PEERS = ("romio", "numpy")
SERIES = ("grid", "must-show")
ALL, AUTO = "all", "auto"
MEBIBYTE = 1 << 20


@dataclasses.dataclass(frozen=True)
class Options:
    """The benchmark's parameters. All combinations of list parameters are run.

    Attributes:
        tasks: number of ranks.
        pixels: pixels of the map: the rows, and the columns, of the matrices of 8-byte numbers.
        bins: number of matrices, of chunks of a task, and of steps of a phase.
        gangs: groups of tasks among which the bins of W are dealt.
        block: rows of a block of the linear algebra.
        writers: number of tasks that may write at a time: a number, "all" (no throttling) or "auto".
        readers: the same for reading.
        shared_file: all tasks in one file, bins × pixels × pixels; else a file for each task.
        compute: real linear algebra; else sleeping for as long as the flops would take.
        flops_rate: flops a second of a task that sleeps.
        verify: compare every element; else a checksum, and the ends of every row.
        caches: the page cache before a phase that reads: "cold" is empty. Modelled disks have no cache.
        disks: modelled disks by name; none: the disk of the folder.
        switch_to: a modelled disk that the disk turns into when W begins.
        virtual: tasks are simulated, in one process, and so is time; needs a modelled disk.
        series: "grid", or "must-show": a fixed set of runs on all modelled disks.
        peers: other readers of the same chunks: "romio", "numpy".
        seed: seed of the pixels' positions and of the simulation.
    """

    tasks: int = 4
    pixels: int = 2048
    bins: int = 16
    gangs: int = 1
    block: int = 32
    writers: tuple[str, ...] = (ALL,)
    readers: tuple[str, ...] = (ALL, AUTO)
    shared_file: bool = False
    compute: bool = False
    flops_rate: float = 4e9
    verify: bool = False
    caches: tuple[str, ...] = ("cold",)
    disks: tuple[str, ...] = ()
    switch_to: str | None = None
    virtual: bool = False
    series: str = "grid"
    peers: tuple[str, ...] = ()
    seed: int = 1

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):
            if isinstance(getattr(self, field.name), list):  # from JSON
                object.__setattr__(self, field.name, tuple(getattr(self, field.name)))
        self._check_numbers()
        self._check_names()
        for direction in ("writers", "readers"):
            for word in getattr(self, direction):
                streams_of(word, direction)
        if self.virtual and self.compute:
            raise ArgumentError("--compute: in --virtual time computing takes no time: leave out one of them")
        if self.virtual and self.peers:
            raise ArgumentError("--peers: others know nothing of virtual time: leave out --virtual, or the peers")
        if self.virtual and not self.disks and self.series == "grid":
            raise ArgumentError(f"--virtual: name the modelled disk: --disk, one or some of {', '.join(PRESETS)}")
        if self.switch_to is not None and not self.virtual:
            raise ArgumentError("--switch-to: a disk turns into another one in virtual time: add --virtual and --disk")

    def _check_numbers(self) -> None:
        for name in ("tasks", "pixels", "bins", "gangs", "block"):
            if getattr(self, name) < 1:
                raise ArgumentError(f"--{name} {getattr(self, name)}: expected at least 1")
        if self.flops_rate <= 0:
            raise ArgumentError(f"--flops-rate {self.flops_rate:g}: expected flops a second, more than 0")
        if self.tasks % self.gangs:
            raise ArgumentError(f"--gangs {self.gangs}: {self.tasks} tasks are no multiple of it")
        if self.tasks * self.bins > PATTERN_CHUNKS_MAX:
            raise ArgumentError(f"--tasks {self.tasks} --bins {self.bins}: more than {PATTERN_CHUNKS_MAX:,} chunks")

    def _check_names(self) -> None:
        known = {"caches": CACHES, "disks": PRESETS, "peers": PEERS}
        for name, expected in known.items():
            for value in getattr(self, name):
                if value not in expected:
                    flag = {"caches": "cache", "disks": "disk"}.get(name, name)
                    raise ArgumentError(f'--{flag}: "{value}": expected some of {", ".join(expected)}')
        if self.switch_to is not None and self.switch_to not in PRESETS:
            raise ArgumentError(f'--switch-to: "{self.switch_to}": expected one of {", ".join(PRESETS)}')
        if self.series not in SERIES:
            raise ArgumentError(f'--series: "{self.series}": expected one of {", ".join(SERIES)}')
        for name in ("writers", "readers", "caches"):
            if not getattr(self, name):
                raise ArgumentError(f"--{name.removesuffix('s')}: expected at least one")

    @property
    def problem(self) -> Problem:
        """The sizes, and the division among the tasks."""
        return Problem(self.pixels, self.bins, self.tasks, self.gangs, self.block)

    @property
    def in_one_process(self) -> bool:
        """Return whether no ranks are started, so that no MPI is needed."""
        return (self.virtual or self.series == "must-show") and not self.peers

    @property
    def only_disk(self) -> str | None:
        """Return the modelled disk of one run; None: the disk of the folder."""
        return self.disks[0] if self.disks else None


def streams_of(word: str, direction: str = "readers") -> str | int | None:
    """Return what `swath.open(..., streams=...)` takes for "all" (None), "auto" or a number. Raises ArgumentError."""
    if word == ALL:
        return None
    if word == AUTO:
        return word
    if re.fullmatch(r"[1-9][0-9]*", word) is None:
        raise ArgumentError(f'--{direction}: "{word}": expected a number from 1, "{ALL}" or "{AUTO}"')
    return int(word)


def quick_options() -> Options:
    """Small enough for a look, and for tests."""
    return Options(tasks=2, pixels=96, bins=3, flops_rate=1e9)


def runs_of(options: Options) -> Iterator[Options]:
    """One run after the other: the options with one disk, one cache, one number of writers and of readers."""
    for disk in options.disks or (None,):
        for cache in options.caches:
            for writers in options.writers:
                for readers in options.readers:
                    yield dataclasses.replace(
                        options,
                        disks=() if disk is None else (disk,),
                        caches=(cache,),
                        writers=(writers,),
                        readers=(readers,),
                        peers=(),
                    )


def needs(options: Options) -> dict[str, int]:
    """Return the needed bytes of disk and memory: all chunks, also in the page cache, and what the tasks hold."""
    matrix = options.pixels**2 * 8
    held = 6 * matrix + (2 * matrix if options.verify and options.compute else 0)
    return {
        "disk": options.bins * matrix,
        "memory": options.bins * matrix + held + (0 if options.virtual else options.tasks * 128 * MEBIBYTE),
    }
