"""Profiles on disk: the measurements of a store by `swath calibrate`. Programs that open arrays there use them.

There is one JSON file for each store and host, in $XDG_CACHE_HOME/swath/profiles (or ~/.cache/swath/profiles). A
profile names its store and its machine; it is ignored if one of them has changed. docs/calibration.md has its format.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import hashlib
import json
import os
import platform
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from swath import _core
from swath.base import cache_folder, own_files, stored_path
from swath.errors import ArgumentError, Error, StoreError

FORMAT_VERSION = 1
OPTIONAL_CURVES = tuple(f"{medium}.{way}_gap" for medium in ("cache", "device") for way in ("read", "write"))
"""Curves that a profile may lack: then every gap is a jump."""
VARIABLE = "SWATH_PROFILE"
"""The environment variable that names the profile to use: "none", or a file."""
MODELLED = "model:"
"""The prefix of the names of engines that are modelled disks."""
MODELLED_DISK, POOL = "modelled disk", "rados"
"""What `Store.file_system` says of a modelled disk, and of a pool of a Ceph cluster."""
CALIBRATE = "run `swath calibrate DIR` to measure this store"

Corrections = Mapping[str, tuple[float, int]]
"""{"two-phase/read/cache": (factor, observations)}: factors that correct predicted times by the measured times of
operations (see core/plan/profile.h)."""


@dataclasses.dataclass(frozen=True)
class Store:
    """A mounted file system.

    Attributes:
        mount_point: the folder where it is mounted.
        device: the source of the mount: "/dev/sda1", "server:/export", "tmpfs".
        file_system: its type: "ext4".
        id: f_fsid of statvfs(3), in hexadecimal.
    """

    mount_point: str
    device: str
    file_system: str
    id: str

    @property
    def is_modelled(self) -> bool:
        """Return whether it is a modelled disk: it has no page cache."""
        return self.file_system == MODELLED_DISK

    @property
    def is_pool(self) -> bool:
        """Return whether it is a pool of a Ceph cluster."""
        return self.file_system == POOL


@dataclasses.dataclass(frozen=True)
class Machine:
    """The properties of a machine on which costs depend. A profile is valid only on a machine with the same ones.

    Attributes:
        host: its host name.
        processor: the processor's model.
        cores: how many it has, whether this process may use them or not.
        memory_gib: its memory in GiB, rounded.
    """

    host: str
    processor: str
    cores: int
    memory_gib: int


@dataclasses.dataclass(frozen=True)
class StoredProfile:
    """A profile as it is on disk.

    Attributes:
        file: the path of the profile.
        store, machine: the store and the machine that were measured.
        kernel: the kernel, such as "Linux 6.1".
        date: the time of the measurement, ISO 8601.
        numbers: the measured numbers, with the names of core/plan/profile.h; curves are lists of [x, y].
        known: for each group of numbers, how they were measured, or why they were not.
        spread: for each number (for each point of a curve), the spread of its repetitions: interquartile range divided
            by median.
        notes: warnings for the reader: a busy machine, noisy numbers.
        corrections: factors that were learned from operations since the measurement.
        frozen: whether the profile does not learn.
        version: the version of the file's format.
    """

    file: str
    store: Store
    machine: Machine
    kernel: str
    date: str
    numbers: dict[str, Any]
    known: dict[str, str]
    spread: dict[str, Any]
    notes: list[str]
    corrections: dict[str, tuple[float, int]] = dataclasses.field(default_factory=dict)
    frozen: bool = False
    version: int = FORMAT_VERSION

    @functools.cached_property
    def core(self) -> _core.Profile:
        """The corrected numbers, for planning. Raises ArgumentError, which names the invalid number."""
        return _core.Profile.from_dict(self.numbers).with_corrections(self.corrections)

    def __getstate__(self) -> dict[str, Any]:
        """The state that rank 0 sends to other ranks. `core` cannot be sent: each rank makes its own."""
        return {name: value for name, value in self.__dict__.items() if name != "core"}

    def to_dict(self) -> dict[str, Any]:
        """Return the profile as plain data, for JSON."""
        plain = {field.name: getattr(self, field.name) for field in dataclasses.fields(self) if field.name != "file"}
        plain["store"], plain["machine"] = dataclasses.asdict(self.store), dataclasses.asdict(self.machine)
        plain["corrections"] = {
            place: {"factor": factor, "observations": seen} for place, (factor, seen) in self.corrections.items()
        }
        return plain

    def save(self) -> None:
        """Save the profile in place of the old one. The replacement is atomic.

        Raises StoreError.
        """
        try:
            own_files.replace(self.file, json.dumps(self.to_dict(), indent=2, allow_nan=False) + "\n")
        except OSError as error:
            raise StoreError(
                f"cannot keep the profile in {self.file}: {error.strerror}; XDG_CACHE_HOME names another folder",
                error.errno,
            ) from None

    def save_corrections(self, corrections: Corrections) -> bool:
        """Save corrections in place of those of the same method, direction and medium.

        Returns whether they were saved. They are not if the profile is frozen, was measured again or removed since, is
        named by $SWATH_PROFILE (then it is the user's own file), or cannot be written. None of these is an error.
        """
        if self.frozen or not corrections or os.environ.get(VARIABLE):
            return False
        try:
            now = load(self.file)
            if now.frozen or now.date != self.date:
                return False
            dataclasses.replace(now, corrections={**now.corrections, **corrections}).save()
        except (Error, OSError, ValueError):
            return False
        return True


@dataclasses.dataclass(frozen=True)
class Found:
    """The profile of a path, or the reason why there is none."""

    profile: StoredProfile | None
    reason: str = ""


def for_path(path: str | os.PathLike[str], engine: str = "auto") -> StoredProfile | None:
    """Return the valid profile of the store that holds `path`; None if there is none. `path` need not exist yet.

    For an engine that is a modelled disk, it is the profile of this disk, if there is one.

    Raises ArgumentError if $SWATH_PROFILE names a file that is no profile.
    """
    if not engine.startswith(MODELLED):
        return find(path).profile
    used = _used.get(store_of_engine(engine))
    if used is not None:
        return used
    named = os.environ.get(VARIABLE, "")
    of_disk = Found(None) if named else _found(lambda: store_of_engine(engine))
    return of_disk.profile or find(path).profile


_used: dict[Store, StoredProfile] = {}
"""The profiles of modelled disks that this process uses, whatever is saved."""


@contextlib.contextmanager
def used(profile: StoredProfile) -> Iterator[None]:
    """Within the block, this process plans with a profile for its modelled disk, instead of the saved one."""
    before = _used.get(profile.store)
    _used[profile.store] = profile
    try:
        yield
    finally:
        if before is None:
            del _used[profile.store]
        else:
            _used[profile.store] = before


def modelled_preset(engine: str) -> str:
    """Return the preset of an engine: "p690-scsi" for "model:p690-scsi" and for "model:p690-scsi@scratch"."""
    return engine.removeprefix(MODELLED).partition("@")[0]


def store_of_engine(engine: str) -> Store:
    """Return a modelled disk as a store. Its times do not depend on where its bytes are."""
    preset = modelled_preset(engine)
    return Store(f"{MODELLED}{preset}", preset, MODELLED_DISK, "")


def find(path: str | os.PathLike[str]) -> Found:
    """Return the profile as `for_path` does, or the reason why there is none."""
    named = os.environ.get(VARIABLE, "")
    if named == "none":
        return Found(None, f"{VARIABLE}=none")
    if named:
        try:
            return Found(load(named))
        except (Error, OSError) as error:
            raise ArgumentError(
                f'{VARIABLE}={named}: {_in_words(error)}; expected "none", or a file of `swath calibrate --json`'
            ) from None
    return _found(lambda: store_of(path))


def _found(look: Callable[[], Store]) -> Found:
    """Return the profile of the store that `look` returns, or the reason why there is none."""
    try:
        store = look()
        profile = load(file_of(store))
    except FileNotFoundError:
        return Found(None, f"none: {CALIBRATE}")
    except (Error, OSError) as error:
        return Found(None, f"ignored: {_in_words(error)}: {CALIBRATE}")
    changed = _changes("store", profile.store, store) + _changes("machine", profile.machine, machine())
    if changed:
        return Found(None, f"ignored: {'; '.join(changed)}: {CALIBRATE}")
    return Found(profile)


def forget(path: str | os.PathLike[str]) -> str | None:
    """Remove the profile, valid or not, of the store that holds `path`. Return its file; None if there was none.

    Raises StoreError if the system refuses.
    """
    file = file_of(store_of(path))
    try:
        os.unlink(file)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise StoreError(f"cannot remove {file}: {error.strerror}", error.errno) from None
    return file


def load(file: str) -> StoredProfile:
    """Return the profile in a file. Raises OSError if the file cannot be read, ArgumentError if it is damaged."""
    try:
        plain = own_files.read_json(file)
        if not isinstance(plain, dict) or not isinstance(plain.get("version"), int):
            raise ValueError("it is not a profile")
        if plain["version"] != FORMAT_VERSION:
            raise ValueError(f"it has version {plain['version']}, this Swath reads version {FORMAT_VERSION}")
        profile = _from_dict(file, plain)
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        said = f"{error} is missing" if isinstance(error, KeyError) else str(error)
        raise ArgumentError(f"{file}: {said}") from None
    return profile


def file_of(store: Store) -> str:
    """Return the path of the profile of a store on this host."""
    name = f"{platform.node()}\0{store.mount_point}"
    return os.path.join(cache_folder.profiles(), hashlib.sha256(os.fsencode(name)).hexdigest()[:16] + ".json")


def store_of(path: str | os.PathLike[str]) -> Store:
    """Return the file system that holds `path`, or would hold it. Raises OSError."""
    name = os.fspath(path)
    pool = stored_path.of(name).configured_pool()
    if pool is not None:
        return Store(pool, "a Ceph cluster", POOL, "")
    existing = os.path.realpath(path)
    while not os.path.exists(existing):
        existing = os.path.dirname(existing)
    mount_point, device, file_system = _mount_of(existing)
    return Store(mount_point, device, file_system, f"{os.statvfs(existing).f_fsid:x}")


@functools.cache
def machine() -> Machine:
    """Return the properties of this machine."""
    return Machine(
        host=platform.node(),
        processor=_matched_in("/proc/cpuinfo", r"^model name\s*: (.*)$") or platform.machine(),
        cores=os.cpu_count() or 1,
        memory_gib=round(int(_matched_in("/proc/meminfo", r"^MemTotal:\s+(\d+) kB$") or 0) / 2**20),
    )


def _from_dict(file: str, plain: dict[str, Any]) -> StoredProfile:
    profile = StoredProfile(
        file=file,
        store=Store(**plain["store"]),
        machine=Machine(**plain["machine"]),
        corrections={
            str(place): (float(learned["factor"]), int(learned["observations"]))
            for place, learned in plain["corrections"].items()
        },
        **{key: plain[key] for key in ("kernel", "date", "numbers", "known", "spread", "notes", "frozen")},
    )
    for key, kind in (("numbers", dict), ("known", dict), ("spread", dict), ("notes", list), ("frozen", bool)):
        if not isinstance(plain[key], kind):
            raise ValueError(f"{key} is {plain[key]!r}")
    for key, texts in (("date", [profile.date]), ("known", profile.known.values()), ("notes", profile.notes)):
        if not all(isinstance(text, str) for text in texts):
            raise ValueError(f"{key} is {plain[key]!r}")
    for name in OPTIONAL_CURVES:
        profile.numbers.setdefault(name, [])
    missing = sorted(set(_core.default_profile().to_dict()) - set(profile.numbers))
    if missing:
        raise ValueError(f"{missing[0]} is missing")
    if not all(0 < factor < float("inf") and seen >= 0 for factor, seen in profile.corrections.values()):
        raise ValueError("a correction is not a positive number")
    _ = profile.core  # the core checks every number
    return profile


def _changes(what: str, then: Any, now: Any) -> list[str]:
    """Return the fields of a Store or a Machine that have changed, in words."""
    before, after = dataclasses.asdict(then), dataclasses.asdict(now)
    return [
        f"the {what} has changed since it was measured ({key.replace('_', ' ')} was {before[key]}, is {after[key]})"
        for key in before
        if before[key] != after[key]
    ]


def _mount_of(path: str) -> tuple[str, str, str]:
    """Return mount point, source and type of the file system that holds `path`, an absolute path without links."""
    found = ("/", "unknown", "unknown")
    with (
        contextlib.suppress(OSError),
        open("/proc/self/mountinfo", encoding="utf-8", errors="surrogateescape") as mounts,
    ):
        for line in mounts:
            mount, _, kind = line.partition(" - ")
            point = _unescaped(mount.split()[4])
            inside = path == point or path.startswith(point.rstrip("/") + "/")
            if inside and len(point) >= len(found[0]):  # the last of two mounts at one place hides the other
                file_system, device = kind.split()[:2]
                found = (point, _unescaped(device), file_system)
    return found


def _unescaped(field: str) -> str:
    r"""Return a field of mountinfo: a blank is written \040."""
    return re.sub(r"\\([0-7]{3})", lambda octal: chr(int(octal[1], 8)), field)


def _matched_in(path: str, pattern: str) -> str | None:
    with contextlib.suppress(OSError), open(path, encoding="utf-8", errors="replace") as file:
        found = re.search(pattern, file.read(), re.MULTILINE)
        return found[1] if found else None
    return None


def _in_words(error: Exception) -> str:
    if isinstance(error, OSError) and not isinstance(error, Error):
        return f"{error.filename}: {error.strerror}"
    return str(error)
