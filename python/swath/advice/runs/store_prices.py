"""The prices of the store that is named on the command line, or of the store of the log's files."""

from __future__ import annotations

import os
from collections.abc import Sequence

from swath import _core
from swath.advice.runs.prices import DISK, Prices
from swath.calibration.modelled import calibrate_modelled
from swath.errors import ArgumentError
from swath.store import profile


def prices_of(store: str | None, machine: str | None, files: Sequence[str]) -> Prices:
    """Return prices.

    Args:
        store: a folder of the store, or "disk:PRESET" for a modelled disk; None for the store of the log's files.
        machine: a file of `swath calibrate --json`, with the profile of a store of any machine.
        files: the names of the files of the log.

    Raises:
        ArgumentError: both are given, or there is no such disk, folder or profile.
    """
    if store is not None and machine is not None:
        raise ArgumentError("advise: --store and --machine both say which prices are taken; leave one out")
    if machine is not None:
        try:
            return Prices(profile.load(machine).core, "", True)
        except OSError as error:
            raise ArgumentError(
                f"advise: --machine {machine}: {error.strerror}; expected a file of `swath calibrate --json`"
            ) from None
    if store is not None and store.startswith(DISK):
        return _of_disk(store)
    if store is not None and not os.path.isdir(store):
        raise ArgumentError(f"advise: --store {store}: there is no such folder; expected one, or disk:PRESET")
    place = store or _folder_of(files)
    found = None if place is None else profile.for_path(place)
    return Prices(_core.default_profile() if found is None else found.core, store or "", found is not None)


def _of_disk(store: str) -> Prices:
    engine = profile.MODELLED + store.removeprefix(DISK)
    found = profile.for_path(".", engine)
    if found is None or not found.store.mount_point.startswith(profile.MODELLED):
        found = calibrate_modelled(engine, ".")
    return Prices(found.core, store, is_measured=True, is_elsewhere=True)


def _folder_of(files: Sequence[str]) -> str | None:
    """Return the folder of the first file whose folder exists on this machine."""
    for file in files:
        folder = os.path.dirname(file.partition(" ")[0])
        if os.path.isabs(folder) and os.path.isdir(folder):
            return folder
    return None
