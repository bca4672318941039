"""The environments of the peers that copy, and the settings with which each is measured."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from swath.bench.environments import Environment
from swath.errors import ArgumentError

SETTINGS = ("defaults", "tuned")
"""As the library's tutorial does it; and with what its documentation offers for the budget."""


@dataclasses.dataclass(frozen=True)
class Peer:
    """A library.

    Attributes:
        name: in `--peers`, and of its program in `peers/`.
        title: in tables.
        environment: what is installed.
        stored: whether it reads a Zarr store with the source's bytes, not the file itself.
    """

    name: str
    title: str
    environment: Environment
    stored: bool


def _peer(title: str, requirements: tuple[str, ...], versions: tuple[str, ...], *, stored: bool) -> Peer:
    name = title.lower().removesuffix("-python")
    return Peer(name, title, Environment(f"copy-{name}", requirements, versions), stored)


PEERS: dict[str, Peer] = {
    peer.name: peer
    for peer in (
        _peer("TensorStore", ("tensorstore>=0.1.60", "numpy>=1.26"), ("tensorstore", "numpy"), stored=True),
        _peer("zarr-python", ("zarr>=3.0.8", "numpy>=1.26"), ("zarr", "numpy"), stored=False),
        _peer("dask", ("dask[array]>=2025.1", "zarr>=3.0.8", "numpy>=1.26"), ("dask", "zarr", "numpy"), stored=False),
        _peer("rechunker", ("rechunker>=0.5.4",), ("rechunker", "zarr", "dask", "numpy"), stored=True),
        _peer("cubed", ("cubed>=0.20",), ("cubed", "zarr", "numpy"), stored=True),
    )
}
NAMES = tuple(PEERS)
CONTENDERS: dict[str, tuple[Peer, str]] = {
    f"{peer.title}, {setting}": (peer, setting) for peer in PEERS.values() for setting in SETTINGS
}
"""By their names in tables and records."""


def contenders_of(names: Sequence[str]) -> list[str]:
    """The contenders of some peers. Raises ArgumentError for an unknown name."""
    unknown = [name for name in names if name not in PEERS]
    if unknown:
        raise ArgumentError(f'--peers: "{unknown[0]}" is no peer of copy: expected some of {", ".join(NAMES)}')
    return [contender for contender, (peer, _) in CONTENDERS.items() if peer.name in names]
