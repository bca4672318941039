"""What holds for all tests: they plan with the stated defaults, whatever `swath calibrate` has kept on this machine.

Set before anything is imported and inherited by the programs that tests start, so that plans are the same everywhere,
and no test teaches the user's own profile.
"""

import itertools
import os
import signal

import hypothesis
import pytest

os.environ["SWATH_PROFILE"] = "none"
os.environ.pop("PYTHONUNBUFFERED", None)  # with it a printed line is two writes, and lines of several ranks mix
signal.signal(signal.SIGINT, signal.default_int_handler)  # also where the tests run in the background of a shell
TESTS = itertools.count()
hypothesis.settings.register_profile("swath", deadline=None)  # a busy machine is no failure
hypothesis.settings.load_profile("swath")


@pytest.fixture(autouse=True)
def copies_are_verified_by_library(monkeypatch, request):
    """What a copy made is read by h5py, netCDF4 and zarr, too, and not only by Swath.

    A test says why its copies are not: `@pytest.mark.not_by_library("zarr opens no such group")`.
    """
    if request.node.get_closest_marker("not_by_library"):
        return
    import by_library
    import swath

    monkeypatch.setattr(swath, "copy", by_library.verified(swath.copy))


@pytest.fixture
def own_tokens(monkeypatch):
    """Tokens of this test alone: what an earlier test left behind, not yet collected, would keep its counts."""
    from swath.throttle import throttle

    number, name = next(TESTS), throttle._scope_name
    monkeypatch.setattr(
        throttle, "_scope_name", lambda scope: name(scope) if scope == "user" else f"{name(scope)} {number}"
    )
