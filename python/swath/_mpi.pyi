"""What the MPI module (python/bindings/mpi_module.cc) offers to the package."""

from swath._core import Comm

class MpiComm(Comm):
    def __init__(self, handle: int) -> None: ...
    def close(self) -> None: ...
