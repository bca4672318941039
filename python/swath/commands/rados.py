"""`swath rados install-class`: the object class that a Ceph cluster needs for datatype requests."""

from __future__ import annotations

import argparse
import contextlib
import os
import subprocess
from importlib import resources

from swath import _core
from swath.base import stored_path
from swath.errors import ArgumentError, Error

HELP = "datatype requests on a Ceph cluster: what its OSDs need"
DESCRIPTION = """\
Files in Ceph pools (rados:POOL/NAME) are read and written by lists of ranges on any
cluster. With Swath's object class on the OSDs a request is a description instead,
which the OSDs carry out: a region costs about a quarter. This command says how the
class gets there, and asks a pool whether it is.
"""

EPILOG = """\
examples:
  swath rados install-class                        where the class is, and what to do with it
  swath rados install-class rados:POOL             and whether the OSDs of a pool have it
  swath rados install-class "rados:POOL?conf=/etc/ceph/test.conf&id=ann"

Nothing is installed by it: only who runs the OSDs can do that.

read next: docs/rados.md
"""

LIBRARY = "libcls_swath.so"
INSTRUCTIONS = """\
On every host with OSDs, as root:
  1. copy the library to the folder of object classes (ceph-conf --show-config-value osd_class_dir, usually
     /usr/lib/x86_64-linux-gnu/rados-classes or /usr/lib64/rados-classes)
  2. let OSDs load it, once for the cluster:
       ceph config set osd osd_class_load_list "*"
       ceph config set osd osd_class_default_list "*"
     or add "swath" to the lists that they have
  3. restart the OSDs, one failure domain at a time
It must be built for the release of Ceph that the OSDs run (rados-objclass-dev and libradospp-dev of that release,
then Swath is built again): OSDs refuse one of another. Pools that are erasure-coded let no class read; there, and
where the class is missing, lists are used.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `swath rados install-class [rados:POOL]`."""
    parser.add_argument("what", choices=["install-class"], help="what to do")
    parser.add_argument(
        "pool", nargs="?", metavar="rados:POOL", help="whose OSDs are asked whether they have the class"
    )


def run(options: argparse.Namespace) -> int:
    """Print where the class is; the status is 1 if the OSDs of the named pool do not have it."""
    library = class_library()
    if library is None:
        print(
            f"{LIBRARY} is not in this installation: Swath was built without the headers of object classes\n"
            "(Debian: rados-objclass-dev, libradospp-dev; make rados-packages). Install them, and build Swath again."
        )
    else:
        print(f"{library}\nbuilt for {_release()}\n\n{INSTRUCTIONS}", end="")
    if options.pool is None:
        return 0
    reason = refusal(options.pool)
    print(f"\n{options.pool}: {reason or 'its OSDs carry out descriptions'}")
    return 1 if reason else 0


def refusal(pool: str) -> str:
    """Return why the OSDs of `rados:POOL[?…]` do not serve datatype requests; "" if they do. Raises StoreError."""
    name, question, settings = pool.partition("?")
    if stored_path.of(name).pool is None or "/" in name:
        raise ArgumentError(f"{pool}: expected rados:POOL, perhaps with ?conf=FILE&id=USER")
    # Many objects reach most OSDs: the class may be installed on some OSDs only.
    reasons = []
    for number in range(OBJECTS_ASKED):
        path = f"{name}/swath.class-check.{os.getpid()}.{number}{question}{settings}"
        file = _core.open_file(path, "x")
        try:
            reasons.append(file.engine_reason)
        finally:
            with contextlib.suppress(Error):
                stored_path.of(path).remove()
    found = [reason for reason in reasons if reason]
    if found and len(found) < len(reasons):
        return f"some of its OSDs have the class, others not: {found[0]}"
    return found[0] if found else ""


OBJECTS_ASKED = 16


def class_library() -> str | None:
    """Return the path of the object class that was built with this Swath; None if there is none."""
    path = resources.files("swath") / LIBRARY
    return str(path) if path.is_file() else None


def _release() -> str:
    """Return the version of the Ceph that is installed here; the class was most likely built with its headers."""
    with contextlib.suppress(OSError, subprocess.SubprocessError):
        said = subprocess.run(["ceph-osd", "--version"], capture_output=True, text=True, timeout=10, check=True).stdout
        return f"the Ceph of this machine ({' '.join(said.split()[:3])})"
    return "the Ceph whose headers were installed when Swath was built"
