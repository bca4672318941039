"""A plan of a transform as text."""

from __future__ import annotations

import dataclasses
from typing import Any

from swath.base.units import by, in_bytes, in_seconds
from swath.copying.explain import in_words
from swath.fft.job import Job
from swath.fft.plan import FftPlan
from swath.fft.tiles import Tiles


@dataclasses.dataclass(frozen=True)
class ExplainedFft:
    """The result of `explain_fft`; prints as text, converts to plain data.

    Attributes:
        plan: the plan of every rank.
        title: source, transform and target.
        ranks: the number of ranks that share the panels.
    """

    plan: FftPlan
    title: str
    ranks: int = 1

    @staticmethod
    def of(job: Job, ranks: int) -> ExplainedFft:
        """Return the explanation of a job."""
        return ExplainedFft(job.plan, job.title, ranks)

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data, for JSON."""
        return {"fft": self.title, "ranks": self.ranks, **self.plan.to_dict()}

    def __str__(self) -> str:
        plan, told = self.plan, self.plan.to_dict()
        lines = [self.title]
        for number, (one, words) in enumerate(zip(plan.passes, told["passes"], strict=True), 1):
            axes = ", ".join(map(str, words["axes"])) or "none, another order"
            how = "read and written beside the transform" if one.overlaps else "one after another"
            lines.append(f"  pass {number}    axes {axes}: {one.panels:,} panels of {by(words['panel'])}, {how}")
            for doing, side, count in (
                ("read", one.source, one.read_requests),
                ("write", one.target, one.write_requests),
            ):
                layout = in_words(side)
                if isinstance(side, Tiles):
                    layout = f"tiles of {by(words[f'{doing}_tile'])}"
                each = in_bytes(side.nbytes // max(count, 1))
                lines.append(f"            {doing} {in_bytes(side.nbytes)} in {count:,} requests of {each}, {layout}")
            lines.append(f"            {in_seconds(one.seconds(plan.costs))}")
        each = f" each of {self.ranks} ranks, which share the panels" if self.ranks > 1 else ""
        lines.append(f"  memory    {in_bytes(plan.memory_bytes)} of {in_bytes(plan.budget_bytes)}{each}")
        meanwhile = f", {in_bytes(plan.scratch_bytes)} of it only meanwhile" if plan.scratch_bytes else ""
        lines.append(f"  disk      {in_bytes(plan.disk_bytes)} free are needed{meanwhile}")
        lines.append(f"  seconds   {in_seconds(plan.seconds)} predicted ({plan.costs.source})")
        return "\n".join(lines) + "\n"
