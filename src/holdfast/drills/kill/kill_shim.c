/* Strikes the process group before or after the n-th rename to a path with a given ending, or the
 * n-th deletion of one, counted per process. What fails has no "after".
 *
 * Preloaded into a driver. HOLDFAST_DRILL_FILE is "<when>:<ending>:<n>" with before, after,
 * before-delete or after-delete; HOLDFAST_DRILL_FIRED is the file the point is written to first,
 * HOLDFAST_DRILL_STRIKE the signal's number. The JVM and Python die in the same instant, without a
 * tracer, and nothing in either knows it is coming.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define REAL(name) ((int (*)(const char *, ...))dlsym(RTLD_NEXT, name))

static int seen;

static void strike(const char *point) {
    int fired = open(getenv("HOLDFAST_DRILL_FIRED"), O_WRONLY | O_CREAT | O_APPEND, 0644);
    if (fired >= 0) {
        dprintf(fired, "%s\n", point);
        close(fired);
    }
    int signal = atoi(getenv("HOLDFAST_DRILL_STRIKE"));
    kill(0, signal);
    if (signal == SIGSTOP) sleep(2); /* another thread may have taken it: this one stops here */
}

/* The point's n-th match: returns what it waits for, else NULL. */
static const char *matched(const char *path, const char *before, const char *after) {
    static __thread char when[16];
    const char *point = getenv("HOLDFAST_DRILL_FILE");
    char ending[512];
    int nth = 1;
    if (!point || sscanf(point, "%15[^:]:%511[^:]:%d", when, ending, &nth) != 3) return NULL;
    if (strcmp(when, before) && strcmp(when, after)) return NULL;
    size_t length = strlen(path), tail = strlen(ending);
    if (length < tail || strcmp(path + length - tail, ending)) return NULL;
    return __sync_add_and_fetch(&seen, 1) == nth ? when : NULL;
}

static int struck(const char *name, const char *one, const char *two) {
    const char *before = two ? "before" : "before-delete", *after = two ? "after" : "after-delete";
    const char *when = matched(two ? two : one, before, after);
    const char *point = getenv("HOLDFAST_DRILL_FILE");
    if (when && !strcmp(when, before)) strike(point);
    int result = two ? REAL(name)(one, two) : REAL(name)(one);
    if (when && !strcmp(when, after) && result == 0) strike(point);
    return result;
}

int rename(const char *source, const char *target) { return struck("rename", source, target); }
int unlink(const char *path) { return struck("unlink", path, NULL); }
int remove(const char *path) { return struck("remove", path, NULL); }
