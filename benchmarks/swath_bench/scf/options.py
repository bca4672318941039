"""The options of the benchmark of SCF."""

from __future__ import annotations

import dataclasses
import os
import re

from swath.errors import ArgumentError

MODES = ("stored", "prefetched", "recomputed", "balanced")
BALANCED, AUTO = "balanced", "auto"
SHARES = ("0", "25", "50", "75", "100", AUTO)
PRESETS = ("xeon-eide", "p690-scsi", "p690-raid5", "cluster-nfs-raid5", "ssd")
INTEGRAL_BYTES = {"small": 193_995_648, "medium": 519_680_000, "dimer": 5_038_848}
"""Bytes of all integrals, in 6-31G*."""
OTHER_BYTES = 1 << 30
"""Bytes that are assumed for an unknown input."""
RANK_BYTES = 192 << 20
"""Memory of a rank: Python, PySCF, its matrices."""


@dataclasses.dataclass(frozen=True)
class Options:
    """The benchmark's parameters. All combinations of list parameters are run.

    Attributes:
        inputs: "small", "medium", "dimer", or paths of XYZ files.
        basis: the basis, by its name in PySCF.
        ranks: number of ranks.
        integrals: modes of the application.
        shares: for "balanced": percents of the integrals' bytes that are kept on disk, or "auto".
        memory: for "balanced": bytes of memory for integrals.
        disks: modelled disks by name; none: the disk of the folder.
        application: the folder of the application; by default it is searched.
    """

    inputs: tuple[str, ...] = ("small",)
    basis: str = "6-31g*"
    ranks: tuple[int, ...] = (4,)
    integrals: tuple[str, ...] = MODES
    shares: tuple[str, ...] = SHARES
    memory: int = 0
    disks: tuple[str, ...] = ()
    application: str | None = None

    def __post_init__(self) -> None:
        for name, known in (("integrals", MODES), ("disks", PRESETS)):
            flag = "disk" if name == "disks" else name
            for value in getattr(self, name):
                if value not in known:
                    raise ArgumentError(f'--{flag}: "{value}" is unknown: expected some of {", ".join(known)}')
        for share in self.shares:
            if share != AUTO and not (re.fullmatch(r"\d+(\.\d+)?", share) and float(share) <= 100):
                raise ArgumentError(f'--shares: "{share}": expected percents from 0 to 100, or {AUTO}')
        for name in ("inputs", "ranks", "integrals", "shares"):
            if not getattr(self, name):
                raise ArgumentError(f"--{name}: expected at least one")


@dataclasses.dataclass(frozen=True)
class Run:
    """One run of the application; `share` is for "balanced", else None."""

    input: str
    ranks: int
    disk: str | None
    integrals: str
    share: str | None

    @property
    def words(self) -> str:
        """For people."""
        share = "" if self.share is None else f" {self.share}" + ("" if self.share == AUTO else " %")
        where = "" if self.disk is None else f", modelled disk {self.disk}"
        return f"{os.path.basename(self.input)}, {self.ranks} ranks{where}: {self.integrals}{share}"


def runs_of(options: Options, disk: str | None) -> list[Run]:
    """All runs on a disk, in order."""
    return [
        Run(name, ranks, disk, mode, share)
        for name in options.inputs
        for ranks in options.ranks
        for mode in options.integrals
        for share in (options.shares if mode == BALANCED else (None,))
    ]


def quick_options() -> Options:
    """Small enough for a look, and for tests."""
    return Options(inputs=("dimer",), basis="6-31g", ranks=(2,))


def needs(options: Options) -> dict[str, int]:
    """Return the needed bytes of disk and memory: the integrals, in the page cache too, and what PySCF holds."""
    most = max(INTEGRAL_BYTES.get(name, OTHER_BYTES) for name in options.inputs)
    return {"disk": most, "memory": 2 * most + max(options.ranks) * RANK_BYTES}
