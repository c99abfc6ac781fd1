#include "crash-report.h"

#include <signal.h>
#include <sys/socket.h>

#include "crash-format.h"
#include "guest.h"

namespace native {

namespace {

constexpr int kSignals[] = {SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGSEGV};

// One a process: where reports go (below 0: nowhere), and the handlers that were installed before ours.
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
int descriptor = -1;
struct sigaction handlers_before[32];

// The list of running entries is read without its lock, which the crashing thread may hold. If that fails as well, the
// process ends without a report.
void Report(int signal) {
  const Guest* guest = RunningOn(pthread_self());
  if (guest == nullptr) return;
  char report[112];
  size_t size = FormatCrashReport(signal, guest->owner, sizeof guest->owner, report, sizeof report);
  send(descriptor, report, size, MSG_DONTWAIT | MSG_NOSIGNAL);
}

void OnSignal(int signal, siginfo_t* info, void* context) {
  struct sigaction* before = &handlers_before[signal];
  if ((before->sa_flags & SA_SIGINFO) != 0 && before->sa_sigaction != nullptr) {
    // V8's handler: it goes on after a trap of WebAssembly, and restores the default action for everything else.
    before->sa_sigaction(signal, info, context);
    struct sigaction now;
    if (sigaction(signal, nullptr, &now) == 0 && now.sa_handler == SIG_DFL) Report(signal);
    return;
  }
  Report(signal);
  if (before->sa_handler != SIG_DFL && before->sa_handler != SIG_IGN) {
    before->sa_handler(signal);
    return;
  }
  struct sigaction standard = {};
  standard.sa_handler = SIG_DFL;
  sigaction(signal, &standard, nullptr);
  raise(signal);
}

}  // namespace

void Own(const FunctionCallbackInfo<Value>& info) {
  Guest* guest = GuestOf(info);
  if (!info[0]->IsString() || !info[1]->IsInt32()) return;
  auto owner = info[0].As<String>();
  size_t length = owner->Length(), max = sizeof guest->owner - 1;
  if (length > max) length = max;
  owner->WriteOneByteV2(guest->isolate, 0, length, reinterpret_cast<uint8_t*>(guest->owner));
  guest->owner[length] = 0;
  int given = info[1].As<Int32>()->Value();
  pthread_mutex_lock(&lock);
  if (given >= 0 && descriptor < 0) {
    descriptor = given;
    for (int signal : kSignals) {
      struct sigaction action = {};
      action.sa_sigaction = OnSignal;
      action.sa_flags = SA_SIGINFO | SA_ONSTACK;
      sigaction(signal, &action, &handlers_before[signal]);
    }
  }
  pthread_mutex_unlock(&lock);
}

}  // namespace native
