"""Where the project, its tests, and what belongs to them lie."""

from pathlib import Path

HELPERS = Path(__file__).parent
TESTS = HELPERS.parent
PROGRAMS = TESTS / "programs"
ROOT = TESTS.parent
