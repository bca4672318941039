"""Files that were built before a system package was installed are built again: the Makefile's check for this."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tree import ROOT

HEADER = "rados/objclass.h"


class Checkout:
    """A Makefile with a fake compiler and our own headers; the commands of pip are only printed."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.headers = folder / "checkout", folder / "headers"
        (self.folder / "tools").mkdir(parents=True)
        self.headers.mkdir()
        shutil.copy(ROOT / "Makefile", self.folder)
        shutil.copy(ROOT / "tools" / "system-features.sh", self.folder / "tools")
        (self.folder / ".venv").mkdir()
        (self.folder / "pyproject.toml").touch()
        for made in ".base", ".ready":
            (self.folder / ".venv" / made).touch()
        self.compiler = folder / "c++"
        self.compiler.write_text(f'#!/bin/sh\nexec c++ -nostdinc -I{self.headers} "$@"\n')
        self.compiler.chmod(0o755)

    def add(self, header: str) -> None:
        (self.headers / header).parent.mkdir(parents=True, exist_ok=True)
        (self.headers / header).touch()

    def make(self) -> str:
        """Return what `make .venv/.installed` does."""
        environment = {key: value for key, value in os.environ.items() if not key.startswith("MAKE")}
        environment["CXX"] = str(self.compiler)
        command = ["make", "--no-print-directory", "CMAKE_LISTS=", "PIP=echo installs", ".venv/.installed"]
        made = subprocess.run(command, cwd=self.folder, env=environment, capture_output=True, text=True, check=False)
        assert made.returncode == 0, made.stderr
        return made.stdout

    def features(self) -> list[str]:
        return (self.folder / "build" / "system-features.txt").read_text().splitlines()


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    if shutil.which("make") is None or shutil.which("c++") is None:
        pytest.skip("no make or no compiler")
    return Checkout(tmp_path)


def test_a_header_that_comes_later_has_the_package_installed_again(checkout: Checkout) -> None:
    assert "installs" in checkout.make()
    assert f"header {HEADER}: missing" in checkout.features()
    assert "installs" not in checkout.make()
    checkout.add(HEADER)
    assert "installs" in checkout.make()
    assert f"header {HEADER}: found" in checkout.features()
    assert "installs" not in checkout.make()


def test_each_header_changes_its_own_line_only(checkout: Checkout) -> None:
    checkout.make()
    before = checkout.features()
    headers = [line.split()[1].rstrip(":") for line in before if line.startswith("header")]
    assert HEADER in headers
    for header in headers:
        checkout.add(header)
        checkout.make()
        after = checkout.features()
        changed = [line for line, other in zip(after, before, strict=True) if line != other]
        assert changed == [f"header {header}: found"]
        before = after
