"""Changes that tests make, kill and take back."""

import os
import random
import signal

from kills import killed

START = bytes(range(256)) * 40


def content(path):
    with open(path, "rb") as file:
        return file.read()


def after_kill(work):
    """Do `work` in a child that is killed then."""

    def end():
        kept.append(work())
        os.kill(os.getpid(), signal.SIGKILL)

    kept = []  # what it has open stays so
    assert killed(end, -1)


def overwrite(changes, offset, data):
    """As whoever changes a file does it: what is there is kept before."""
    with open(changes.path, "r+b", buffering=0) as file:
        changes.keep(file.fileno(), offset, len(data))
        os.pwrite(file.fileno(), data, offset)


def transaction(changes, number):
    """A few changes, here and there and behind the end, the same ones for the same number."""
    chance = random.Random(number)
    changes.begin()
    for _ in range(3):
        overwrite(changes, chance.randrange(len(START)), chance.randbytes(chance.randrange(1, 300)))
    with open(changes.path, "ab", buffering=0) as file:
        os.write(file.fileno(), chance.randbytes(100))
