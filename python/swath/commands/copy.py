"""`swath copy`: a file into another format, an array into another layout or dtype, in bounded memory."""

from __future__ import annotations

import argparse
import contextlib
from typing import Any

import swath
from swath.base import units
from swath.base.memory_budget import memory_bytes
from swath.commands import arguments, output
from swath.copying.run import Copied

HELP = "copy a file, or an array into another order, chunks, dtype or format, in bounded memory"
DESCRIPTION = """\
Copy all of a file, some of its variables, or one array into a file of any layout:
order, chunks, dtype, byte order, format. Takes no more memory than --memory,
whatever the size, and reads and writes long runs on both sides.

A file is copied as a whole where both formats hold many variables (netCDF, HDF5,
Zarr) and no variable is named: variables, groups, dimensions, attributes with
their types, chunks, codecs. --axes, --order, --chunks and --shards are for every
variable where they name dimensions (time=600), for one array where they are
numbers. What the target cannot hold is listed, and nothing is written then:
--exclude leaves out what is named, --skip-unsupported all that cannot be held,
and lists it.

Variables that are named are added to a target that exists. Chunks and compression
that are not asked for are those of the source.

The target is written aside and gets its name when it is complete and on the
medium: a copy that is killed leaves no half result, and --resume goes on.
"""

EPILOG = """\
memory is what is not page cache: threads' buffers and the like, of all ranks of a
node together, beside what Python has anyway. By default a quarter of what is
available, at most 1 GiB.

examples:
  swath copy a.npy b.npy --order F                 other order in the file
  swath copy a.npy b.npy --axes 1,0                the transposed array
  swath copy sst.nc sst.zarr                       all of the file
  swath copy sst.nc new.nc --codecs shuffle,zlib   all of it, compressed
  swath copy sst.nc series.nc --chunks time=600,lat=45,lon=45
                                                   all of it, in other chunks
  swath copy sst.nc turned.nc --axes lat,lon,time  all of it, transposed
  swath copy sst.nc:temperature,salinity some.nc --coordinates
  swath copy other.nc:salinity some.nc --target-variable salinity2
                                                   one more variable in a file
  swath copy sst.nc:temperature sst.h5 --chunks 1,256,256 --memory 256MiB
  swath copy dump.bin a.npy --source-shape 5000,5000 --source-dtype ">f8" --dtype "<f4"
  swath copy a.npy b.zarr --chunks 512,512 --codecs zstd,crc32c
  swath copy a.npy b.h5 --chunks 512,512 --explain passes, requests, memory, seconds, disk space
  swath copy a.npy b.h5 --chunks 512,512 --resume  go on with one that was killed
  mpiexec -n 4 swath copy a.npy b.h5               as many of four ranks as make it faster

read next: swath verify a.npy b.h5; docs/copying.md.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `swath copy SOURCE[:VARIABLE] TARGET`."""
    parser.add_argument(
        "file",
        metavar="SOURCE[:VARIABLE,...]",
        help=".npy, netCDF classic, netCDF-4, HDF5, Zarr, or a raw file; and which of its variables",
    )
    parser.add_argument(
        "target",
        metavar="TARGET",
        help="the file (of Zarr the folder) to make; its suffix says the format, .nc that it is netCDF-4",
    )
    parser.add_argument(
        "--variable", metavar="NAME", action="append", default=[], help="a variable of the source; may be repeated"
    )
    parser.add_argument(
        "--coordinates",
        action="store_true",
        help="copy what describes the variables, too: coordinates, bounds",
    )
    arguments.add_raw_source(parser)
    made = parser.add_argument_group("the target", "what is not given is as in the source")
    made.add_argument(
        "--axes",
        metavar="D,D,...",
        help="dimensions of the source in the order of the target: 1,0 for one array; lat,lon,time for all variables",
    )
    made.add_argument(
        "--order", metavar="ORDER", help='in the file: "C", "F", or the dimensions slowest first: 2,0,1 or lat,lon,time'
    )
    made.add_argument(
        "--chunks",
        metavar="N,M,...",
        help="elements of a chunk along each dimension (netCDF-4, HDF5, Zarr): 600,45 for one array; time=600,lat=45 "
        "for all variables, -1 for the whole dimension; or none",
    )
    made.add_argument("--shards", metavar="N,M,...", help="of a shard, a file of whole chunks (Zarr), as --chunks")
    made.add_argument(
        "--codecs",
        metavar="NAME,...",
        help="of netCDF-4, HDF5 and Zarr: zlib, shuffle, zstd, blosc, lz4, crc32c ..., none",
    )
    made.add_argument("--dtype", metavar="TYPE", help='as NumPy writes it, byte order included: f4, ">i4"')
    made.add_argument(
        "--cast", metavar="RULE", default="same_kind", help="no, equiv, safe, same_kind (default), unsafe"
    )
    made.add_argument(
        "--format", metavar="NAME", help="raw, npy, netcdf-classic[:cdf1|cdf2|cdf5], netcdf4, hdf5, zarr[:v2]"
    )
    made.add_argument("--target-variable", metavar="NAME", help="the array's name in the target")
    made.add_argument(
        "--exclude", metavar="NAME", action="append", default=[], help="not that variable, or group (again for more)"
    )
    made.add_argument(
        "--skip-unsupported", action="store_true", help="leave out what the target cannot hold, and say what that was"
    )
    made.add_argument("--overwrite", action="store_true", help="replace a file of that name, when the new one is there")
    parser.add_argument("--memory", metavar="SIZE", help="the budget: 256MiB")
    parser.add_argument(
        "--workers", metavar="N", type=int, help="ranks of a node that move data (default: as many as make it faster)"
    )
    parser.add_argument(
        "--explain",
        "--dry-run",
        action="store_true",
        dest="explain",
        help="say what would be done and what it costs; write nothing",
    )
    parser.add_argument("--checkpoint", metavar="SIZE", help="after so many bytes what is done can be resumed (1GiB)")
    again = parser.add_mutually_exclusive_group()
    again.add_argument(
        "--resume", action="store_true", help="go on with an interrupted copy; begin where there is none"
    )
    again.add_argument("--restart", action="store_true", help="throw away what an interrupted copy has done")
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(options: argparse.Namespace) -> int:
    """Explain the copy, or make it and print its speed."""
    comm = arguments.started_comm()
    how: dict[str, Any] = {
        "axes": None if options.axes is None else arguments.names_or_integers("--axes", options.axes),
        "chunks": None if options.chunks is None else _chunks(options.chunks),
        "shards": None if options.shards is None else arguments.by_dimension("--shards", options.shards),
        "codecs": _codecs(options.codecs),
        "order": options.order if options.order in (None, "C", "F") else _order(options.order),
        "dtype": options.dtype,
        "casting": options.cast,
        "format": options.format,
        "target_variable": options.target_variable,
        "coordinates": options.coordinates,
        "memory": options.memory,
        "comm": comm,
        "workers": options.workers,
        "exclude": options.exclude,
        "skip_unsupported": options.skip_unsupported,
    }
    source, named = arguments.source_of_copy(options)
    names = [*(arguments.variables_of(source, named) if isinstance(source, str) else []), *options.variable]
    how["variable"] = names or None
    how["overwrite"] = options.overwrite
    how["resume"] = True if options.resume else False if options.restart else None
    with source if isinstance(source, swath.Array) else contextlib.nullcontext():
        if options.explain:
            explained = swath.explain_copy(source, options.target, **how)
            output.print_json(explained.to_dict()) if options.json else print(explained, end="")
            return 0
        if options.checkpoint is not None:
            how["checkpoint_bytes"] = memory_bytes(options.checkpoint)
        copied = swath.copy(source, options.target, **how)
    if options.json:
        output.print_json(copied.to_dict())
    else:
        print(_in_words(copied))
    return 0


def _chunks(text: str) -> Any:
    return () if text == "none" else arguments.by_dimension("--chunks", text)


def _order(text: str) -> Any:
    return arguments.names_or_integers("--order", text)


def _codecs(text: str | None) -> list[str] | None:
    if text is None:
        return None
    return [] if text == "none" else [name.strip() for name in text.split(",")]


def _in_words(copied: Copied) -> str:
    rate = units.in_bytes(int(copied.bytes / max(copied.seconds, 1e-9)))
    words = (
        f"{units.in_bytes(copied.bytes)} in {units.in_seconds(copied.seconds)} ({rate}/s), "
        f"{units.in_seconds(copied.sync_seconds)} of it in the last sync; "
        f"predicted {units.in_seconds(copied.plan.seconds)}"
    )
    if copied.resumed_bytes:
        words += f"; {units.in_bytes(copied.resumed_bytes)} were there from the interrupted copy"
    return words + "".join(f"\nleft out: {what}" for what in copied.left_out)
