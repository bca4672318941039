"""Tables of SCF in the shape of tables 2 to 5 of the paper, and figure 6 as a table."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.text import Text

from swath.base import units
from swath.commands import output
from swath_bench.scf.summary import SIZES

NOTE = """\
Seconds of all ranks together that the program waited, not that it took to issue requests; so is execution time. No
seeks: Swath reads and writes at offsets. Of balanced integrals a read is any batch that was not computed, of the disk
or of memory; they are written behind the program, which waits for room now and then. Without a modelled disk files are
in the page cache. All energies are PySCF's within 1e-8 Hartree."""


def show(console: Console, result: dict[str, Any]) -> None:
    """Print all runs, the sweeps, and the sentences."""
    summary = result["summary"]
    for run, recorded in zip(summary["runs"], result["runs"], strict=True):
        _show_run(console, run, recorded)
    for place in summary["versions"]:
        _show_versions(console, place)
    for sweep in summary["sweeps"]:
        _show_sweep(console, sweep)
    console.print(Text(NOTE, style="dim"), soft_wrap=True)
    for said in summary["sentences"]:
        console.print(Text(said), soft_wrap=True)


def _show_run(console: Console, run: dict[str, Any], recorded: dict[str, Any]) -> None:
    console.print(Text(run["words"], style="bold"), soft_wrap=True)
    numbers = ("count", "seconds", "volume", "% of I/O", "% of execution")
    table = output.table("operation", *numbers, right=numbers, unbroken=("operation",))
    for row in run["operations"]:
        percents = (f"{row['percent_of_io']:.2f}", f"{row['percent_of_execution']:.2f}")
        table.add_row(
            row["operation"], f"{row['count']:,}", f"{row['seconds']:.3f}", units.in_bytes(row["bytes"]), *percents
        )
    console.print(table)
    names = tuple(name for name, _ in SIZES)
    sizes = output.table("requests", *names, right=names)
    for kind, counts in run["sizes"].items():
        sizes.add_row(kind, *(f"{counts[name]:,}" for name in names))
    console.print(sizes)
    console.print(
        Text(
            f"{run['seconds']:.2f} s, {recorded['iterations']} iterations of {run['iteration_seconds']:.3f} s; "
            f"computing integrals {run['integral_seconds']:.2f} s, Fock matrices {run['fock_seconds']:.2f} s; "
            f"{recorded['energy']:.10f} Hartree, PySCF's within {recorded['energy_difference']:.1e}",
            style="dim",
        ),
        soft_wrap=True,
    )
    if run["background"]:
        console.print(Text(_background_words(run["background"]), style="dim"), soft_wrap=True)
    if recorded["plan"]:
        console.print(Text(recorded["plan"], style="dim"), soft_wrap=True)
    console.print()


def _background_words(found: dict[str, float]) -> str:
    computed, read, kept = (int(found[f"batches_{name}"]) for name in ("computed", "read", "from_memory"))
    return (
        f"in the background {units.in_bytes(int(found['bytes_written']))} written in {found['writing']:.2f} s, "
        f"{units.in_bytes(int(found['bytes_read']))} read in {found['reading']:.2f} s, the program "
        f"waited {found['waiting']:.2f} s; {computed:,} batches computed, {read:,} from disk, {kept:,} from memory"
    )


def _show_versions(console: Console, place: dict[str, Any]) -> None:
    if len(place["versions"]) < 2:
        return
    title = f"Figure 2: {place['input']}, {place['ranks']} ranks, {_where(place)}"
    console.print(Text(title, style="bold"), soft_wrap=True)
    numbers = (
        "all, s",
        "less than stored",
        "an iteration, s",
        "I/O, s of all ranks",
        "less than stored",
        "% of execution",
    )
    table = output.table("integrals", *numbers, right=numbers, unbroken=("integrals",))
    for one in place["versions"]:
        share = "" if one["share"] is None else f" {one['share']}" + ("" if one["share"] == "auto" else " %")
        table.add_row(
            f"{one['integrals']}{share}",
            f"{one['seconds']:.2f}",
            _percent(one["seconds_saved_percent"]),
            f"{one['iteration_seconds']:.3f}",
            f"{one['io_seconds']:.2f}",
            _percent(one["io_seconds_saved_percent"]),
            f"{one['percent_of_execution']:.2f}",
        )
    console.print(table)
    console.print()


def _percent(saved: float | None) -> str:
    return "" if saved is None else f"{saved:.0f} %"


def _where(place: dict[str, Any]) -> str:
    return "this folder" if place["disk"] is None else f"MODELLED DISK {place['disk']}"


def _show_sweep(console: Console, sweep: dict[str, Any]) -> None:
    title = f"Figure 6: {sweep['input']}, {sweep['ranks']} ranks, {_where(sweep)}"
    console.print(Text(title, style="bold"), soft_wrap=True)
    shares = tuple(
        f"auto: {p['disk_share']:.0%}" if p["share"] == "auto" else f"{p['share']} %" for p in sweep["points"]
    )
    table = output.table("on disk", *shares, right=shares, unbroken=("on disk",))
    table.add_row("all, s", *(f"{point['seconds']:.2f}" for point in sweep["points"]))
    table.add_row("an iteration, s", *(f"{point['iteration_seconds']:.3f}" for point in sweep["points"]))
    console.print(table)
    console.print()
