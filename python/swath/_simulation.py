"""The simulator of the core: operations on a simulated machine, from JSON to JSON."""

from swath._core import simulate as run

__all__ = ["run"]
