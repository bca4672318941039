"""Peers that are not installed beside Swath: each in an environment of its own, started as a program of its own.

`environments` knows what can be installed, and makes it when it is asked for. `running` starts a peer's program under
its Python, and returns the lines that it left. `programs` has one module for each peer, with the jobs that it can do,
and one for each job, with how it is measured: `copying` for `swath bench copy`, `regions` for `ncio`, `reading` for
`zarr`. What a benchmark measures of whom it says itself: `copy_peers`, `ncio.peers`, `zarr.contenders`.
"""
