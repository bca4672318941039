"""The results: the numbers of a profile, the spread of repetitions, and how the medium was checked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from swath import _core
from swath.calibration.samples import NOISY, Sample


class Findings:
    """Documented defaults, which measured numbers replace.

    Attributes:
        numbers: by their names in core/plan/profile.h; a curve is a list of [place, seconds].
        known: how the medium was checked, by medium.
        spread: the spread of repetitions, by name.
        notes: other facts for users of the numbers.
        refused: media that were not reached, or for which it cannot be shown.
    """

    def __init__(self) -> None:
        self.numbers: dict[str, Any] = _core.default_profile().to_dict()
        self.known: dict[str, str] = {}
        self.spread: dict[str, Any] = {}
        self.notes: list[str] = []
        self.refused: set[str] = set()

    def set(self, name: str, value: float, spread: float) -> None:
        """Store one number."""
        self.numbers[name] = value
        self.spread[name] = round(spread, 3)

    def set_curve(self, name: str, places: Sequence[float], samples: Sequence[Sample]) -> None:
        """Store a number that depends on a size."""
        self.numbers[name] = [[float(x), sample.median] for x, sample in zip(places, samples, strict=True)]
        self.spread[name] = [round(sample.spread, 3) for sample in samples]

    def at(self, curve: str, place: float) -> float:
        """Return the number at that size, interpolated between measured sizes."""
        points = np.array(self.numbers[curve])
        return float(np.interp(place, points[:, 0], points[:, 1]))

    def refuse(self, medium: str, reason: str) -> None:
        """Discard the measurements of a medium: the device becomes unknown, the page cache gets its defaults."""
        self.refused.add(medium)
        default = _core.default_profile().to_dict()
        for name in [name for name in self.numbers if name.startswith(f"{medium}.")]:
            unknown: Any = [] if isinstance(self.numbers[name], list) else 0.0
            self.numbers[name] = default[name] if medium == "cache" else unknown
            self.spread.pop(name, None)
        if medium == "cache":
            self.known["cache"] = f"not measured, stated defaults: {reason}"
        else:
            self.known["device"] = f"unknown, no number is claimed: {reason}"

    def say_how_known(self, cache: str, device: str) -> None:
        """Record at the end how media were checked; `cache` and `device` are the texts for media that were reached."""
        self.known.setdefault("cache", cache)
        self.known.setdefault("device", device)
        self.known["syncs"] = "fsync of a file whose dirty pages are known, as the kernel reports its end"
        self.known["copies"] = "our own copy kernels, blocks of every second place, memory larger than the caches"
        self.known.setdefault("barrier", "ranks of one node, as threads that share memory")
        self.known["messages"] = "stated defaults: between nodes, which one machine cannot measure"
        self.known["chunks"] = "codecs on a field of waves and noise; files of chunks in the folder that was measured"
        noisy = [name for name, spread in self.spread.items() if np.max(spread) > NOISY]
        if noisy:
            self.notes.append(f"repetitions lay more than {NOISY:.0%} apart: {', '.join(noisy)}")
