"""A peer's program: what it is asked, and its answer in lines of JSON; `swath.bench.environments` is the other side."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any


def answer(work: Callable[[dict[str, Any]], object]) -> None:
    """The program: `work` of its request, the JSON file `sys.argv[1]`. What `work` raises is said in a line, too."""
    with open(sys.argv[1], encoding="utf-8") as told:
        request = json.load(told)
    try:
        work(request)
    except Exception as error:
        keep(request["kept"], {"failed": f"{type(error).__name__}: {error}"})
        raise


def keep(path: str, line: dict[str, Any]) -> None:
    """A line of the answer, at the end of the file `path`, the request's "kept"."""
    with open(path, "a", encoding="utf-8") as kept:
        kept.write(json.dumps(line) + "\n")
