"""What holds for all tests: they plan with the stated defaults, whatever `swath calibrate` has kept on this machine.

Set before anything is imported and inherited by the programs that tests start, so that plans are the same everywhere,
and no test teaches the user's own profile.
"""

import itertools
import os
import signal

import pytest

os.environ["SWATH_PROFILE"] = "none"
signal.signal(signal.SIGINT, signal.default_int_handler)  # also where the tests run in the background of a shell
TESTS = itertools.count()


@pytest.fixture
def own_tokens(monkeypatch):
    """Tokens of this test alone: what an earlier test left behind, not yet collected, would keep its counts."""
    from swath.throttle import throttle

    number, name = next(TESTS), throttle._scope_name
    monkeypatch.setattr(
        throttle, "_scope_name", lambda scope: name(scope) if scope == "user" else f"{name(scope)} {number}"
    )
