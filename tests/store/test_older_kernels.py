"""Without cachestat (before Linux 6.5) and without io_uring (in containers), everything works, but less well."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tree import HELPERS


def test_a_kernel_without_cachestat_and_io_uring_serves(tmp_path: Path) -> None:
    launcher = [sys.executable, str(HELPERS / "kernels.py")]
    tried = subprocess.run([*launcher, "true"], capture_output=True, text=True, timeout=60, check=False)
    if tried.returncode != 0:
        pytest.skip(tried.stderr.strip())
    command = [*launcher, sys.executable, str(HELPERS / "older_kernel_program.py"), str(tmp_path)]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(HELPERS), *sys.path])}
    ended = subprocess.run(command, env=env, capture_output=True, text=True, timeout=110, check=False)
    assert ended.returncode == 0, ended.stderr
    assert "all is well" in ended.stdout
