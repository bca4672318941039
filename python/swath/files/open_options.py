"""How a file is opened."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from swath.base.stream_settings import Streams
from swath.store import profile
from swath.store.atomic_file import AtomicFile
from swath.throttle import throttle


class FoundOfStore(NamedTuple):
    """Facts about the store that rank 0 finds for all ranks: its profile, and the coordinator of its stream tokens."""

    profile: profile.StoredProfile | None = None
    coordinator: throttle.Coordinator | None = None
    number: int = 0
    """The number of the file in the order in which rank 0 opened files."""


@dataclass(frozen=True)
class OpenOptions:
    """How a file is opened: the arguments of `swath.open` and `swath.create`, and what rank 0 found out.

    Attributes:
        mode: "r" or "r+".
        engine: the engine that moves the bytes.
        streams: see `swath.open`.
        lock_timeout: see `swath.open`.
        found: the facts about the store that rank 0 found.
        atomic_file: the new file; None if the file exists already.
        learns: whether the profile learns from operations.
        minds_name: whether writes are refused if another file has taken the name; if False, the caller checks.
    """

    mode: str = "r"
    engine: str | None = None
    streams: Streams = "default"
    lock_timeout: float | None = None
    found: FoundOfStore = field(default_factory=FoundOfStore)
    atomic_file: AtomicFile | None = None
    learns: bool = True
    minds_name: bool = True
