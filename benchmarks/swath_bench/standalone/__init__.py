"""Modules that need only the standard library, not even each other.

Swath's own benchmarks import them as `swath_bench.standalone.X`, the peers' programs, which run under other Pythons, as
top-level `X`: `swath_bench.peers.running` puts this folder and that of `swath.store.standalone` on their path.
"""
