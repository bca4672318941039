"""The command line."""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence

MODES = ("records", "stored", "prefetched", "recomputed", "balanced")
UNITS = {"": 0, "k": 10, "m": 20, "g": 30}


def parse(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """Return the parsed options; invalid ones end the program."""
    parser = argparse.ArgumentParser(
        prog="scf.py", description="The energy of a molecule of closed shells by restricted Hartree-Fock."
    )
    parser.add_argument("--input", default="small", help="small, medium, dimer, or an XYZ file (small)")
    parser.add_argument("--basis", default="6-31g*", help="as PySCF names it (6-31g*)")
    parser.add_argument(
        "--integrals", choices=MODES, default="balanced", help="where they come from in every iteration (balanced)"
    )
    parser.add_argument(
        "--disk", type=_share_or_size, default="auto", help="balanced: kept on disk: auto, a part (0.5), or 64MiB"
    )
    parser.add_argument("--memory", type=_memory, default=0, help="balanced: kept in memory: auto, or 64MiB (nothing)")
    parser.add_argument("--block", type=int, default=20, metavar="N", help="basis functions of a block, at most (20)")
    parser.add_argument("--folder", default=".", help="for files of integrals, which are gone at the end (.)")
    parser.add_argument("--checkpoint", metavar="FILE", help="a .npy file: the density to begin with, and the last one")
    parser.add_argument("--record", metavar="FILE", help="a JSON file of everything that was done, and when")
    parser.add_argument("--tolerance", type=float, default=1e-7, help="of the error F D S - S D F (1e-7)")
    parser.add_argument("--iterations", type=int, default=50, help="at most (50)")
    return parser.parse_args(arguments)


def _share_or_size(text: str) -> str | float | int:
    """ "auto"; "0.5", a part of all; "64MiB", bytes."""
    if text == "auto":
        return text
    if re.fullmatch(r"0|1|[01]?\.\d+|[01]\.", text):
        part = float(text)
        if part <= 1:
            return part
    return _size(text)


def _memory(text: str) -> str | int:
    return text if text == "auto" else _size(text)


def _size(text: str) -> int:
    found = re.fullmatch(r"(\d+)\s*(?:([kmg])i?b?|b)?", text, re.IGNORECASE)
    if found is None:
        raise argparse.ArgumentTypeError(f'"{text}": expected auto, a part from 0 to 1, or a size as in 64MiB')
    return int(found[1]) << UNITS[(found[2] or "").lower()]
