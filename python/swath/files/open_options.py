"""How a file is opened."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from swath.base.stream_settings import Streams
from swath.store import profile
from swath.store.atomic_file import AtomicFile
from swath.throttle import throttle


class FoundOfStore(NamedTuple):
    """What rank 0 found out about the store, for all ranks: its profile, and who serves its targets' tokens."""

    profile: profile.StoredProfile | None = None
    coordinator: throttle.Coordinator | None = None
    number: int = 0
    """The number of the file among those that rank 0 has opened."""


@dataclass(frozen=True)
class OpenOptions:
    """How a file is opened: the arguments of `swath.open` and `swath.create`, and what rank 0 found out.

    Attributes:
        mode: "r" or "r+".
        engine: what moves the bytes.
        streams: see `swath.open`.
        lock_timeout: see `swath.open`.
        found: what rank 0 found out about the store.
        atomic_file: a new file; None where the file exists.
        learns: whether operations teach the profile.
        minds_name: whether it is refused where the file has lost its name; else whoever opens it looks for itself.
    """

    mode: str = "r"
    engine: str | None = None
    streams: Streams = "default"
    lock_timeout: float | None = None
    found: FoundOfStore = field(default_factory=FoundOfStore)
    atomic_file: AtomicFile | None = None
    learns: bool = True
    minds_name: bool = True
