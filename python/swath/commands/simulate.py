"""`swath simulate`: carries operations out on a machine that is described in a file."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

from swath.base.units import in_seconds
from swath.commands import arguments, output
from swath.errors import ArgumentError, StoreError
from swath.simulation import machine as machines
from swath.simulation.benchmarks import BENCHMARKS, operations_of
from swath.simulation.from_trace import exact_operations, operations_of_trace
from swath.simulation.machine import Machine
from swath.simulation.maps import operations_of_maps, read_maps
from swath.simulation.operations import METHODS, AnyOperation, Operation, distributed
from swath.simulation.report import html_report
from swath.simulation.result import Simulated
from swath.simulation.simulate import simulate
from swath.simulation.studies import STUDIES, run_study
from swath.trace.opening import read_log

HELP = "how long an operation takes on a machine that is described in a file"
DESCRIPTION = """\
Carry operations out on a simulated machine: the plans, messages and requests of
a real run with so many ranks, and the times of a machine that a file describes.
Needs no MPI, no file, and no such machine.
"""

EPILOG = f"""\
distribution (--dist), one rule for each dimension: {arguments.GRAMMAR}

examples:
  swath simulate --list-machines
  swath simulate --machine site-2026 --shape 32768,32768,128 --dtype f8 \\
      --dist "block,block,*" --ranks 10000 --write
  swath simulate --machine feynman --benchmark ncio --set-benchmark count=16384 \\
      --ranks 64 --compare list,datatype,two-phase
  swath simulate --machine paragon --set servers.count=64 --shape 5000,5000 \\
      --dist "*,block" --ranks 64 --html report.html
  swath simulate --machine here.toml --trace run7
  swath simulate --machine site-2026 --map map_f_case_16p.nc:D3 --write
  swath simulate --study io-nodes

read next: docs/simulation.md; `swath calibrate --machine FILE` describes this machine.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `swath simulate --machine NAME|FILE ...`."""
    parser.add_argument("--machine", metavar="FILE", help="a machine file, or the name of one of --list-machines")
    parser.add_argument("--set", metavar="KEY=VALUE", action="append", default=[], help="another value of the machine")
    parser.add_argument("--list-machines", action="store_true", help="print the machines of the package, a line each")
    what = parser.add_argument_group("operations", "one of: --shape, --benchmark, --map, --trace, --study")
    what.add_argument("--shape", metavar="N,M,...", help="elements along each dimension: 5000,5000")
    what.add_argument("--dtype", metavar="TYPE", default="f8", help="as NumPy writes it (default f8)")
    what.add_argument("--order", metavar="ORDER", default="C", help='"C" (default), "F", or dimensions slowest first')
    what.add_argument("--dist", metavar="RULES", help='distribution: "block,cyclic(4)"; by default "block,*,*,..."')
    what.add_argument("--grid", metavar="P,Q,...", help="processes along each dimension; by default as even as can be")
    what.add_argument("--benchmark", metavar="NAME", help=f"the operations of {', '.join(BENCHMARKS)}")
    what.add_argument(
        "--set-benchmark", metavar="NAME=VALUE", action="append", default=[], help="a size of the benchmark"
    )
    what.add_argument(
        "--map", metavar="FILE[:D2]", help="arrays of a climate model: a map of ParallelIO (.dat) or E3SM-IO (.nc, .h5)"
    )
    what.add_argument(
        "--trace", metavar="FOLDER", help="the operations of a traced run: swath trace, Darshan, DFTracer"
    )
    what.add_argument("--study", metavar="NAME", help=f"a scaling study: {', '.join(STUDIES)}")
    parser.add_argument("--ranks", metavar="N", help="how many; by default those of the machine, the map or the trace")
    direction = parser.add_mutually_exclusive_group()
    direction.add_argument("--read", action="store_true", help="simulate a read (the default of --shape and --map)")
    direction.add_argument("--write", action="store_true", help="simulate a write")
    parser.add_argument("--method", metavar="NAME", default="auto", help=", ".join(METHODS))
    parser.add_argument("--compare", metavar="METHODS", help="each of these methods: direct,two-phase")
    parser.add_argument("--seed", metavar="N", default="1", help="of the noise (default 1)")
    parser.add_argument("--noise", metavar="PART", default="0", help="standard deviation of each time (default 0)")
    parser.add_argument("--data", action="store_true", help="move the bytes, too: for small arrays")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--html", metavar="FILE", help="write a page with pictures, for a browser")


def run(options: argparse.Namespace) -> int:
    """Simulate, and print what it took."""
    if options.list_machines:
        for name in machines.names():
            print(f"{name:20} {machines.load(name).description}")
        return 0
    if options.study is not None:
        return _study(options)
    if options.machine is None:
        raise ArgumentError("simulate: say which machine: --machine NAME, or --list-machines for their names")
    machine = machines.load(options.machine).with_values(dict(map(_setting, options.set)))
    operations, ranks = _operations(options, machine)
    seed, noise = arguments.whole_number("--seed", options.seed), _part(options.noise)
    if options.compare is not None:
        return _compare(options, machine, operations, ranks)
    found = simulate(operations, machine, ranks=ranks, seed=seed, noise=noise, data=options.data)
    if options.html:
        _write(options.html, html_report(found))
    if options.json:
        output.print_json(found.to_dict())
    else:
        print(found, end="")
    return 0


def _operations(options: argparse.Namespace, machine: Machine) -> tuple[Sequence[AnyOperation], int]:
    """Return the operations that the command line asks for, and the number of ranks."""
    given = [name for name in ("shape", "benchmark", "map", "trace") if getattr(options, name) is not None]
    if len(given) != 1:
        said = "none is given" if not given else ", ".join(f"--{name}" for name in given) + " are given"
        raise ArgumentError(f"simulate: say what is done: --shape, --benchmark, --map, --trace or --study: {said}")
    ranks = machine.ranks_max if options.ranks is None else arguments.whole_number("--ranks", options.ranks)
    if ranks < 1:
        raise ArgumentError(f"--ranks {ranks}: expected at least 1")
    if options.map is not None:
        maps = read_maps(options.map)
        if options.ranks is None:
            ranks = len(maps[0].runs)
        return operations_of_maps(maps, ranks, dtype=options.dtype, write=options.write, method=options.method), ranks
    if options.trace is not None:
        log = read_log(options.trace)
        if log.tracer == "Swath":
            exact, of_run = exact_operations(log, options.method)
            if exact:
                return exact, of_run
        made = operations_of_trace(log, options.method)
        boxes = made[0].distribution
        assert isinstance(boxes, tuple)
        return made, len(boxes)
    if options.benchmark is not None:
        settings = list(options.set_benchmark)
        if (options.read or options.write) and options.benchmark != "madbench":
            settings.append(f"write={'true' if options.write else 'false'}")
        return operations_of(options.benchmark, ranks, options.method, settings), ranks
    return [_of_shape(options, ranks)], ranks


def _of_shape(options: argparse.Namespace, ranks: int) -> Operation:
    order: Any = options.order if options.order in ("C", "F") else arguments.integers("--order", options.order)
    return distributed(
        arguments.integers("--shape", options.shape),
        options.dtype,
        None if options.dist is None else arguments.rules(options.dist),
        ranks=ranks,
        grid=None if options.grid is None else arguments.integers("--grid", options.grid),
        write=options.write,
        method=options.method,
        order=order,
        name="write" if options.write else "read",
    )


def _compare(options: argparse.Namespace, machine: Machine, operations: Sequence[AnyOperation], ranks: int) -> int:
    """Simulate by several methods, and print them from the fastest to the slowest."""
    seed, noise = arguments.whole_number("--seed", options.seed), _part(options.noise)
    methods = [one.strip() for one in options.compare.split(",")]
    found: dict[str, Simulated] = {}
    for method in methods:
        by = [one.by(method) for one in operations]
        found[method] = simulate(by, machine, ranks=ranks, seed=seed, noise=noise, data=options.data)
    in_order = sorted(found.items(), key=lambda one: one[1].seconds)
    if options.html:
        _write(options.html, html_report(in_order[0][1]))
    if options.json:
        output.print_json([{"asked": method, **one.to_dict()} for method, one in in_order])
        return 0
    print(f"{machine.name}, {ranks:,} ranks, from the fastest:")
    rows = output.table("method", "time", "times the best", "requests", "limited by", right=("time", "times the best"))
    best = in_order[0][1].seconds
    for method, one in in_order:
        requests = sum(server["requests"] for server in one.values["servers"])
        factor = f"{one.seconds / best:.2f}" if best > 0 else "-"
        chosen = f" ({', '.join(dict.fromkeys(one.methods))})" if method == "auto" else ""
        rows.add_row(method + chosen, in_seconds(one.seconds), factor, f"{requests:,}", one.limit)
    output.console().print(rows)
    return 0


def _study(options: argparse.Namespace) -> int:
    settings = dict(map(_setting, options.set))
    ranks = None if options.ranks is None else arguments.whole_number("--ranks", options.ranks)
    seed = arguments.whole_number("--seed", options.seed)
    found = run_study(options.study, machine=options.machine, settings=settings, ranks=ranks, seed=seed)
    if options.json:
        output.print_json(found.to_dict())
        return 0
    print(found.question)
    rows = output.table(*found.columns, right=tuple(found.columns[1:]))
    for row in found.rows:
        rows.add_row(*map(_cell, row))
    output.console().print(rows)
    for sentence in found.sentences:
        print(sentence)
    return 0


def _cell(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else f"{value:,}" if isinstance(value, int) else str(value)


def _setting(text: str) -> tuple[str, Any]:
    """Return the key and the value of `--set KEY=VALUE`; the value is as in TOML, or a name without quotes."""
    key, sign, value = text.partition("=")
    if not sign or not key.strip():
        raise ArgumentError(f'--set "{text}": expected KEY=VALUE: servers.count=64')
    try:
        read = machines.parsed("--set", f"value = {value.strip()}")["value"]
    except ArgumentError:
        read = value.strip()
    return key.strip(), read


def _part(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ArgumentError(f'--noise "{text}": expected a part of each time: 0.05') from None


def _write(path: str, text: str) -> None:
    try:
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        raise StoreError(f"{path}: it cannot be written: {error.strerror}", error.errno or 0) from None
