"""Errors are sent between ranks without a change."""

import errno
import json
import pickle

import pytest

from swath import errors

KINDS = [
    errors.Error,
    errors.ArgumentError,
    errors.StoreError,
    errors.NotFoundError,
    errors.ExistsError,
    errors.OutOfMemoryError,
    errors.FormatError,
    errors.DisagreementError,
    errors.UnsupportedError,
    errors.InternalError,
]


def made(kind):
    return kind("run.nc: no", errno.ENOSPC) if issubclass(kind, errors.StoreError) else kind("run.nc: no")


@pytest.mark.parametrize("kind", KINDS)
def test_an_error_survives_json_and_pickle(kind):
    for again in (
        errors.from_wire(json.loads(json.dumps(errors.to_wire(made(kind))))),
        pickle.loads(pickle.dumps(made(kind))),
    ):
        assert type(again) is kind
        assert str(again) == "run.nc: no"
        if issubclass(kind, errors.StoreError):
            assert again.errno == errno.ENOSPC


def test_kinds_differ_and_are_caught_as_what_python_calls_them():
    assert len({kind.kind for kind in KINDS}) == len(KINDS)
    parents = [ValueError, OSError, FileNotFoundError, FileExistsError, MemoryError, ValueError, RuntimeError]
    for kind, parent in zip(KINDS[1:], [*parents, NotImplementedError, RuntimeError], strict=True):
        with pytest.raises(parent, match=r"run\.nc"):
            raise made(kind)
        assert issubclass(kind, errors.Error)


def test_the_errno_picks_the_store_error():
    assert type(errors.store_error("x", errno.ENOENT)) is errors.NotFoundError
    assert type(errors.store_error("x", errno.EEXIST)) is errors.ExistsError
    assert type(errors.store_error("x", errno.ENOMEM)) is errors.OutOfMemoryError
    assert type(errors.store_error("x", errno.EIO)) is errors.StoreError
    assert errors.store_error("x", errno.EIO).errno == errno.EIO
    assert errors.StoreError("x").errno is None


def test_foreign_exceptions_travel_as_internal_or_store_errors():
    again = errors.from_wire(errors.to_wire(KeyError("k")))
    assert type(again) is errors.InternalError
    assert str(again) == "KeyError: 'k'"
    gone = errors.from_wire(errors.to_wire(FileNotFoundError(errno.ENOENT, "gone")))
    assert type(gone) is errors.NotFoundError
    assert gone.errno == errno.ENOENT
    assert type(errors.from_wire({"kind": "from the future", "message": "m", "errno": None})) is errors.InternalError
