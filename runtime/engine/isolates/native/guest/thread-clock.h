// CPU time of threads, in nanoseconds: the calling thread's, and another one's by a clock that it has given; and which
// thread a clock is of. Calls the system only.
#pragma once

#include <pthread.h>
#include <stdint.h>
#include <time.h>

#if defined(__APPLE__)
#include <mach/mach.h>
#endif

namespace native {

// CPU time of the calling thread.
inline int64_t ThreadCpuNs() {
  timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return time.tv_sec * 1'000'000'000LL + time.tv_nsec;
}

#if defined(__APPLE__)

// No clock of POSIX reads another thread there.
using ThreadClock = mach_port_t;

inline ThreadClock OwnThreadClock() { return pthread_mach_thread_np(pthread_self()); }

inline int64_t ReadThreadClock(ThreadClock clock) {
  thread_basic_info_data_t info;
  mach_msg_type_number_t count = THREAD_BASIC_INFO_COUNT;
  if (thread_info(clock, THREAD_BASIC_INFO, reinterpret_cast<thread_info_t>(&info), &count) != KERN_SUCCESS) return 0;
  int64_t seconds = static_cast<int64_t>(info.user_time.seconds) + info.system_time.seconds;
  int64_t microseconds = static_cast<int64_t>(info.user_time.microseconds) + info.system_time.microseconds;
  return seconds * 1'000'000'000 + microseconds * 1000;
}

// The thread has no number by which the host could look at it.
inline int32_t ThreadNumber(ThreadClock) { return -1; }

#else

using ThreadClock = clockid_t;

inline ThreadClock OwnThreadClock() {
  clockid_t clock;
  pthread_getcpuclockid(pthread_self(), &clock);
  return clock;
}

inline int64_t ReadThreadClock(ThreadClock clock) {
  timespec time;
  clock_gettime(clock, &time);
  return time.tv_sec * 1'000'000'000LL + time.tv_nsec;
}

// Its id in /proc/self/task. The kernel makes the number of the clock of it: the complement, above three bits.
inline int32_t ThreadNumber(ThreadClock clock) { return ~(clock >> 3); }

#endif

}  // namespace native
