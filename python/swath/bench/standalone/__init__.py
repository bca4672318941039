"""Modules that need nothing but the standard library, not even each other.

Swath's own benchmarks import them as `swath.bench.standalone.X`, the peers' programs, which run under other Pythons, as
top-level `X`: `swath.bench.environments.run_program` puts this folder on their path.
"""
