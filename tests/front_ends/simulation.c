/* Writes a number of each rank by MPI-IO, together, and prints what ROMIO goes by. */
#include <mpi.h>
#include <stdio.h>

int main(int count, char **arguments) {
  int rank = 0;
  MPI_File file;
  MPI_Init(&count, &arguments);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (count != 2 || MPI_File_open(MPI_COMM_WORLD, arguments[1], MPI_MODE_CREATE | MPI_MODE_WRONLY,
                                  MPI_INFO_NULL, &file) != MPI_SUCCESS)
    MPI_Abort(MPI_COMM_WORLD, 1);
  MPI_File_write_at_all(file, rank * (MPI_Offset)sizeof rank, &rank, 1, MPI_INT, MPI_STATUS_IGNORE);
  MPI_File_close(&file);
  return MPI_Finalize();
}
