"""The folder where suites are fetched and built: packages of Debian and PyPI, their sources, and finished builds."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Sequence
from pathlib import Path

DEB_SRC = "/etc/apt/sources.list.d/swath-mpi-io-suites.sources"


class BuildFailedError(Exception):
    """A command of a build failed: the message names its log."""


class Workshop:
    """A folder of sources and builds; existing ones are not made again.

    A build is finished when its stamp exists; the stamp is written last.
    """

    def __init__(self, root: Path, jobs: int):
        self.root = root
        self.jobs = jobs
        self.packages_installed: set[str] = set()
        (root / "logs").mkdir(parents=True, exist_ok=True)

    def folder(self, name: str) -> Path:
        return self.root / name

    def run(self, name: str, command: Sequence[str], cwd: Path | None = None, **variables: str) -> None:
        """Run a command, with its output in the log of this name."""
        log = self.root / "logs" / f"{name}.log"
        with log.open("ab") as out:
            out.write((" ".join(command) + "\n").encode())
            out.flush()
            done = subprocess.run(
                command,
                check=False,
                cwd=cwd,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                env=os.environ | variables,
            )
        if done.returncode != 0:
            raise BuildFailedError(f"{' '.join(command)[:200]}: exit {done.returncode}, see {log}")

    def tried(self, name: str, command: Sequence[str], cwd: Path | None = None, **variables: str) -> None:
        """Run a command that may fail in part (`make -k`): tests that were not built are reported later, one by one."""
        try:
            self.run(name, command, cwd, **variables)
        except BuildFailedError as error:
            print(f"  some of {name} was not built: {error}", flush=True)

    def built(self, name: str) -> bool:
        return (self.folder(name) / ".built").exists()

    def mark_built(self, name: str) -> None:
        (self.folder(name) / ".built").touch()

    def debian_source(self, package: str) -> Path:
        """Return the unpacked source of a Debian package, with Debian's patches."""
        sources = self.folder("sources")
        sources.mkdir(exist_ok=True)
        found = _unpacked(sources, package)
        if found is None:
            enable_deb_src(self)
            apt_install(self, "dpkg-dev")
            self.run("sources", ["apt-get", "source", "-qq", package], sources)
            found = _unpacked(sources, package)
        if found is None:
            raise BuildFailedError(f"apt-get source {package} left no folder in {sources}")
        return found

    def sdist(self, name: str, version: str) -> Path:
        """Return the unpacked source of a package of PyPI."""
        sources = self.folder("sources")
        sources.mkdir(exist_ok=True)
        folder = sources / f"{name}-{version}"
        if not folder.exists():
            pip = [
                sys.executable,
                "-m",
                "pip",
                "download",
                "-q",
                "--no-deps",
                "--no-binary",
                name,  # with ":all:" pip would also build the build requirements from source
                f"{name}=={version}",
            ]
            self.run("sources", pip, sources)
            # Python has filters of archives from 3.11.4 and 3.10.12 on.
            filters = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}
            shutil.unpack_archive(sources / f"{name}-{version}.tar.gz", sources, **filters)
        return folder


def _unpacked(sources: Path, package: str) -> Path | None:
    folders = [f for f in sources.glob(f"{package}-[0-9]*") if f.is_dir()]
    return folders[0] if folders else None


def apt_install(workshop: Workshop, *packages: str) -> None:
    """Install the missing ones of these packages."""
    missing = [package for package in packages if not _installed(workshop, package)]
    if missing:
        print(f"  installing {' '.join(missing)}", flush=True)
        get = ["apt-get", "-qq", "-y", "-o", "DPkg::Lock::Timeout=300", "--no-install-recommends", "install", *missing]
        workshop.run("apt", get, DEBIAN_FRONTEND="noninteractive")


def _installed(workshop: Workshop, package: str) -> bool:
    if not workshop.packages_installed:
        query = ["dpkg-query", "-W", "-f", "${db:Status-Abbrev}${Package}\n"]
        listed = subprocess.run(query, check=True, capture_output=True, text=True).stdout
        workshop.packages_installed |= {line[3:].strip() for line in listed.splitlines() if line.startswith("ii")}
    return package in workshop.packages_installed


def enable_deb_src(workshop: Workshop) -> None:
    """Let apt-get fetch sources from the origin of this Debian's packages."""
    if Path(DEB_SRC).exists():
        return
    release = Path("/etc/apt/sources.list.d/debian.sources").read_text()
    Path(DEB_SRC).write_text(release.replace("Types: deb\n", "Types: deb-src\n"))
    workshop.run("apt", ["apt-get", "-qq", "update"])
