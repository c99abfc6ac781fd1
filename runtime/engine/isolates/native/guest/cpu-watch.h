// CPU watch: charges the CPU of an entry to the invocation whose code runs, and ends an entry that is over its limit.
// entry.cc and modules.cc enter and leave; nothing here calls into JavaScript.
#pragma once

#include <v8.h>

#include <pthread.h>

#include <atomic>
#include <memory>

#include "thread-clock.h"

namespace native {

using namespace v8;

struct Guest;

// The words that the host sees of a running entry: the number of its thread (0: no entry runs; below 0: threads have
// none), the CPU ms of the entry, and those since it was told to end (0: it was not); then 1 once the heap has
// overflowed inside V8. isolates/stuck-entry.ts reads them.
enum ShownWord { kShownThread, kShownUsedMs, kShownOverdueMs, kShownOverflowed, kShownWords };

struct CpuState {
  // Under the watch's lock: links of the list of running entries, and what the watch reads and writes.
  Guest *next, *previous;
  bool running;
  pthread_t thread;
  ThreadClock clock;
  int64_t sampled_at;
  // CPU time of the thread when it was last charged, and when the flush began (0: it has not begun).
  std::atomic<int64_t> charged_at, flush_began_at;
  // After how much CPU time without a charge the watch itself terminates the entry; 0: never.
  std::atomic<int64_t> uncharged_max;
  // CPU time of the thread when the entry began, and when it was told to end (0: it was not).
  std::atomic<int64_t> entered_at, overdue_from;
  // Each `ShownWord`, in memory that the host reads; null: nobody does.
  std::atomic<int32_t>* shown;
  std::shared_ptr<BackingStore> shown_memory;
  // The watch itself has terminated the entry.
  std::atomic<bool> terminated;
  // From here on only touched on the thread that runs the isolate.
  int64_t unattributed_ns;
  bool flush_timed_out;
  // Blocks microtasks, in `microtasks_storage`, while no entry runs: whatever V8 or isolated-vm would run of a worker
  // waits.
  MicrotasksScope* microtasks_blocked;
  alignas(MicrotasksScope) char microtasks_storage[sizeof(MicrotasksScope)];
  Global<String> account_key, used_key, limit_key;
  // The account that is over its limit, if any, and the one that stands for code without an account.
  Global<Object> breached, unattributed;
};

// Prepares a new guest, before any code runs in it.
void StartCpuState(Guest* guest);

// From Enter to Leave the thread's CPU is watched as this guest's. Enter returns the CPU time.
int64_t Enter(Guest* guest);
void Leave(Guest* guest);

// What runs between these two is not charged.
void PauseCharging(Guest* guest);
void ResumeCharging(Guest* guest);

// An entry's work is done at this CPU time; what follows is its flush, which has a limit of its own.
void BeginFlush(Guest* guest, int64_t now);
// After Leave: whether the flush was terminated; V8 is told to go on.
bool EndFlush(Guest* guest);
// For a worker's top level, which has no flush; after Leave.
void EndWithoutFlush(Guest* guest);

// The account that is over its limit, once; empty where there is none. V8 is told to go on where there is one.
MaybeLocal<Object> TakeBreached(Guest* guest);

// The guest whose code the thread runs; null where there is none. Takes no lock: for the handler of a signal.
const Guest* RunningOn(pthread_t thread);

// The heap has overflowed inside V8, which would end the process: shows that to the host, and keeps the thread asleep
// for ever. Takes no lock and calls nothing of V8.
[[noreturn]] void ParkThread(Guest* guest);

// Functions of the guest, see guest.cc.
void Show(const FunctionCallbackInfo<Value>& info);
void Stretch(const FunctionCallbackInfo<Value>& info);

}  // namespace native
