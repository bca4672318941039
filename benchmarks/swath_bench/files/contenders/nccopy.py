"""netCDF's own tool."""

from __future__ import annotations

import re
import shutil
import subprocess

from swath_bench.files.contenders.base import Contender
from swath_bench.files.job import DIMENSIONS, Job
from swath_bench.files.sources import DEFLATE_LEVEL

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

    def rechunk_file(self, job: Job) -> None:
        """All of a file, whose deflate it keeps."""
        self._copy(job)

    def _copy(self, job: Job, *coded: str) -> None:
        lengths = job.sizes.series_chunks if coded else job.sizes.part_series_chunks
        chunks = ",".join(f"{name}/{n}" for name, n in zip(DIMENSIONS, lengths, strict=True))
        command = ["nccopy", "-h", CACHE, *coded, "-c", chunks, self.source(job), job.made(self.suffix)]
        ended = subprocess.run(command, capture_output=True, text=True, check=False)
        if ended.returncode != 0:
            raise OSError(f"nccopy ended with status {ended.returncode}: {ended.stderr.strip()}")
