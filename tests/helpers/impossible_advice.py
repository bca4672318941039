"""Finds advice that is impossible for a log. It looks at the log and at the printed advice only, not at the rules."""

from __future__ import annotations

from typing import Any

from swath.trace.characteristics import Characteristics

WORDS_OF_MPI = ("mpi_", "mpi-io", "collective", "all ranks")


def impossible(found: Characteristics, said: dict[str, Any]) -> list[str]:
    """Descriptions of impossible advice.

    Args:
        found: the characteristics of the log.
        said: what `swath advise --json` prints.
    """
    wrong = []
    layers = {one.layer for one in found.operations if one.calls}
    has_data = any(one.bytes for one in found.operations)
    for advice in said["advice"]:
        title, text = advice["title"], str({key: advice[key] for key in ("title", "means", "change")}).lower()
        if not has_data and not any(one.calls for one in found.operations):
            wrong.append(f"{title}: the log is empty")
        if found.processes < 2 and ("collective" in text or "ranks" in title):
            wrong.append(f"{title}: there is one rank")
        if found.processes < 2 and "mpi-io" not in layers and any(word in text for word in WORDS_OF_MPI):
            wrong.append(f"{title}: there is no MPI")
        if "swath mpi-io" in advice["means"] and "mpi-io" not in layers:
            wrong.append(f"{title}: the program makes no MPI-IO calls")
        if "layout" in title and _is_read_once(found, advice["files"]):
            wrong.append(f"{title}: the file is read whole once")
        saving = advice["saving"]
        if not saving["low"] <= saving["likely"] <= saving["high"]:
            wrong.append(f"{title}: the interval does not contain the number: {saving}")
        if not 0.05 <= advice["part"] <= 1.001 or saving["likely"] > said["io_seconds"] * 1.001:
            wrong.append(f"{title}: it saves {saving['likely']} s of {said['io_seconds']} s of I/O")
        if not advice["means"] or not advice["values"] or not advice["files"]:
            wrong.append(f"{title}: no means, numbers or files")
        unknown = set(advice["files"]) - {one.file for one in found.files}
        if unknown:
            wrong.append(f"{title}: files that are not in the log: {sorted(unknown)[:3]}")
    return wrong


def _is_read_once(found: Characteristics, files: list[str]) -> bool:
    for one in found.files:
        read = one.accesses.get("read")
        if one.file in files and not one.writes and read is not None and one.read_bytes <= read.distinct_bytes:
            return True
    return False
