"""`swath.copy` and `swath.explain_copy`."""

from __future__ import annotations

import dataclasses
import time
import warnings
from collections.abc import Sequence
from typing import Any

import numpy.typing as npt

from swath.copying import explain
from swath.copying.execute import State, bytes_before, execute, working_ranks
from swath.copying.journal import Journal
from swath.copying.plan import CopyPlan, FilePlan
from swath.copying.prepare import CopyOptions, Job, plan_parts, prepare_job
from swath.copying.request import CopyRequest, TargetOptions, make_request, memory_bytes
from swath.copying.sources import description_of, refuse_open_target
from swath.copying.whole_file import contents_to_copy, make_whole_request
from swath.errors import ArgumentError
from swath.formats.description import Order
from swath.ranks import compared, mpi
from swath.ranks.ranks import in_turn, ranks_of

CHECKPOINT_BYTES = 1 << 30
"""After so many bytes what was written is synced, beside the work that goes on, and entered in the journal."""


@dataclasses.dataclass(frozen=True)
class Copied:
    """What `swath.copy` did.

    Attributes:
        plan: by which it was done; of a whole file that of all its variables.
        seconds: all of it.
        sync_seconds: of them, waiting at the end for what was written to be on the medium.
        bytes: of the target's elements, of all variables.
        working_ranks: how many ranks moved tiles.
        resumed_bytes: of the bytes that all passes move, those that an earlier, interrupted copy had moved.
    """

    plan: CopyPlan | FilePlan
    seconds: float
    sync_seconds: float
    bytes: int
    working_ranks: int
    resumed_bytes: int

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data, for JSON."""
        return {**dataclasses.asdict(self), "plan": self.plan.to_dict()}


@in_turn
def copy(
    source: Any,
    target: Any,
    *,
    variable: str | None = None,
    target_variable: str | None = None,
    axes: Sequence[int] | None = None,
    order: Order | None = None,
    chunks: Sequence[int] | None = None,
    shards: Sequence[int] | None = None,
    codecs: Any = None,
    dtype: npt.DTypeLike | None = None,
    casting: str = "same_kind",
    format: str | None = None,  # noqa: A002
    memory: int | str | None = None,
    overwrite: bool = False,
    resume: bool | None = None,
    comm: Any = None,
    workers: int | None = None,
    engine: str | None = None,
    checkpoint_bytes: int = CHECKPOINT_BYTES,
) -> Copied:
    """Copy a file, or an array into a new file of any layout, in bounded memory. Collective over `comm`.

    Where source and target are of formats that hold many variables (netCDF, HDF5, Zarr), and no `variable`,
    `target_variable`, `axes`, `order`, `chunks`, `shards` or `dtype` is given, all of the file is copied: variables,
    groups, dimensions, attributes with their types, chunks, codecs; what the target cannot hold is listed in the error.
    Else one array is.

    The file is written aside, synced, and gets its name when it is complete: a copy that is killed leaves no half
    result, and another call with `resume=True` goes on where it was. Elements that are never written do not exist: the
    whole array is copied.

    Args:
        source: a path, or an array opened by `swath.open` (for raw files, which do not describe themselves).
        target: the file, or the folder of a Zarr store, to make. Its suffix says the format where `format` does not;
            a whole file keeps the version of its format where the suffix allows it (.nc is netCDF-4, too).
        variable: the source's name in its file.
        target_variable: the target's, in netCDF, HDF5 and Zarr; by default the source's.
        axes: the target's dimension d is the source's dimension `axes[d]`: (1, 0) transposes. By default as they are.
        order: of the target's elements in its file: "C", "F" (raw, .npy), or the dimensions from slowest to fastest
            (raw; Zarr, of each chunk); by default the source's where the format can store it and `axes` are as they
            are, else "C".
        chunks: elements of a chunk along each dimension, of HDF5 (by default none: contiguous) and Zarr (by default as
            in the source, else of about 4 MiB).
        shards: of Zarr, see `swath.create`. A shard is written as a whole, and must fit in memory some times.
        codecs: of HDF5 and Zarr, see `swath.create`; of a whole file of all variables that have chunks, by default
            each its own where the format has them.
        dtype: of the target, byte order included; by default the source's.
        casting: what may become of values, by NumPy's names: "no", "equiv", "safe", "same_kind", "unsafe".
        format: see `swath.create`.
        memory: the budget, in bytes or as "256MiB": at most so much memory that is not page cache, of all ranks of a
            node together, beside what the interpreter has anyway. By default a quarter of the available memory, at
            most 1 GiB.
        overwrite: whether an existing target may be replaced.
        resume: True goes on with a copy that was interrupted (or begins, where there is none); False begins anew; None
            begins, but refuses to throw away what an interrupted copy has done.
        comm: an mpi4py communicator, whose ranks may share the work. Under mpiexec, without it, every process makes a
            copy of its own, and rank 0 warns of it (UserWarning); COMM_SELF says that this is meant.
        workers: how many ranks of each node move tiles; the others sleep. By default as many as make the copy faster
            by the plan, at most as many as the node has cores: one process reads, shuffles and writes at once, and
            alone keeps most devices busy.
        engine: see `swath.open`.
        checkpoint_bytes: after so many bytes the journal is brought up to date.

    Raises:
        ExistsError: the target exists and `overwrite` is not given; an interrupted copy is there and `resume` is None;
            another copy to the same target is under way.
        ArgumentError: a dtype, order, chunk or budget that cannot be; `resume` of another copy than was asked for.
        StoreError: the disk is too small, the system refuses, or the source has changed under way. There is no half
            result under the target's name; an old file there is as it was.
    """
    words = compared.words("copy to", target, locals(), own=("target", "comm"))
    begin = time.perf_counter()
    ranks = ranks_of(comm)
    if comm is None:
        _warn_of_many_copies(target)
    journal: list[Journal] = []

    def prepare() -> Job:
        form = TargetOptions(axes, order, chunks, shards, codecs, dtype, casting, format, target_variable)
        request = _request_for(source, target, variable, form)
        if not isinstance(checkpoint_bytes, int) or checkpoint_bytes < 1:
            raise ArgumentError(f"checkpoint_bytes: expected at least 1, not {checkpoint_bytes!r}")
        options = CopyOptions(workers, memory_bytes(memory), overwrite, resume, checkpoint_bytes)
        return prepare_job(request, ranks, options, journal)

    ranks.agree(words)  # before anything is written
    job = ranks.on_first("copy: prepare", prepare)
    if ranks.rank == 0 and job.request.left_out:
        what = "; ".join(job.request.left_out)
        warnings.warn(f"{job.request.title}: the target cannot hold, and is without: {what}", stacklevel=3)
    state = State(job, ranks, engine, journal[0] if journal else None, job.done)
    try:
        sync_seconds = execute(state)
    except Exception as error:
        raise state.failed(error) from error
    except BaseException:  # an interrupt: what is done can go on
        if state.journal is not None:
            state.journal.close()
        raise
    return Copied(
        plan=job.plan,
        seconds=time.perf_counter() - begin,
        sync_seconds=sync_seconds,
        bytes=sum(part.target_side.nbytes for part in job.request.parts),
        working_ranks=working_ranks(job),
        resumed_bytes=bytes_before(job, job.done),
    )


def _warn_of_many_copies(target: Any) -> None:
    """Warn the caller of `copy`, on rank 0, where mpiexec started several processes that each make a copy."""
    started_by, processes = mpi.launcher()
    if processes > 1 and mpi.launched_rank() == 0:
        warnings.warn(
            f"copy to {target}: {started_by}'s mpiexec started {processes} processes, and each of them makes a copy of "
            "its own, because no comm was given: comm=MPI.COMM_WORLD has them make one together, "
            "comm=MPI.COMM_SELF says that each shall make its own",
            stacklevel=4,
        )


@in_turn
def explain_copy(
    source: Any,
    target: Any,
    *,
    variable: str | None = None,
    memory: int | str | None = None,
    comm: Any = None,
    workers: int | None = None,
    cached: bool | None = None,
    **how: Any,
) -> explain.Explained:
    """Say what `copy` of the same arguments would do: passes, bytes, memory, seconds, disk space. Nothing is written.

    Args:
        source: see `copy`.
        target: see `copy`.
        variable: see `copy`.
        memory: see `copy`.
        comm: see `copy`.
        workers: see `copy`.
        cached: whether the source is taken to be in the page cache; by default it is not.
        how: axes, order, chunks, shards, codecs, dtype, casting, format and target_variable, as for `copy`.

    Raises:
        ArgumentError, NotFoundError, FormatError, StoreError: as `copy` does before it begins.
    """
    words = compared.words("explain copy to", target, {**locals(), **how}, own=("target", "comm", "how"))
    ranks = ranks_of(comm)

    def work() -> explain.Explained:
        request = _request_for(source, target, variable, _options(how))
        parts = plan_parts(request, ranks, workers, memory_bytes(memory), cached=bool(cached))
        return explain.explained(request, parts)

    return ranks.on_first(words, work)


def _options(how: dict[str, Any]) -> TargetOptions:
    known = [one.name for one in dataclasses.fields(TargetOptions)]
    unknown = [name for name in how if name not in known]
    if unknown:
        raise ArgumentError(f"explain_copy: {unknown[0]}= is none of its arguments: {', '.join(known)}")
    return TargetOptions(**how)


def _request_for(source: Any, target: Any, variable: str | None, options: TargetOptions) -> CopyRequest:
    """Return what is to be made: all of a file, or one array."""
    refuse_open_target(target)
    contents = contents_to_copy(source, target, variable, options)
    if contents is not None:
        return make_whole_request(source, target, contents, options)
    return make_request(description_of(source, variable, "copy"), target, options)
