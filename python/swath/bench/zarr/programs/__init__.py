"""Running a contender's program: what it is asked, and what it left."""

from __future__ import annotations

import os
import sys
from typing import Any

from swath.bench.environments import Environment, Made, run_program
from swath.bench.zarr.known import SWATH, Contender
from swath.bench.zarr.stores import Store

HERE = os.path.dirname(os.path.abspath(__file__))
SILENT_SECONDS = 600.0
"""How long a program may go without a sign of life, which it gives before every read."""


def run(
    contender: Contender, made: Made | None, store: Store, repetitions: int, folder: str
) -> tuple[dict[int, dict[str, Any]], str]:
    """What the program says of each cell of the store, by the cell's index; why it did not come to its end, or "".

    Args:
        contender: who.
        made: the environment; None for Swath, which runs under this Python.
        store: what is read.
        repetitions: counted ones.
        folder: an absolute path, for the program's own files.
    """
    request = {
        "store": store.path,
        "version": 2 if store.kind.startswith("v2") else 3,
        "array": store.array,
        "cells": store.cells,
        "settings": contender.settings,
        "repetitions": repetitions,
    }
    if made is None:
        made, python = Made(Environment(SWATH, (), ()), sys.prefix, {}), sys.executable
        modules = [HERE, *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]
    else:
        python, modules = made.program("python"), [HERE]
    lines, failed = run_program(
        made,
        [python, "-m", f"peers.{contender.program}"],
        request,
        folder=folder,
        modules=os.pathsep.join(os.path.abspath(module) for module in modules),
        silent_seconds=SILENT_SECONDS,
    )
    found = {line["index"]: line for line in lines if "index" in line}
    return found, f"{contender.name}: {failed}" if failed else ""
