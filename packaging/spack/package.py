"""Swath's library for C, C++ and Fortran, for Spack. From a checkout, with this folder as packages/swath of a repository:

spack dev-build --source-path . swath@0.1.0 +fortran ^mpich
"""

from spack.package import *
from spack_repo.builtin.build_systems.cmake import CMakePackage


class Swath(CMakePackage):
    """Reads and writes large distributed arrays, whichever way the program cuts them up and whichever way the file lays
    them out: raw, .npy, netCDF, HDF5 and Zarr, from C, C++ and Fortran, with the ranks of MPI."""

    license("BSD-3-Clause")

    version("0.1.0")

    variant("mpi", default=True, description="Ranks of MPI: libswath_mpi")
    variant("fortran", default=False, description="The Fortran module, of the compiler that Spack takes")
    variant("uring", default=True, description="io_uring carries bytes, where the kernel has it")
    variant("hdf5", default=True, description="HDF5 and netCDF-4 files: the library is found when a program opens one")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("fortran", type="build", when="+fortran")
    depends_on("cmake@3.22:", type="build")
    depends_on("nlohmann-json@3.9:", type="build")
    depends_on("mpi", when="+mpi")
    depends_on("utf8proc")
    depends_on("zstd")
    depends_on("c-blosc")
    depends_on("lz4")
    depends_on("libdeflate")
    depends_on("liburing", when="+uring")
    depends_on("hdf5@1.10:", type="run", when="+hdf5")

    conflicts("platform=darwin", msg="Swath is for Linux")
    conflicts("%gcc@:11", when="+fortran", msg="gfortran 12 is the first whose descriptors of array sections are right")

    def cmake_args(self):
        args = [
            self.define("SWATH_BUILD_TESTS", False),
            self.define("SWATH_BUILD_INSTRUMENTS", False),
            self.define_from_variant("SWATH_BUILD_FORTRAN", "fortran"),
        ]
        if self.spec.satisfies("+mpi"):
            args.append(self.define("SWATH_MPICC", self.spec["mpi"].mpicc))
        else:
            args.append(self.define("SWATH_MPICC", "none"))
        return args

    def setup_run_environment(self, env):
        if self.spec.satisfies("+hdf5"):
            env.set("SWATH_HDF5", join_path(self.spec["hdf5"].prefix.lib, "libhdf5.so"))
