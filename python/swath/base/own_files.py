"""The user's own small files: settings, profiles, learned numbers of streams.

Their names may belong to anything: a pipe, a device, a file of gigabytes, malicious JSON. A read always ends soon, with
a plain text or value, or with OSError or ValueError.

Left after a kill: `.….tmp` next to such a file, the new file before it takes the name. Its user may remove it.
"""

from __future__ import annotations

import contextlib
import errno
import json
import math
import os
import stat
import tempfile
from typing import Any

BYTES_MAX = 4 << 20
"""No such file is this large."""
DEPTH_MAX = 16
"""The most levels of lists and objects: what was read can be written again, from any depth of the stack."""
INTEGER_MAX = 2**63 - 1


def read_text(file: str) -> str:
    """Return the content of a plain file, as UTF-8. Raises OSError; ValueError if it is no text."""
    with open(file, "rb", opener=_open_at_once) as opened:
        if not stat.S_ISREG(os.fstat(opened.fileno()).st_mode):
            raise OSError(errno.EINVAL, "it is no plain file", file)
        content = opened.read(BYTES_MAX + 1)
    if len(content) > BYTES_MAX:
        raise OSError(errno.EFBIG, f"it is larger than {BYTES_MAX >> 20} MiB", file)
    return content.decode("utf-8")


def read_json(file: str) -> Any:
    """Return the JSON in a file: its numbers are finite and have 64 bits, its depth is at most `DEPTH_MAX`."""
    try:
        value = json.loads(
            read_text(file), parse_constant=_no_number, parse_float=_finite_number, parse_int=_whole_number
        )
    except RecursionError:
        value = None
        too_deep = True
    else:
        too_deep = _is_deeper(value, DEPTH_MAX)
    if too_deep:
        raise ValueError(f"it has more than {DEPTH_MAX} lists or objects inside each other")
    return value


def replace(file: str, text: str) -> None:
    """Replace the content of a file by `text`: at any time it has the old or the new content. Raises OSError.

    A link is replaced, not followed.
    """
    os.makedirs(os.path.dirname(file), exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=os.path.dirname(file), prefix=".", suffix=".tmp")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as written:
            written.write(text)
        os.replace(temporary, file)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise


def _open_at_once(file: str, flags: int) -> int:
    """Open without blocking: a pipe must be detected before it blocks."""
    return os.open(file, flags | os.O_NONBLOCK | os.O_NOCTTY)


def _no_number(text: str) -> float:
    raise ValueError(f"{text} is no number")


def _finite_number(text: str) -> float:
    number = float(text)
    return number if math.isfinite(number) else _no_number(text)


def _whole_number(text: str) -> int:
    if len(text) > len(str(-INTEGER_MAX)) or abs(int(text)) > INTEGER_MAX:
        raise ValueError(f"a number of {len(text)} digits")
    return int(text)


def _is_deeper(value: Any, depth_max: int) -> bool:
    level = [value]
    for _ in range(depth_max + 1):
        inner: list[Any] = []
        for one in level:
            if isinstance(one, dict):
                inner.extend(one.values())
            elif isinstance(one, list):
                inner.extend(one)
        if not inner:
            return False
        level = inner
    return True
