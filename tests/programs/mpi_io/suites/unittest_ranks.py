"""Run the unit tests of a module on each rank, and write the result of each test: FOLDER MODULE.

Each rank has a file .results.RANK of lines ["test", "begun"] and ["test", "passed"]: so a test that hangs has a name.
Temporary files are numbered, so that those of two runs can be held beside each other, and linked into a folder, where
they outlive the tests.
"""
# ruff: noqa: N802 (unittest's names)

import itertools
import json
import os
import sys
import tempfile
import unittest

folder, module = sys.argv[1:3]
sys.path.insert(0, folder)
tempfile.tempdir = os.environ["TMPDIR"]
tempfile._name_sequence = map(str, itertools.count())  # type: ignore[attr-defined]
make_temporary = tempfile.mkstemp


def make_and_link(*args: str, **named: str) -> tuple[int, str]:
    file, path = make_temporary(*args, **named)
    os.makedirs("linked", exist_ok=True)
    os.link(path, os.path.join("linked", os.path.basename(path)))
    return file, path


tempfile.mkstemp = make_and_link  # type: ignore[assignment]

from mpi4py import MPI  # noqa: E402 (the tests' folder has modules that it wants)

with open(f".results.{MPI.COMM_WORLD.rank}", "w") as out:

    class Written(unittest.TextTestResult):
        def startTest(self, test: unittest.TestCase) -> None:
            super().startTest(test)
            self._write(test, "begun")

        def addSuccess(self, test: unittest.TestCase) -> None:
            super().addSuccess(test)
            self._write(test, "passed")

        def addSkip(self, test: unittest.TestCase, reason: str) -> None:
            super().addSkip(test, reason)
            self._write(test, "passed")

        def addError(self, test, err) -> None:
            super().addError(test, err)
            self._write(test, "failed")

        def addFailure(self, test, err) -> None:
            super().addFailure(test, err)
            self._write(test, "failed")

        def _write(self, test: unittest.TestCase, status: str) -> None:
            out.write(json.dumps([test.id(), status]) + "\n")
            out.flush()

    tests = unittest.defaultTestLoader.loadTestsFromName(module)
    unittest.TextTestRunner(resultclass=Written, verbosity=0).run(tests)
