"""Modules that need nothing but the standard library, not even each other.

Swath imports them as `swath.store.standalone.X`. Programs under other Pythons, where there is no Swath, import them as
`X`: the benchmarks of `swath-bench` start their peers with this folder on the module path.
"""
