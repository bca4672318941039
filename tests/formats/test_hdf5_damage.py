"""HDF5 files that are damaged, truncated or being written: the error is the format's, and names the file."""

import contextlib
import os
import pickle

import numpy as np
import pytest

import swath
from swath.commands import cli
from swath.errors import Error, FormatError, StoreError, UnsupportedError
from swath.formats import (
    describe,
)

h5py = pytest.importorskip("h5py")


@pytest.fixture
def path(tmp_path):
    return tmp_path / "a.h5"


def test_damaged_filtered_chunks_are_reported_and_nothing_crashes(path):
    values = np.random.default_rng(2).integers(0, 9, (40, 40)).astype("<i4")
    with h5py.File(path, "w") as file:
        file.create_dataset("v", data=values, chunks=(20, 20), compression="gzip", shuffle=True, fletcher32=True)
    whole = path.read_bytes()
    table = describe(path, "v").layout.places
    random = np.random.default_rng(3)
    for _ in range(30):
        at = int(table.offsets[0, 0]) + int(random.integers(table.nbytes[0, 0]))
        path.write_bytes(whole[:at] + bytes([whole[at] ^ (1 << random.integers(8))]) + whole[at + 1 :])
        with swath.open(path, "v") as a:
            np.testing.assert_array_equal(a[20:], values[20:])
            with pytest.raises(FormatError, match=r"chunk \(0, 0\).*fletcher32"):
                a.read()
    path.write_bytes(whole)
    description = describe(path, "v")
    assert pickle.loads(pickle.dumps(description)) == description
    os.truncate(path, description.end - 1)
    with pytest.raises((FormatError, StoreError)):
        swath.open(path, "v")


def test_truncated_and_damaged_files_are_format_errors_with_the_path(path):
    with h5py.File(path, "w") as file:
        file["v"] = np.arange(1000.0)
        file.create_dataset("c", data=np.arange(1000).reshape(10, 100), chunks=(3, 30))
    whole = path.read_bytes()
    for cut in range(8, len(whole), 197):
        path.write_bytes(whole[:cut])
        with pytest.raises(FormatError, match=r"a\.h5"):
            describe(path, "v")
    rng = np.random.default_rng(0)
    for _ in range(100):
        raw = bytearray(whole)
        for at in rng.integers(8, 3000, 4):
            raw[at] = rng.integers(256)
        path.write_bytes(raw)
        for name in "vc":
            with contextlib.suppress(Error):
                assert describe(path, name).end <= len(raw)


def is_refused(path, name):
    """Return whether an array cannot be read; the error must be the format's, also if the name is lost."""
    try:
        with swath.open(path, name) as a:
            if a.nbytes < 1 << 20:
                a[...]
        return False
    except Error as raised:
        error = raised
    assert type(error) in (FormatError, UnsupportedError) or "there is no variable" in str(error), repr(error)
    assert str(path) in str(error)
    return True


def test_damaged_trees_of_chunks_are_format_errors(path):
    """Damage each byte of the B-tree of the chunks; the file is also read whole, and by the command line."""
    values = np.arange(40).reshape(8, 5)
    with h5py.File(path, "w", libver="earliest") as file:
        file.create_dataset("c", data=values, chunks=(4, 4))
    whole = path.read_bytes()
    tree = whole.index(b"TREE\x01")
    wrong = 0
    for at in range(tree, tree + 24 + 4 * 40):
        for value in (0, 1, 0x7F, 0xFF):
            path.write_bytes(whole[:at] + bytes([value]) + whole[at + 1 :])
            wrong += is_refused(path, "c")
    assert wrong > 100
    path.write_bytes(whole)


def test_a_chunk_that_a_tree_places_outside_the_array_is_named(path):
    with h5py.File(path, "w", libver="earliest") as file:
        file.create_dataset("c", data=np.arange(40).reshape(8, 5), chunks=(4, 4))
    whole = bytearray(path.read_bytes())
    # After 24 bytes each chunk has its size and mask, 4 bytes each, its start, 3 times 8 bytes, and its address.
    begins = whole.index(b"TREE\x01") + 24 + 40 + 8
    whole[begins : begins + 8] = (400).to_bytes(8, "little")
    path.write_bytes(whole)
    with pytest.raises(FormatError, match=r"places a chunk of element \(400, 4\) at byte \d+, but .* shape \(8, 5\)"):
        swath.open(path, "c")
    assert cli.main(["info", f"{path}:c"]) == 2


def test_chunks_that_share_bytes_are_damage(path):
    with h5py.File(path, "w") as f:
        f.create_dataset("t", data=np.arange(60).reshape(6, 10), chunks=(4, 3), compression="gzip")
        offsets = [f["t"].id.get_chunk_info(i).byte_offset for i in range(8)]
    content = path.read_bytes()
    moved = offsets[4].to_bytes(8, "little")
    assert content.count(moved) == 1
    path.write_bytes(content.replace(moved, offsets[7].to_bytes(8, "little")))
    with pytest.raises(FormatError, match=f"t: the file is damaged: its chunk of element .*begins at {offsets[7]}"):
        swath.open(path, "t")


def test_any_damage_is_an_error_of_the_format_or_an_array(path):
    """The file has no text of variable length, because damage of it crashes HDF5's library itself."""
    with h5py.File(path, "w") as file:
        file["v"] = np.arange(50.0)
        file["v"].attrs["n"] = [1, 2, 3]
        file.create_dataset("g/c", data=np.arange(300).reshape(10, 30), chunks=(3, 7))
        file.create_dataset(
            "z", data=np.arange(300).reshape(10, 30), chunks=(4, 10), compression="gzip", fletcher32=True
        )
        file.create_dataset("s", data=np.array([(1, 2.0)], dtype=[("a", "i4"), ("b", "f8")]))
    whole = path.read_bytes()
    used = np.flatnonzero(np.frombuffer(whole, np.uint8))
    used = used[used >= 8]
    random = np.random.default_rng(24)
    for _ in range(80):
        raw = bytearray(whole)
        for at in random.choice(used, size=random.integers(1, 4)):
            raw[at] = random.choice([0, 1, 4, 0x7F, 0x80, 0xFF, random.integers(256)])
        path.write_bytes(raw)
        for name in ("v", "g/c", "z", "s"):
            is_refused(path, name)
        assert cli.main(["info", str(path)]) in (0, 2)
