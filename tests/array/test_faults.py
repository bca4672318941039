"""Every fault of the engine at every step of every method: the same error on all ranks, no deadlock, no lost byte.

A deadlock of simulated ranks is an error that names the wait of each rank; pytest-timeout ends other hangs with the
stacks of all threads.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import random
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import swath
from fault_cases import FATAL, SCENES, SURVIVED, Break, Scene, attempts, breaks, check, has_uring, outcome
from swath.simulated import run_ranks

pytestmark = pytest.mark.timeout(300, method="thread")

# ranks, nodes, shared memory: windows of one node, messages between two, and messages only
WORLDS = ((1, 1, True), (2, 1, True), (2, 2, True), (3, 2, True), (4, 1, True), (4, 2, True), (3, 1, False))
QUICK_WORLDS = ((1, 1, True), (4, 2, True), (3, 1, False))


def counts_of(scene: Scene, path: Path, ranks: int, **world: Any) -> list[dict[str, int]]:
    path.write_bytes(scene.file())
    return run_ranks(ranks, lambda comm: attempts(scene, path, comm, ranks, comm.rank), **world)


def check_break(
    scene: Scene, broken: Break, path: Path, ranks: int, counts: list[dict[str, int]], kind: str, **world: Any
) -> None:
    path.write_bytes(scene.file())
    outcomes = run_ranks(ranks, lambda comm: outcome(scene, broken, path, comm, ranks, comm.rank, kind), **world)
    check(scene, broken, path, outcomes, counts)


def check_scene(scene: Scene, folder: Path, world: tuple[int, int, bool], kind: str, most: int | None) -> None:
    """Break every step of the scene, or a fixed choice of `most` of them."""
    ranks, nodes, shared = world
    path = folder / "a.raw"
    counts = counts_of(scene, path, ranks, nodes=nodes, shared_memory=shared)
    all_breaks = [*breaks(counts, FATAL), *breaks(counts, SURVIVED)]
    assert sum(map(sum, (of_rank.values() for of_rank in counts))) >= 5, "too few steps to be worth breaking"
    if most is not None and len(all_breaks) > most:
        all_breaks = random.Random(repr((scene.name, scene.direction, world))).sample(all_breaks, most)
    for seed, broken in enumerate(all_breaks):
        with told(f"{broken}, seed {seed}"):
            check_break(scene, broken, path, ranks, counts, kind, seed=seed, nodes=nodes, shared_memory=shared)


@contextlib.contextmanager
def told(which: str) -> Iterator[None]:
    """Name the case that failed."""
    try:
        yield
    except Exception as error:
        raise AssertionError(which) from error


@pytest.mark.parametrize("world", QUICK_WORLDS, ids=str)
@pytest.mark.parametrize("scene", SCENES.values(), ids=SCENES.keys())
def test_a_fault_is_the_same_error_on_all_ranks(tmp_path: Path, scene: Scene, world: tuple[int, int, bool]) -> None:
    check_scene(scene, tmp_path, world, "posix", 40)


@pytest.mark.parametrize("scene", SCENES.values(), ids=SCENES.keys())
def test_a_fault_of_io_uring_is_the_same_error_on_all_ranks(tmp_path: Path, scene: Scene) -> None:
    if not has_uring(tmp_path):
        pytest.skip("no io_uring here")
    check_scene(scene, tmp_path, (3, 2, True), "uring", 15)


@pytest.mark.exhaustive
@pytest.mark.timeout(1800, method="thread")
@pytest.mark.parametrize("kind", ["posix", "uring"])
@pytest.mark.parametrize("world", WORLDS, ids=str)
@pytest.mark.parametrize("scene", SCENES.values(), ids=SCENES.keys())
def test_every_fault_at_every_step(tmp_path: Path, scene: Scene, world: tuple[int, int, bool], kind: str) -> None:
    if kind == "uring" and not has_uring(tmp_path):
        pytest.skip("no io_uring here")
    check_scene(scene, tmp_path, world, kind, None)


# A megabyte in windows of 16 KiB: with a cold cache, another thread reads them during the exchange.
LARGE = Scene(
    "background", "two-phase", "read", np.s_[:, :], {"window_bytes": 16 << 10, "domain_bytes_min": 1}, (256, 1024)
)


@pytest.mark.parametrize("kind", ["posix", "uring"])
def test_a_fault_behind_the_exchange_is_the_same_error_on_all_ranks(tmp_path: Path, kind: str) -> None:
    if kind == "uring" and not has_uring(tmp_path):
        pytest.skip("no io_uring here")
    path = tmp_path / "a.raw"
    counts = counts_of(LARGE, path, 2)
    assert min(of_rank["read"] for of_rank in counts) == 32
    for attempt, what, ranks in itertools.product(
        (0, 1, 7, 20, 31), ("EIO", "short+EIO", "short"), ((0,), (1,), (0, 1))
    ):
        path.write_bytes(LARGE.file())
        evict(path)
        broken = Break("read", attempt, what, ranks)
        outcomes = run_ranks(
            2, lambda comm, broken=broken: outcome(LARGE, broken, path, comm, 2, comm.rank, kind), seed=attempt
        )
        check(LARGE, broken, path, outcomes, counts)


def evict(path: Path) -> None:
    """Remove a file from the page cache, if the file system allows it."""
    descriptor = os.open(path, os.O_RDWR)
    try:
        os.fsync(descriptor)
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
    finally:
        os.close(descriptor)


# ---- create ----------------------------------------------------------------------------------------------------------

SHAPE = (8, 6)
NEW = np.arange(48, dtype="<i4").reshape(SHAPE) + 1
OLD = b"what was there before"


def distribution(ranks: int) -> swath.Distribution:
    return swath.Distribution((swath.Block(), swath.Whole()), grid=(ranks, 1))


def share(ranks: int, rank: int) -> np.ndarray:
    return NEW[np.ix_(*distribution(ranks).indices(SHAPE, rank))]


def nothing_left(folder: Path, *, old: bool) -> None:
    """The name has the old file, or no file; and the folder has nothing else."""
    assert sorted(os.listdir(folder)) == (["a.npy"] if old else [])
    if old:
        assert (folder / "a.npy").read_bytes() == OLD


def run_create(
    folder: Path,
    ranks: int,
    body: Callable[[swath.Array, Any], None],
    *,
    overwrite: bool,
    seed: int = 0,
    **options: Any,
) -> list[BaseException | None]:
    """Create a.npy on simulated ranks; return each rank's error. `engine` may be a function of the rank."""
    path = folder / "a.npy"
    engine = options.pop("engine", lambda rank: "posix")

    def work(comm: Any) -> BaseException | None:
        try:
            with swath.create(
                path, SHAPE, "<i4", comm=comm, overwrite=overwrite, engine=engine(comm.rank), **options
            ) as a:
                body(a, comm)
        except BaseException as error:  # noqa: BLE001
            return error
        finally:
            comm.barrier()  # if another rank still waits in a call, this raises an error
        return None

    return run_ranks(ranks, work, seed=seed, nodes=1 + (seed + 1) % min(ranks, 2))


def write_all(a: swath.Array, comm: Any) -> None:
    a.write(share(comm.size, comm.rank), distribution(comm.size), method="direct")


def write_some(a: swath.Array, comm: Any) -> None:
    """Write all but the last row: elements that are not written have the fill value."""
    d = distribution(comm.size)
    rows = d.indices((7, 6), comm.rank)
    a.write(NEW[:7][np.ix_(*rows)], d, selection=np.s_[:7])


@contextlib.contextmanager
def folder_with(tmp_path: Path, name: str, *, old: bool) -> Iterator[Path]:
    folder = tmp_path / name
    folder.mkdir()
    if old:
        (folder / "a.npy").write_bytes(OLD)
    yield folder


@pytest.mark.parametrize("old", [False, True], ids=["new", "overwrite"])
@pytest.mark.parametrize("ranks", [1, 2, 4])
@pytest.mark.parametrize(
    ("rule", "body"),
    [
        ("write@0=ENOSPC", write_all),
        ("write@0=short+ENOSPC", write_all),
        ("write@0=EIO", write_some),  # filling
        ("write@1=EDQUOT", write_some),  # after filling
        ("write@0=short+ENOSPC", lambda a, comm: None),  # filling at close
        ("sync@0=EIO", write_all),
        ("sync@0=ENOSPC", lambda a, comm: None),
    ],
)
def test_a_create_that_fails_leaves_the_old_file_or_nothing(
    tmp_path: Path, ranks: int, old: bool, rule: str, body: Callable[[swath.Array, Any], None]
) -> None:
    # Rank 0 of each node syncs: a fault of another rank there has no effect.
    culprits = [(0,)] if rule.startswith("sync") else [(r,) for r in range(ranks)]
    for number, broken in enumerate([*culprits, tuple(range(ranks))]):
        with folder_with(tmp_path, f"{number}", old=old) as folder:
            errors = run_create(
                folder, ranks, body, overwrite=old, seed=number, fill=7,
                engine=lambda rank, broken=broken: f"fault:{rule}" if rank in broken else "posix",
            )  # fmt: skip
            assert len({(type(e), str(e)) for e in errors}) == 1
            assert isinstance(errors[0], swath.StoreError), errors
            assert (f"rank {broken[0]}: " in str(errors[0])) == (ranks > 1)
            nothing_left(folder, old=old)


@pytest.mark.parametrize("old", [False, True], ids=["new", "overwrite"])
@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("who", ["one", "another", "all"])
@pytest.mark.parametrize("ranks", [1, 3])
def test_an_exception_in_the_block_leaves_the_old_file_or_nothing(
    tmp_path: Path, ranks: int, who: str, when: str, old: bool
) -> None:
    broken = {"one": {0}, "another": {ranks - 1}, "all": set(range(ranks))}[who]

    def body(a: swath.Array, comm: Any) -> None:
        if when == "after":
            write_all(a, comm)
        if comm.rank in broken:
            raise KeyError(f"mistake of rank {comm.rank}")
        write_all(a, comm)

    for seed in range(4):
        with folder_with(tmp_path, f"{seed}", old=old) as folder:
            errors = run_create(folder, ranks, body, overwrite=old, seed=seed)
            for rank, error in enumerate(errors):
                if rank in broken:  # its own exception is raised
                    assert isinstance(error, KeyError)
                else:
                    assert f"rank {min(broken)}: KeyError: 'mistake of rank {min(broken)}'" in str(error)
            nothing_left(folder, old=old)


@pytest.mark.parametrize("ranks", [1, 2, 3])
def test_an_exception_of_one_rank_inside_two_files_ends_both(tmp_path: Path, ranks: int) -> None:
    """The inner file's ranks agree on the error; the outer file must not wait for ranks that have left."""
    np.save(tmp_path / "source.npy", NEW)

    def work(comm: Any, culprit: int) -> BaseException | None:
        try:
            with (
                swath.open(tmp_path / "source.npy", comm=comm) as a,
                swath.create(tmp_path / "a.npy", SHAPE, "<i4", comm=comm) as b,
            ):
                mine = a.read(distribution(ranks))
                if comm.rank == culprit:
                    raise KeyError("mistake")
                b.write(mine, distribution(ranks))
        except BaseException as error:  # noqa: BLE001
            return error
        finally:
            comm.barrier()  # if another rank still waits in a call, this raises an error
        return None

    for culprit, seed in itertools.product(range(ranks), range(3)):
        errors = run_ranks(ranks, lambda comm, culprit=culprit: work(comm, culprit), seed=seed)
        assert isinstance(errors[culprit], KeyError)
        assert all("mistake" in str(error) for error in errors)
        assert sorted(os.listdir(tmp_path)) == ["source.npy"]


@pytest.mark.parametrize("ranks", [2, 3])
def test_an_error_of_one_rank_alone_reaches_those_who_wait_at_the_end(tmp_path: Path, ranks: int) -> None:
    """`a[...]` is local: a rank that fails in it must still report this to the others, which close the file."""
    np.save(tmp_path / "a.npy", NEW)

    def work(comm: Any, culprit: int) -> str:
        engine = "fault:read@0=EIO" if comm.rank == culprit else "posix"
        try:
            with swath.open(tmp_path / "a.npy", comm=comm, engine=engine) as a:
                if comm.rank == culprit:
                    assert a[:].shape == SHAPE
        except swath.StoreError as error:
            return str(error).removeprefix(f"rank {culprit}: ")
        finally:
            comm.barrier()
        return "nothing"

    for culprit, seed in itertools.product(range(ranks), range(3)):
        texts = set(run_ranks(ranks, lambda comm, culprit=culprit: work(comm, culprit), seed=seed))
        assert len(texts) == 1
        assert "Input/output error" in texts.pop()


def test_an_engine_that_one_rank_cannot_open_leaves_nothing(tmp_path: Path) -> None:
    for ranks, culprit in ((1, 0), (2, 0), (3, 2)):
        errors = run_create(
            tmp_path, ranks, write_all, overwrite=False,
            engine=lambda rank, culprit=culprit: "fault:nonsense" if rank == culprit else "posix",
        )  # fmt: skip
        assert len({str(e) for e in errors}) == 1
        assert isinstance(errors[0], swath.ArgumentError)
        assert 'engine fault: rule "nonsense"' in str(errors[0])
        nothing_left(tmp_path, old=False)


@pytest.mark.parametrize("ranks", [1, 3])
def test_a_name_that_is_taken_meanwhile_is_not_replaced(tmp_path: Path, ranks: int) -> None:
    def body(a: swath.Array, comm: Any) -> None:
        write_all(a, comm)
        if comm.rank == 0:
            (tmp_path / "a.npy").write_bytes(OLD)

    errors = run_create(tmp_path, ranks, body, overwrite=False)
    assert len({(type(e), str(e)) for e in errors}) == 1
    assert isinstance(errors[0], swath.ExistsError)
    nothing_left(tmp_path, old=True)


@pytest.mark.parametrize("ranks", [1, 3])
def test_a_name_that_has_become_a_folder_is_an_error_on_all(tmp_path: Path, ranks: int) -> None:
    def body(a: swath.Array, comm: Any) -> None:
        write_all(a, comm)
        if comm.rank == 0:
            (tmp_path / "a.npy").mkdir()

    errors = run_create(tmp_path, ranks, body, overwrite=True)
    assert len({(type(e), str(e)) for e in errors}) == 1
    assert isinstance(errors[0], swath.StoreError)
    assert sorted(os.listdir(tmp_path)) == ["a.npy"]
    assert os.listdir(tmp_path / "a.npy") == []


@pytest.mark.parametrize("overwrite", [False, True])
def test_a_rename_that_the_system_refuses_leaves_the_old_file(tmp_path: Path, overwrite: bool) -> None:
    if overwrite:
        (tmp_path / "a.npy").write_bytes(OLD)

    def write_what_is_taken_away(a: swath.Array, comm: Any) -> None:
        write_all(a, comm)
        if comm.rank == 0:
            next(tmp_path.glob(".a.npy.swath-*")).unlink()

    errors = run_create(tmp_path, 3, write_what_is_taken_away, overwrite=overwrite)
    assert len({(type(e), str(e)) for e in errors}) == 1
    assert isinstance(errors[0], swath.StoreError)
    assert errors[0].errno == 2
    nothing_left(tmp_path, old=overwrite)


def test_a_folder_that_cannot_be_written_is_an_error_on_all(tmp_path: Path) -> None:
    folder = Path("/proc/self")  # no file can be made there, not even by root
    errors = run_create(folder, 2, write_all, overwrite=False)
    assert len({(type(e), str(e)) for e in errors}) == 1
    assert isinstance(errors[0], swath.StoreError)


KILLED = """
import os, signal, sys, threading
import numpy as np, swath
path, step = sys.argv[1:]
engine = None
with swath.create(path, (8, 6), "<i4", overwrite=True) as a:
    if step == "created": os.kill(os.getpid(), signal.SIGKILL)
    a.write(np.arange(48, dtype="<i4").reshape(8, 6) + 1)
    if step == "written": os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.parametrize("step", ["created", "written"])  # and between any two system calls: atomic_file_test.cc
def test_a_crash_leaves_the_old_file_under_the_name(tmp_path: Path, step: str) -> None:
    path = tmp_path / "a.npy"
    path.write_bytes(OLD)
    ended = subprocess.run([sys.executable, "-c", KILLED, path, step], timeout=60, check=False)
    assert ended.returncode == -signal.SIGKILL
    assert path.read_bytes() == OLD
    with swath.create(path, SHAPE, "<i4", overwrite=True) as a:  # what the crash left is in nobody's way
        a.write(NEW)
    np.testing.assert_array_equal(np.load(path), NEW)


# ---- different arguments ---------------------------------------------------------------------------------------------

D1 = swath.Distribution((swath.Block(), swath.Whole()), grid=(3, 1))
D2 = swath.Distribution((swath.Whole(), swath.Block()), grid=(1, 3))
DIFFERENT: dict[str, tuple[Callable[[swath.Array], Any], Callable[[swath.Array], Any]]] = {
    "distribution": (lambda a: a.read(D1), lambda a: a.read(D2)),
    "selection": (lambda a: a.read(D1), lambda a: a.read(D1, selection=np.s_[::2])),
    "method": (lambda a: a.read(D1, method="sieve"), lambda a: a.read(D1, method="two-phase")),
    "tuning": (lambda a: a.read(D1, tuning={"window_bytes": 64}), lambda a: a.read(D1, tuning={"window_bytes": 32})),
    "boxes or not": (lambda a: a.read(D1), lambda a: a.read(swath.Boxes([]))),
    "direction": (lambda a: a.read(D1), lambda a: a.write(np.zeros((0, 0), "<i4"), D1)),
    "operation": (lambda a: a.read(D1), lambda a: a.sync()),
    "reading and closing": (lambda a: a.read(D1), lambda a: a.close()),
}


@pytest.mark.parametrize("what", DIFFERENT)
@pytest.mark.parametrize("other", [0, 1, 2])
def test_different_arguments_are_the_same_error_on_all_ranks(tmp_path: Path, what: str, other: int) -> None:
    path = tmp_path / "a.npy"
    np.save(path, NEW)
    calls = DIFFERENT[what]

    def work(comm: Any) -> str:
        a = swath.open(path, mode="r+", comm=comm)
        with pytest.raises(swath.DisagreementError) as raised:
            calls[comm.rank == other](a)
        if what != "reading and closing":
            assert (a.read(D1) == NEW[np.ix_(*D1.indices(SHAPE, comm.rank))]).all()
        return str(raised.value)

    for seed in range(3):
        texts = set(run_ranks(3, work, seed=seed))
        assert len(texts) == 1
        assert "rank 0: " in texts.pop()


def test_a_different_path_is_the_same_error_on_all_ranks(tmp_path: Path) -> None:
    def work(comm: Any) -> str:
        with pytest.raises(swath.Error) as raised:
            swath.open(tmp_path / f"{comm.rank}.npy", comm=comm)
        return f"{type(raised.value)} {raised.value}"

    assert len(set(run_ranks(3, work))) == 1  # rank 0's own error (no such file) comes first
    np.save(tmp_path / "0.npy", NEW)
    np.save(tmp_path / "1.npy", NEW)
    np.save(tmp_path / "2.npy", NEW)
    texts = set(run_ranks(3, work))
    assert len(texts) == 1
    assert "DisagreementError" in texts.pop()
