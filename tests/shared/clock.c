/* Loaded into a server, adds the seconds in the file PADDLEGATE_CLOCK (a signed 64-bit number) to its clock.
 * libfaketime does not start under the allocator of Redis. */
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static int64_t offset(void) {
  static const volatile int64_t *seconds;
  if (!seconds) {
    int file = open(getenv("PADDLEGATE_CLOCK"), O_RDONLY);
    seconds = mmap(NULL, sizeof *seconds, PROT_READ, MAP_SHARED, file, 0);
    if (seconds == MAP_FAILED) abort();
  }
  return *seconds;
}

int gettimeofday(struct timeval *restrict time, void *restrict zone) {
  int status = (int)syscall(SYS_gettimeofday, time, zone);
  if (time) time->tv_sec += offset();
  return status;
}

int clock_gettime(clockid_t clock, struct timespec *time) {
  int status = (int)syscall(SYS_clock_gettime, clock, time);
  if (clock == CLOCK_REALTIME) time->tv_sec += offset();
  return status;
}
