/* Strikes the process group before or after the n-th time, counted per process, that given bytes are
 * sent over a socket in one piece. What is encrypted or packed is not seen here.
 *
 * Preloaded into a driver. HOLDFAST_DRILL_SEND is "<when>:<bytes>:<n>" with before-send or
 * after-send; HOLDFAST_DRILL_FIRED is the file the point is written to first, HOLDFAST_DRILL_STRIKE
 * the signal's number. After a strike the kernel still delivers what was sent: the server does it,
 * and nobody hears of it.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#define REAL(name) dlsym(RTLD_NEXT, name)

static int seen;

static int is_socket(int file) {
    int type;
    socklen_t size = sizeof type;
    return getsockopt(file, SOL_SOCKET, SO_TYPE, &type, &size) == 0;
}

/* Returns 'b' or 'a' when this is the time to strike, before or after; else 0. */
static char matches(int file, const struct iovec *pieces, int count) {
    const char *point = getenv("HOLDFAST_DRILL_SEND");
    char when[16] = "", wanted[512];
    int nth = 1, hits = 0;
    if (!point) return 0;
    if (sscanf(point, "%15[^:]:%511[^:]:%d", when, wanted, &nth) != 3) return 0;
    for (int each = 0; each < count; each++)
        hits |= memmem(pieces[each].iov_base, pieces[each].iov_len, wanted, strlen(wanted)) != NULL;
    if (!hits || !is_socket(file)) return 0;
    return __sync_add_and_fetch(&seen, 1) == nth ? when[0] : 0;
}

static void strike(void) {
    ssize_t (*real)(int, const void *, size_t) = REAL("write");
    const char *point = getenv("HOLDFAST_DRILL_SEND");
    int fired = open(getenv("HOLDFAST_DRILL_FIRED"), O_WRONLY | O_CREAT | O_APPEND, 0644);
    if (fired >= 0) {
        if (real(fired, point, strlen(point)) < 0 || real(fired, "\n", 1) < 0) _exit(1);
        close(fired);
    }
    int signal = atoi(getenv("HOLDFAST_DRILL_STRIKE"));
    kill(0, signal);
    if (signal == SIGSTOP) sleep(2); /* another thread may have taken it: this one stops here */
}

#define STRUCK(pieces, count, call)                        \
    char when = matches(file, pieces, count);              \
    if (when == 'b') strike();                             \
    ssize_t result = call;                                 \
    if (when == 'a' && result >= 0) strike();              \
    return result;

ssize_t write(int file, const void *bytes, size_t length) {
    ssize_t (*real)(int, const void *, size_t) = REAL("write");
    struct iovec piece = {(void *)bytes, length};
    STRUCK(&piece, 1, real(file, bytes, length))
}

ssize_t send(int file, const void *bytes, size_t length, int flags) {
    ssize_t (*real)(int, const void *, size_t, int) = REAL("send");
    struct iovec piece = {(void *)bytes, length};
    STRUCK(&piece, 1, real(file, bytes, length, flags))
}

ssize_t writev(int file, const struct iovec *pieces, int count) {
    ssize_t (*real)(int, const struct iovec *, int) = REAL("writev");
    STRUCK(pieces, count, real(file, pieces, count))
}
