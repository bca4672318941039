"""The operator's page lists every environment variable that Swath reads, and no other."""

from __future__ import annotations

import re

from tree import ROOT

PAGE = ROOT / "docs/start/operator.md"
FOLDERS = ("core", "bindings", "python")
READ = re.compile(r'"(SWATH_(?!TEST_)[A-Z0-9_]+)"')
ONLY_TESTS_READ = ("_test.cc", "_for_tests.cc", "_for_tests.h", "_fuzz.cc")


def variables_read() -> set[str]:
    found: set[str] = set()
    for folder in FOLDERS:
        for path in (ROOT / folder).rglob("*"):
            is_test = path.name.endswith(ONLY_TESTS_READ) or "tests" in path.parts or "testing" in path.parts
            if path.suffix in (".h", ".cc", ".c", ".py") and not is_test:
                found |= set(READ.findall(path.read_text(encoding="utf-8", errors="replace")))
    return found


def test_the_operators_page_lists_what_is_read_from_the_environment() -> None:
    listed = set(re.findall(r"`(SWATH_[A-Z0-9_]+)`", PAGE.read_text(encoding="utf-8").split("## Files")[0]))
    assert variables_read() == listed
