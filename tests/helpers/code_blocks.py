"""Finds code blocks in the Markdown of documents, and runs them as a reader types them.

    python code_blocks.py DOCUMENT

runs those of one document in the present folder, in order: Python in one namespace, shell by bash, which stops at the
first failure. A Python block whose first line is `# NAME.py` is a script: it is written to that file, for shell blocks
to run. `<!-- not run: WHY -->` on the line before a block leaves it out.
"""

from __future__ import annotations

import re
import subprocess
import sys
import textwrap
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_BLOCK = re.compile(
    r"(?:<!-- not run: (?P<why>.+?) -->\n)?^(?P<indent> *)```(?P<language>\S*)\n(?P<text>.*?)^(?P=indent)```$",
    re.MULTILINE | re.DOTALL,
)
_SCRIPT = re.compile(r"# (\w+\.py)\b")


@dataclass(frozen=True)
class Block:
    """One fenced block: where its first line is, and why it is not run (empty: it is)."""

    document: Path
    line: int
    language: str
    text: str
    not_run: str

    def __str__(self) -> str:
        """Return the place, as compilers write it."""
        return f"{self.document}:{self.line}"


def blocks_of(document: Path) -> list[Block]:
    """Every fenced block of a Markdown file, in order."""
    markdown = document.read_text()
    return [
        Block(
            document,
            markdown.count("\n", 0, found.start("text")) + 1,
            found["language"],
            textwrap.dedent(found["text"]),
            found["why"] or "",
        )
        for found in _BLOCK.finditer(markdown)
    ]


def run(block: Block, namespace: dict[str, Any]) -> None:
    """Run a Python or shell block, or write a script; SystemExit that names the place where a shell block fails."""
    if block.language == "sh":
        status = subprocess.run(["bash", "-euo", "pipefail", "-c", block.text], check=False).returncode
        if status != 0:
            sys.exit(f"{block}: a command of this block ended with status {status}")
    elif script := _SCRIPT.match(block.text):
        Path(script[1]).write_text(block.text)
    else:  # blank lines before it: tracebacks name the line of the document
        exec(compile("\n" * (block.line - 1) + block.text, str(block.document), "exec"), namespace)


if __name__ == "__main__":
    shared: dict[str, Any] = {"__name__": "__main__"}
    for each in blocks_of(Path(sys.argv[1])):
        if each.language in ("python", "sh") and not each.not_run:
            print(f"--- {each}", flush=True)
            run(each, shared)
            sys.stdout.flush()
