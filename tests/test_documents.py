"""What documents link to is there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
DOCUMENTS = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
LINK = re.compile(r"\]\(([^)#\s]+)[^)]*\)")


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_every_link_to_a_file_leads_to_one(document: Path) -> None:
    links = [link for link in LINK.findall(document.read_text()) if "://" not in link]
    broken = [link for link in links if not (document.parent / link).exists()]
    assert broken == [], f"{document.name}: name files that are there"


def test_every_decision_is_listed_by_its_title() -> None:
    listed = (ROOT / "docs/decisions/README.md").read_text()
    records = sorted(ROOT.glob("docs/decisions/[0-9]*.md"))
    assert records
    for record in records:
        number, title = re.split(r"[.:] ", record.read_text().splitlines()[0].removeprefix("# "), maxsplit=1)
        assert f"[{number}]({record.name}) {title} |" in listed, f"{record.name}: its title is {title!r}"
