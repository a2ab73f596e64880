/* Faults of a disk and of a clock, through LD_PRELOAD: the n-th call of a kind on a file whose name holds ".trace"
   fails, once or from then on. Armed through ctypes by the process that it is loaded into, or by FAULT="what at lasts
   how" in its environment; there it can also kill the process in that call. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { WRITE, SYNC, TRUNCATE, READ, CLOCK };
enum { KILL = -1, FAIL_THEN_KILL = -2, TEAR_AND_KILL = -3 };
static atomic_int kind = -1, due, for_good, error, seen, fired;
static atomic_long leap_s;

/* how: an errno, 0 for half of what was to be written, or one of the kills; for the clock, seconds that it leaps. */
void fault_arm(int what, int at, int lasts, long how) {
    kind = -1;
    due = at;
    for_good = lasts;
    error = (int)how;
    leap_s = how;
    seen = 0;
    fired = 0;
    kind = what;
}
__attribute__((constructor)) static void armed(void) {
    int what, at, lasts, how;
    const char *given = getenv("FAULT");
    if (given && sscanf(given, "%d %d %d %d", &what, &at, &lasts, &how) == 4) fault_arm(what, at, lasts, how);
}
int fault_fired(void) { return fired; }

static int hit(int what) {
    if (kind != what) return 0;
    int number = ++seen;
    if (number != due && !(for_good && number > due)) return 0;
    return ++fired;
}
static int on_trace(int fd) {
    char link[32], path[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length < 0) return 0;
    path[length] = 0;
    return strstr(path, ".trace") != NULL;
}
#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))
static int failed(void) {
    if (error == KILL || (error == FAIL_THEN_KILL && fired > 1)) raise(SIGKILL);
    errno = error > 0 ? error : EIO;
    return -1;
}
#define FAIL(what, fd) \
    if (kind == what && on_trace(fd) && hit(what)) return failed();

/* Before a write: what is to be written of it, all or half; -1 where it fails. */
static ssize_t struck(int fd, size_t size) {
    if (kind != WRITE || !on_trace(fd) || !hit(WRITE)) return (ssize_t)size;
    if (error && error != TEAR_AND_KILL) return failed();
    return (ssize_t)(size > 1 ? size / 2 : size);
}
static ssize_t torn(ssize_t done) {
    if (kind == WRITE && fired && error == TEAR_AND_KILL) raise(SIGKILL);
    return done;
}
ssize_t pwrite64(int fd, const void *data, size_t size, off64_t at) {
    ssize_t part = struck(fd, size);
    return part < 0 ? part : torn(NEXT(pwrite64)(fd, data, (size_t)part, at));
}
/* Traces of closed episodes are written whole, by Python and not by SQLite. */
ssize_t write(int fd, const void *data, size_t size) {
    ssize_t part = struck(fd, size);
    return part < 0 ? part : torn(NEXT(write)(fd, data, (size_t)part));
}
int fdatasync(int fd) { FAIL(SYNC, fd) return NEXT(fdatasync)(fd); }
int fsync(int fd) { FAIL(SYNC, fd) return NEXT(fsync)(fd); }
int ftruncate64(int fd, off64_t size) { FAIL(TRUNCATE, fd) return NEXT(ftruncate64)(fd, size); }
ssize_t pread64(int fd, void *data, size_t size, off64_t at) { FAIL(READ, fd) return NEXT(pread64)(fd, data, size, at); }
int clock_gettime(clockid_t clock, struct timespec *now) {
    int done = NEXT(clock_gettime)(clock, now);
    if (clock == CLOCK_REALTIME && hit(CLOCK)) now->tv_sec += leap_s;
    return done;
}
