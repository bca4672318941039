"""A peer's program: its request, and its answer in lines of JSON; `swath_bench.peers.running` starts it."""

from __future__ import annotations

import json
import sys
import traceback
from collections.abc import Callable
from typing import Any


def answer(**jobs: Callable[[dict[str, Any]], object]) -> None:
    """Do the job of the request, the JSON file `sys.argv[1]`. An exception becomes a line of the answer, too."""
    with open(sys.argv[1], encoding="utf-8") as told:
        request = json.load(told)
    try:
        jobs[request["job"]](request)
    except Exception as error:
        keep(request["kept"], {"failed": f"{type(error).__name__}: {error}"})
        raise


def keep(path: str, line: dict[str, Any]) -> None:
    """Append a line of the answer to the file `path`, the request's "kept"."""
    with open(path, "a", encoding="utf-8") as kept:
        kept.write(json.dumps(line) + "\n")


def reason(error: Exception) -> str:
    """Return an exception of a library as one line of text; the traceback goes to standard error."""
    traceback.print_exc()
    return f"{type(error).__name__}: {' '.join(str(error).split())}"
