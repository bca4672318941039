"""The reasons for differences: texts of the table, for a case of a suite, for all MPIs or for one."""

REASONS: dict[str, str] = {
    "romio@mpich/atomicity": "atomicity leaves gaps in a new file, where MPICH writes what its buffer happens to have, "
    "and the drop-in nothing: they are zeros",
    "mpich@mpich/atomicityf": "atomicityf leaves gaps in a new file, as ROMIO's atomicity does",
    "mpich@mpich/atomicityf90": "atomicityf90 leaves gaps in a new file, as ROMIO's atomicity does",
    "mpich@openmpi/miscfilef": "of a file that was cut, Open MPI's preallocate writes what its buffer happens to have "
    "beyond the end; the drop-in leaves zeros",
    "mpich@openmpi/miscfilef90": "of a file that was cut, Open MPI's preallocate writes what its buffer happens to "
    "have beyond the end; the drop-in leaves zeros",
    "netcdf@mpich/tst_simplerw_coll_r": "files without fill values: where nothing is written, MPICH "
    "leaves its buffer's 0xff, and the drop-in zeros",
    "netcdf@mpich/tst_parallel3": "tst_parallel3 never writes one variable, between metadata that HDF5 writes at once: "
    "MPICH fills the gap with what its buffer happens to have (0xff), and the drop-in leaves zeros",
    "programs@mpich/hdf5 pattern=checker rows=512 columns=512": "every other cell is unwritten: MPICH writes "
    "its buffer's 0xff there, and the drop-in leaves zeros, as Open MPI does",
    "programs@mpich/netcdf4 records=16 columns=4096": "a gap between metadata that HDF5 writes at once: "
    "0xff of MPICH's buffer, and zeros with the drop-in",
    "mpi4py/test_io": "what test_io writes last are long doubles, whose padding nobody sets: its files always vary",
    "pnetcdf@openmpi/add_var": "add_var reads beyond the end: Open MPI tells of a collective read there that it has "
    "read all, and PnetCDF writes that much elsewhere; the drop-in tells of 0 bytes, as MPICH does",
    "pnetcdf/test_fill": "in test_fill each rank writes other values to the same place",
    "pnetcdf/large_dims_vars_attrs": "here each rank writes other values to the same place",
    "pnetcdf/get_vara": "get_vara reads a file that another program leaves",
    "pnetcdf/pres_temp_4D_rd": "pres_temp_4D_rd reads a file that another program leaves",
    "romio@mpich-wheel/atomicity": "the gaps of atomicity hold what MPICH's buffer happened to have, as on mpich 4.0.2",
    "romio@openmpi/external32": "Open MPI refuses external32, and leaves an empty file; the drop-in has it",
    "romio@openmpi/noncontig": "what is not built wants MPI_LB and MPI_UB, which are MPI-1's",
    "romio@mpich-wheel/async": "what is not built wants MPIO_Request, which MPICH has no more",
    "romio/misc": "misc, fmisc, shared_fp and status write memory that they did not set",
}
"""The keys: "romio/external32", or "romio@openmpi/external32" for one MPI only."""
