"""Peers in environments of their own, which are made when they are asked for: a second MPI, h5py, zarr, TensorStore.

`known` says what is installed and what runs, `running` starts a program of `peers/` under its Python, one after the
other. What has no MPI is one process that moves the bytes of all ranks, each rank's into memory of its own, and says so
in its name. What has a format of its own keeps the same array in it.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Mapping, Sequence
from typing import Any

from swath.bench import environments
from swath.bench.environments import EnvironmentFailedError
from swath.bench.ncio.cells import contender_entry
from swath.bench.ncio.environments import running
from swath.bench.ncio.environments.known import ENVIRONMENTS, NAMES, PeerEnvironment
from swath.errors import ArgumentError

__all__ = ["NAMES", "measure"]


def measure(
    names: Sequence[str], ranks: int, cells: Sequence[dict[str, Any]], options: Mapping[str, Any], folder: str
) -> dict[str, Any]:
    """What the peers of these environments take for `cells`, all of `ranks` ranks.

    Args:
        names: some of `NAMES`.
        ranks: how many.
        cells: as in the JSON of `swath bench ncio`; "contenders" is not looked at.
        options: as there.
        folder: where the stores go, and are removed again.

    Returns:
        "contenders": for each cell, in order, contender to its numbers as in the JSON; "hints" and "versions" of each.
        An environment that cannot be made, or ends early, is there with the reason in "refused".

    Raises ArgumentError for an unknown name.
    """
    unknown = [name for name in names if name not in NAMES]
    if unknown:
        raise ArgumentError(f'--peers: "{unknown[0]}" is no environment: expected some of {", ".join(NAMES)}')
    told: dict[str, Any] = {"contenders": [{} for _ in cells], "hints": {}, "versions": {}}
    for name in names:
        environment = ENVIRONMENTS[name]
        try:
            made = environments.make(environment)
        except EnvironmentFailedError as failure:
            _say(str(failure))
            _add(told, cells, environment, options, {}, str(failure))
            continue
        told["versions"].update(made.versions)
        for run in environment.runs:
            _say(f"{name}, {ranks} ranks: {', '.join(run.contenders)}")
            with tempfile.TemporaryDirectory(prefix=f"{name}-", dir=folder) as own:
                lines, failed = running.run(made, run, ranks, cells, options, own)
            _add(told, cells, environment, options, lines, failed, run.contenders)
            for line in lines.values():
                told["hints"].update(line["hints"])
            if failed:
                _say(failed)
    return told


def _add(
    told: dict[str, Any],
    cells: Sequence[dict[str, Any]],
    environment: PeerEnvironment,
    options: Mapping[str, Any],
    lines: Mapping[int, dict[str, Any]],
    failed: str,
    contenders: Sequence[str] | None = None,
) -> None:
    """What was measured of some contenders, and a refusal where nothing was."""
    absent: dict[str, Any] = {"repetitions": [], "refused": failed or "it was not measured", "skipped": None}
    for index, cell in enumerate(cells):
        measured = lines.get(index, {"contenders": {}})["contenders"]
        for name in environment.contenders if contenders is None else contenders:
            found = measured.get(name, absent)
            entry = contender_entry(
                family=environment.name,
                peer=True,
                direction=cell["direction"],
                useful_bytes=cell["bytes"],
                synced=options["sync"],
                keep_extremes=options["keep_extremes"],
                **found,
            )
            if name in environment.compressing:  # fewer bytes than were asked for prove nothing
                entry["reached_device"] = entry["reached_device"] or None
            told["contenders"][index][name] = entry


def _say(text: str) -> None:
    print(f"ncio: {text}", file=sys.stderr, flush=True)
