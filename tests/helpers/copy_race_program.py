"""One of several processes that copy to one target again and again: test_copy_meets_others.py runs it as a program.

python copy_race_program.py FOLDER NUMBER SECONDS     prints, as JSON, how many copies were complete, refused, and wrong
"""

from __future__ import annotations

import fcntl
import json
import random
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

import swath


def is_whole(target: Path) -> bool:
    """Return whether the whole file comes from one source, whose values are all the same."""
    try:
        values = np.load(target)
    except (EOFError, OSError, ValueError):
        return False
    return values.shape == (160, 200) and bool((values == values[0, 0]).all())


def lock_late(dice: random.Random) -> None:
    """Wait between the open of a file and its lock, so that others can complete their copies."""
    flock = fcntl.flock

    def late(descriptor: int, how: int) -> None:
        time.sleep(dice.random() * 0.05)
        flock(descriptor, how)

    fcntl.flock = late  # type: ignore[assignment]


def race(folder: Path, number: int, seconds: float) -> dict[str, Any]:
    """Copy repeatedly, and check the target after each complete copy."""
    source, target = folder / f"{number}.npy", folder / "b.npy"
    np.save(source, np.full((200, 160), 1.0 + number))
    dice = random.Random(number)
    lock_late(dice)
    counts: dict[str, Any] = {"complete": 0, "refused": 0, "wrong": 0, "unexpected": []}
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        resume = dice.choice([None, True, False])
        try:
            swath.copy(
                source, target, axes=(1, 0), overwrite=True, resume=resume, memory=60_000, checkpoint_bytes=40_000
            )
            counts["complete"] += 1
            counts["wrong"] += not is_whole(target)
        except swath.ExistsError as error:
            counts["refused"] += 1
            if "another copy to it is under way" not in str(error):
                counts["unexpected"].append(str(error))
        except swath.Error as error:
            counts["unexpected"].append(f"{type(error).__name__}: {error}")
    return counts


if __name__ == "__main__":
    print(json.dumps(race(Path(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3]))))
