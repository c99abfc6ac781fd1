// Starts a program in namespaces of its own, where bubblewrap is not installed: it takes the words of bwrap that
// ../command-line.ts writes, does what bwrap does for them, and refuses all others. Of root it keeps the capabilities
// that are asked for; of another user it takes a user namespace. All of what is shown inside is cloned, with the
// attributes that it gets, before the root changes: afterwards no path leads to the machine's files. Ends as the
// program does, and nothing in its namespace outlives it. By the one word --no-userns it makes nothing, and runs a program
// that can make no user namespace, in whatever fence it is. Nothing of a C library is linked: one file runs under every
// Linux.
#include <asm/ioctls.h>
#include <asm/unistd.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/errno.h>
#include <linux/fcntl.h>
#include <linux/filter.h>
#include <linux/if.h>
#include <linux/mount.h>
#include <linux/poll.h>
#include <linux/prctl.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <linux/signal.h>
#include <linux/sockios.h>
#include <linux/stat.h>
#include <linux/time_types.h>

#if defined(__x86_64__)
static long call6(long number, long a, long b, long c, long d, long e, long f) {
  long result;
  register long r10 __asm__("r10") = d;
  register long r8 __asm__("r8") = e;
  register long r9 __asm__("r9") = f;
  __asm__ volatile("syscall"
                   : "=a"(result)
                   : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                   : "rcx", "r11", "memory");
  return result;
}
__asm__(".globl _start\n_start: mov %rsp, %rdi\nand $-16, %rsp\ncall begin\n");
#elif defined(__aarch64__)
static long call6(long number, long a, long b, long c, long d, long e, long f) {
  register long x8 __asm__("x8") = number;
  register long x0 __asm__("x0") = a;
  register long x1 __asm__("x1") = b;
  register long x2 __asm__("x2") = c;
  register long x3 __asm__("x3") = d;
  register long x4 __asm__("x4") = e;
  register long x5 __asm__("x5") = f;
  __asm__ volatile("svc #0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5) : "memory");
  return x0;
}
__asm__(".globl _start\n_start: mov x0, sp\nbl begin\n");
#else
#error "no system calls for this machine"
#endif
#define call(number, a, b, c, d, e) call6(number, (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), 0)

enum kind { BIND, READ_ONLY, FOLDER, TMPFS, PROC, DEVICES, REMOUNT_READ_ONLY };
/** One thing that the file system inside has. */
struct part {
  enum kind kind;
  /** Of what is shown; it may be missing. */
  const char* from;
  int mayMiss;
  const char* to;
  const char* size;
  const char* mode;
  /** Of a detached mount; -1: none. */
  int mount;
};
#define PARTS_MAX 512
/** MS_REC, MS_PRIVATE, MS_SILENT; MNT_DETACH: of headers that only a C library brings. */
#define MOUNT_PRIVATE 0x4c000
#define DETACH 2
#define FAILED 1
#define NOT_FOUND 127
#define NUMBER_CHARS 24

/** Of the machine, in /dev. */
static const char* const devices[] = {"null", "zero", "full", "random", "urandom", "tty"};
#define DEVICES_COUNT ((int)(sizeof devices / sizeof *devices))
/** Parts of /proc with settings of the machine. */
static const char* const closed[] = {"/proc/sys", "/proc/sysrq-trigger", "/proc/irq", "/proc/bus"};
static const char* const links[][2] = {{"/proc/self/fd", "/fd"},       {"/proc/self/fd/0", "/stdin"},
                                       {"/proc/self/fd/1", "/stdout"}, {"/proc/self/fd/2", "/stderr"},
                                       {"/proc/kcore", "/core"},       {"pts/ptmx", "/ptmx"}};

static struct part parts[PARTS_MAX];
static int partCount;
static int deviceMounts[DEVICES_COUNT];
static int terminalsMount = -1;
static long namespaces = CLONE_NEWNS;
static int hasUser, mayNotNest, hasNewSession, hasNetwork = 1;
static int infoFd = -1;
static const char* hostname;
static unsigned long kept;
static char** environment;

/** The compiler writes calls of it. */
void* memset(void* to, int value, unsigned long count) {
  for (unsigned long at = 0; at < count; at++) ((volatile char*)to)[at] = (char)value;
  return to;
}

static unsigned long lengthOf(const char* text) {
  unsigned long length = 0;
  while (text[length] != 0) length++;
  return length;
}

static int isSame(const char* one, const char* other) {
  while (*one != 0 && *one == *other) one++, other++;
  return *one == *other;
}

/** What begins with it, behind that; null: it does not. */
static const char* behind(const char* beginning, const char* text) {
  while (*beginning != 0)
    if (*beginning++ != *text++) return 0;
  return text;
}

/** Appends as far as there is room. @return the new end of the text */
static char* append(char* at, char* end, const char* text) {
  while (*text != 0 && at < end - 1) *at++ = *text++;
  *at = 0;
  return at;
}

static char* appendNumber(char* at, char* end, unsigned long number) {
  char digits[NUMBER_CHARS];
  int first = NUMBER_CHARS - 1;
  digits[first] = 0;
  do digits[--first] = (char)('0' + number % 10);
  while (number /= 10);
  return append(at, end, digits + first);
}

static void leave(int code) {
  for (;;) call(__NR_exit_group, code, 0, 0, 0, 0);
}

/** Ends with a line that says what cannot be done, and why. */
static void fail(const char* what, const char* which, long result) {
  char line[512], *end = line + sizeof line - 2, *at = append(line, end, "fence: ");
  at = append(at, end, what);
  if (which != 0) at = append(append(at, end, " "), end, which);
  if (result < 0) {
    at = append(at, end, ": ");
    if (result == -EPERM)
      at = append(at, end, "Operation not permitted");
    else if (result == -EACCES)
      at = append(at, end, "Permission denied");
    else if (result == -ENOENT)
      at = append(at, end, "No such file or directory");
    else if (result == -ENOSYS)
      at = append(at, end, "this kernel does not know it (Linux 5.12 does)");
    else if (result == -ENOSPC)
      at = append(at, end, "the limit of the machine is reached");
    else
      at = appendNumber(append(at, end, "error "), end, (unsigned long)-result);
  }
  *at++ = '\n';
  call(__NR_write, 2, line, at - line, 0, 0);
  leave(FAILED);
}

static long must(long result, const char* what, const char* which) {
  if (result < 0) fail(what, which, result);
  return result;
}

/** A number without sign, in its base. */
static unsigned long numberOf(const char* text, unsigned base) {
  unsigned long number = 0;
  if (*text == 0) fail("this is no number:", text, 0);
  for (const char* at = text; *at != 0; at++) {
    unsigned digit = (unsigned)(*at - '0');
    if (digit >= base || number > (~0UL >> 8)) fail("this is no number:", text, 0);
    number = number * base + digit;
  }
  return number;
}

static void writeText(int folder, const char* path, const char* text) {
  long fd = must(call(__NR_openat, folder, path, O_WRONLY | O_CLOEXEC, 0, 0), "cannot open", path);
  must(call(__NR_write, fd, text, lengthOf(text), 0, 0), "cannot write", path);
  call(__NR_close, fd, 0, 0, 0, 0);
}

/** Gives the user namespace of this process one user and one group. */
static void mapIds(unsigned long insideUid, unsigned long outsideUid, unsigned long insideGid,
                   unsigned long outsideGid) {
  char line[3 * NUMBER_CHARS], *end = line + sizeof line;
  writeText(AT_FDCWD, "/proc/self/setgroups", "deny");
  append(appendNumber(append(appendNumber(line, end, insideGid), end, " "), end, outsideGid), end, " 1");
  writeText(AT_FDCWD, "/proc/self/gid_map", line);
  append(appendNumber(append(appendNumber(line, end, insideUid), end, " "), end, outsideUid), end, " 1");
  writeText(AT_FDCWD, "/proc/self/uid_map", line);
}

/** With it ends what it started. */
static void endWithParent(void) {
  must(call(__NR_prctl, PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0), "cannot end with the platform", 0);
}

static void closeFrom(int first) {
  if (call(__NR_close_range, first, ~0U, 0, 0, 0) < 0)
    for (int fd = first; fd < 4096; fd++) call(__NR_close, fd, 0, 0, 0, 0);
}

// Mounts that are nowhere yet.

/** A tree of the machine's files as it is seen inside; -1: there is none. */
static int cloned(const char* from, unsigned long attributes, int mayMiss) {
  long mount = call(__NR_open_tree, AT_FDCWD, from, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE, 0, 0);
  if (mount == -ENOENT && mayMiss) return -1;
  must(mount, "cannot show", from);
  struct mount_attr set = {attributes, 0, 0, 0};
  must(call(__NR_mount_setattr, mount, "", AT_EMPTY_PATH | AT_RECURSIVE, &set, sizeof set), "cannot bound", from);
  return (int)mount;
}

/** A new file system. @param options names and values, in turn */
static int made(const char* kind, const char* const options[][2], int count, unsigned long attributes) {
  long made = must(call(__NR_fsopen, kind, FSOPEN_CLOEXEC, 0, 0, 0), "cannot make a file system:", kind);
  for (int at = 0; at < count; at++)
    must(call(__NR_fsconfig, made, FSCONFIG_SET_STRING, options[at][0], options[at][1], 0), "cannot set",
         options[at][0]);
  must(call(__NR_fsconfig, made, FSCONFIG_CMD_CREATE, 0, 0, 0), "cannot make a file system:", kind);
  long mount = must(call(__NR_fsmount, made, FSMOUNT_CLOEXEC, attributes, 0, 0), "cannot mount", kind);
  call(__NR_close, made, 0, 0, 0, 0);
  return (int)mount;
}

static int madeTmpfs(const char* mode, const char* size) {
  const char* const options[][2] = {{"mode", mode}, {"size", size}};
  return made("tmpfs", options, size == 0 ? 1 : 2, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV);
}

static void makeMounts(void) {
  for (int at = 0; at < partCount; at++) {
    struct part* part = &parts[at];
    if (part->kind == BIND)
      part->mount = cloned(part->from, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV, 0);
    else if (part->kind == READ_ONLY)
      part->mount = cloned(part->from, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_RDONLY, part->mayMiss);
    else if (part->kind == TMPFS)
      part->mount = madeTmpfs(part->mode, part->size);
    else if (part->kind == PROC) {
      part->mount = made("proc", 0, 0, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC);
      // The user namespace that the program gets is the last one.
      if (mayNotNest) writeText(part->mount, "sys/user/max_user_namespaces", "1");
    } else if (part->kind == DEVICES) {
      static const char* const modes[][2] = {{"ptmxmode", "0666"}, {"mode", "620"}};
      part->mount = madeTmpfs("0755", 0);
      terminalsMount = made("devpts", modes, 2, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC);
      for (int number = 0; number < DEVICES_COUNT; number++) {
        char path[32];
        append(append(path, path + sizeof path, "/dev/"), path + sizeof path, devices[number]);
        deviceMounts[number] = cloned(path, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC, isSame(devices[number], "tty"));
      }
    }
  }
}

// The file system inside: from here on `/` is its own.

static void makeFolder(const char* path, unsigned mode) {
  long result = call(__NR_mkdirat, AT_FDCWD, path, mode, 0, 0);
  if (result < 0 && result != -EEXIST) fail("cannot make", path, result);
}

static void makeFoldersAround(const char* path) {
  char above[4096];
  unsigned long length = lengthOf(path);
  if (length >= sizeof above) fail("this path is too long:", path, 0);
  for (unsigned long at = 0; at < length; at++) {
    if (at > 0 && path[at] == '/') {
      above[at] = 0;
      makeFolder(above, 0755);
    }
    above[at] = path[at];
  }
}

static void place(int mount, const char* path) {
  struct statx what;
  must(call(__NR_statx, mount, "", AT_EMPTY_PATH, STATX_TYPE, &what), "cannot look at what is for", path);
  makeFoldersAround(path);
  if ((what.stx_mode & 0170000) == 0040000)
    makeFolder(path, 0755);
  else {
    long file = call(__NR_openat, AT_FDCWD, path, O_CREAT | O_WRONLY | O_CLOEXEC | O_NOFOLLOW | O_EXCL, 0444, 0);
    if (file < 0 && file != -EEXIST) fail("cannot make", path, file);
    if (file >= 0) call(__NR_close, file, 0, 0, 0, 0);
  }
  must(call(__NR_move_mount, mount, "", AT_FDCWD, path, MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_SYMLINKS),
       "cannot mount", path);
  call(__NR_close, mount, 0, 0, 0, 0);
}

static void placeDevices(const char* folder) {
  char path[128], *end = path + sizeof path, *at = append(path, end, folder);
  for (int number = 0; number < DEVICES_COUNT; number++) {
    append(append(at, end, "/"), end, devices[number]);
    if (deviceMounts[number] >= 0) place(deviceMounts[number], path);
  }
  append(at, end, "/shm");
  makeFolder(path, 0755);
  append(at, end, "/pts");
  place(terminalsMount, path);
  for (unsigned number = 0; number < sizeof links / sizeof *links; number++) {
    append(at, end, links[number][1]);
    must(call(__NR_symlinkat, links[number][0], AT_FDCWD, path, 0, 0), "cannot make", path);
  }
}

static void placeParts(void) {
  for (int at = 0; at < partCount; at++) {
    const struct part* part = &parts[at];
    if (part->kind == FOLDER) {
      makeFoldersAround(part->to);
      makeFolder(part->to, (unsigned)numberOf(part->mode, 8));
    } else if (part->kind == REMOUNT_READ_ONLY) {
      struct mount_attr set = {MOUNT_ATTR_RDONLY, 0, 0, 0};
      must(call(__NR_mount_setattr, AT_FDCWD, part->to, 0, &set, sizeof set), "cannot make read-only:", part->to);
    } else if (part->mount >= 0) {
      place(part->mount, part->to);
      if (part->kind == DEVICES) placeDevices(part->to);
      for (unsigned number = 0; part->kind == PROC && number < sizeof closed / sizeof *closed; number++) {
        int mount =
            cloned(closed[number], MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC, 1);
        if (mount >= 0) place(mount, closed[number]);
      }
    }
  }
}

/** Leaves the machine's file system for an empty one. */
static void changeRoot(void) {
  int root = madeTmpfs("0755", 0);
  // Anywhere that is not in use by what is shown: all of that is cloned already.
  must(call(__NR_move_mount, root, "", AT_FDCWD, "/tmp", MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_SYMLINKS),
       "cannot mount", "/tmp");
  must(call(__NR_fchdir, root, 0, 0, 0, 0), "cannot enter", "/tmp");
  must(call(__NR_pivot_root, ".", ".", 0, 0, 0), "cannot change the root", 0);
  must(call(__NR_umount2, ".", DETACH, 0, 0, 0), "cannot leave the files of the machine", 0);
  must(call(__NR_chdir, "/", 0, 0, 0, 0), "cannot enter", "/");
  call(__NR_close, root, 0, 0, 0, 0);
}

// Rights.

static void setCapabilities(unsigned long capabilities) {
  struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  struct __user_cap_data_struct sets[2] = {{(unsigned)capabilities, (unsigned)capabilities, 0},
                                           {(unsigned)(capabilities >> 32), (unsigned)(capabilities >> 32), 0}};
  must(call(__NR_capset, &header, sets, 0, 0, 0), "cannot give up capabilities", 0);
}

/** Of every other capability not even the bounding set knows. */
static void keepCapabilities(unsigned long capabilities) {
  must(call(__NR_prctl, PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0), "cannot give up capabilities", 0);
  for (int number = 0; number < 64; number++) {
    if (capabilities >> number & 1) continue;
    long result = call(__NR_prctl, PR_CAPBSET_DROP, number, 0, 0, 0);
    // Behind the last one that the kernel knows.
    if (result == -EINVAL) break;
    must(result, "cannot give up capabilities", 0);
  }
  setCapabilities(capabilities);
}

static void bringLoopbackUp(void) {
  long socket =
      must(call(__NR_socket, 2 /* AF_INET */, 2 /* SOCK_DGRAM */ | O_CLOEXEC, 0, 0, 0), "cannot open a socket", 0);
  struct ifreq request = {.ifr_name = "lo"};
  request.ifr_flags = IFF_UP;
  must(call(__NR_ioctl, socket, SIOCSIFFLAGS, &request, 0, 0), "cannot bring up the loopback", 0);
  call(__NR_close, socket, 0, 0, 0, 0);
}

static void sayNamespace(void) {
  char link[64], line[128], *end = line + sizeof line;
  long length =
      must(call(__NR_readlinkat, AT_FDCWD, "/proc/self/ns/pid", link, sizeof link - 1, 0), "cannot read", "/proc");
  link[length] = 0;
  const char* number = behind("pid:[", link);
  if (number == 0 || length < 1 || link[length - 1] != ']') fail("this is no namespace:", link, 0);
  link[length - 1] = 0;
  append(append(append(line, end, "{\"pid-namespace\": "), end, number), end, "}\n");
  call(__NR_write, infoFd, line, lengthOf(line), 0, 0);
  call(__NR_close, infoFd, 0, 0, 0, 0);
}

// The program.

static void become(char** words) {
  const char* path = "/usr/local/bin:/usr/bin:/bin";
  for (char** variable = environment; *variable != 0; variable++) {
    const char* value = behind("PATH=", *variable);
    if (value != 0) path = value;
  }
  int hasFolder = 0;
  for (const char* at = words[0]; *at != 0; at++) hasFolder |= *at == '/';
  long result = -ENOENT;
  if (hasFolder) result = call(__NR_execve, words[0], words, environment, 0, 0);
  for (const char* at = path; !hasFolder && *at != 0;) {
    char file[4096], *end = file + sizeof file, *last = file;
    while (*at != 0 && *at != ':' && last < end - 1) *last++ = *at++;
    append(append(last, end, "/"), end, words[0]);
    if (*at == ':') at++;
    long tried = file[0] == '/' ? call(__NR_execve, file, words, environment, 0, 0) : -ENOENT;
    if (tried != -ENOENT && tried != -ENOTDIR) result = tried;
  }
  char line[512], *end = line + sizeof line - 2, *at = append(line, end, "fence: cannot run ");
  at = append(append(at, end, words[0]), end,
              result == -ENOENT ? ": there is no such program\n" : ": it cannot be executed\n");
  call(__NR_write, 2, line, at - line, 0, 0);
  leave(NOT_FOUND);
}

static int codeOf(int status) {
  int signal = status & 0x7f;
  return signal == 0 ? status >> 8 & 0xff : 128 + signal;
}

/** Waits for the end of one process, and of all others that become its own. */
static int endOf(long child) {
  for (;;) {
    int status = 0;
    long ended = call(__NR_wait4, -1, &status, 0, 0, 0);
    if (ended == child) return codeOf(status);
    if (ended < 0 && ended != -EINTR) return FAILED;
  }
}

/** First process of the namespace: with its end the kernel ends all others, and waits for them. */
static void inside(char** words, unsigned long uid, unsigned long gid, int parentLives) {
  endWithParent();
  if (hasUser) mapIds(0, uid, 0, gid);
  if (infoFd >= 0) sayNamespace();
  if (!hasNetwork) bringLoopbackUp();
  if (hostname != 0) must(call(__NR_sethostname, hostname, lengthOf(hostname), 0, 0, 0), "cannot name the machine", 0);
  long umask = call(__NR_umask, 0, 0, 0, 0, 0);
  // Nothing that the machine mounts later comes in, and nothing that is mounted here gets out.
  must(call(__NR_mount, "none", "/", 0, MOUNT_PRIVATE, 0), "cannot part mounts", 0);
  makeMounts();
  changeRoot();
  placeParts();
  call(__NR_umask, umask, 0, 0, 0, 0);
  if (hasUser) {
    // Mounts belong to the one around it, so that no capability won in this one changes them.
    must(call(__NR_unshare, CLONE_NEWUSER, 0, 0, 0, 0), "cannot make the second user namespace", 0);
    mapIds(uid, 0, gid, 0);
    if (mayNotNest && call(__NR_unshare, CLONE_NEWUSER, 0, 0, 0, 0) >= 0) fail("user namespaces could be nested", 0, 0);
  }
  keepCapabilities(kept);
  // Changes of rights may have cleared it.
  endWithParent();
  struct pollfd parent = {parentLives, POLLIN, 0};
  struct __kernel_timespec now = {0, 0};
  if (call(__NR_ppoll, &parent, 1, &now, 0, 8) != 0) leave(FAILED);
  call(__NR_close, parentLives, 0, 0, 0, 0);
  long child = must(call(__NR_clone, SIGCHLD, 0, 0, 0, 0), "cannot start a process", 0);
  if (child == 0) {
    if (hasNewSession) must(call(__NR_setsid, 0, 0, 0, 0, 0), "cannot begin a session", 0);
    become(words);
  }
  setCapabilities(0);
  closeFrom(0);
  leave(endOf(child));
}

// System calls that are refused.

#if defined(__x86_64__)
#define OWN AUDIT_ARCH_X86_64
#define OTHER AUDIT_ARCH_I386
#define OTHER_UNSHARE 310
/** Of x32, whose calls are those of x86-64 with this bit. */
#define NUMBERS_END 0x40000000
#else
#define OWN AUDIT_ARCH_AARCH64
#define OTHER AUDIT_ARCH_ARM
#define OTHER_UNSHARE 337
#define NUMBERS_END 0x10000000
#endif
#define OTHER_CLONE 120
#define LOAD(offset) {BPF_LD | BPF_W | BPF_ABS, 0, 0, offset}
/** Jumps over so many of those that follow. */
#define IF_EQUAL(value, then, otherwise) {BPF_JMP | BPF_JEQ | BPF_K, then, otherwise, value}
#define END(action) {BPF_RET | BPF_K, 0, 0, action}

/**
 * For this program and all that it starts: clone and unshare make no user namespace. What clone3 is asked for lies in
 * memory, where no filter looks: it is not there, and C libraries take clone instead.
 */
static void refuseUserNamespaces(void) {
  static struct sock_filter filter[] = {
      /* 0 */ LOAD(__builtin_offsetof(struct seccomp_data, arch)),
      /* 1 */ IF_EQUAL(OWN, 0, 5),
      /* 2 */ LOAD(__builtin_offsetof(struct seccomp_data, nr)),
      /* 3 */ {BPF_JMP | BPF_JGE | BPF_K, 12, 0, NUMBERS_END},
      /* 4 */ IF_EQUAL(__NR_clone3, 11, 0),
      /* 5 */ IF_EQUAL(__NR_clone, 6, 0),
      /* 6 */ IF_EQUAL(__NR_unshare, 5, 7),
      /* 7 */ IF_EQUAL(OTHER, 0, 8),
      /* 8 */ LOAD(__builtin_offsetof(struct seccomp_data, nr)),
      /* 9 */ IF_EQUAL(__NR_clone3, 6, 0),
      /* 10 */ IF_EQUAL(OTHER_CLONE, 1, 0),
      /* 11 */ IF_EQUAL(OTHER_UNSHARE, 0, 2),
      /* 12 */ LOAD(__builtin_offsetof(struct seccomp_data, args[0])),
      /* 13 */ {BPF_JMP | BPF_JSET | BPF_K, 1, 0, CLONE_NEWUSER},
      /* 14 */ END(SECCOMP_RET_ALLOW),
      /* 15 */ END(SECCOMP_RET_ERRNO | EPERM),
      /* 16 */ END(SECCOMP_RET_ERRNO | ENOSYS),
  };
  struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
  must(call(__NR_prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "cannot refuse new privileges", 0);
  must(call(__NR_prctl, PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0), "cannot refuse user namespaces", 0);
}

/** The word behind an option. */
static char* next(char*** at) {
  char* word = *++*at;
  if (word == 0) fail("a word is missing behind", (*at)[-1], 0);
  return word;
}

static struct part* add(enum kind kind, const char* to) {
  if (partCount == PARTS_MAX) fail("too many words", 0, 0);
  if (to[0] != '/') fail("this is no path from the root:", to, 0);
  parts[partCount] = (struct part){kind, 0, 0, to, 0, "0755", -1};
  return &parts[partCount++];
}

__attribute__((used)) void begin(long* stack) {
  long count = stack[0];
  char **words = (char**)(stack + 1), **at = words + 1;
  const char *mode = 0, *size = 0;
  environment = words + count + 1;
  if (*at != 0 && isSame(*at, "--no-userns")) {
    if (at[1] == 0 || !isSame(at[1], "--") || at[2] == 0) fail("it takes a program behind --no-userns --", 0, 0);
    refuseUserNamespaces();
    become(at + 2);
  }
  for (; *at != 0 && !isSame(*at, "--"); at++) {
    const char *word = *at, *unshared = behind("--unshare-", word);
    if (unshared != 0) {
      if (isSame(unshared, "pid"))
        namespaces |= CLONE_NEWPID;
      else if (isSame(unshared, "ipc"))
        namespaces |= CLONE_NEWIPC;
      else if (isSame(unshared, "uts"))
        namespaces |= CLONE_NEWUTS;
      else if (isSame(unshared, "cgroup-try"))
        namespaces |= CLONE_NEWCGROUP;
      else if (isSame(unshared, "net"))
        namespaces |= CLONE_NEWNET, hasNetwork = 0;
      else if (isSame(unshared, "user"))
        namespaces |= CLONE_NEWUSER, hasUser = 1;
      else
        fail("this word is not known:", word, 0);
    } else if (isSame(word, "--die-with-parent"))
      continue;
    else if (isSame(word, "--new-session"))
      hasNewSession = 1;
    else if (isSame(word, "--disable-userns"))
      mayNotNest = 1;
    else if (isSame(word, "--hostname"))
      hostname = next(&at);
    else if (isSame(word, "--info-fd"))
      infoFd = (int)numberOf(next(&at), 10);
    else if (isSame(word, "--perms"))
      mode = next(&at);
    else if (isSame(word, "--size"))
      size = next(&at);
    else if (isSame(word, "--cap-drop")) {
      if (!isSame(next(&at), "ALL")) fail("this word is not known:", *at, 0);
      kept = 0;
    } else if (isSame(word, "--cap-add")) {
      const char* name = next(&at);
      if (isSame(name, "CAP_SETUID"))
        kept |= 1UL << CAP_SETUID;
      else if (isSame(name, "CAP_SETGID"))
        kept |= 1UL << CAP_SETGID;
      else if (isSame(name, "CAP_SETPCAP"))
        kept |= 1UL << CAP_SETPCAP;
      else
        fail("this word is not known:", name, 0);
    } else if (isSame(word, "--chdir")) {
      if (!isSame(next(&at), "/")) fail("this word is not known:", *at, 0);
    } else if (isSame(word, "--bind") || isSame(word, "--ro-bind") || isSame(word, "--ro-bind-try")) {
      const char* from = next(&at);
      struct part* part = add(isSame(word, "--bind") ? BIND : READ_ONLY, next(&at));
      part->from = from;
      part->mayMiss = isSame(word, "--ro-bind-try");
    } else if (isSame(word, "--remount-ro"))
      add(REMOUNT_READ_ONLY, next(&at));
    else if (isSame(word, "--proc"))
      add(PROC, next(&at));
    else if (isSame(word, "--dev"))
      add(DEVICES, next(&at));
    else if (isSame(word, "--dir") || isSame(word, "--tmpfs")) {
      struct part* part = add(isSame(word, "--dir") ? FOLDER : TMPFS, next(&at));
      if (mode != 0) part->mode = mode;
      part->size = size;
      mode = size = 0;
    } else
      fail("this word is not known:", word, 0);
  }
  if (*at == 0 || at[1] == 0) fail("it takes a program behind --", 0, 0);
  if (!(namespaces & CLONE_NEWPID)) fail("it takes --unshare-pid", 0, 0);
  if (hasUser && kept != 0) fail("it takes --cap-add without --unshare-user", 0, 0);

  unsigned long uid = (unsigned long)call(__NR_geteuid, 0, 0, 0, 0, 0),
                gid = (unsigned long)call(__NR_getegid, 0, 0, 0, 0, 0);
  int alive[2];
  endWithParent();
  must(call(__NR_prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "cannot refuse new privileges", 0);
  must(call(__NR_pipe2, alive, O_CLOEXEC, 0, 0, 0), "cannot make a pipe", 0);
  long child = call(__NR_clone, namespaces | SIGCHLD, 0, 0, 0, 0);
  if (child == -EINVAL) child = call(__NR_clone, (namespaces & ~CLONE_NEWCGROUP) | SIGCHLD, 0, 0, 0, 0);
  must(child, hasUser ? "cannot make user namespaces" : "cannot make namespaces", 0);
  if (child != 0) {
    // What it holds open would keep others waiting; the pipe says that it lives.
    for (int fd = 0; fd < alive[1]; fd++) call(__NR_close, fd, 0, 0, 0, 0);
    closeFrom(alive[1] + 1);
    leave(endOf(child));
  }
  call(__NR_close, alive[1], 0, 0, 0, 0);
  inside(at + 1, uid, gid, alive[0]);
}
