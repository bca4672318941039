"""A Ceph cluster for tests: the one that SWATH_TEST_CEPH_CONF names (`make rados-test` starts it), or clusters of a
test's own (tools/ceph.sh)."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

CONF = os.environ.get("SWATH_TEST_CEPH_CONF", "")
POOL = "swath"
SCRIPT = Path(__file__).parent.parent / "tools" / "ceph.sh"

needs_cluster = pytest.mark.skipif(
    not CONF, reason="no Ceph cluster: SWATH_TEST_CEPH_CONF is not set (make rados-test)"
)
needs_own_cluster = pytest.mark.skipif(
    not CONF or not shutil.which("ceph-osd"), reason="no Ceph to start a cluster of (make rados-test)"
)


def name(file: str, *, conf: str = CONF, **settings: object) -> str:
    """The path of a file in the pool."""
    said = "".join(f"&{key}={value}" for key, value in settings.items())
    return f"rados:{POOL}/{file}?conf={conf}{said}"


def rados(*arguments: str, conf: str = CONF) -> str:
    """What Ceph's own command line prints."""
    command = ["rados", "--conf", conf, "-p", POOL, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


class Cluster:
    """A cluster of a test's own, whose daemons it may kill."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.conf = str(folder / "ceph.conf")

    def kill(self, daemon: str) -> None:
        """Kill osd.N or mon.a, as a power cut does."""
        self.signal(daemon, signal.SIGKILL)

    def signal(self, daemon: str, number: signal.Signals) -> None:
        """Send a signal to osd.N or mon.a."""
        os.kill(int((self.folder / "run" / f"{daemon}.pid").read_text()), number)

    def wait_for_osds(self, count: int) -> None:
        """Wait until so many OSDs are up."""
        for _ in range(120):
            if f"{count} up" in self.run("osd", "stat"):
                return
            time.sleep(0.5)
        raise AssertionError(self.run("osd", "stat"))

    def run(self, *arguments: str) -> str:
        """`ceph …` in it."""
        done = subprocess.run(
            ["ceph", "--conf", self.conf, *arguments], capture_output=True, text=True, timeout=60, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout


@contextlib.contextmanager
def cluster(port: int, **settings: object) -> Iterator[Cluster]:
    """A cluster while the `with` lasts; `settings` as tools/ceph.sh reads them from the environment."""
    folder = Path(tempfile.mkdtemp(prefix="swath-ceph.", dir="/tmp"))
    folder.chmod(0o755)
    own = Cluster(folder / "cluster")
    env = {**os.environ, "CEPH_PORT": str(port), **{key: str(value) for key, value in settings.items()}}
    try:
        started = subprocess.run(
            [str(SCRIPT), "start", str(own.folder)], env=env, capture_output=True, text=True, timeout=240, check=False
        )
        assert started.returncode == 0, started.stderr
        yield own
    finally:
        subprocess.run([str(SCRIPT), "stop", str(own.folder)], capture_output=True, timeout=60, check=False)
        shutil.rmtree(folder, ignore_errors=True)
