"""Makes the inputs in this folder: rings of water and of ammonia, each molecule with a hydrogen bond to the next.

    python applications/scf/inputs/clusters.py

writes `small.xyz`, `medium.xyz` and `dimer.xyz` again. The paper (Kandaswamy,
Kandemir, Choudhary, Bernholdt, 2002: see ../README.md) gives the numbers of basis functions of SMALL (108) and MEDIUM
(140), not the geometries. So the geometries are plain: gas-phase molecules (O–H 0.9572 Å, 104.52°; N–H 1.0124 Å,
106.67°) on a regular polygon, at about the distances of hydrogen bonds (O–O 2.76 Å, N–N 3.30 Å). No energy was
minimised.
"""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import numpy.typing as npt

Vector = npt.NDArray[np.float64]
Atom = tuple[str, Vector]

UP = np.array([0.0, 0.0, 1.0])


def polygon(corners: int, side: float, pucker: float = 0.0) -> list[Vector]:
    """Corners of a regular polygon around the origin, in turn `pucker` above and below its plane; Å."""
    radius = side / (2 * math.sin(math.pi / corners))
    turns = [2 * math.pi * corner / corners for corner in range(corners)]
    return [
        np.array([radius * math.cos(turn), radius * math.sin(turn), pucker * (-1) ** corner])
        for corner, turn in enumerate(turns)
    ]


def perpendicular(vector: Vector, axis: Vector) -> Vector:
    """Return the direction of the component of `vector` perpendicular to the unit vector `axis`."""
    rest = vector - (vector @ axis) * axis
    return rest / np.linalg.norm(rest)


def water(centre: Vector, donated_to: Vector, free: Vector) -> list[Atom]:
    """One hydrogen points at `donated_to`, the other one to the side of the direction `free`."""
    bond, angle = 0.9572, math.radians(104.52)
    first = (donated_to - centre) / np.linalg.norm(donated_to - centre)
    second = math.cos(angle) * first + math.sin(angle) * perpendicular(free, first)
    return [("O", centre), ("H", centre + bond * first), ("H", centre + bond * second)]


def ammonia(centre: Vector, donated_to: Vector, free: Vector) -> list[Atom]:
    """One hydrogen points at `donated_to`, the others lie on both sides of the direction `free`."""
    bond, angle = 1.0124, math.radians(106.67)
    first = (donated_to - centre) / np.linalg.norm(donated_to - centre)
    side = perpendicular(free, first)
    half = math.acos(math.cos(angle) / (1 + math.cos(angle))) / 2  # so that all three angles are the same
    others = [
        math.cos(angle) * first
        + math.sin(angle) * (math.cos(half) * side + sign * math.sin(half) * np.cross(first, side))
        for sign in (1, -1)
    ]
    return [("N", centre), *(("H", centre + bond * direction) for direction in (first, *others))]


def water_ring(molecules: int) -> list[list[Atom]]:
    """Cyclic water: the free hydrogens stand up and down in turn."""
    corners = polygon(molecules, 2.76, pucker=0.12)
    return [
        water(corner, corners[(number + 1) % molecules], corner + 2 * (-1) ** number * UP)
        for number, corner in enumerate(corners)
    ]


def ammonia_ring(molecules: int) -> list[list[Atom]]:
    """Cyclic ammonia: lone pairs point at the previous molecule, the free hydrogens outwards."""
    corners = polygon(molecules, 3.30)
    return [ammonia(corner, corners[(number + 1) % molecules], corner) for number, corner in enumerate(corners)]


def xyz(molecules: list[list[Atom]], comment: str) -> str:
    """As a file of the XYZ format: the number of atoms, a comment, an atom a line; Å."""
    atoms = [atom for molecule in molecules for atom in molecule]
    lines = [f"{symbol:2} {x:12.6f} {y:12.6f} {z:12.6f}" for symbol, (x, y, z) in _rounded(atoms)]
    return "\n".join([str(len(atoms)), comment, *lines, ""])


def _rounded(atoms: list[Atom]) -> list[Atom]:
    """Round as in the file, so that no zero has a sign."""
    return [(symbol, np.round(place, 6) + 0.0) for symbol, place in atoms]


def inputs() -> dict[str, str]:
    """The files by their names."""
    made_by = "made by clusters.py"
    return {
        "small.xyz": xyz(water_ring(6), f"(H2O)6, a ring; with 6-31G* the input SMALL, N = 108; {made_by}"),
        "medium.xyz": xyz(ammonia_ring(7), f"(NH3)7, a ring; with 6-31G* the input MEDIUM, N = 140; {made_by}"),
        "dimer.xyz": xyz(water_ring(6)[:2], f"(H2O)2, two neighbours of small.xyz; for tests; {made_by}"),
    }


if __name__ == "__main__":
    for name, text in inputs().items():
        Path(__file__).with_name(name).write_text(text, encoding="utf-8")
