"""`swath.copy` and `swath.explain_copy`."""

from __future__ import annotations

import dataclasses
import time
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy.typing as npt

from swath.base.memory_budget import memory_bytes
from swath.copying import explain
from swath.copying.adding import added_to, base_of, format_of
from swath.copying.execute import State, bytes_before, execute, working_ranks
from swath.copying.journal import Journal
from swath.copying.one_array import options_for
from swath.copying.plan import CopyPlan, FilePlan
from swath.copying.prepare import CopyOptions, Job, check_can_begin, plan_parts, prepare_job
from swath.copying.request import CopyRequest, TargetOptions, check_held, make_request
from swath.copying.selection import names_of
from swath.copying.sources import description_of, refuse_open_target
from swath.copying.text_parts import is_text
from swath.copying.whole_file import contents_to_copy, make_text_request, make_whole_request
from swath.errors import ArgumentError
from swath.formats.description import Order
from swath.ranks import compared, mpi
from swath.ranks.ranks import in_turn, ranks_of

CHECKPOINT_BYTES = 1 << 30
"""After this many bytes, the written bytes are synced, while the work continues, and recorded in the journal."""


@dataclasses.dataclass(frozen=True)
class Copied:
    """The result of `swath.copy`.

    Attributes:
        plan: the executed plan; for a whole file, that of all its variables.
        seconds: the seconds of the whole copy.
        sync_seconds: of these, the wait at the end until the written bytes are on the medium.
        bytes: the bytes of the target's elements, of all variables.
        working_ranks: the number of ranks that moved tiles.
        resumed_bytes: of the bytes that all passes move, those that an earlier, interrupted copy had moved.
        left_out: descriptions of what the target cannot contain, and lacks.
    """

    plan: CopyPlan | FilePlan
    seconds: float
    sync_seconds: float
    bytes: int
    working_ranks: int
    resumed_bytes: int
    left_out: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data, for JSON."""
        return {**dataclasses.asdict(self), "plan": self.plan.to_dict()}


@in_turn
def copy(
    source: Any,
    target: Any,
    *,
    variable: str | Sequence[str] | None = None,
    coordinates: bool = False,
    target_variable: str | None = None,
    axes: Sequence[int] | Sequence[str] | None = None,
    order: Order | Sequence[str] | None = None,
    chunks: Sequence[int] | Mapping[str, int] | None = None,
    shards: Sequence[int] | Mapping[str, int] | None = None,
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
    exclude: Sequence[str] = (),
    skip_unsupported: bool = False,
) -> Copied:
    """Copy a file, or an array into a new file of any layout, in bounded memory. Collective over `comm`.

    If source and target have formats of many variables (netCDF, HDF5, Zarr), and no `variable` is given, the whole file
    is copied: variables, groups, dimensions, attributes with their types, chunks, codecs; the error lists what the
    target cannot contain. The same holds for several named variables. `axes`, `order`, `chunks` and `shards` with names
    of dimensions apply to all of them. With numbers, or with one variable, a `target_variable` or a `dtype`, one array
    is copied.

    Named variables are added to an existing target, if this format has many variables, and the target has none of
    these. The new file starts as a copy of the old one, and takes its name when it is complete.

    The file has a temporary name, is synced, and gets its name when it is complete: a copy that is killed leaves no
    half result, and another call with `resume=True` continues it. Elements that were never written do not exist as
    such: the whole array is copied.

    Args:
        source: a path, or an array opened by `swath.open` (for raw files, which do not describe themselves).
        target: the file, or the folder of a Zarr store, to make. Its suffix gives the format if `format` does not, see
            `swath.create`; a whole Zarr store keeps its version.
        variable: the source's name in its file, or a list of names.
        coordinates: whether variables that describe the named ones are copied, too: the coordinate variables of their
            dimensions, and those that the CF conventions name in their attributes (bounds, grid mappings, …).
        target_variable: the target's name, in netCDF, HDF5 and Zarr; the default is the source's.
        axes: the target's dimension d is the source's dimension `axes[d]`: (1, 0) transposes. With names, every
            variable has those of its dimensions that are named in this order, and the others at their places. The
            default keeps all.
        order: the order of the target's elements in its file: "C", "F" (raw, .npy), or the dimensions from slowest to
            fastest (raw; Zarr, in each chunk), as numbers of the target's dimensions or as names. The default is the
            source's if the format can store it and `axes` keeps all, else "C".
        chunks: elements of a chunk along each dimension, for netCDF-4, HDF5 and Zarr. Or a mapping: {"time": 600}
            applies to every variable along `time`, and -1 is the whole dimension; along its other dimensions a variable
            keeps its chunks, or is whole if it has none. A coordinate variable without chunks stays so. () means no
            chunks, for netCDF-4 and HDF5. The default is the source's chunks; if it has none: for netCDF-4 and HDF5
            none, for Zarr about 4 MiB.
        shards: for Zarr, see `swath.create`; or a mapping, as `chunks`. A shard is written as a whole, and several
            shards must fit into memory.
        codecs: for netCDF-4, HDF5 and Zarr, see `swath.create`; for several variables, those of all that have chunks.
            By default each variable keeps its own if the format has them; [] means none.
        dtype: the target's dtype, including the byte order; the default is the source's.
        casting: the conversions that are allowed, by NumPy's names: "no", "equiv", "safe", "same_kind", "unsafe".
        format: see `swath.create`.
        memory: the budget, in bytes or as "256MiB": the most memory, without page cache, of all ranks of a node
            together, besides what the interpreter has anyway. The default is a quarter of the available memory, at most
            1 GiB.
        overwrite: whether an existing target may be replaced.
        resume: True continues an interrupted copy (or begins, if there is none); False begins anew; None begins, but
            refuses to discard the work of an interrupted copy.
        comm: an mpi4py communicator, whose ranks may share the work. Under mpiexec without it, every process makes its
            own copy, and rank 0 warns (UserWarning); pass COMM_SELF if this is what you want.
        workers: the number of ranks of each node that move tiles; the others sleep. By default as many as make the copy
            faster by the plan, at most the cores of the node: one process reads, shuffles and writes at the same time,
            and alone keeps most devices busy.
        engine: see `swath.open`.
        checkpoint_bytes: after this many bytes the journal is updated.
        exclude: names of variables, of groups with their contents, and of links, which are not copied with the file.
        skip_unsupported: leave out of a whole file what the target cannot contain, instead of an error;
            `Copied.left_out` and `explain_copy` list it.

    Raises:
        ExistsError: the target exists and `overwrite` is not given; an interrupted copy is there and `resume` is None;
            another copy to the same target is under way.
        ArgumentError: an impossible dtype, order, chunk or budget; `resume` of another copy than this one.
        StoreError: the disk is too small, the system refuses, or the source changed during the copy. There is no half
            result under the target's name; an old file there is as it was before.
    """
    words = compared.call_signature("copy to", target, locals(), own=("target", "comm"))
    begin = time.perf_counter()
    ranks = ranks_of(comm)
    if comm is None:
        _warn_of_many_copies(target)
    journal: list[Journal] = []

    def prepare() -> Job:
        form = TargetOptions(axes, order, chunks, shards, codecs, dtype, casting, format, target_variable, coordinates)
        form = dataclasses.replace(form, exclude=exclude, skip_unsupported=skip_unsupported)
        request = _request_for(source, target, variable, form, overwrite=overwrite)
        if not isinstance(checkpoint_bytes, int) or checkpoint_bytes < 1:
            raise ArgumentError(f"checkpoint_bytes: expected at least 1, not {checkpoint_bytes!r}")
        options = CopyOptions(workers, memory_bytes(memory), overwrite, resume, checkpoint_bytes)
        return prepare_job(request, ranks, options, journal)

    ranks.agree(words)  # before anything is written
    job = ranks.on_first("copy: prepare", prepare)
    if ranks.rank == 0 and job.request.left_out and not skip_unsupported:
        what = "; ".join(job.request.left_out)
        warnings.warn(f"{job.request.title}: the target cannot hold, and is without: {what}", stacklevel=3)
    state = State(job, ranks, engine, journal[0] if journal else None, job.done)
    try:
        sync_seconds = execute(state)
    except Exception as error:
        raise state.failed(error) from error
    except BaseException:  # an interrupt: the finished part can be continued
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
        left_out=job.request.left_out,
    )


def _warn_of_many_copies(target: Any) -> None:
    """Warn the caller of `copy`, on rank 0, if mpiexec started several processes that each make a copy."""
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
    variable: str | Sequence[str] | None = None,
    memory: int | str | None = None,
    comm: Any = None,
    workers: int | None = None,
    cached: bool | None = None,
    overwrite: bool = False,
    resume: bool | None = None,
    **how: Any,
) -> explain.Explained:
    """Describe what `copy` of the same arguments would do: passes, bytes, memory, seconds, disk space. Writes nothing.

    Args:
        source: see `copy`.
        target: see `copy`.
        variable: see `copy`.
        memory: see `copy`.
        comm: see `copy`.
        workers: see `copy`.
        cached: whether the plan assumes that the source is in the page cache; the default is that it is not.
        overwrite: see `copy`.
        resume: see `copy`.
        how: axes, order, chunks, shards, codecs, dtype, casting, format, target_variable, coordinates,
            exclude and skip_unsupported, as for `copy`.

    Raises:
        ArgumentError, NotFoundError, FormatError, StoreError: as `copy` does before it begins.
    """
    words = compared.call_signature("explain copy to", target, {**locals(), **how}, own=("target", "comm", "how"))
    ranks = ranks_of(comm)

    def work() -> explain.Explained:
        request = _request_for(source, target, variable, _options(how), overwrite=overwrite)
        options = CopyOptions(workers, memory_bytes(memory), overwrite, resume, CHECKPOINT_BYTES)
        parts = plan_parts(request, ranks, workers, options.memory, cached=bool(cached))
        check_can_begin(request, parts, options)
        return explain.explained(request, parts)

    return ranks.on_first(words, work)


def _options(how: dict[str, Any]) -> TargetOptions:
    known = [one.name for one in dataclasses.fields(TargetOptions)]
    unknown = [name for name in how if name not in known]
    if unknown:
        raise ArgumentError(f"explain_copy: {unknown[0]}= is none of its arguments: {', '.join(known)}")
    return TargetOptions(**how)


def _request_for(source: Any, target: Any, variable: Any, options: TargetOptions, *, overwrite: bool) -> CopyRequest:
    """Return the request: all of a file, some of its variables, or one array; perhaps in an existing file."""
    refuse_open_target(target)
    names = names_of(variable)
    base = None if overwrite else base_of(target, names, options)
    if base is not None:
        options = dataclasses.replace(options, format=format_of(base))
    contents = contents_to_copy(source, target, names, options)
    if contents is not None:
        is_new, is_all = base is None, names is None
        request = make_whole_request(source, target, contents, options, by_library=is_new and is_all)
    else:
        request = _request_for_one(source, target, names, options)
    return request if base is None else added_to(base, request, names or ())


def _request_for_one(source: Any, target: Any, names: tuple[str, ...] | None, options: TargetOptions) -> CopyRequest:
    """Return the request for one array."""
    if options.exclude:
        raise ArgumentError(f"exclude={list(options.exclude)}: one array is copied, of which nothing can be left out")
    described = description_of(source, None if names is None else names[0], "copy")
    if is_text(described):
        return make_text_request(described, target, options)
    request = make_request(described, target, options_for(described, target, options))
    check_held(request)
    return request
