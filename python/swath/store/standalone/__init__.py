"""Modules that import the standard library only, and not each other.

Swath imports them as `swath.store.standalone.X`. A program of another Python without Swath imports them as `X`: the
benchmarks of `swath-bench` start such programs with this folder on the module path.
"""
