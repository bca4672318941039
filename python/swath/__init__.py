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
        "base",
        "copying",
        "errors",
        "fft",
        "files",
        "formats",
        "pickling",
        "ranks",
        "recompute",
        "simulation",
        "space",
        "store",
        "throttle",
    )
    """Those that are loaded with the public names. Each can be imported by itself before."""

    _MOVED = {
        "swath.array.pickling": "swath.pickling",
        "swath.computing": "",
        "swath.computing.balanced": "swath.recompute",
        "swath.computing.fft": "swath.fft",
        "swath.computing.iteration": "swath.array.iteration",
        "swath.store.cache_folder": "swath.base.cache_folder",
        "swath.store.calibration": "swath.calibration",
        "swath.store.lock_timeout": "swath.base.lock_timeout",
        "swath.store.memory_budget": "swath.base.memory_budget",
        "swath.store.own_files": "swath.base.own_files",
        "swath.throttle.settings": "swath.base.stream_settings",
    }
    """Modules by the names that they had in version 0.1, which work until 0.3. Empty: the folder is gone."""

    def __getattr__(name):
        if name in _MODULES or f"{__name__}.{name}" in _MOVED:
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

    class _FindMoved:
        """Finds modules by the names that they had. It comes first: Python's own finders would load a second copy."""

        @staticmethod
        def find_spec(name, path=None, target=None):
            if not name.startswith("swath.") or not any(f"{name}.".startswith(f"{old}.") for old in _MOVED):
                return None
            return _import("_moved").spec_of(name, _MOVED)

    import sys

    sys.meta_path.insert(0, _FindMoved)
