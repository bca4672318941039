"""The documentation site, by Sphinx: `make docs`.

Its source is the repository: links are those of the files, whoever shows them, and all of them are checked.
"""

from __future__ import annotations

import os
import re
import tempfile
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient

import swath

ROOT = Path(__file__).parent.parent
CELL_SECONDS_MAX = 60
HIDDEN_COLON = "\ue000"

project = "Swath"
author = "The Swath authors"
release = version = swath.__version__

root_doc = "docs/index"
include_patterns = ["*.md", "docs/**"]
exclude_patterns = [
    ".*",
    "**/.*",
    *(f"{path.name}/**" for path in ROOT.iterdir() if path.is_dir() and path.name != "docs"),
]
extensions = ["sphinx.ext.autodoc", "sphinx.ext.napoleon", "myst_nb"]
highlight_language = "text"

html_theme = "furo"
html_title = f"Swath {version}"
html_show_copyright = False

myst_heading_anchors = 4
nb_execution_mode = "off"  # see run_tutorial

default_role = "literal"  # of `this` in docstrings
autodoc_default_options = {"members": True, "member-order": "groupwise"}
autodoc_preserve_defaults = True


def without_links_to_folders(app: Any, document: str, source: list[str]) -> None:
    """Folders have no page: what links to one in the repository is plain text here."""

    def link_or_text(link: re.Match[str]) -> str:
        return link[1] if (ROOT / document).parent.joinpath(link[2]).is_dir() else link[0]

    source[0] = re.sub(r"\[([^]]*)\]\(([^()#:\s]+)\)", link_or_text, source[0])


def run_tutorial(app: Any, document: str, source: list[str]) -> None:
    """Notebooks are kept without what they print: they run here, an error fails the build.

    Nothing of the user's takes part: no profile of a store is read, or written.
    """
    if not document.startswith("docs/tutorials/"):
        return
    notebook = nbformat.reads(source[0], as_version=4)
    with tempfile.TemporaryDirectory(prefix="swath-docs-") as folder:
        surroundings = {**os.environ, "XDG_CACHE_HOME": f"{folder}/cache", "SWATH_PROFILE": ""}
        client = NotebookClient(
            notebook, timeout=CELL_SECONDS_MAX, coalesce_streams=True, resources={"metadata": {"path": folder}}
        )
        client.execute(env=surroundings)
    source[0] = nbformat.writes(notebook)


def hide_colon(app: Any, what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    """What stands before a colon in the first line of a property is no type, as Napoleon would have it."""
    if what == "property" and lines:
        lines[0] = lines[0].replace(":", HIDDEN_COLON)


def show_colon(app: Any, what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    """After Napoleon: as it was."""
    lines[:] = [line.replace(HIDDEN_COLON, ":") for line in lines]


def first_page(app: Any, error: Exception | None) -> None:
    """The site's own address leads to the first page."""
    if error is None:
        page = f"{root_doc}.html"
        Path(app.outdir, "index.html").write_text(f'<meta http-equiv="refresh" content="0; url={page}">\n')


def setup(app: Any) -> None:
    """Connect what is defined here."""
    app.connect("source-read", without_links_to_folders)
    app.connect("source-read", run_tutorial)
    app.connect("autodoc-process-docstring", hide_colon, priority=400)
    app.connect("autodoc-process-docstring", show_colon, priority=600)
    app.connect("build-finished", first_page)
