"""The table for people."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.text import Text

from swath.base import units
from swath.commands import output
from swath_bench import comparison
from swath_bench.zarr.contenders import SWATH
from swath_bench.zarr.options import PEERS

LABELS = {"zarr": "zarr-python"}
"""Names of families that differ from their environment's name."""
NOTE = (
    "Of each library the fastest of its settings, median (range). Noise: high - low of the fastest peer's own "
    "repetitions, by their median; the highest and the lowest dropped. CPU: of all threads, "
    "Swath's by that of the peer that computes least; where other programs run, it says more."
)


def show(console: Console, result: dict[str, Any]) -> None:
    """Print every cell, the number of slower ones, and the refused contenders with their reasons."""
    summary = result["summary"]
    rows, columns = result["stores"][0]["shape"] if result["stores"] else (0, 0)
    console.print(Text(f"Zarr: {rows:,} × {columns:,} float32 read from one store, milliseconds", style="bold"))
    for store in result["stores"]:
        part = store["stored_bytes"] / (rows * columns * 4)
        chunks = " × ".join(map(str, store["chunks"]))
        console.print(
            f"{store['kind']}: chunks of {chunks}, {store['files']:,} files, "
            f"{units.in_bytes(store['stored_bytes'])} ({part:.2f} of the array)",
            style="dim",
        )
    families = [name for name in PEERS if name in result["options"]["peers"]]
    numbers = ("Swath", "range", *(LABELS.get(name, name) for name in families), "÷ fastest", "noise", "CPU ÷ least")
    table = output.table("store", "read", "cache", *numbers, "", right=numbers)
    for cell in summary["cells"]:
        table.add_row(
            cell["store"], cell["pattern"], cell["cache"], *_swath(cell), *_peers(cell, families), *_verdict(cell)
        )
    console.print(table)
    for line in _words(summary):
        console.print(line, soft_wrap=True, highlight=False, markup=False)


def _swath(cell: dict[str, Any]) -> tuple[str, str]:
    own = cell["contenders"].get(SWATH)
    return ("–", "") if own is None else (_ms(own["median"]), f"{_ms(own['low'])}–{_ms(own['high'])}")


def _peers(cell: dict[str, Any], families: list[str]) -> list[str]:
    """Return the median and range of the fastest contender of each family."""
    told = []
    for family in families:
        own = [entry for entry in cell["contenders"].values() if entry["family"] == family]
        best = min(own, key=lambda entry: entry["median"], default=None)
        told.append("–" if best is None else f"{_ms(best['median'])} ({_ms(best['low'])}–{_ms(best['high'])})")
    return told


def _verdict(cell: dict[str, Any]) -> tuple[str, str, str, str]:
    if cell["ratio"] is None:
        return "–", "", "", ""
    words = "" if cell["ratio"] <= 1 else "slower" if cell["beyond_noise"] else "within noise"
    return f"{cell['ratio']:.2f}", f"{cell['noise']:.0%}", f"{cell['processor_ratio']:.2f}", words


def _words(summary: dict[str, Any]) -> list[str]:
    lines = [NOTE]
    if summary["compared"]:
        lines.append(
            f"Of {summary['compared']} cells Swath is slower than the fastest peer in {summary['slower']}, beyond "
            f"noise in {summary['slower_beyond_noise']}."
        )
    lines += comparison.refusals(summary["refused"], "refused")
    if summary["not_cold"]:
        lines.append(f"{summary['not_cold']} cold reads met more than 1 % of the store in the page cache all the same.")
    return lines


def _ms(seconds: float) -> str:
    ms = seconds * 1e3
    return f"{ms:.0f}" if ms >= 100 else f"{ms:.1f}" if ms >= 10 else f"{ms:.2f}"
