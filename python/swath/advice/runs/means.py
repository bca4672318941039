"""How a change is made: a line for each language and tool that fits the log. Pure."""

from __future__ import annotations

import os

from swath.advice.runs.observed import Observed

MPI = ("MPI", "swath mpi-io")
"""Means that only programs of MPI have."""
LANGUAGES = ("Python", "C", "Fortran")

LINES: dict[tuple[str, str], dict[str, str]] = {
    ("collective", "write"): {
        "Python": "a = swath.create(FILE, shape, dtype, comm=comm); a.write(mine, distribution)",
        "C": "swath_write(array, &mine, distribution, NULL)",
        "Fortran": "call file%write_boxes(name, mine, start, shape)",
        "MPI": "MPI_File_set_view with each rank's part, then one MPI_File_write_all",
        "swath mpi-io": "swath mpi-io mpiexec … PROGRAM: serves the collective call by two-phase",
    },
    ("collective", "read"): {
        "Python": "a = swath.open(FILE, comm=comm); mine = a.read(distribution)",
        "C": "swath_read(array, &mine, distribution, NULL)",
        "Fortran": "call file%read_boxes(name, mine, start, shape)",
        "MPI": "MPI_File_set_view with each rank's part, then one MPI_File_read_all",
        "swath mpi-io": "swath mpi-io mpiexec … PROGRAM: serves the collective call by two-phase",
    },
    ("layout", "new"): {
        "Python": "swath.create(FILE, shape, dtype, order=ORDER), or chunks=…: `swath layout` finds them",
        "C": "swath_create with the order or chunks that `swath layout` finds",
        "Fortran": "call file%create_one(…, chunks=…) with the chunks that `swath layout` finds",
    },
    ("layout", "copy"): {
        "Python": "swath.copy(FILE, COPY, order=ORDER), then open COPY",
        "C": "swath copy FILE COPY --order ORDER, then open COPY",
        "Fortran": "swath copy FILE COPY --order ORDER, then open COPY",
    },
    ("sieve", "read"): {
        "Python": 'a = swath.open(FILE); a.read(…), which reads windows; method="sieve" forces it',
        "C": "read the whole range with one pread, and pick from memory; or one swath_read of all regions",
        "Fortran": "call file%read_boxes(name, mine, start, shape): one call for all regions",
        "MPI": "one MPI_File_read_at with a datatype of all regions; hint romio_ds_read=enable",
    },
    ("merge", "write"): {
        "Python": "collect the values, and write them with one call: a[first:last] = values",
        "C": "collect the bytes in a buffer for one pwrite; for stdio setvbuf(stream, NULL, _IOFBF, 4 << 20)",
        "Fortran": "write a whole array with one statement; one record instead of many",
        "MPI": "one MPI_File_write_at for all bytes that follow each other",
    },
    ("merge", "read"): {
        "Python": "values = a[first:last]: one read of all, then slices of it in memory",
        "C": "one pread of all bytes; setvbuf(stream, NULL, _IOFBF, 4 << 20) for stdio",
        "Fortran": "read a whole array with one statement; one record instead of many",
        "MPI": "one MPI_File_read_at for all bytes that follow each other",
    },
    ("prefetch", "read"): {
        "Python": "for values in a.iterate(): …, which reads the next part while the loop computes",
        "C": "swath_read_async of the next part, compute, swath_wait; or posix_fadvise(…, POSIX_FADV_WILLNEED)",
        "Fortran": "read the next part asynchronously (asynchronous='yes') and wait before it is used",
        "MPI": "MPI_File_iread_at of the next part, compute, MPI_Wait",
    },
    ("write-behind", "write"): {
        "Python": "writing = a.write_async(values, …); compute; writing.result()",
        "C": "swath_write_async, compute, swath_wait",
        "Fortran": "write asynchronously (asynchronous='yes') and wait before the buffer is used again",
        "MPI": "MPI_File_iwrite_at, compute, MPI_Wait",
    },
    ("cache", "read"): {
        "Python": "keep the values that were read; swath.Balanced keeps those that fit in memory",
        "C": "keep the bytes in a buffer between the passes",
        "Fortran": "keep the values in an array between the passes",
    },
    ("streams", ""): {
        "Python": 'swath.open(FILE, streams="auto"); SWATH_STREAMS=auto for the whole job',
        "C": "SWATH_STREAMS=auto in the environment of the job",
        "Fortran": "SWATH_STREAMS=auto in the environment of the job",
    },
    ("recompute", ""): {
        "Python": "with swath.Balanced(produce, sizes, path=FILE) as b: for batch, values in b: …",
        "C": "keep a part of the data in the file, and compute the others while that is read",
        "Fortran": "keep a part of the data in the file, and compute the others while that is read",
    },
    ("balance", ""): {
        "Python": "deal the parts to ranks by their bytes",
        "C": "give each rank an equal number of bytes: a block distribution",
        "Fortran": "give each rank an equal number of bytes: a block distribution",
    },
    ("servers", ""): {
        "Python": "stripe the folder before the file is made: lfs setstripe -c 8 FOLDER",
        "C": "stripe the folder before the file is made: lfs setstripe -c 8 FOLDER",
        "Fortran": "stripe the folder before the file is made: lfs setstripe -c 8 FOLDER",
        "MPI": "hints striping_factor=8, striping_unit=1048576 when the file is made",
    },
    ("aggregators", ""): {
        "Python": 'a.write(mine, distribution, tuning={"aggregators": NUMBER}); likewise for read',
        "C": "hint cb_nodes=NUMBER for programs of MPI-IO; Swath's own operations: leave the number to the plan",
        "Fortran": "hint cb_nodes=NUMBER for programs of MPI-IO; Swath's own operations: leave the number to the plan",
        "MPI": "hint cb_nodes=NUMBER when the file is opened; with ROMIO also romio_cb_write=enable",
        "swath mpi-io": "swath mpi-io mpiexec … PROGRAM: takes the hint cb_nodes=NUMBER; its plan chooses without",
    },
    ("holes", ""): {
        "MPI": "hint romio_ds_write=disable, and cb_buffer_size a multiple of the stripe",
        "swath mpi-io": "swath mpi-io mpiexec … PROGRAM: it reads only where the ranks together leave holes",
    },
    ("slow server", ""): {
        "Python": "tell the operators; until then make files without it: lfs setstripe -o OTHER,SERVERS FOLDER",
        "C": "tell the operators; until then make files without it: lfs setstripe -o OTHER,SERVERS FOLDER",
        "Fortran": "tell the operators; until then make files without it: lfs setstripe -o OTHER,SERVERS FOLDER",
    },
    ("keep open", ""): {
        "Python": "open the file once, before the loop: with swath.open(FILE) as a: …",
        "C": "open the file once, before the loop",
        "Fortran": "open the unit once, before the loop",
        "MPI": "MPI_File_open once, before the loop",
    },
    ("one sync", ""): {
        "Python": "call sync() once, after the last write; close() of a new file does it",
        "C": "call fsync once, after the last write",
        "Fortran": "flush the unit once, after the last write",
        "MPI": "MPI_File_sync once, after the last write",
    },
    ("fewer calls", ""): {
        "Python": "keep files open, and combine small files: swath.create_file(FILE) with an array for each",
        "C": "keep files open, use pread instead of lseek and read, and combine small files into one",
        "Fortran": "keep units open, and combine small files into one",
    },
}


def lines(run: Observed, what: str, way: str = "", *, by_mpi_io: bool = False, order: str = "") -> dict[str, str]:
    """Return the lines that fit the log: of its language, if the command tells it, and of MPI only for MPI programs.

    Args:
        run: the run.
        what: the name of the change in `LINES`.
        way: "read" or "write", if the change has different lines for them.
        by_mpi_io: whether the calls are those of MPI-IO, which `swath mpi-io` can serve.
        order: the advised order or chunks of a layout.
    """
    found = dict(LINES[what, way])
    is_python = _is_python(run.log.command)
    for language in LANGUAGES:
        if is_python is not None and is_python != (language == "Python"):
            found.pop(language, None)
    for name in MPI:
        if not run.has_mpi or is_python:
            found.pop(name, None)
    if not by_mpi_io:
        found.pop("swath mpi-io", None)
    if "x" in order:  # chunks
        found = {
            name: line.replace("order=ORDER", f"chunks=({order.replace('x', ', ')})") for name, line in found.items()
        }
        return {
            name: line.replace("--order ORDER", f"--chunks {order.replace('x', ',')}") for name, line in found.items()
        }
    quoted = {name: line.replace("order=ORDER", f'order="{order}"') for name, line in found.items()}
    return {name: line.replace("--order ORDER", f"--order {order}") for name, line in quoted.items()}


def _is_python(command: str) -> bool | None:
    """Return whether the program is one of Python; None if the command is not known."""
    words = command.split()
    if not words:
        return None
    return any(os.path.basename(word).startswith("python") or word.endswith(".py") for word in words)
