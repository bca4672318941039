"""A process that is killed at a chosen system call: before it, or in the middle of its write."""

from __future__ import annotations

import ctypes
import os
import platform
import signal
import stat
import traceback
from collections.abc import Callable, Iterator
from typing import Any

import pytest

CALLS_OF_MACHINES = {
    "x86_64": {
        "write": 1, "pwrite64": 18, "writev": 20, "pwritev": 296, "pwritev2": 328, "truncate": 76, "ftruncate": 77,
        "fsync": 74, "fdatasync": 75, "syncfs": 306, "unlink": 87, "unlinkat": 263, "rmdir": 84, "mkdir": 83,
        "mkdirat": 258, "rename": 82, "renameat": 264, "renameat2": 316, "link": 86, "linkat": 265,
    },
    "aarch64": {
        "write": 64, "pwrite64": 68, "writev": 66, "pwritev": 70, "pwritev2": 287, "truncate": 45, "ftruncate": 46,
        "fsync": 82, "fdatasync": 83, "syncfs": 267, "unlinkat": 35, "mkdirat": 34, "renameat": 38, "renameat2": 276,
        "linkat": 37,
    },
}  # fmt: skip
"""Numbers of the system calls that change files."""
CALLS = CALLS_OF_MACHINES.get(platform.machine(), {})
COUNTED = {number: name for name, number in CALLS.items()}

TRACE_ME, SET_OPTIONS, SYSCALL, GET_SYSCALL_INFO = 0, 0x4200, 24, 0x420E  # <linux/ptrace.h>
MARK_CALLS, FOLLOW_THREADS, MARK_PROGRAMS, KILL_WITH_TRACER = 1, 8, 16, 1 << 20
ALL_THREADS = 0x40000000  # __WALL
CALL_STOP = signal.SIGTRAP | 0x80

NO_TRACING = 77


class CallInfo(ctypes.Structure):
    """The kernel's struct ptrace_syscall_info."""

    _fields_ = (
        ("op", ctypes.c_uint8),  # 1: the call begins
        ("padding", ctypes.c_uint8 * 3),
        ("architecture", ctypes.c_uint32),
        ("instruction_pointer", ctypes.c_uint64),
        ("stack_pointer", ctypes.c_uint64),
        ("number", ctypes.c_uint64),
        ("arguments", ctypes.c_uint64 * 6),
    )


_ptrace = ctypes.CDLL(None, use_errno=True).ptrace
_ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
_ptrace.restype = ctypes.c_long


def killed(work: Callable[[], Any], at: int) -> bool:
    """Run `work` in a child that is killed at its call number `at`; return False if it ended before.

    The calls are those that change files, by Python, the core or libraries, from 0 on. None is -1.
    """
    child = os.fork()
    if child == 0:
        _end_after(work, is_traced=at >= 0)
    status = _killed_at(child, at) if at >= 0 else os.waitpid(child, 0)[1]
    assert os.WIFSIGNALED(status) or os.WEXITSTATUS(status) == 0, "the child raised an error"
    return os.WIFSIGNALED(status)


def give_up_privileges() -> None:
    """Restrict this process to the permissions of its user, also for root."""
    version_and_process = (ctypes.c_uint32 * 2)(0x20080522, 0)  # _LINUX_CAPABILITY_VERSION_3
    none = (ctypes.c_uint32 * 6)()
    assert ctypes.CDLL(None).capset(version_and_process, none) == 0


def _end_after(work: Callable[[], Any], *, is_traced: bool) -> None:
    try:
        if is_traced:
            os.setpgid(0, 0)  # by which its threads are waited for
            if _ptrace(TRACE_ME, 0, None, None) != 0:
                os._exit(NO_TRACING)
            os.kill(os.getpid(), signal.SIGSTOP)
        work()
    except BaseException:  # noqa: BLE001
        traceback.print_exc()
        os._exit(1)
    os._exit(0)


def _killed_at(child: int, at: int) -> int:
    """Continue the child from call to call, and kill it at one; return its status."""
    _, status = os.waitpid(child, os.WUNTRACED)
    if not CALLS or (os.WIFEXITED(status) and os.WEXITSTATUS(status) == NO_TRACING):
        os.kill(child, signal.SIGKILL)
        pytest.skip("this process may trace no other")
    _ptrace(SET_OPTIONS, child, None, MARK_CALLS | FOLLOW_THREADS | MARK_PROGRAMS | KILL_WITH_TRACER)
    left = at
    for thread, info in _calls(child):
        if isinstance(info, int):
            return info
        if left == 0:
            _write_half(thread, info)
            os.kill(child, signal.SIGKILL)
        left -= 1
    raise AssertionError


def _calls(child: int) -> Iterator[tuple[int, CallInfo | int]]:
    """Yield (thread, call) of each call before it is executed; at the end (child, its status)."""
    stopped, given = child, 0
    while True:
        _ptrace(SYSCALL, stopped, None, given)
        stopped, status = os.waitpid(-child, ALL_THREADS)
        given = 0
        if os.WIFEXITED(status) or os.WIFSIGNALED(status):
            if stopped == child:
                yield child, status
                return
            continue
        if os.WSTOPSIG(status) == CALL_STOP:
            info = CallInfo()
            _ptrace(GET_SYSCALL_INFO, stopped, ctypes.sizeof(info), ctypes.byref(info))
            if info.op == 1 and info.number in COUNTED:
                yield stopped, info
        elif status >> 16 == 0 and os.WSTOPSIG(status) != signal.SIGSTOP:
            given = os.WSTOPSIG(status)  # a signal of its own, neither a new thread nor its beginning


def _write_half(thread: int, call: CallInfo) -> None:
    """Do half of a thread's next write into a file."""
    name = COUNTED[call.number]
    if name not in ("write", "pwrite64"):
        return
    number, address, count, offset = list(call.arguments)[:4]
    file = f"/proc/{thread}/fd/{number}"
    if not stat.S_ISREG(os.stat(file).st_mode):
        return
    with open(f"/proc/{thread}/mem", "rb", buffering=0) as memory:
        memory.seek(address)
        data = memory.read(count // 2)
    with open(f"/proc/{thread}/fdinfo/{number}") as lines:
        opened = dict(line.split(":", 1) for line in lines if line.startswith(("pos:", "flags:")))
    if name == "write":
        offset = os.stat(file).st_size if int(opened["flags"], 8) & os.O_APPEND else int(opened["pos"])
    target = os.open(file, os.O_WRONLY)
    try:
        os.pwrite(target, data, offset)
    finally:
        os.close(target)
