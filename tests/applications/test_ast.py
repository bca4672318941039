"""AST: a shock tube beside its exact solution, conservation, the same bytes from every variant and number of ranks."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from application_programs import run_application

GAMMA = 1.4
LEFT, RIGHT = (1.0, 0.0, 1.0), (0.125, 0.0, 0.1)
"""Sod's: density, velocity, pressure."""
TIME, FIELDS = 0.2, 9

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]


def velocity_change(pressure: float, side: tuple[float, float, float]) -> float:
    """Across the wave of a side, a shock or a rarefaction, to that pressure (Toro 2009, equations 4.6 and 4.7)."""
    density, _, outside = side
    if pressure > outside:
        a, b = 2 / ((GAMMA + 1) * density), (GAMMA - 1) / (GAMMA + 1) * outside
        return float((pressure - outside) * np.sqrt(a / (pressure + b)))
    sound = np.sqrt(GAMMA * outside / density)
    return float(2 * sound / (GAMMA - 1) * ((pressure / outside) ** ((GAMMA - 1) / (2 * GAMMA)) - 1))


def exact_density(x: np.ndarray, time: float) -> np.ndarray:
    """Of Sod's tube: a rarefaction to the left, a shock to the right."""
    low, high = RIGHT[2], LEFT[2]
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (
            (middle, high) if velocity_change(middle, LEFT) + velocity_change(middle, RIGHT) < 0 else (low, middle)
        )
    pressure, velocity = high, velocity_change(high, RIGHT)
    sound = np.sqrt(GAMMA * LEFT[2] / LEFT[0])
    behind = LEFT[0] * (pressure / LEFT[2]) ** (1 / GAMMA)
    ratio, part = pressure / RIGHT[2], (GAMMA - 1) / (GAMMA + 1)
    shocked = RIGHT[0] * (ratio + part) / (part * ratio + 1)
    shock = np.sqrt(GAMMA * RIGHT[2] / RIGHT[0]) * np.sqrt(
        (GAMMA + 1) / (2 * GAMMA) * ratio + (GAMMA - 1) / (2 * GAMMA)
    )
    speed = (x - 0.5) / time
    fan = LEFT[0] * (2 / (GAMMA + 1) - part / sound * speed) ** (2 / (GAMMA - 1))
    tail = velocity - np.sqrt(GAMMA * pressure / behind)
    places = [speed < -sound, speed < tail, speed < velocity, speed < shock]
    return np.select(places, [LEFT[0], fan, behind, shocked], RIGHT[0])


def test_the_exact_solution_is_that_of_the_literature() -> None:
    """Toro 2009, table 4.2: densities beside the contact 0.42632 and 0.26557."""
    np.testing.assert_allclose(exact_density(np.array([0.6, 0.75]), TIME), [0.42632, 0.26557], atol=1e-5)


@pytest.mark.parametrize("axis", ["x", "y"])
def test_a_shock_tube_converges_to_the_exact_solution(tmp_path: Path, axis: str) -> None:
    errors = []
    for cells in (100, 400):
        extents = {"nx": cells, "ny": 4} if axis == "x" else {"nx": 4, "ny": cells}
        told = run_application("ast", 1, tmp_path, problem=f"tube_{axis}", dumps=1, file="tube.dat", **extents)
        assert told["mass_drift"] < 1e-12
        assert told["energy_drift"] < 1e-12
        density = np.fromfile(tmp_path / "tube.dat").reshape(FIELDS, extents["ny"], extents["nx"])[0]
        across = density if axis == "x" else density.T
        assert np.all(across == across[0])
        x = (np.arange(cells) + 0.5) / cells
        errors.append(np.mean(np.abs(across[0] - exact_density(x, TIME))))
    order = np.log(errors[0] / errors[1]) / np.log(4)
    assert errors[1] < 2.5e-3
    assert 0.8 < order < 1.2, (errors, order)  # 1: solutions with a shock, by schemes of any order


def test_all_variants_and_numbers_of_ranks_write_the_same_bytes(tmp_path: Path) -> None:
    files = set()
    for variant in ("optimised", "found", "mpi"):
        for ranks in (1, 4, 6):
            told = run_application("ast", ranks, tmp_path, variant=variant, nx=30, ny=26, dumps=2, file="ast.dat")
            assert max(told["mass_drift"], told["energy_drift"]) < 1e-12, (variant, ranks)
            files.add((tmp_path / "ast.dat").read_bytes())
    (content,) = files
    for dump in np.frombuffer(content).reshape(2, FIELDS, 26, 30):
        density, momentum_x, momentum_y, energy, *primitive, gradient = dump
        assert np.all(density > 0)
        np.testing.assert_array_equal(primitive[0], density)
        np.testing.assert_array_equal(primitive[1:3], [momentum_x / density, momentum_y / density])
        pressure = (GAMMA - 1) * (energy - (momentum_x**2 + momentum_y**2) / (2 * density))
        np.testing.assert_allclose(primitive[3], pressure, rtol=1e-13)
        padded = np.pad(density, 1, mode="edge")
        along = np.hypot(padded[1:-1, 2:] - padded[1:-1, :-2], padded[2:, 1:-1] - padded[:-2, 1:-1])
        np.testing.assert_allclose(gradient, along * 30 / 2, rtol=1e-13)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"variant": "hdf5"}, "variant=hdf5; expected found, optimised or mpi"),
        ({"problem": "bubble"}, "problem=bubble; expected explosion, tube_x or tube_y"),
        ({"nx": 1}, "a rank has fewer than two cells along a dimension"),
    ],
)
def test_what_it_cannot_do_it_says(tmp_path: Path, arguments: dict[str, object], words: str) -> None:
    with pytest.raises(AssertionError, match=words):
        run_application("ast", 1, tmp_path, **arguments)
