"""The commands and programs in the documents work as they are printed."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

import code_blocks
import installed_library
from mpi_runs import needs_mpi
from tree import ROOT

DOCUMENTS = [ROOT / "README.md", *sorted(ROOT.glob("docs/**/*.md"))]
BLOCKS = {document: code_blocks.blocks_of(document) for document in DOCUMENTS}
SLOW = {"docs/calibration.md", "docs/layout.md", "docs/madbench.md"}
LANGUAGES = {"python", "sh", "c", "cpp", "fortran", "text", "{toctree}"}
NOT_RUN_MAX = 8
"""The most blocks that no test can run."""


def of_documents(*languages: str) -> list[object]:
    """Return the documents with blocks of these languages that can be run, with their marks."""
    names = {
        document: document.relative_to(ROOT).as_posix()
        for document, blocks in BLOCKS.items()
        if any(block.language in languages and not block.not_run for block in blocks)
    }
    return [
        pytest.param(document, id=name, marks=[pytest.mark.slow] if name in SLOW else [])
        for document, name in names.items()
    ]


def surroundings(folder: Path) -> dict[str, str]:
    """Return an environment with `swath` in PATH, and with its own folder for home, profiles and settings."""
    own = {key: value for key, value in os.environ.items() if not key.startswith(("SWATH_", "XDG_"))}
    return {
        **own,
        "PATH": sysconfig.get_path("scripts") + os.pathsep + own["PATH"],
        "HOME": str(folder / "home"),
        "XDG_CACHE_HOME": str(folder / "cache"),
        "XDG_CONFIG_HOME": str(folder / "config"),
        "HYDRA_LAUNCHER": "fork",
    }


@pytest.mark.parametrize("document", of_documents("python", "sh"))
def test_every_block_of_a_document_runs_after_those_before_it(document: Path, tmp_path: Path) -> None:
    needs_mpi()
    pytest.importorskip("h5py")
    (tmp_path / "work").mkdir()
    command = [sys.executable, code_blocks.__file__, str(document)]
    ended = subprocess.run(
        command,
        cwd=tmp_path / "work",
        env=surroundings(tmp_path),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=110,
        check=False,
    )
    assert ended.returncode == 0, ended.stdout[-6000:]


def test_every_block_says_what_it_is() -> None:
    wrong = [f"{block}: {block.language}" for blocks in BLOCKS.values() for block in blocks]
    assert [place for place in wrong if place.split(": ")[1] not in LANGUAGES] == []


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_commands_stand_in_blocks(document: Path) -> None:
    indented = re.compile(r"^ {4,}(?:swath|mpiexec|make|pip|python) .*", re.MULTILINE)
    outside = document.read_text()
    for block in BLOCKS[document]:
        outside = outside.replace(block.text, "")
    assert indented.findall(outside) == []


def test_few_blocks_are_not_run() -> None:
    left_out = [f"{block}: {block.not_run}" for blocks in BLOCKS.values() for block in blocks if block.not_run]
    assert len(left_out) <= NOT_RUN_MAX, left_out


@pytest.mark.slow
@pytest.mark.timeout(installed_library.BUILD_SECONDS_MAX + 100)
@pytest.mark.parametrize("document", of_documents("cpp"))
def test_cpp_programs_compile_and_run(document: Path, tmp_path: Path) -> None:
    prefix = installed_library.prefix_for()
    for number, block in enumerate(block for block in BLOCKS[document] if block.language == "cpp"):
        source = tmp_path / f"{number}.cc"
        source.write_text(f'#line {block.line} "{document}"\n{block.text}')
        program = installed_library.compiled(source, tmp_path / str(number), prefix)
        subprocess.run([program], cwd=tmp_path, env=installed_library.surroundings(prefix), timeout=20, check=True)


@pytest.mark.parametrize(("language", "suffix"), [("c", "c"), ("fortran", "f90")])
def test_programs_of_other_languages_are_the_examples(language: str, suffix: str) -> None:
    shown = [block.text for blocks in BLOCKS.values() for block in blocks if block.language == language]
    assert len(shown) >= 2
    # Built and run by test_c_interface.py and test_fortran.py.
    examples = {path.read_text() for path in ROOT.glob(f"examples/*/*.{suffix}")}
    assert [text for text in shown if text not in examples] == []


def test_a_block_knows_its_place_and_why_it_is_not_run(tmp_path: Path) -> None:
    document = tmp_path / "a.md"
    blocks = ["```sh\nls\n```", "<!-- not run: root -->\n```python\nx\n```", "- b\n\n  ```\n  y\n    z\n  ```\n"]
    document.write_text("# A\n" + "\n".join(blocks))
    found = [(block.line, block.language, block.text, block.not_run) for block in code_blocks.blocks_of(document)]
    assert found == [(3, "sh", "ls\n", ""), (7, "python", "x\n", "root"), (12, "", "y\n  z\n", "")]


@pytest.mark.parametrize(
    ("text", "said"),
    [("```sh\nfalse | cat\necho on\n```", "a.md:2: a command"), ("```python\n\n1 / 0\n```", 'a.md", line 3')],
)
def test_a_failing_block_is_named_by_its_line(text: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text(text)
    command = [sys.executable, code_blocks.__file__, "a.md"]
    ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=20, check=False)
    assert ended.returncode == 1
    assert said in ended.stderr
    assert "\non\n" not in ended.stdout
