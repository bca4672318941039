"""netCDF's own tool."""

from __future__ import annotations

import re
import shutil
import subprocess

from swath.bench.files.contenders.base import Contender
from swath.bench.files.job import DIMENSIONS, Job
from swath.bench.files.sources import DEFLATE_LEVEL

CACHE = "1G"


class Nccopy(Contender):
    """With a cache of chunks that holds a row of them."""

    hints = f"-h {CACHE}"

    def absent(self) -> str:
        """Debian has it in netcdf-bin."""
        return "" if shutil.which("nccopy") else "not installed (Debian: netcdf-bin)"

    def version(self) -> str:
        """Return that of its library, or ""."""
        if self.absent():
            return ""
        told = subprocess.run(["nccopy"], capture_output=True, text=True, check=False)  # it tells how it is used
        found = re.search(r"library version (\S+)", told.stdout + told.stderr)
        return found[1] if found else "unknown"

    def rechunk(self, job: Job) -> None:
        """Without deflate."""
        self._copy(job, "-d", "0")

    def rechunk_deflated(self, job: Job) -> None:
        """With shuffle."""
        self._copy(job, "-s", "-d", str(DEFLATE_LEVEL))

    def _copy(self, job: Job, *coded: str) -> None:
        chunks = ",".join(f"{name}/{n}" for name, n in zip(DIMENSIONS, job.sizes.series_chunks, strict=True))
        command = ["nccopy", "-h", CACHE, *coded, "-c", chunks, self.source(job), job.made(self.suffix)]
        ended = subprocess.run(command, capture_output=True, text=True, check=False)
        if ended.returncode != 0:
            raise OSError(f"nccopy ended with status {ended.returncode}: {ended.stderr.strip()}")
