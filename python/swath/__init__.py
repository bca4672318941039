"""Swath: parallel I/O for structured scientific data.

Reads and writes large arrays, whichever way the program cuts them up and whichever way the file lays them out.

    import numpy as np, swath

    with swath.open("sst.nc", variable="surface_temperature") as a:
        x = a[10:20, ::4, 7]
"""

__version__ = "0.1.0"

TYPE_CHECKING = False  # type checkers take it for true; importing `typing` for it would take longer than all the rest

if TYPE_CHECKING:
    from swath._public import *  # noqa: F403
    from swath._public import __all__ as __all__
else:
    # The first of the public names that is asked for loads them all. `swath mpi-io` needs none of them, nor NumPy, and
    # so starts as fast as Python itself.
    _MODULES = (
        "advice",
        "array",
        "computing",
        "copying",
        "errors",
        "files",
        "formats",
        "ranks",
        "space",
        "store",
        "throttle",
    )
    """Those that are loaded with the public names. Each can be imported by itself before."""

    def __getattr__(name):
        if name in _MODULES:
            return _import(name)
        if name == "__all__" or not name.startswith("_"):
            _load_public_names()
            if name in globals():
                return globals()[name]
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

    def __dir__():
        _load_public_names()
        return sorted(globals())

    def _load_public_names():
        public = _import("_public")
        globals().update({name: getattr(public, name) for name in ("__all__", *public.__all__)})

    def _import(module):
        import importlib

        return importlib.import_module(f"{__name__}.{module}")
