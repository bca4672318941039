"""Kernels without some system calls: what tests skip on them, and how to simulate one.

python kernels.py COMMAND...    runs a command as on Linux 5.10, or in a container that refuses newer calls
"""

from __future__ import annotations

import ctypes
import errno
import os
import struct
import sys
from collections.abc import Mapping

import pytest

from swath.store.standalone import page_cache as kernel

with open(__file__, "rb") as _file:
    HAS_CACHESTAT = kernel.cached_bytes(_file.fileno(), 1) is not None

needs_cachestat = pytest.mark.skipif(not HAS_CACHESTAT, reason="this kernel does not say what it has in memory")

REFUSED = {"io_uring_setup": 425, "io_uring_enter": 426, "io_uring_register": 427, "cachestat": 451}
"""System call numbers; calls since 2011 have the same number on all machines."""
REFUSED_AS_UNKNOWN = dict.fromkeys(REFUSED.values(), errno.ENOSYS)
"""As on a kernel that lacks them."""
NO_NEW_PRIVILEGES, SET_SECCOMP, FILTER = 38, 22, 2  # <linux/prctl.h>, <linux/seccomp.h>
LOAD, JUMP_IF_EQUAL, RETURN = 0x20, 0x15, 0x06  # <linux/bpf_common.h>
ALLOW, REFUSE = 0x7FFF0000, 0x00050000


def refuse(errors: Mapping[int, int] = REFUSED_AS_UNKNOWN) -> None:
    """From now on, in this process and its children, system calls of these numbers fail with these errors."""
    instructions = [(LOAD, 0, 0, 0)]  # the number of the call
    for number, error in errors.items():
        instructions += [(JUMP_IF_EQUAL, 0, 1, number), (RETURN, 0, 0, REFUSE | error)]
    instructions.append((RETURN, 0, 0, ALLOW))
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *one) for one in instructions))

    class Program(ctypes.Structure):
        _fields_ = (("length", ctypes.c_ushort), ("code", ctypes.c_void_p))

    program = Program(len(instructions), ctypes.addressof(code))
    libc = ctypes.CDLL(None, use_errno=True)
    for call in ((NO_NEW_PRIVILEGES, 1, 0, 0, 0), (SET_SECCOMP, FILTER, ctypes.byref(program), 0, 0)):
        if libc.prctl(*call) != 0:
            sys.exit(f"kernels.py: calls cannot be refused here: {os.strerror(ctypes.get_errno())}")


if __name__ == "__main__":
    refuse()
    os.execvp(sys.argv[1], sys.argv[1:])
