/* Writes down, in their order, the operations that make and take away files: open of a new one,
 * rename, link, unlink and remove. Of a file that gets its name a second link is kept, so that its
 * content stays; of a new one that is what it holds in the end.
 *
 * Preloaded into a driver. HOLDFAST_DRILL_TRACE is a directory on the same disk; its file `log` has
 * one line per operation: a number, what was done, the path, and for a rename where it came from.
 * The number is drawn from the log itself, under a lock that all processes share.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define REAL(name) ((int (*)(const char *, ...))dlsym(RTLD_NEXT, name))

/* The lock is held over the operation, so that the order of the lines is that of the operations. */
static int begin(char *directory, size_t size) {
    const char *trace = getenv("HOLDFAST_DRILL_TRACE");
    if (!trace) return -1;
    snprintf(directory, size, "%s", trace);
    char path[4096];
    snprintf(path, sizeof path, "%s/log", trace);
    int log = REAL("open")(path, O_RDWR | O_CREAT | O_APPEND, 0644);
    if (log >= 0) flock(log, LOCK_EX);
    return log;
}

static void end(int log, const char *directory, const char *what, const char *path, const char *from) {
    struct stat status;
    fstat(log, &status);
    long number = (long)status.st_size;
    if (strcmp(what, "unlink")) {
        char kept[4200];
        snprintf(kept, sizeof kept, "%s/%012ld", directory, number);
        REAL("link")(path, kept);
    }
    dprintf(log, "%012ld\t%s\t%s\t%s\n", number, what, path, from);
}

static int traced(const char *name, const char *what, const char *one, const char *two) {
    char directory[4096];
    int log = begin(directory, sizeof directory);
    int result = two ? REAL(name)(one, two) : REAL(name)(one);
    if (log >= 0) {
        if (result == 0) end(log, directory, what, two ? two : one, two ? one : "");
        close(log);
    }
    return result;
}

static int opened(const char *name, const char *path, int flags, mode_t mode) {
    if (!(flags & O_CREAT) || access(path, F_OK) == 0) return REAL(name)(path, flags, mode);
    char directory[4096];
    int log = begin(directory, sizeof directory);
    int result = REAL(name)(path, flags, mode);
    if (log >= 0) {
        if (result >= 0) end(log, directory, "create", path, "");
        close(log);
    }
    return result;
}

/* The mode is only given with the flag; without it, it is not read. */
#define OPEN(name)                                      \
    int name(const char *path, int flags, ...) {        \
        va_list given;                                  \
        va_start(given, flags);                         \
        mode_t mode = va_arg(given, mode_t);            \
        va_end(given);                                  \
        return opened(#name, path, flags, mode);        \
    }
OPEN(open)
OPEN(open64)

int rename(const char *source, const char *target) { return traced("rename", "rename", source, target); }
int link(const char *source, const char *target) { return traced("link", "link", source, target); }
int unlink(const char *path) { return traced("unlink", "unlink", path, NULL); }
int remove(const char *path) { return traced("remove", "unlink", path, NULL); }
