// A terminal for one program: opens a pseudo-terminal, starts the program in a session of its own on it, and passes
// bytes on, no more at a time than a buffer has. Started by ../terminals.ts with the program and its arguments. Typed
// bytes come on 0, printed ones go to 1. Sizes come on 3, each two numbers of 16 bits, columns and rows, the low byte
// first; a byte goes there once the program runs. The end of 0 is the end of input for each program that reads; the end
// of 1 or 3 hangs up. It ends as the program does: with its exit code, or by its signal. Nothing of a C library is
// linked, so that one file runs under every Linux.
#include <asm/ioctls.h>
#include <asm/termbits.h>
#include <asm/unistd.h>
#include <linux/errno.h>
#include <linux/fcntl.h>
#include <linux/poll.h>
#include <linux/resource.h>
#include <linux/signal.h>
#include <linux/time_types.h>

#if defined(__x86_64__)
static long call(long number, long a, long b, long c, long d, long e) {
  long result;
  register long r10 __asm__("r10") = d;
  register long r8 __asm__("r8") = e;
  register long r9 __asm__("r9") = 0;
  __asm__ volatile("syscall"
                   : "=a"(result)
                   : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                   : "rcx", "r11", "memory");
  return result;
}
__asm__(".globl _start\n_start: mov %rsp, %rdi\nand $-16, %rsp\ncall begin\n");
#elif defined(__aarch64__)
static long call(long number, long a, long b, long c, long d, long e) {
  register long x8 __asm__("x8") = number;
  register long x0 __asm__("x0") = a;
  register long x1 __asm__("x1") = b;
  register long x2 __asm__("x2") = c;
  register long x3 __asm__("x3") = d;
  register long x4 __asm__("x4") = e;
  register long x5 __asm__("x5") = 0;
  __asm__ volatile("svc #0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5) : "memory");
  return x0;
}
__asm__(".globl _start\n_start: mov x0, sp\nbl begin\n");
#else
#error "no system calls for this machine"
#endif

struct winsize {
  unsigned short rows, columns, x, y;
};
struct buffer {
  unsigned char bytes[16384];
  long from, to;
};

enum { INPUT, OUTPUT, ERRORS, SIZES };
/** How often programs that begin to read after the end of input are told of it. */
#define END_AGAIN_MS 200
/** What the program left behind may hold the terminal open: its own output has come when nothing has for so long. */
#define QUIET_MS 50
/** More than a terminal holds: what comes after it is of those that the program left behind. */
#define REST_BYTES_MAX (128 * 1024)
#define FAILED 126

static struct buffer typed, printed;

static long bad(long result) {
  return result < 0;
}

static void end(long code) {
  for (;;) call(__NR_exit_group, code, 0, 0, 0, 0);
}

static long readInto(int fd, struct buffer *to) {
  long got = call(__NR_read, fd, (long)to->bytes, sizeof to->bytes, 0, 0);
  to->from = 0;
  to->to = got > 0 ? got : 0;
  return got;
}

static long writeFrom(int fd, struct buffer *from) {
  long put = call(__NR_write, fd, (long)(from->bytes + from->from), from->to - from->from, 0, 0);
  if (put > 0) from->from += put;
  return put;
}

static int isFull(struct buffer *buffer) {
  return buffer->from < buffer->to;
}

static int mustWait(long result) {
  return result == -EAGAIN || result == -EINTR;
}

static void doNotBlock(int fd) {
  call(__NR_fcntl, fd, F_SETFL, call(__NR_fcntl, fd, F_GETFL, 0, 0, 0) | O_NONBLOCK, 0, 0);
}

/** The other side of a terminal. */
static long openOther(int terminal) {
  unsigned number = 0;
  int unlocked = 0;
  if (bad(call(__NR_ioctl, terminal, TIOCSPTLCK, (long)&unlocked, 0, 0))) return -EIO;
  long other = call(__NR_ioctl, terminal, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC, 0, 0);
  if (!bad(other)) return other;
  if (bad(call(__NR_ioctl, terminal, TIOCGPTN, (long)&number, 0, 0))) return -EIO;
  char path[24] = "/dev/pts/", digits[12];
  int at = 9, count = 0;
  do digits[count++] = '0' + number % 10;
  while (number /= 10);
  while (count > 0) path[at++] = digits[--count];
  path[at] = 0;
  return call(__NR_openat, AT_FDCWD, (long)path, O_RDWR | O_NOCTTY | O_CLOEXEC, 0, 0);
}

static void become(int other, unsigned long *mask, char **words, char **variables) {
  call(__NR_setsid, 0, 0, 0, 0, 0);
  if (bad(call(__NR_ioctl, other, TIOCSCTTY, 0, 0, 0))) end(FAILED);
  for (int fd = 0; fd < 3; fd++)
    if (bad(call(__NR_dup3, other, fd, 0, 0, 0))) end(FAILED);
  call(__NR_close, SIZES, 0, 0, 0, 0);
  call(__NR_rt_sigprocmask, SIG_SETMASK, (long)mask, 0, sizeof *mask, 0);
  call(__NR_execve, (long)words[0], (long)words, (long)variables, 0, 0);
  end(FAILED + 1);
}

/** As the program ended. */
static void endAs(int status) {
  int number = status & 0x7f;
  if (number == 0) end((status >> 8) & 0xff);
  // Its image is the program's to leave, not ours.
  struct rlimit none = {0, 0};
  call(__NR_setrlimit, RLIMIT_CORE, (long)&none, 0, 0, 0);
  unsigned long mask = 0;
  call(__NR_rt_sigprocmask, SIG_SETMASK, (long)&mask, 0, sizeof mask, 0);
  call(__NR_kill, call(__NR_getpid, 0, 0, 0, 0, 0), number, 0, 0, 0);
  end(128 + number);
}

/** Says to whoever reads from the terminal that nothing more comes. */
static void sayEnd(int terminal, int isMidLine) {
  struct termios settings;
  unsigned char ends[2] = {4, 4};
  if (!bad(call(__NR_ioctl, terminal, TCGETS, (long)&settings, 0, 0)) && settings.c_cc[VEOF] != 0)
    ends[0] = ends[1] = settings.c_cc[VEOF];
  // In the middle of a line the first one only ends the line.
  call(__NR_write, terminal, (long)ends, isMidLine ? 2 : 1, 0, 0);
}

static void pass(int terminal, int ends, int child) {
  int status = 0, hasEnded = 0, isInputOver = 0, isMidLine = 0;
  static unsigned char sizes[4096];
  int sizeBytes = 0;
  long restBytes = 0;
  for (;;) {
    if (hasEnded && !isFull(&printed)) {
      // What is left of its output.
      struct pollfd rest = {terminal, POLLIN, 0};
      struct __kernel_timespec quiet = {0, QUIET_MS * 1000000L};
      if (call(__NR_ppoll, (long)&rest, 1, (long)&quiet, 0, 8) <= 0 || bad(readInto(terminal, &printed)) ||
          !isFull(&printed) || restBytes > REST_BYTES_MAX)
        return endAs(status);
      restBytes += printed.to;
    }
    struct pollfd watched[] = {
        {isInputOver || isFull(&typed) ? -1 : INPUT, POLLIN, 0},
        {OUTPUT, isFull(&printed) ? POLLOUT : 0, 0},
        {SIZES, POLLIN, 0},
        {ends, POLLIN, 0},
        {hasEnded ? -1 : terminal, (isFull(&printed) ? 0 : POLLIN) | (isFull(&typed) ? POLLOUT : 0), 0},
    };
    // Without a reader a terminal says at once that it was hung up, and again.
    if (watched[4].events == 0) watched[4].fd = -1;
    struct __kernel_timespec again = {0, END_AGAIN_MS * 1000000L};
    int isToldAgain = isInputOver && !isFull(&typed) && !hasEnded;
    long found = call(__NR_ppoll, (long)watched, 5, isToldAgain ? (long)&again : 0, 0, 8);
    if (found == 0 && isToldAgain) sayEnd(terminal, isMidLine);
    if (found <= 0) continue;

    if (watched[3].revents) {
      unsigned char info[128];
      call(__NR_read, ends, (long)info, sizeof info, 0, 0);
      if (call(__NR_wait4, child, (long)&status, 1 /* WNOHANG */, 0, 0) == child) hasEnded = 1;
    }
    if (watched[2].revents) {
      // Of several the last one, before what was typed after it.
      long got = call(__NR_read, SIZES, (long)(sizes + sizeBytes), sizeof sizes - sizeBytes, 0, 0);
      if (got == 0 || (bad(got) && !mustWait(got))) end(128 + SIGHUP);
      if (got > 0) sizeBytes += got;
      if (sizeBytes >= 4) {
        unsigned char *last = sizes + (sizeBytes / 4 - 1) * 4;
        struct winsize given = {last[2] | last[3] << 8, last[0] | last[1] << 8, 0, 0};
        call(__NR_ioctl, terminal, TIOCSWINSZ, (long)&given, 0, 0);
        for (int at = 0; at < sizeBytes % 4; at++) sizes[at] = last[4 + at];
        sizeBytes %= 4;
      }
    }
    if (watched[1].revents & (POLLERR | POLLHUP)) end(128 + SIGHUP);
    if (watched[1].revents & POLLOUT) {
      long put = writeFrom(OUTPUT, &printed);
      if (bad(put) && !mustWait(put)) end(128 + SIGHUP);
    }
    if (watched[0].revents) {
      long got = readInto(INPUT, &typed);
      if (got > 0) isMidLine = typed.bytes[got - 1] != '\n' && typed.bytes[got - 1] != '\r';
      if (got == 0 || (bad(got) && !mustWait(got))) {
        isInputOver = 1;
        sayEnd(terminal, isMidLine);
        isMidLine = 0;
      }
    }
    if (watched[4].revents & POLLOUT) {
      long put = writeFrom(terminal, &typed);
      if (bad(put) && !mustWait(put)) typed.from = typed.to;
    }
    if (watched[4].revents & (POLLIN | POLLHUP) && !isFull(&printed)) {
      long got = readInto(terminal, &printed);
      // No program has it open: one that will be waited for is about to end.
      if (got <= 0 && !mustWait(got)) {
        struct pollfd over = {ends, POLLIN, 0};
        struct __kernel_timespec soon = {0, QUIET_MS * 1000000L};
        call(__NR_ppoll, (long)&over, 1, (long)&soon, 0, 8);
      }
    }
  }
}

__attribute__((used)) void begin(long *stack) {
  long count = stack[0];
  char **words = (char **)(stack + 1);
  char **variables = words + count + 1;
  if (count < 2) end(FAILED);
  unsigned long before = 0, blocked = 1UL << (SIGCHLD - 1) | 1UL << (SIGPIPE - 1);
  call(__NR_rt_sigprocmask, SIG_BLOCK, (long)&blocked, (long)&before, sizeof blocked, 0);
  unsigned long childEnds = 1UL << (SIGCHLD - 1);
  int ends = call(__NR_signalfd4, -1, (long)&childEnds, sizeof childEnds, O_CLOEXEC | O_NONBLOCK, 0);
  int terminal = call(__NR_openat, AT_FDCWD, (long)"/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC, 0, 0);
  if (ends < 0 || terminal < 0) end(FAILED);
  int other = openOther(terminal);
  unsigned char size[4];
  // The first size comes before anything runs, so that a program never sees another one.
  for (long got, had = 0; had < 4; had += got)
    if ((got = call(__NR_read, SIZES, (long)(size + had), 4 - had, 0, 0)) <= 0) end(FAILED);
  struct winsize given = {size[2] | size[3] << 8, size[0] | size[1] << 8, 0, 0};
  if (other < 0 || bad(call(__NR_ioctl, terminal, TIOCSWINSZ, (long)&given, 0, 0))) end(FAILED);
  long child = call(__NR_clone, SIGCHLD, 0, 0, 0, 0);
  if (bad(child)) end(FAILED);
  if (child == 0) {
    call(__NR_close, terminal, 0, 0, 0, 0);
    become(other, &before, words + 1, variables);
  }
  call(__NR_close, other, 0, 0, 0, 0);
  call(__NR_write, SIZES, (long)"", 1, 0, 0);
  int mine[] = {INPUT, OUTPUT, SIZES, terminal};
  for (int at = 0; at < 4; at++) doNotBlock(mine[at]);
  pass(terminal, ends, child);
}
