"""Cells and repetitions of the NCIO benchmark that tests make up."""

from __future__ import annotations

from typing import Any

from swath_bench.ncio.cells import Asked, Outcome, contender_entry
from swath_bench.ncio.options import Options

CASES = ("c-c", "nc-c", "c-nc", "nc-nc")


def repetition(seconds: float, sync: float = 0.0, read: int | None = 0, written: int | None = 0) -> dict[str, Any]:
    return {
        "seconds": seconds,
        "operation_seconds": seconds - sync,
        "sync_seconds": sync,
        "inner": 1,
        "device_read_bytes": read,
        "device_written_bytes": written,
        "cached_bytes_before": 4096,
        "dropped": False,
    }


def cell(contenders_of_cell: dict[str, dict[str, Any]], **others: Any) -> dict[str, Any]:
    given = {
        "sweep": "count",
        "case": "c-nc",
        "direction": "read",
        "cache": "warm",
        "ranks": 2,
        "region_count": 4096,
        "region_bytes": 8,
        "spacing_bytes": 128,
        "bytes": 1_000_000,
        "file_bytes": 2_000_000,
        "file_noncontiguous": True,
        "memory_noncontiguous": False,
    }
    return {**given, **others, "contenders": contenders_of_cell}


def entry(
    *seconds: float, direction: str = "read", synced: bool = True, chosen: Any = None, **others: Any
) -> dict[str, Any]:
    given = {"repetitions": [{**repetition(s), "chosen": chosen} for s in seconds], **others}
    asked = Asked(direction, 1_000_000, synced, given.pop("keep_extremes", False))
    return contender_entry(given.pop("family", "swath"), asked, Outcome(**given))


def steady(seconds: float, **others: Any) -> dict[str, Any]:
    return entry(seconds, seconds, **others)


def tiny(**others: Any) -> Options:
    given = {"counts": (5,), "sizes": (24,), "spacings": (16,), "base_count": 3, "base_spacing": 16, "pause": 0}
    return Options(**{**given, "repetitions": 3, "ranks": (1,), **others})
