"""Modules under the names that they had: importing one by such a name works, and a warning says the new one."""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Mapping
from importlib.abc import Loader
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any


def spec_of(old: str, moved: Mapping[str, str]) -> ModuleSpec | None:
    """Return how the module `old` is loaded; `moved` has its new name, or that of a folder that it was in.

    None: no module had that name.
    """
    folder = old
    while folder not in moved:
        folder = folder.rpartition(".")[0]
    if not moved[folder]:
        return ModuleSpec(old, _EmptyFolder(moved), is_package=True) if folder == old else None
    return ModuleSpec(old, _ByNewName(moved[folder] + old[len(folder) :]))


class _ByNewName(Loader):
    """Loads a module as the one of its new name: both names have the same module."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._own_spec: ModuleSpec | None = None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        module = importlib.import_module(self._name)
        warnings.warn(
            f"{spec.name} is {self._name} now; the old name goes in version 0.3", DeprecationWarning, stacklevel=2
        )
        self._own_spec = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        module.__spec__ = self._own_spec  # Python has put the one of the old name there


class _EmptyFolder(Loader):
    """Loads a folder that is gone, all of whose modules have moved."""

    def __init__(self, moved: Mapping[str, str]) -> None:
        self._moved = moved

    def create_module(self, spec: ModuleSpec) -> None:
        del spec

    def exec_module(self, module: ModuleType) -> None:
        def imported(name: str) -> Any:
            old = f"{module.__name__}.{name}"
            if old not in self._moved:
                raise AttributeError(f"module {module.__name__!r} has no attribute {name!r}")
            return importlib.import_module(old)

        module.__getattr__ = imported  # type: ignore[method-assign]
