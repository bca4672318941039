mpicc=${MPICC:-mpicc}
mpi_libdir=""
mpi_cflags="-DOMPI_SKIP_MPICXX -DMPICH_SKIP_MPICXX"
mpi_libs=""
# Finds the flags of the MPI that the program is built with, and the libswath_mpi.so for it: this Swath
# serves every MPI family.
find_mpi() {
  words=$("$mpicc" -show) || { echo "swath-config: no $mpicc: set MPICC to the mpicc of your MPI" >&2; exit 1; }
  for word in $words; do
    case "$word" in
      -I* | -D*) mpi_cflags="$mpi_cflags $word" ;;
      -L*) mpi_libs="$mpi_libs $word -Wl,-rpath,${word#-L}" ;;
      -l*) mpi_libs="$mpi_libs $word" ;;
    esac
  done
  family=$(${CC:-cc} $mpi_cflags -E -P -x c "$includedir/swath/mpi_family.inc" | tail -n 1)
  mpi_libdir="$libdir/$family"
  [ -d "$mpi_libdir" ] && return
  echo "swath-config: $mpicc is of an MPI ($family) that this Swath was not built for: expected one of" \
    $(cd "$libdir" && echo */libswath_mpi.so) >&2
  exit 1
}
