"""Old module names work for one version, and a warning gives the new names."""

from __future__ import annotations

import importlib
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import swath

MOVED = {old: new for old, new in swath._MOVED.items() if new}


def in_a_new_process(program: str, *options: str) -> str:
    command = [sys.executable, *options, "-c", program]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=100, check=False)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout + ended.stderr


def test_each_old_name_is_the_same_module_and_says_the_new_one() -> None:
    imports = "".join(
        f"with warnings.catch_warnings(record=True) as told:\n"
        f"    warnings.simplefilter('always')\n"
        f"    import {old} as old\n"
        f"    import {new} as new\n"
        f"assert old is new and new.__name__ == new.__spec__.name == {new!r}, {old!r}\n"
        f"assert [(one.category, str(one.message)) for one in told] == [\n"
        f"    (DeprecationWarning, {f'{old} is {new} now; the old name goes in version 0.3'!r})], (told, {old!r})\n"
        f"assert told[0].filename == '<string>', told[0]\n"
        for old, new in MOVED.items()
    )
    in_a_new_process(f"import warnings\nimport swath.store, swath.throttle, swath.array\n{imports}")


def test_a_module_of_a_folder_that_moved_is_loaded_once() -> None:
    program = (
        "from swath.computing.fft.plan import FftPlan; import swath.fft.plan; "
        "import swath.computing.balanced.plan, swath.store.calibration.coding; "
        "assert FftPlan is swath.fft.plan.FftPlan is swath.FftPlan; "
        "assert swath.computing.balanced.plan is swath.recompute.plan; "
        "print(swath.store.calibration.coding.__name__)"
    )
    assert in_a_new_process(program, "-W", "ignore") == "swath.calibration.coding\n"


def test_folders_that_are_gone_are_attributes() -> None:
    gone = importlib.import_module("swath.computing")
    sys.modules.pop("swath.computing.fft", None)
    vars(gone).pop("fft", None)
    with pytest.warns(DeprecationWarning, match=r"swath\.computing\.fft is swath\.fft now"):
        found = swath.computing.fft
    assert found is swath.fft
    assert not hasattr(gone, "nothing")


@pytest.mark.parametrize("name", ["swath.computing.nothing", "swath.computing.fft.nothing", "swath.store.nothing"])
def test_what_never_was_a_module_is_not_found(name: str) -> None:
    with pytest.raises(ModuleNotFoundError, match=r"nothing"):
        importlib.import_module(name)


def test_what_was_pickled_by_an_old_name_is_opened(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.arange(6))
    with swath.open(tmp_path / "a.npy") as a:
        pickled = pickle.dumps(a, protocol=0).replace(b"cswath.pickling\n", b"cswath.array.pickling\n")
    program = f"import pickle; print(pickle.loads({pickled!r})[4])"
    assert b"swath.array.pickling" in pickled
    assert in_a_new_process(program, "-W", "ignore") == "4\n"
