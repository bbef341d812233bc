/* Strikes the process group before or after the n-th rename, counted per process, to a path with a
 * given ending. A rename that fails has no "after".
 *
 * Preloaded into a driver. HOLDFAST_DRILL_RENAME is "before|after:<ending>:<n>", HOLDFAST_DRILL_FIRED the
 * file the point is written to first, HOLDFAST_DRILL_STRIKE the signal's number. The JVM and Python
 * die in the same instant, without a tracer, and nothing in either knows it is coming.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int seen;

static int matches(const char *target, char when[8]) {
    const char *point = getenv("HOLDFAST_DRILL_RENAME");
    char ending[512];
    int nth = 1;
    if (!point || sscanf(point, "%7[^:]:%511[^:]:%d", when, ending, &nth) != 3) return 0;
    size_t length = strlen(target), tail = strlen(ending);
    if (length < tail || strcmp(target + length - tail, ending)) return 0;
    return __sync_add_and_fetch(&seen, 1) == nth;
}

static void strike(void) {
    const char *point = getenv("HOLDFAST_DRILL_RENAME");
    int fired = open(getenv("HOLDFAST_DRILL_FIRED"), O_WRONLY | O_CREAT | O_APPEND, 0644);
    if (fired >= 0) {
        dprintf(fired, "%s\n", point);
        close(fired);
    }
    kill(0, atoi(getenv("HOLDFAST_DRILL_STRIKE")));
}

int rename(const char *source, const char *target) {
    int (*real)(const char *, const char *) = dlsym(RTLD_NEXT, "rename");
    char when[8] = "";
    int hit = matches(target, when);
    if (hit && !strcmp(when, "before")) strike();
    int result = real(source, target);
    if (hit && !strcmp(when, "after") && result == 0) strike();
    return result;
}
