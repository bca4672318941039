"""Peers that are not installed with Swath: each has a separate environment and runs as a separate program.

`environments` knows which peers can be installed, and makes an environment on demand. `running` starts a peer's program
under its Python, and returns the lines of its answer. `programs` has one module for each peer, with its jobs,
and one for each job, with the measurement: `copying` for `swath bench copy`, `regions` for `ncio`, `reading` for
`zarr`. Each benchmark says which peers it measures: `copy_peers`, `ncio.peers`, `zarr.contenders`.
"""
