"""Runs the unit tests of a module on each rank, and writes what came of each: FOLDER MODULE.

Each rank has a file .results.RANK of lines ["test", "begun"] and ["test", "passed"]: so a test that hangs has a name.
"""
# ruff: noqa: N802 (unittest's names)

import json
import sys
import unittest

folder, module = sys.argv[1:3]
sys.path.insert(0, folder)

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
    unittest.TextTestRunner(resultclass=Written, verbosity=1).run(tests)
