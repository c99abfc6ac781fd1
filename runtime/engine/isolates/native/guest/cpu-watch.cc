#include "cpu-watch.h"

#include <time.h>

#include <cmath>
#include <new>
#include <utility>

#include "checked-numbers.h"
#include "guest.h"

namespace native {

namespace {

// How often, in CPU time, a running entry is sampled.
constexpr int64_t kSampleNs = 5'000'000;
// `charged_at` while nothing is charged.
constexpr int64_t kNotCharged = INT64_MAX;
// After how many samples without a running entry the watch waits for one.
constexpr int kIdleSamplesMax = 100;
// The limit of a flush. It runs the guest's own code only, but that calls built-ins that a tenant may have replaced.
constexpr int64_t kFlushNs = 1'000'000'000;
// Compiling is not charged, and nothing can end it. From here on it is overdue.
constexpr int64_t kCompileNs = 10'000'000'000;
// The limit of an entry for code without an account.
constexpr int64_t kUnattributedNs = 500'000'000;

// The watch: one thread a process, which looks at the CPU clocks of all running entries.
struct Watch {
  pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t entry_began = PTHREAD_COND_INITIALIZER;
  Guest* running = nullptr;
  bool started = false, waiting = true;
};
Watch watch;

// Makes `breached` the account that stands for code without one. It has no prototype: no setter of a tenant is called.
void BreachUnattributed(Guest* guest, double used_ms, double limit_ms) {
  Isolate* isolate = guest->isolate;
  CpuState& cpu = guest->cpu;
  Local<Context> context = guest->context.Get(isolate);
  Local<Object> account = cpu.unattributed.Get(isolate);
  Local<Value> used = Number::New(isolate, used_ms), limit = Number::New(isolate, limit_ms);
  if (account->CreateDataProperty(context, cpu.used_key.Get(isolate), used).IsNothing() ||
      account->CreateDataProperty(context, cpu.limit_key.Get(isolate), limit).IsNothing()) {
    // The account keeps the numbers of an earlier breach, which is a breach all the same.
  }
  cpu.breached.Reset(isolate, account);
}

// A number of an account. Accounts have no prototype and no getters.
bool OwnNumber(Local<Context> context, Local<Object> account, Local<String> key, double* number) {
  Local<Value> value;
  if (!account->GetRealNamedProperty(context, key).ToLocal(&value) || !value->IsNumber()) return false;
  *number = value.As<Number>()->Value();
  return true;
}

// Charges the CPU up to `now` to the account of the running code. True where that account, then `breached`, is over its
// limit. Reads and writes only properties that our own objects own: no JavaScript runs.
bool Charge(Guest* guest, int64_t now) {
  Isolate* isolate = guest->isolate;
  CpuState& cpu = guest->cpu;
  int64_t charge_ns = now - cpu.charged_at;
  if (charge_ns < 0) return false;
  cpu.charged_at = now;
  TryCatch caught(isolate);
  Local<Context> context = guest->context.Get(isolate);
  Local<Value> data = isolate->GetContinuationPreservedEmbedderData(), found;
  if (!data->IsObject() ||
      !data.As<Object>()->GetRealNamedProperty(context, cpu.account_key.Get(isolate)).ToLocal(&found) ||
      !found->IsObject()) {
    cpu.unattributed_ns += charge_ns;
    if (cpu.unattributed_ns < kUnattributedNs) return false;
    BreachUnattributed(guest, cpu.unattributed_ns / 1e6, 0);
    return true;
  }
  Local<Object> account = found.As<Object>();
  Local<String> used_key = cpu.used_key.Get(isolate);
  double used_ms, limit_ms;
  if (!OwnNumber(context, account, used_key, &used_ms) ||
      !OwnNumber(context, account, cpu.limit_key.Get(isolate), &limit_ms) ||
      !std::isfinite(used_ms += charge_ns / 1e6) ||
      account->CreateDataProperty(context, used_key, Number::New(isolate, used_ms)).IsNothing()) {
    // It cannot be charged, so the entry ends.
    BreachUnattributed(guest, charge_ns / 1e6, 0);
    return true;
  }
  if (limit_ms <= 0 || used_ms < limit_ms) return false;
  cpu.breached.Reset(isolate, account);
  return true;
}

// After the watch itself has terminated an entry. V8 no longer says whose microtask ran: unless an account is over its
// limit, the breached account is the one that stands for code without one, with a limit below 0.
void ChargeTerminated(Guest* guest, int64_t now) {
  guest->isolate->CancelTerminateExecution();
  double used_ms = (now - guest->cpu.charged_at) / 1e6;
  if (guest->cpu.breached.IsEmpty() && !Charge(guest, now)) BreachUnattributed(guest, used_ms, -1);
}

// From now on the CPU of the entry counts against it.
void CountOverdue(CpuState& cpu, int64_t now) {
  int64_t not_yet = 0;
  cpu.overdue_from.compare_exchange_strong(not_yet, now);
}

void TellToEnd(Guest* guest, int64_t now) {
  CountOverdue(guest->cpu, now);
  guest->isolate->TerminateExecution();
}

void Publish(CpuState& cpu, ShownWord word, int64_t value) {
  if (cpu.shown == nullptr) return;
  cpu.shown[word].store(static_cast<int32_t>(value > INT32_MAX ? INT32_MAX : value), std::memory_order_release);
}

// Runs on the isolate's own thread, where V8 allows an interrupt. Charges the CPU since the last sample, and terminates
// the entry where an account is over its limit.
void Sample(Isolate* isolate, void* pointer) {
  auto* guest = static_cast<Guest*>(pointer);
  CpuState& cpu = guest->cpu;
  if (!cpu.running) return;
  int64_t now = ThreadCpuNs();
  if (cpu.flush_began_at != 0) {
    if (now - cpu.flush_began_at < kFlushNs) return;
    cpu.flush_timed_out = true;
    TellToEnd(guest, now);
    return;
  }
  HandleScope scope(isolate);
  if (ExceedsMemory(guest)) {
    guest->memory.exceeded = true;
    TellToEnd(guest, now);
    return;
  }
  if (Charge(guest, now)) TellToEnd(guest, now);
}

// Under the lock: one look at a running entry.
void Look(Guest* guest) {
  CpuState& cpu = guest->cpu;
  int64_t now = ReadThreadClock(cpu.clock);
  if (now - cpu.sampled_at < kSampleNs) return;
  cpu.sampled_at = now;
  // A loop over slow built-ins reaches no point where V8 allows an interrupt for thousands of rounds. Some built-ins,
  // those of BigInt among them, do check whether execution is being terminated.
  int64_t flush_began_at = cpu.flush_began_at;
  int64_t since = flush_began_at != 0 ? flush_began_at : cpu.charged_at.load();
  int64_t max = flush_began_at != 0 ? kFlushNs : cpu.uncharged_max.load();
  if (max > 0 && now - since > max) {
    cpu.terminated = true;
    TellToEnd(guest, now);
  }
  if (since == kNotCharged && now - cpu.entered_at > kCompileNs) CountOverdue(cpu, now);
  int64_t overdue_from = cpu.overdue_from;
  Publish(cpu, kShownUsedMs, (now - cpu.entered_at) / 1'000'000);
  Publish(cpu, kShownOverdueMs, overdue_from == 0 ? 0 : (now - overdue_from) / 1'000'000);
  guest->isolate->RequestInterrupt(Sample, guest);
}

void* RunWatch(void*) {
  pthread_mutex_lock(&watch.lock);
  for (int idle_samples = 0;;) {
    if (watch.running != nullptr) {
      idle_samples = 0;
    } else if (++idle_samples > kIdleSamplesMax) {
      watch.waiting = true;
      while (watch.running == nullptr) pthread_cond_wait(&watch.entry_began, &watch.lock);
      watch.waiting = false;
      idle_samples = 0;
    }
    for (Guest* guest = watch.running; guest != nullptr; guest = guest->cpu.next) Look(guest);
    pthread_mutex_unlock(&watch.lock);
    timespec pause{0, kSampleNs};
    nanosleep(&pause, nullptr);
    pthread_mutex_lock(&watch.lock);
  }
}

void AllowMicrotasks(Guest* guest) {
  if (guest->cpu.microtasks_blocked == nullptr) return;
  guest->cpu.microtasks_blocked->~MicrotasksScope();
  guest->cpu.microtasks_blocked = nullptr;
}

void BlockMicrotasks(Guest* guest) {
  CpuState& cpu = guest->cpu;
  if (cpu.microtasks_blocked != nullptr) return;
  cpu.microtasks_blocked =
      new (cpu.microtasks_storage) MicrotasksScope(guest->isolate, nullptr, MicrotasksScope::kRunMicrotasks);
}

}  // namespace

void StartCpuState(Guest* guest) {
  Isolate* isolate = guest->isolate;
  CpuState& cpu = guest->cpu;
  cpu.account_key.Reset(isolate, String::NewFromUtf8Literal(isolate, "account", NewStringType::kInternalized));
  cpu.used_key.Reset(isolate, String::NewFromUtf8Literal(isolate, "used", NewStringType::kInternalized));
  cpu.limit_key.Reset(isolate, String::NewFromUtf8Literal(isolate, "limit", NewStringType::kInternalized));
  Local<Name> names[] = {cpu.used_key.Get(isolate), cpu.limit_key.Get(isolate)};
  Local<Value> values[] = {Number::New(isolate, 0), Number::New(isolate, 0)};
  cpu.unattributed.Reset(isolate, Object::New(isolate, Null(isolate), names, values, 2));
  isolate->SetMicrotasksPolicy(MicrotasksPolicy::kExplicit);
  BlockMicrotasks(guest);
}

int64_t Enter(Guest* guest) {
  AllowMicrotasks(guest);
  CpuState& cpu = guest->cpu;
  int64_t now = ThreadCpuNs();
  cpu.charged_at = now;
  cpu.entered_at = now;
  cpu.overdue_from = 0;
  cpu.flush_began_at = 0;
  pthread_mutex_lock(&watch.lock);
  if (!cpu.running) {
    cpu.running = true;
    cpu.thread = pthread_self();
    cpu.clock = OwnThreadClock();
    cpu.sampled_at = now;
    Publish(cpu, kShownUsedMs, 0);
    Publish(cpu, kShownOverdueMs, 0);
    Publish(cpu, kShownThread, ThreadNumber(cpu.clock));
    cpu.previous = nullptr;
    cpu.next = watch.running;
    if (watch.running != nullptr) watch.running->cpu.previous = guest;
    watch.running = guest;
    if (!watch.started) {
      watch.started = true;
      watch.waiting = false;
      pthread_t thread;
      if (pthread_create(&thread, nullptr, RunWatch, nullptr) == 0) pthread_detach(thread);
    } else if (watch.waiting) {
      pthread_cond_signal(&watch.entry_began);
    }
  }
  pthread_mutex_unlock(&watch.lock);
  return now;
}

void Leave(Guest* guest) {
  BlockMicrotasks(guest);
  CpuState& cpu = guest->cpu;
  pthread_mutex_lock(&watch.lock);
  if (cpu.running) {
    cpu.running = false;
    Publish(cpu, kShownThread, 0);
    if (cpu.next != nullptr) cpu.next->cpu.previous = cpu.previous;
    if (cpu.previous != nullptr)
      cpu.previous->cpu.next = cpu.next;
    else
      watch.running = cpu.next;
  }
  pthread_mutex_unlock(&watch.lock);
}

void PauseCharging(Guest* guest) { guest->cpu.charged_at = kNotCharged; }

void ResumeCharging(Guest* guest) {
  guest->cpu.charged_at = ThreadCpuNs();
  guest->cpu.overdue_from = 0;
}

void BeginFlush(Guest* guest, int64_t now) {
  CpuState& cpu = guest->cpu;
  cpu.flush_began_at = now;
  // The watch may be about to terminate the entry for its work: it decides under its lock, and not after this.
  int64_t max = cpu.uncharged_max;
  if (max > 0 && now - cpu.charged_at + 2 * kSampleNs > max) {
    pthread_mutex_lock(&watch.lock);
    pthread_mutex_unlock(&watch.lock);
  }
  if (cpu.terminated.exchange(false)) ChargeTerminated(guest, now);
  cpu.overdue_from = 0;
  cpu.unattributed_ns = 0;
}

bool EndFlush(Guest* guest) {
  CpuState& cpu = guest->cpu;
  bool timed_out = cpu.flush_timed_out | cpu.terminated.exchange(false);
  cpu.flush_timed_out = false;
  if (timed_out) guest->isolate->CancelTerminateExecution();
  return timed_out;
}

void EndWithoutFlush(Guest* guest) {
  if (guest->cpu.terminated.exchange(false)) ChargeTerminated(guest, ThreadCpuNs());
}

MaybeLocal<Object> TakeBreached(Guest* guest) {
  CpuState& cpu = guest->cpu;
  if (cpu.breached.IsEmpty()) return {};
  Local<Object> account = cpu.breached.Get(guest->isolate);
  cpu.breached.Reset();
  guest->isolate->CancelTerminateExecution();
  return account;
}

const Guest* RunningOn(pthread_t thread) {
  for (const Guest* guest = watch.running; guest != nullptr; guest = guest->cpu.next) {
    if (pthread_equal(guest->cpu.thread, thread)) return guest;
  }
  return nullptr;
}

void ParkThread(Guest* guest) {
  Publish(guest->cpu, kShownOverflowed, 1);
  for (;;) {
    timespec pause{100, 0};
    nanosleep(&pause, nullptr);
  }
}

void Show(const FunctionCallbackInfo<Value>& info) {
  CpuState& cpu = GuestOf(info)->cpu;
  if (cpu.shown != nullptr || cpu.running || !info[0]->IsSharedArrayBuffer()) return;
  std::shared_ptr<BackingStore> memory = info[0].As<SharedArrayBuffer>()->GetBackingStore();
  if (memory->ByteLength() < kShownWords * sizeof(*cpu.shown)) return;
  cpu.shown = static_cast<std::atomic<int32_t>*>(memory->Data());
  cpu.shown_memory = std::move(memory);
}

void Stretch(const FunctionCallbackInfo<Value>& info) {
  int64_t ns;
  if (info[0]->IsNumber() && MillisecondsToNs(info[0].As<Number>()->Value(), &ns))
    GuestOf(info)->cpu.uncharged_max = ns;
}

}  // namespace native
