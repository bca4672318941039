"""Changes that tests make, kill and undo."""

import os
import random
import signal

from kills import killed

START = bytes(range(256)) * 40


def content(path):
    with open(path, "rb") as file:
        return file.read()


def after_kill(work):
    """Run `work` in a child, and kill the child afterwards."""

    def end():
        kept.append(work())
        os.kill(os.getpid(), signal.SIGKILL)

    kept = []  # its files stay open
    assert killed(end, -1)


def overwrite(changes, offset, data):
    """Overwrite bytes as a program does: their old content is kept first."""
    with open(changes.path, "r+b", buffering=0) as file:
        changes.keep(file.fileno(), offset, len(data))
        os.pwrite(file.fileno(), data, offset)


def transaction(changes, number):
    """Make a few changes, in the file and after its end; each number always gives the same ones."""
    chance = random.Random(number)
    changes.begin()
    for _ in range(3):
        overwrite(changes, chance.randrange(len(START)), chance.randbytes(chance.randrange(1, 300)))
    with open(changes.path, "ab", buffering=0) as file:
        os.write(file.fileno(), chance.randbytes(100))
