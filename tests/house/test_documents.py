"""The targets of links in documents exist, also parts of pages, and the reference has every public name."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import swath
from tree import ROOT

DOCUMENTS = sorted(
    path
    for pattern in ("*.md", "benchmarks/*.md", "docs/**/*.md", "docs/**/*.ipynb")
    for path in ROOT.glob(pattern)
    if ".ipynb_checkpoints" not in path.parts
)
LINK = re.compile(r"\]\(([^)\s]+)[^)]*\)")
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)


def markdown_of(document: Path) -> str:
    """Return the Markdown text of a document, without fenced blocks."""
    text = document.read_text()
    if document.suffix == ".ipynb":
        text = "\n".join(
            "".join(cell["source"]) for cell in json.loads(text)["cells"] if cell["cell_type"] == "markdown"
        )
    return re.sub(r"^( *)```.*?^\1```$", "", text, flags=re.MULTILINE | re.DOTALL)


def anchors_of(document: Path) -> set[str]:
    """The names that headings have as parts of a page: lower case, no punctuation, hyphens for spaces."""
    headings = (re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading) for heading in HEADING.findall(markdown_of(document)))
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


def leads_nowhere(document: Path, link: str) -> bool:
    name, _, anchor = link.partition("#")
    target = document.parent / name if name else document
    return not target.exists() or (anchor != "" and target.suffix == ".md" and anchor not in anchors_of(target))


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_every_link_leads_to_a_file_and_its_part_to_a_heading(document: Path) -> None:
    links = [link for link in LINK.findall(markdown_of(document)) if "://" not in link]
    broken = [link for link in links if leads_nowhere(document, link)]
    assert broken == [], f"{document.name}: name files and headings that are there"


def test_a_heading_is_found_by_the_name_that_links_give_it(tmp_path: Path) -> None:
    document = tmp_path / "a.md"
    document.write_text("# One: `two`, and three\n```sh\n# four\n```\n## [Five](b.md) – six\n")
    assert anchors_of(document) == {"one-two-and-three", "five--six"}
    assert not leads_nowhere(document, "#one-two-and-three")
    assert not leads_nowhere(document, "a.md#five--six")
    assert leads_nowhere(document, "#four")
    assert leads_nowhere(document, "b.md")


def test_every_public_name_is_in_the_reference() -> None:
    directives = re.findall(r"^\.\. auto\w+:: (?:\w+\.)*(\w+)$", (ROOT / "docs/api.rst").read_text(), re.MULTILINE)
    assert sorted(set(swath.__all__) - set(directives)) == [], "docs/api.rst: add them under one of its headings"


def test_every_decision_is_listed_by_its_title() -> None:
    listed = (ROOT / "docs/decisions/README.md").read_text()
    records = sorted(ROOT.glob("docs/decisions/[0-9]*.md"))
    assert records
    for record in records:
        number, title = re.split(r"[.:] ", record.read_text().splitlines()[0].removeprefix("# "), maxsplit=1)
        assert f"[{number}]({record.name}) {title} |" in listed, f"{record.name}: its title is {title!r}"
