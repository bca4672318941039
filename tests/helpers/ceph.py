"""A Ceph cluster for tests: the one that SWATH_TEST_CEPH_CONF names (`make rados-test` starts it), or clusters of a
test's own (tools/ceph.sh)."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import socket
import struct
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tree import ROOT

CONF = os.environ.get("SWATH_TEST_CEPH_CONF", "")
POOL = "swath"
SCRIPT = ROOT / "tools" / "ceph.sh"

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


def admin_sockets() -> list[Path]:
    """Return the admin sockets of the cluster's OSDs, in the folders of tools/ceph.sh."""
    return sorted((Path(CONF).parent / "run").glob("osd.*.asok"))


def ask_daemon(admin_socket: Path, prefix: str, **arguments: object) -> Any:
    """Return a daemon's answer on its admin socket. A question ends with NUL, an answer begins with its length."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(20)
        connection.connect(str(admin_socket))
        connection.sendall(json.dumps({"prefix": prefix, **arguments}).encode() + b"\0")
        answer = b""
        while part := connection.recv(1 << 20):
            answer += part
    (length,) = struct.unpack(">I", answer[:4])
    assert len(answer) == 4 + length
    return json.loads(answer[4:])


COUNTED = ("op", "op_r", "op_w", "op_rw", "op_in_bytes", "op_out_bytes")


def osd_counters() -> dict[str, int]:
    """Return the sum of all OSDs' counters since their start: operations of clients, their bytes, bytes on the network.

    An OSD answers a write before it counts it: repeat until two results are equal.
    """
    last: dict[str, int] = {}
    for _ in range(100):
        found = dict.fromkeys((*COUNTED, "wire_in", "wire_out"), 0)
        for admin_socket in admin_sockets():
            told = ask_daemon(admin_socket, "perf dump")
            for key in COUNTED:
                found[key] += told["osd"][key]
            for part, of_part in told.items():
                if part.startswith("AsyncMessenger"):
                    found["wire_in"] += of_part["msgr_recv_bytes"]
                    found["wire_out"] += of_part["msgr_send_bytes"]
        if last and all(found[key] == last[key] for key in COUNTED):
            return found
        last = found
        time.sleep(0.02)
    raise AssertionError("somebody else uses the cluster: its counters do not come to rest")


class Cluster:
    """A test's own cluster, whose daemons the test may kill."""

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
        """Run `ceph …` in the cluster."""
        done = subprocess.run(
            ["ceph", "--conf", self.conf, *arguments], capture_output=True, text=True, timeout=60, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout


@contextlib.contextmanager
def cluster(**settings: object) -> Iterator[Cluster]:
    """A cluster while the `with` lasts; `settings` as tools/ceph.sh reads them from the environment."""
    folder = Path(tempfile.mkdtemp(prefix="swath-ceph.", dir="/tmp"))
    folder.chmod(0o755)
    own = Cluster(folder / "cluster")
    env = {**os.environ, **{key: str(value) for key, value in settings.items()}}
    try:
        started = subprocess.run(
            [str(SCRIPT), "start", str(own.folder)], env=env, capture_output=True, text=True, timeout=240, check=False
        )
        assert started.returncode == 0, started.stderr
        yield own
    finally:
        subprocess.run([str(SCRIPT), "stop", str(own.folder)], capture_output=True, timeout=60, check=False)
        shutil.rmtree(folder, ignore_errors=True)
