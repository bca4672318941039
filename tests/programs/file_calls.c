/* Makes each file call that a trace knows, on files of the current folder; `_FORTIFY_SOURCE` changes some of them. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

static void check(int holds, const char *what) {
  if (holds) return;
  fprintf(stderr, "file_calls: %s\n", what);
  exit(2);
}

static void by_descriptor(size_t bytes) {
  char data[4096] = {0};
  struct iovec pieces[2] = {{data, 100}, {data + 100, 50}};
  struct stat status;
  int file = open("d", O_RDWR | O_CREAT | O_TRUNC, 0600);
  check(file >= 0, "open");
  check(write(file, data, bytes) == (ssize_t)bytes, "write");
  check(pwrite(file, data, 20, 1000) == 20, "pwrite");
  check(writev(file, pieces, 2) == 150, "writev");
  check(pwritev(file, pieces, 2, 2000) == 150, "pwritev");
  check(lseek(file, 40, SEEK_SET) == 40, "lseek");
  check(read(file, data, bytes) == (ssize_t)bytes, "read");
  check(pread(file, data, bytes, 7) == (ssize_t)bytes, "pread");
  check(readv(file, pieces, 2) == 150, "readv");
  check(preadv(file, pieces, 2, 1990) == 150, "preadv");
  check(preadv2(file, pieces, 2, 10, 0) == 150 && preadv2(file, pieces, 1, -1, 0) == 100, "preadv2");
  check(pwritev2(file, pieces, 1, 50, 0) == 100 && pwritev2(file, pieces, 2, -1, 0) == 150, "pwritev2");
  check(pread(file, data, 100, 1 << 20) == 0, "pread at the end");
  check(fstat(file, &status) == 0 && status.st_size == 2150, "fstat");
  check(fsync(file) == 0 && fdatasync(file) == 0, "fsync");
  check(ftruncate(file, 4096) == 0, "ftruncate");
  void *memory = mmap(NULL, 4096, PROT_READ, MAP_SHARED, file, 0);
  check(memory != MAP_FAILED && munmap(memory, 4096) == 0, "mmap");
  int other = open("e", O_WRONLY | O_CREAT | O_TRUNC, 0600);
  off_t from = 0;
  check(copy_file_range(file, &from, other, NULL, 300, 0) == 300, "copy_file_range");
  check(close(other) == 0, "close");
  check(dup2(file, 77) == 77 && write(77, data, 9) == 9 && close(77) == 0, "dup2");
  check(close(file) == 0, "close");
  check(write(file, data, 1) < 0, "write to a closed file");
  check(open("none", O_RDONLY) < 0, "open of no file");
  check(stat("d", &status) == 0 && rename("d", "f") == 0 && unlink("f") == 0, "rename");
  file = open(".", O_RDONLY);
  check(file >= 0 && close(file) == 0, "open of a folder");
}

static void by_stream(size_t bytes) {
  char data[4096] = {0};
  FILE *file = fopen("s", "w+");
  check(file != NULL && fwrite(data, 8, bytes, file) == bytes, "fwrite");
  check(fflush(file) == 0 && fseek(file, 16, SEEK_SET) == 0, "fflush");
  check(fread(data, 1, bytes, file) == bytes, "fread");
  check(fclose(file) == 0, "fclose");
}

static void *by_thread(void *name) {
  int file = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0600);
  for (int i = 0; i < 1000; ++i) check(write(file, "12345678", 8) == 8, "write of a thread");
  close(file);
  return NULL;
}

static void in_threads(void) {
  pthread_t threads[4];
  char *names[] = {"t0", "t1", "t2", "t3"};
  for (int i = 0; i < 4; ++i) pthread_create(&threads[i], NULL, by_thread, names[i]);
  for (int i = 0; i < 4; ++i) pthread_join(threads[i], NULL);
}

static void in_children(void) {
  pid_t child = fork();
  if (child == 0) {
    int file = open("c", O_WRONLY | O_CREAT, 0600);
    check(write(file, "abc", 3) == 3, "write of a child");
    _exit(0);
  }
  waitpid(child, NULL, 0);
  child = vfork();
  if (child == 0) {
    execlp("true", "true", (char *)NULL);
    _exit(1);
  }
  waitpid(child, NULL, 0);
}

/* A child that has the memory of its parent, and ends without another program. */
static void spawn(void) {
  char *program[] = {"/none/such", NULL};
  const pid_t child = vfork();
  if (child == 0) {
    execv(program[0], program);
    _exit(1);
  }
  waitpid(child, NULL, 0);
}

static void in_children_after_a_spawn(void) {
  spawn();
  const pid_t child = fork();
  if (child == 0) {
    spawn();
    int file = open("c", O_WRONLY | O_CREAT, 0600);
    check(write(file, "abc", 3) == 3, "write of a child");
    _exit(0);
  }
  waitpid(child, NULL, 0);
}

int main(int count, char **words) {
  const size_t bytes = count > 2 ? (size_t)atoi(words[2]) : 200;
  if (strcmp(words[1], "calls") == 0) by_descriptor(bytes), by_stream(bytes);
  if (strcmp(words[1], "threads") == 0) in_threads();
  if (strcmp(words[1], "children") == 0) in_children(), in_threads();
  if (strcmp(words[1], "spawns") == 0) in_children_after_a_spawn(), in_threads();
  if (strcmp(words[1], "exec") == 0) {
    in_threads();
    char *program[] = {words[0], "calls", NULL};
    execv(words[0], program);
  }
  if (strcmp(words[1], "killed") == 0) {
    in_threads();
    usleep(500000);
    abort();
  }
  return 0;
}
