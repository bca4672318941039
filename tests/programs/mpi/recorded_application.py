"""Runs a Python program, and records each of its reads and writes by itself: recorded_application.py FOLDER PROGRAM ...

Each rank writes FOLDER/did-RANK, lines of JSON: the operations of Swath in the order of their calls, as hexadecimal
bytes of their exact form, with their threads, and its own calls of os.pread and os.pwrite.
"""

from __future__ import annotations

import json
import os
import runpy
import sys
import threading
from pathlib import Path
from typing import Any

from mpi4py import MPI

from swath import _core


def main(folder: Path, program: Path) -> None:
    """Run the program under its own name, with recorded calls."""
    did: list[Any] = []
    pread, pwrite = os.pread, os.pwrite

    def recorded(call: Any, how: str) -> Any:
        def made(self: Any, operation: Any, *arguments: Any, **named: Any) -> Any:
            did.append([how, operation.serialise().hex(), threading.get_native_id()])
            return call(self, operation, *arguments, **named)

        return made

    def recorded_pread(descriptor: int, size: int, offset: int) -> bytes:
        found = pread(descriptor, size, offset)
        did.append(["read", offset, len(found)])
        return found

    def recorded_pwrite(descriptor: int, data: bytes, offset: int) -> int:
        done = pwrite(descriptor, data, offset)
        did.append(["write", offset, done])
        return done

    for of, name in ((_core.OpenArray, "execute"), (_core.OpenArray, "start"), (_core.StoredArray, "write")):
        setattr(of, name, recorded(getattr(of, name), "start" if name == "start" else "execute"))
    os.pread, os.pwrite = recorded_pread, recorded_pwrite
    sys.path.insert(0, str(program.parent))
    try:
        runpy.run_path(str(program), run_name="__main__")
    except SystemExit as ended:
        if ended.code:
            raise
    (folder / f"did-{MPI.COMM_WORLD.rank}").write_text("\n".join(map(json.dumps, did)))


folder_of_records, *sys.argv = sys.argv[1:]
main(Path(folder_of_records), Path(sys.argv[0]))
