/* The errors of wrong calls: a line for each case and rank

     CASE RANK CLASS HANDLERS

   with the class of the returned error, and the number of calls of the file's handler. The same program runs with
   the drop-in and without; tests/mpi_io/test_mpi_io_errors.py compares the outputs.

   errors list                     prints the names of cases
   errors count FOLDER CASE…       with handlers that count; MPICH 5 returns no error then
   errors return FOLDER CASE…      with MPI_ERRORS_RETURN
   errors fatal FOLDER CASE…       the same, and the handlers of communicators are MPI's own, which end the program

   With SHOW_TEXT in the environment, standard error gets "CASE: TEXT". */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int handled = 0;
static int rank = 0;
static const char* folder = ".";
static const char* name_of_case = "";
static char text[1 << 13];

static void count_error(MPI_File* file, int* code, ...) {
  (void)file;
  (void)code;
  ++handled;
}

static int counts = 0;

/* A new handler for each file: MPICH 5.0 frees a file's handler with the file, even if other files have it. */
static MPI_Errhandler handler(void) {
  MPI_Errhandler made = MPI_ERRORS_RETURN;
  if (counts) MPI_File_create_errhandler(count_error, &made);
  return made;
}

static void tell(int code) {
  int class = MPI_SUCCESS;
  char message[MPI_MAX_ERROR_STRING + 1] = "";
  int length = 0;
  if (code != MPI_SUCCESS) {
    MPI_Error_class(code, &class);
    MPI_Error_string(code, message, &length);
    snprintf(text, sizeof text, "%s", message);
  }
  printf("%s %d %d %d\n", name_of_case, rank, class, handled);
  fflush(stdout);
  handled = 0;
}

static void path_of(char* path, const char* name) { snprintf(path, 1000, "%s/%s", folder, name); }

/* An open file of 100 bytes; its handler counts its calls. */
static MPI_File opened(int mode) {
  char path[1000];
  path_of(path, "data");
  if (rank == 0) {
    FILE* file = fopen(path, "w");
    char bytes[100];
    memset(bytes, 'x', sizeof bytes);
    if (file == NULL || fwrite(bytes, 1, sizeof bytes, file) != sizeof bytes || fclose(file) != 0) exit(3);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_File made = MPI_FILE_NULL;
  if (MPI_File_open(MPI_COMM_WORLD, path, mode, MPI_INFO_NULL, &made) != MPI_SUCCESS) exit(4);
  MPI_File_set_errhandler(made, handler());
  return made;
}

static int opening(const char* name, int mode) {
  char path[1000];
  MPI_File file = MPI_FILE_NULL;
  path_of(path, name);
  const int code = MPI_File_open(MPI_COMM_WORLD, path, mode, MPI_INFO_NULL, &file);
  if (code == MPI_SUCCESS) MPI_File_close(&file);
  return code;
}

static char buffer[4096];
static MPI_Status status;

#define RW (MPI_MODE_RDWR | MPI_MODE_CREATE)

/* A case: its name, the mode of the file, and the call on `f`. */
#define CASES(with)                                                                                                  \
  with(read_of_wronly, MPI_MODE_WRONLY, MPI_File_read(f, buffer, 4, MPI_BYTE, &status))                              \
  with(read_all_of_wronly, MPI_MODE_WRONLY, MPI_File_read_all(f, buffer, 4, MPI_BYTE, &status))                      \
  with(read_at_of_wronly, MPI_MODE_WRONLY, MPI_File_read_at(f, 0, buffer, 4, MPI_BYTE, &status))                     \
  with(iread_of_wronly, MPI_MODE_WRONLY, waited(MPI_File_iread(f, buffer, 4, MPI_BYTE, &request)))                   \
  with(read_ordered_of_wronly, MPI_MODE_WRONLY, MPI_File_read_ordered(f, buffer, 4, MPI_BYTE, &status))              \
  with(read_shared_of_wronly, MPI_MODE_WRONLY, MPI_File_read_shared(f, buffer, 4, MPI_BYTE, &status))                \
  with(read_all_begin_of_wronly, MPI_MODE_WRONLY, MPI_File_read_all_begin(f, buffer, 4, MPI_BYTE))                   \
  with(write_of_rdonly, MPI_MODE_RDONLY, MPI_File_write(f, buffer, 4, MPI_BYTE, &status))                            \
  with(write_all_of_rdonly, MPI_MODE_RDONLY, MPI_File_write_all(f, buffer, 4, MPI_BYTE, &status))                    \
  with(write_at_all_of_rdonly, MPI_MODE_RDONLY, MPI_File_write_at_all(f, 0, buffer, 4, MPI_BYTE, &status))           \
  with(iwrite_at_of_rdonly, MPI_MODE_RDONLY, waited(MPI_File_iwrite_at(f, 0, buffer, 4, MPI_BYTE, &request)))        \
  with(write_ordered_of_rdonly, MPI_MODE_RDONLY, MPI_File_write_ordered(f, buffer, 4, MPI_BYTE, &status))            \
  with(set_size_of_rdonly, MPI_MODE_RDONLY, MPI_File_set_size(f, 10))                                                \
  with(preallocate_of_rdonly, MPI_MODE_RDONLY, MPI_File_preallocate(f, 10))                                          \
  with(negative_count, RW, MPI_File_write(f, buffer, -1, MPI_BYTE, &status))                                         \
  with(negative_count_together, RW, MPI_File_write_all(f, buffer, -1, MPI_BYTE, &status))                            \
  with(negative_count_shared, RW, MPI_File_write_shared(f, buffer, -1, MPI_BYTE, &status))                           \
  with(negative_count_ordered, RW, MPI_File_write_ordered(f, buffer, -1, MPI_BYTE, &status))                         \
  with(negative_count_beside, RW, waited(MPI_File_iwrite(f, buffer, -1, MPI_BYTE, &request)))                        \
  with(negative_offset, RW, MPI_File_read_at(f, -1, buffer, 4, MPI_BYTE, &status))                                   \
  with(negative_offset_together, RW, MPI_File_read_at_all(f, -8, buffer, 4, MPI_BYTE, &status))                      \
  with(negative_offset_beside, RW, waited(MPI_File_iread_at(f, -1, buffer, 4, MPI_BYTE, &request)))                  \
  with(null_type, RW, MPI_File_read(f, buffer, 1, MPI_DATATYPE_NULL, &status))                                       \
  with(null_type_together, RW, MPI_File_write_all(f, buffer, 1, MPI_DATATYPE_NULL, &status))                         \
  with(uncommitted_type, RW, MPI_File_read(f, buffer, 1, uncommitted(), &status))                                    \
  with(uncommitted_type_together, RW, MPI_File_write_at_all(f, 0, buffer, 1, uncommitted(), &status))                \
  with(part_of_an_etype, RW, in_ints(f, MPI_File_write(f, buffer, 3, MPI_BYTE, &status)))                            \
  with(part_of_an_etype_together, RW, in_ints(f, MPI_File_write_all(f, buffer, 3, MPI_BYTE, &status)))               \
  with(bad_whence, RW, MPI_File_seek(f, 0, 12345))                                                                   \
  with(bad_whence_shared, RW, MPI_File_seek_shared(f, 0, 12345))                                                     \
  with(seek_before_the_file, RW, MPI_File_seek(f, -1, MPI_SEEK_SET))                                                 \
  with(seek_before_the_file_from_here, RW, MPI_File_seek(f, -1, MPI_SEEK_CUR))                                       \
  with(seek_before_the_file_from_its_end, RW, MPI_File_seek(f, -101, MPI_SEEK_END))                                  \
  with(seek_shared_before_the_file, RW, MPI_File_seek_shared(f, -1, MPI_SEEK_SET))                                   \
  with(seek_of_a_null_file, RW, MPI_File_seek(MPI_FILE_NULL, 0, MPI_SEEK_SET))                                       \
  with(byte_offset_of_a_negative_one, RW, MPI_File_get_byte_offset(f, -1, &offset))                                  \
  with(end_without_begin, RW, MPI_File_read_all_end(f, buffer, &status))                                             \
  with(end_of_another, RW, after(MPI_File_read_all_begin(f, buffer, 4, MPI_BYTE), MPI_File_write_all_end(f, buffer, &status))) \
  with(begin_twice, RW, after(MPI_File_read_all_begin(f, buffer, 4, MPI_BYTE), MPI_File_read_at_all_begin(f, 0, buffer, 4, MPI_BYTE))) \
  with(together_while_begun, RW, after(MPI_File_read_all_begin(f, buffer, 4, MPI_BYTE), MPI_File_read_at_all(f, 0, buffer, 4, MPI_BYTE, &status))) \
  with(end_twice, RW, after(MPI_File_read_all_begin(f, buffer, 4, MPI_BYTE), after(MPI_File_read_all_end(f, buffer, &status), MPI_File_read_all_end(f, buffer, &status)))) \
  with(view_with_a_negative_displacement, RW, MPI_File_set_view(f, -4, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL)) \
  with(view_of_a_null_etype, RW, MPI_File_set_view(f, 0, MPI_DATATYPE_NULL, MPI_BYTE, "native", MPI_INFO_NULL))      \
  with(view_of_a_null_type, RW, MPI_File_set_view(f, 0, MPI_BYTE, MPI_DATATYPE_NULL, "native", MPI_INFO_NULL))       \
  with(view_of_an_uncommitted_type, RW, MPI_File_set_view(f, 0, MPI_BYTE, uncommitted(), "native", MPI_INFO_NULL))   \
  with(view_of_parts_of_etypes, RW, MPI_File_set_view(f, 0, MPI_INT, MPI_BYTE, "native", MPI_INFO_NULL))             \
  with(view_of_an_unknown_representation, RW, MPI_File_set_view(f, 0, MPI_BYTE, MPI_BYTE, "strange", MPI_INFO_NULL)) \
  with(view_after_a_view_that_fails, RW, viewed_in_vain(f))                                                          \
  with(negative_size, RW, MPI_File_set_size(f, -1))                                                                  \
  with(negative_preallocation, RW, MPI_File_preallocate(f, -1))                                                      \
  with(read_of_a_null_file, RW, MPI_File_read(MPI_FILE_NULL, buffer, 1, MPI_BYTE, &status))                          \
  with(write_together_of_a_null_file, RW, MPI_File_write_at_all(MPI_FILE_NULL, 0, buffer, 1, MPI_BYTE, &status))     \
  with(view_of_a_null_file, RW, MPI_File_set_view(MPI_FILE_NULL, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL))    \
  with(close_of_a_null_file, RW, closed_null())                                                                      \
  with(sync_of_a_null_file, RW, MPI_File_sync(MPI_FILE_NULL))                                                        \
  with(atomicity_of_a_null_file, RW, MPI_File_get_atomicity(MPI_FILE_NULL, &number))                                 \
  with(view_got_of_a_null_file, RW, MPI_File_get_view(MPI_FILE_NULL, &offset, &type, &type, word))                   \
  with(read_beside_of_a_null_file, RW, waited(MPI_File_iread(MPI_FILE_NULL, buffer, 1, MPI_BYTE, &request)))         \
  with(read_ordered_of_a_null_file, RW, MPI_File_read_ordered(MPI_FILE_NULL, buffer, 1, MPI_BYTE, &status))          \
  with(split_of_a_null_file, RW, MPI_File_write_all_begin(MPI_FILE_NULL, buffer, 1, MPI_BYTE))                       \
  with(no_null_buffer_of_nothing, RW, MPI_File_write(f, NULL, 0, MPI_BYTE, &status))                                 \
  with(no_status, RW, MPI_File_read(f, buffer, 4, MPI_BYTE, MPI_STATUS_IGNORE))                                      \
  with(open_of_nothing, RW, opening("nothing", MPI_MODE_RDONLY))                                                     \
  with(open_of_nothing_to_write, RW, opening("nothing", MPI_MODE_WRONLY))                                            \
  with(open_in_no_folder, RW, opening("no/folder", MPI_MODE_RDWR | MPI_MODE_CREATE))                                 \
  with(open_of_what_exists, RW, opening("data", MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_EXCL))                    \
  with(open_in_no_mode, RW, opening("data", 0))                                                                      \
  with(open_in_two_modes, RW, opening("data", MPI_MODE_RDONLY | MPI_MODE_RDWR))                                      \
  with(open_to_read_and_create, RW, opening("new", MPI_MODE_RDONLY | MPI_MODE_CREATE))                               \
  with(open_of_a_folder, RW, opening("", MPI_MODE_RDWR))                                                             \
  with(open_below_a_file, RW, opening("data/x", MPI_MODE_RDONLY))                                                    \
  with(delete_of_nothing, RW, deleted("nothing"))                                                                    \
  with(read_of_a_closed_file, RW, after_close(&f, MPI_File_read(copy, buffer, 1, MPI_BYTE, &status)))                \
  with(write_together_of_a_closed_file, RW, after_close(&f, MPI_File_write_all(copy, buffer, 1, MPI_BYTE, &status))) \
  with(view_of_a_closed_file, RW, after_close(&f, MPI_File_set_view(copy, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL))) \
  with(view_got_of_a_closed_file, RW, after_close(&f, MPI_File_get_view(copy, &offset, &type, &type, word)))         \
  with(close_of_a_closed_file, RW, after_close(&f, MPI_File_close(&copy)))                                           \
  with(seek_of_a_closed_file, RW, after_close(&f, MPI_File_seek(copy, 0, MPI_SEEK_SET)))                             \
  with(read_of_no_handle, RW, MPI_File_read(no_handle(), buffer, 1, MPI_BYTE, &status))                              \
  with(read_with_a_freed_type, RW, MPI_File_read(f, buffer, 1, freed(), &status))                                    \
  with(write_together_with_a_freed_type, RW, MPI_File_write_all(f, buffer, 1, freed(), &status))                     \
  with(view_of_a_freed_type, RW, MPI_File_set_view(f, 0, MPI_BYTE, freed(), "native", MPI_INFO_NULL))                \
  with(view_whose_type_is_freed, RW, viewed_and_freed(f))                                                            \
  with(null_buffer, RW, MPI_File_read(f, NULL, 4, MPI_BYTE, &status))

static MPI_Request request = MPI_REQUEST_NULL;
static MPI_Offset offset = 0;
static MPI_Datatype type = MPI_DATATYPE_NULL;
static MPI_File copy = MPI_FILE_NULL;
static int number = 0;
static char word[MPI_MAX_DATAREP_STRING + 1];

static int waited(int code) { return code != MPI_SUCCESS ? code : MPI_Wait(&request, &status); }

static MPI_Datatype uncommitted(void) {
  MPI_Type_vector(2, 1, 2, MPI_BYTE, &type);
  return type;
}

static MPI_Datatype freed(void) {
  MPI_Datatype made = uncommitted();
  MPI_Type_commit(&made);
  const MPI_Datatype kept = made;
  MPI_Type_free(&made);
  return kept;
}

static MPI_File no_handle(void) { return (MPI_File)(void*)word; }

#define in_ints(f, call) (MPI_File_set_view(f, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL), call)
#define after(first, then) ((first) == MPI_SUCCESS ? (then) : MPI_ERR_UNKNOWN)
#define after_close(f, call) (copy = *(f), MPI_File_close(f), call)

static int closed_null(void) {
  MPI_File none = MPI_FILE_NULL;
  return MPI_File_close(&none);
}

static int deleted(const char* name) {
  char path[1000];
  path_of(path, name);
  return MPI_File_delete(path, MPI_INFO_NULL);
}

/* MPI keeps the datatype of a view: bytes 0, 2, 4, 6 are read after the type is freed. */
static int viewed_and_freed(MPI_File f) {
  MPI_Datatype made = uncommitted();
  MPI_Type_commit(&made);
  int code = MPI_File_set_view(f, 0, MPI_BYTE, made, "native", MPI_INFO_NULL);
  MPI_Type_free(&made);
  if (code == MPI_SUCCESS) code = MPI_File_read_all(f, buffer, 4, MPI_BYTE, &status);
  if (code == MPI_SUCCESS) code = MPI_File_read(f, buffer, 4, MPI_BYTE, &status);
  return code;
}

/* If MPI refuses a view, the view before remains, also if a handler turns the error into a success. */
static int viewed_in_vain(MPI_File f) {
  MPI_Offset displacement = 0;
  int code = MPI_File_set_view(f, 8, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL);
  if (code != MPI_SUCCESS) return code;
  code = MPI_File_set_view(f, 0, MPI_BYTE, MPI_BYTE, "strange", MPI_INFO_NULL);
  MPI_File_get_view(f, &displacement, &type, &type, word);
  return displacement == 8 ? code : MPI_ERR_INTERN;
}

#define DEFINE(name, mode, call) \
  static int name##_case(MPI_File* file) {       \
    MPI_File f = *file;                          \
    const int code = (call);                     \
    *file = f;                                   \
    return code;                                 \
  }
CASES(DEFINE)

static const struct {
  const char* name;
  int mode;
  int (*call)(MPI_File*);
} cases[] = {
#define ENTRY(name, mode, call) {#name, mode, name##_case},
    CASES(ENTRY)};

int main(int argc, char** argv) {
  if (argc > 1 && strcmp(argv[1], "list") == 0) {
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) puts(cases[i].name);
    return 0;
  }
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  counts = argc > 1 && strcmp(argv[1], "count") == 0;
  if (strcmp(argv[1], "fatal") != 0) {
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  }
  folder = argv[2];
  for (int i = 3; i < argc; ++i) {
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; ++k) {
      if (strcmp(argv[i], cases[k].name) != 0) continue;
      name_of_case = cases[k].name;
      MPI_File file = opened(cases[k].mode);
      MPI_File_set_errhandler(MPI_FILE_NULL, handler());
      text[0] = '\0';
      handled = 0;
      const int code = cases[k].call(&file);
      tell(code);
      if (getenv("SHOW_TEXT") != NULL && text[0] != '\0') fprintf(stderr, "%s: %s\n", name_of_case, text);
      MPI_Barrier(MPI_COMM_WORLD);
      MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_RETURN); /* else the next file would have this handler, too */
      if (file != MPI_FILE_NULL) MPI_File_close(&file);
      handled = 0;
      copy = MPI_FILE_NULL;
    }
  }
  MPI_Finalize();
  return 0;
}
