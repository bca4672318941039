"""The prices of the store that is named on the command line, or of the store of the log's files."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence

from swath import _core
from swath.advice.runs.prices import DISK, Prices
from swath.calibration.modelled import calibrate_modelled
from swath.errors import ArgumentError
from swath.simulation import machine as machines
from swath.store import profile


def prices_of(store: str | None, machine: str | None, files: Sequence[str]) -> Prices:
    """Return prices.

    Args:
        store: a folder of the store, or "disk:PRESET" for a modelled disk; None for the store of the log's files.
        machine: a file of `swath calibrate --json`, with the profile of a store of any machine; or a machine of the
            simulator, by its name or its file (docs/simulation.md). Of a simulated machine, calls are priced, too.
        files: the names of the files of the log.

    Raises:
        ArgumentError: both are given, or there is no such disk, folder or profile.
        NotFoundError: there is no such machine.
    """
    if store is not None and machine is not None:
        raise ArgumentError("advise: --store and --machine both say which prices are taken; leave one out")
    if machine is not None:
        return _of_profile(machine) if machine.endswith(".json") else _of_machine(machine)
    if store is not None and store.startswith(DISK):
        return _of_disk(store)
    if store is not None and not os.path.isdir(store):
        raise ArgumentError(f"advise: --store {store}: there is no such folder; expected one, or disk:PRESET")
    folder = store or _folder_of(files)
    found = None if folder is None else profile.for_path(folder)
    if found is None:
        return Prices(_core.default_profile(), store or "")
    return Prices(found.core, folder or "", is_measured=True)  # commands name the folder, without the log, too


def _of_profile(file: str) -> Prices:
    try:
        return Prices(profile.load(file).core, is_measured=True, machine=file)
    except OSError as error:
        raise ArgumentError(
            f"advise: --machine {file}: {error.strerror}; expected a file of `swath calibrate --json`"
        ) from None


def _of_machine(name: str) -> Prices:
    machine = machines.load(name)
    described = json.dumps(machine.for_ranks(machine.ranks_max))
    return Prices(_core.profile_of_machine(described), is_elsewhere=True, machine=name)


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
