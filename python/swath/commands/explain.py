"""`swath explain`: how a request would be carried out, what it would cost, and why."""

from __future__ import annotations

import argparse
import math
from typing import Any

import numpy as np

from swath.array import explaining
from swath.array.open_array import Array
from swath.array.plan import Plan
from swath.array.request import Request
from swath.commands import arguments, output
from swath.errors import ArgumentError
from swath.formats import StridedLayout
from swath.ranks import mpi
from swath.space import Block, Distribution, Rule, Whole, balanced_grid

HELP = "how a request would be carried out, and why"
DESCRIPTION = """\
Say how so many ranks would read (or write) an array that is divided among them,
before anything is moved: which method, how many requests of which size, bytes
read, written and exchanged, memory, and why. Needs no MPI.
"""

EPILOG = f"""\
distribution (--dist), one rule for each dimension, in HPF's terms:
  {arguments.GRAMMAR}
  block      one contiguous block a process; block(k): of k elements
  cyclic(k)  blocks of k elements dealt out in turn (k = 1 where not given)
  *, whole   the dimension is not divided
processes are arranged in a grid, as square as can be unless --grid says it.
Without --dist each rank has a block of the dimension that varies slowest in the file.

methods: direct (one request a contiguous run), sieve (read a window, pick),
  list (batches of runs), two-phase (large requests in file order, then an
  exchange between ranks), auto (choose, and say why).

--analyze carries the operation out: what is read is thrown away, a write writes
the values that are there. Several ranks are those of mpiexec.

examples:
  swath explain sst.nc surface_temperature
  swath explain sst.nc:surface_temperature --dist "*,block,cyclic(4)" --ranks 4
  swath explain a.npy --dist "block,block" --ranks 6 --grid 3,2 --write
  swath explain a.npy --dist "cyclic,*" --ranks 16 --select "10:20,::4" --json
  swath explain dump.bin --shape 5000,5000 --dtype f8 --order F \\
      --dist "*,cyclic" --ranks 16 --stripe 4096
  mpiexec -n 4 swath explain a.npy --dist "*,cyclic" --ranks 4 --analyze

R_dist and S_dist are the number of runs and the size of the longest (table 1 of
del Rosario, Bordawekar and Choudhary, "Improved Parallel I/O via a Two-phase
Run-time Access Strategy", 1993); R_trans (--stripe) is their equation 1, the
requests where the file lies in stripes of so many bytes.

read next: in Python, array.explain(distribution) prints the same;
  `swath demo` shows plan and measurement side by side.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `swath explain FILE [VARIABLE] --dist RULES --ranks N`."""
    arguments.add_file_and_variable(parser)
    parser.add_argument(
        "--dist",
        metavar="RULES",
        help='distribution: "block,cyclic(4)"; by default "block,*,*,...", the blocks that are the longest in the file',
    )
    parser.add_argument("--ranks", metavar="N", help="how many; by default the processes of --grid, else 1")
    parser.add_argument("--grid", metavar="P,Q,...", help="processes along each dimension")
    parser.add_argument("--select", metavar="SLICES", help='divide only this part of the array: "10:20,::4,7"')
    parser.add_argument(
        "--method", default="auto", help="auto (default), direct, sieve, list, datatype, two-phase, two-phase/datatype"
    )
    parser.add_argument("--write", action="store_true", help="explain a write instead of a read")
    parser.add_argument(
        "--analyze",
        action="store_true",
        help="carry it out too, and set what was measured beside what was predicted",
    )
    parser.add_argument("--stripe", metavar="BYTES", help="also print R_trans for stripes of this size")
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(options: argparse.Namespace) -> int:
    """Plan, and print the plan."""
    stripe_bytes = None if options.stripe is None else _stripe_bytes(options.stripe)
    comm = _ranks_of_job(options) if options.analyze else None
    with arguments.open_array(options, "r+" if options.analyze and options.write else "r", comm) as a:
        plan = _plan(a, options)
    if comm is not None and comm.rank > 0:
        return 0
    striped: dict[str, int] = {}
    if stripe_bytes is not None and plan.method not in ("library", "chunks"):
        striped = {"stripe_bytes": stripe_bytes, "requests_with_stripes": plan.requests_with_stripes(stripe_bytes)}
    if options.json:
        output.print_json({**plan.to_dict(), **striped})
        return 0
    print(plan, end="")
    if striped:
        requests = striped["requests_with_stripes"]
        print(f"\nR_trans = {requests:,} requests of direct access in stripes of {stripe_bytes:,} bytes (equation 1)")
    return 0


def _plan(a: Array, options: argparse.Namespace) -> Plan:
    rules = _default_rules(a, options) if options.dist is None else arguments.rules(options.dist)
    if options.ranks is None and options.grid is None and options.dist is not None:
        raise ArgumentError("explain: say how many ranks there are: --ranks 4, or --grid 2,2")
    ranks = None if options.ranks is None else arguments.whole_number("--ranks", options.ranks)
    if ranks is not None and ranks < 1:
        raise ArgumentError(f"--ranks {ranks}: expected at least 1")
    grid = balanced_grid(rules, ranks or 1) if options.grid is None else arguments.integers("--grid", options.grid)
    distribution = Distribution(rules, grid)
    ranks = ranks or distribution.size
    if distribution.size > ranks:
        raise ArgumentError(
            f"--grid {options.grid}: {distribution.size} processes, which is too many for --ranks {ranks}"
        )
    selection = arguments.selection(options.select)
    if options.analyze:
        return a.explain(distribution, selection=selection, method=options.method, write=options.write, analyze=True)
    direction = "write" if options.write else "read"
    return explaining.explained_for(a, Request(direction, distribution, selection, options.method), ranks)


def _default_rules(a: Array, options: argparse.Namespace) -> tuple[Rule, ...]:
    """Return blocks along the dimensions that the grid divides, else along the one that varies slowest in the file."""
    selected = np.broadcast_to(np.empty((), "u1"), a.shape)[arguments.selection(options.select)]
    if options.grid is not None:
        return tuple(Block() if n > 1 else Whole() for n in arguments.integers("--grid", options.grid))
    slowest = 0
    layout = a._description.layout
    if selected.ndim == len(a.shape) and isinstance(layout, StridedLayout):
        slowest = max(range(selected.ndim), key=lambda d: (selected.shape[d] > 1, layout.strides[d], -d), default=0)
    return tuple(Block() if d == slowest else Whole() for d in range(selected.ndim))


def _ranks_of_job(options: argparse.Namespace) -> Any:
    """Return the communicator of the ranks that mpiexec started; None for one process alone."""
    started = mpi.launcher()[1] if mpi.launcher()[0] is not None else 1
    asked = 1 if options.ranks is None else arguments.whole_number("--ranks", options.ranks)
    if options.grid is not None:
        asked = max(asked, math.prod(arguments.integers("--grid", options.grid)))
    if asked != started:
        raise ArgumentError(
            f"--analyze carries the operation out with the ranks there are: {started}, not {asked}; start it with "
            f"mpiexec -n {asked}"
        )
    if started == 1:
        return None
    from mpi4py import MPI

    return MPI.COMM_WORLD


def _stripe_bytes(text: str) -> int:
    stripe_bytes = arguments.whole_number("--stripe", text)
    if stripe_bytes < 1:
        raise ArgumentError(f"--stripe {stripe_bytes}: expected at least 1 byte")
    return stripe_bytes
