"""Running a contender's program: what it is asked, and what it left."""

from __future__ import annotations

import json
import os
import sys
from typing import Any

from swath.bench import page_cache
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
    request_path, kept = (os.path.join(folder, name) for name in ("request.json", "kept.jsonl"))
    request = {
        "store": store.path,
        "version": 2 if store.kind.startswith("v2") else 3,
        "array": store.array,
        "cells": store.cells,
        "settings": contender.settings,
        "repetitions": repetitions,
        "kept": kept,
        "page_cache": page_cache.__file__,
    }
    with open(request_path, "w", encoding="utf-8") as file:
        json.dump(request, file)
    open(kept, "w", encoding="utf-8").close()
    if made is None:
        made, python = Made(Environment(SWATH, (), ()), sys.prefix, {}), sys.executable
        modules = [HERE, *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]
    else:
        python, modules = made.program("python"), [HERE]
    failed, last_words = run_program(
        made,
        [python, "-m", f"peers.{contender.program}", request_path],
        folder=folder,
        modules=os.pathsep.join(os.path.abspath(module) for module in modules),
        signs=kept,
        silent_seconds=SILENT_SECONDS,
    )
    with open(kept, encoding="utf-8") as lines:
        found = [json.loads(line) for line in lines if line.endswith("\n")]
    if failed:
        reasons = [line["failed"] for line in found if "failed" in line]
        failed = f"{contender.name}: {failed}: {reasons[0] if reasons else last_words}"
    return {line["index"]: line for line in found if "index" in line}, failed
