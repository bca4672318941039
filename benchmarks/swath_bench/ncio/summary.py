"""Conclusions from the cells: whether "auto" chose well, whether its predictions were right, and the peers.

Everything here is a function of the JSON alone.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence
from typing import Any

AUTO = "swath auto"
OURS = "swath"
CLOSE = 0.10
"""Within this of the best method "auto" has chosen well."""
SHORT_SECONDS = 1e-3
"""Cells in which the best peer takes less than this ..."""
AGREEMENT_SECONDS = 1e-4
"""... allow for this difference even without noise: the cost of the ranks' agreement before a transfer."""

Cell = dict[str, Any]
Contender = dict[str, Any]

NOISE_IN_WORDS = (
    "Noise of a cell: the larger spread, (highest - lowest) / mean of the repetitions kept, of the two contenders "
    "compared; where one repetition was kept none is allowed for. The best of several is flattered by noise: it is the "
    "luckiest of them."
)


def summarise(result: dict[str, Any]) -> dict[str, Any]:
    """Return choice, prediction and peers for all cells, and by rank count, direction and cache; and sentences.

    Returns:
        "all" and each of "groups" (which also have "ranks", "direction", "cache") hold "cells", how many, and "auto",
        "prediction", "peers"; "syncs" has for each rank count and way "mean_seconds", "low_seconds", "high_seconds" and
        "ratio", to one sync for all; "sentences" has the same as text.
    """
    cells = result["cells"]
    keys = sorted({(cell["ranks"], cell["direction"], cell["cache"]) for cell in cells})
    groups = [
        {
            "ranks": ranks,
            "direction": direction,
            "cache": cache,
            **_of([c for c in cells if (c["ranks"], c["direction"], c["cache"]) == (ranks, direction, cache)]),
        }
        for ranks, direction, cache in keys
    ]
    of_all = _of(cells)
    syncs = _syncs(result.get("syncs", []))
    sentences = [*_sync_sentences(syncs), *_sentences(of_all, groups)]
    return {"all": of_all, "groups": groups, "syncs": syncs, "sentences": sentences}


def _of(cells: Sequence[Cell]) -> dict[str, Any]:
    return {
        "cells": len(cells),
        "auto": _choice(cells),
        "prediction": {
            "all methods": _errors(cells, lambda name, contender: contender["family"] == OURS),
            "auto": _errors(cells, lambda name, contender: name == AUTO),
        },
        "peers": _peers(cells),
    }


# ---- the choice ------------------------------------------------------------------------------------------------------


def _choice(cells: Sequence[Cell]) -> dict[str, Any]:
    """Return the comparison of "auto" with the best of the methods, each as measured by its own name."""
    compared = [found for cell in cells if (found := _beside_best_method(cell)) is not None]
    beyond = sorted((c for c in compared if c["ratio"] > 1 + CLOSE), key=lambda c: -float(c["ratio"]))
    beyond_noise = [c for c in beyond if c["beyond_noise"]]
    worst = max(compared, key=lambda c: float(c["ratio"]), default=None)
    return {
        "compared": len(compared),
        "within": _share(len(compared) - len(beyond), len(compared)),
        "within_or_noise": _share(len(compared) - len(beyond_noise), len(compared)),
        "worst_ratio": worst and worst["ratio"],
        "worst_cell": worst and worst["cell"],
        "worst_ratio_beyond_noise": beyond_noise[0]["ratio"] if beyond_noise else None,
        "beyond": beyond,
    }


def _beside_best_method(cell: Cell) -> dict[str, Any] | None:
    auto = cell["contenders"].get(AUTO)
    methods = {name: c for name, c in _measured(cell).items() if c["family"] == OURS and name != AUTO}
    if auto is None or auto["mean_seconds"] is None or not methods:
        return None
    name = min(methods, key=lambda name: float(methods[name]["mean_seconds"]))
    best = methods[name]
    ratio, noise = auto["mean_seconds"] / best["mean_seconds"], _noise(auto, best)
    return {
        "cell": cell_title(cell),
        "ratio": ratio,
        "noise": noise,
        "beyond_noise": ratio > 1 + max(CLOSE, noise),
        "best": name,
        "best_seconds": best["mean_seconds"],
        "auto_seconds": auto["mean_seconds"],
        "chosen": auto["chosen"],
    }


# ---- the prediction --------------------------------------------------------------------------------------------------


def _errors(cells: Sequence[Cell], wanted: Any) -> dict[str, Any]:
    """|predicted - measured| / measured of the operation without its sync: median and quartiles.

    Against the mean of the kept repetitions; and against the fastest of them, which has the least noise.
    """
    against_mean, against_fastest = [], []
    for cell in cells:
        for name, contender in _measured(cell).items():
            predicted = contender["predicted_seconds"]
            if predicted is None or not wanted(name, contender):
                continue
            seconds = [r["operation_seconds"] for r in contender["repetitions"] if not r["dropped"]]
            against_mean.append(_relative(predicted, statistics.fmean(seconds)))
            against_fastest.append(_relative(predicted, min(seconds)))
    return {
        "count": len(against_mean),
        "against_mean": _quartiles(against_mean),
        "against_fastest": _quartiles(against_fastest),
    }


def _relative(predicted: float, measured: float) -> float:
    return abs(predicted - measured) / measured


def _quartiles(values: Sequence[float]) -> dict[str, float] | None:
    if not values:
        return None
    low, median, high = statistics.quantiles(values, n=4, method="inclusive") if len(values) > 1 else [values[0]] * 3
    return {"lower_quartile": low, "median": median, "upper_quartile": high}


# ---- the peers -------------------------------------------------------------------------------------------------------


def _peers(cells: Sequence[Cell]) -> dict[str, Any]:
    """Return the cells in which the best mode of the best peer is faster than "auto", beyond noise."""
    compared = [found for cell in cells if (found := _beside_best_peer(cell)) is not None]
    slower = sorted((c for c in compared if c["slower"]), key=lambda c: -float(c["ratio"]))
    speedups = [1 / c["ratio"] for c in compared]
    return {
        "compared": len(compared),
        "median_speedup": statistics.median(speedups) if speedups else None,
        "short_cells": sum(c["short"] for c in compared),
        "slower": slower,
    }


def _beside_best_peer(cell: Cell) -> dict[str, Any] | None:
    auto = cell["contenders"].get(AUTO)
    peers = {name: c for name, c in _measured(cell).items() if c["peer"]}
    if auto is None or auto["mean_seconds"] is None or not peers:
        return None
    name = min(peers, key=lambda name: float(peers[name]["mean_seconds"]))
    peer = peers[name]
    difference, noise = auto["mean_seconds"] - peer["mean_seconds"], _noise(auto, peer)
    short = peer["mean_seconds"] < SHORT_SECONDS
    return {
        "cell": cell_title(cell),
        "ratio": auto["mean_seconds"] / peer["mean_seconds"],
        "noise": noise,
        "short": short,
        "slower": difference > max(noise * peer["mean_seconds"], AGREEMENT_SECONDS if short else 0.0),
        "best_peer": name,
        "peer_seconds": peer["mean_seconds"],
        "auto_seconds": auto["mean_seconds"],
    }


# ---- syncs -----------------------------------------------------------------------------------------------------------


def _syncs(measured: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the ways with their mean and range, without the highest and the lowest if there are three."""
    found: list[dict[str, Any]] = []
    for way in measured:
        kept = sorted(way["seconds"])[1:-1] if len(way["seconds"]) >= 3 else way["seconds"]
        mean = statistics.fmean(kept)
        # The first way of a rank count is one sync for all.
        first = next((other["mean_seconds"] for other in found if other["ranks"] == way["ranks"]), mean)
        named = {key: value for key, value in way.items() if key != "seconds"}
        numbers = {"mean_seconds": mean, "low_seconds": min(kept), "high_seconds": max(kept), "ratio": mean / first}
        found.append({**named, **numbers})
    return found


def _sync_sentences(syncs: Sequence[dict[str, Any]]) -> list[str]:
    said = []
    for ranks in dict.fromkeys(way["ranks"] for way in syncs):
        ways = [way for way in syncs if way["ranks"] == ranks]
        first = ways[0]
        times = "; ".join(
            f"{way['way']} {way['mean_seconds'] * 1e3:.3g} ms ({way['low_seconds'] * 1e3:.3g} to "
            f"{way['high_seconds'] * 1e3:.3g})" + (f", {way['ratio']:.2f} ×" if way is not first else "")
            for way in ways
        )
        said.append(
            f"{ranks} ranks, {first['writes']} writes of {first['region_count']:,} regions of "
            f"{first['region_bytes']:,} bytes each: {times}."
        )
    return said


# ---- in words --------------------------------------------------------------------------------------------------------


def cell_title(cell: Cell) -> str:
    """Return one cell, for people: "2 ranks, c-nc read warm, 4,096 regions of 8 bytes, spacing 128"."""
    return (
        f"{cell['ranks']} ranks, {cell['case']} {cell['direction']} {cell['cache']}, {cell['region_count']:,} regions "
        f"of {cell['region_bytes']:,} bytes, spacing {cell['spacing_bytes']:,}"
    )


def spread(contender: Contender) -> float | None:
    """Return (highest - lowest) / mean of the kept repetitions; None for a single one, which does not show noise."""
    if sum(not r["dropped"] for r in contender["repetitions"]) < 2:
        return None
    return float((contender["high_seconds"] - contender["low_seconds"]) / contender["mean_seconds"])


def _sentences(of_all: dict[str, Any], groups: Iterable[dict[str, Any]]) -> list[str]:
    said = []
    for group in [*groups, {**of_all, "ranks": None}]:
        where = "All" if group["ranks"] is None else f"{group['ranks']} ranks, {group['direction']}, {group['cache']}"
        said += [
            f"{where}: {words}" for words in (_auto_words(group), _prediction_words(group), _peer_words(group)) if words
        ]
    return [*said, NOISE_IN_WORDS] if said else []


def _auto_words(group: dict[str, Any]) -> str:
    auto = group["auto"]
    if not auto["compared"]:
        return ""
    words = (
        f"auto was within {CLOSE:.0%} of the best method in {auto['within']:.1%} of {auto['compared']} cells "
        f"({auto['within_or_noise']:.1%} where noise is allowed for); at worst {auto['worst_ratio']:.2f} × its time"
    )
    if auto["worst_ratio"] > 1 + CLOSE:
        beyond = auto["worst_ratio_beyond_noise"]
        words += f" ({auto['worst_cell']}), beyond noise " + ("nowhere" if beyond is None else f"{beyond:.2f} ×")
    return words + "."


def _prediction_words(group: dict[str, Any]) -> str:
    told = []
    for who, errors in group["prediction"].items():
        if errors["count"]:
            mean, fastest = errors["against_mean"], errors["against_fastest"]
            told.append(
                f"{who} off by {mean['median']:.0%} in the median (quartiles {mean['lower_quartile']:.0%} and "
                f"{mean['upper_quartile']:.0%}; against the fastest repetition {fastest['median']:.0%})"
            )
    return f"seconds predicted for the operation without sync: {', '.join(told)}." if told else ""


def _peer_words(group: dict[str, Any]) -> str:
    peers = group["peers"]
    if not peers["compared"]:
        return ""
    slower = peers["slower"]
    words = (
        f"beside the best mode of the best peer auto was {peers['median_speedup']:.2g} times as fast in the median of "
        f"{peers['compared']} cells, and slower beyond noise in {len(slower)}"
    )
    if slower:
        worst = slower[0]
        words += f", at worst {worst['ratio']:.2f} × the time of {worst['best_peer']} ({worst['cell']})"
    return f"{words}; in {peers['short_cells']} cells under 1 ms {AGREEMENT_SECONDS * 1e6:.0f} µs are allowed for, too."


# ---- shared ----------------------------------------------------------------------------------------------------------


def _measured(cell: Cell) -> dict[str, Contender]:
    return {name: c for name, c in cell["contenders"].items() if c["mean_seconds"] is not None}


def _noise(one: Contender, other: Contender) -> float:
    return max(spread(one) or 0.0, spread(other) or 0.0)


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None
