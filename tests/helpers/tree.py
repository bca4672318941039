"""The paths of the project, its tests, and their parts."""

from pathlib import Path

HELPERS = Path(__file__).parent
TESTS = HELPERS.parent
PROGRAMS = TESTS / "programs"
ROOT = TESTS.parent
