// Native half of the guest, loaded into each isolate's context through ivm.NativeModule. It does what JavaScript inside an
// isolate cannot: runs one entry to the end of its microtasks, reads the thread's CPU clock, charges a long entry to the
// invocation that is running (known from V8's continuation data), and ends one that has used up its budget.
// Only the guest's closure holds these functions; no tenant code can reach them.
//
// Built by build.ts; the binaries in prebuilt/ carry the hash of this file. No C++ standard library, so that one binary
// loads under every libc that Node runs on.
#include <v8.h>

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <time.h>

#include <atomic>
#include <cmath>
#include <memory>
#include <new>

#include "base64.h"
#include "sha.h"
#include "shared-text.h"
#include "url.h"
#include "utf8.h"
#include "wasm-memory.h"

using namespace v8;

// Counted pointers of the C++ library ask for it; not every libc has it.
#pragma GCC visibility push(hidden)
extern "C" {
char __libc_single_threaded = 0;
}
#pragma GCC visibility pop

namespace {

constexpr int64_t kSampleNs = 5'000'000;
constexpr int kIdleTicks = 100;
// Answering an entry runs the guest's own code only, but that can run into built-ins that a tenant has replaced.
constexpr int64_t kFlushNs = 1'000'000'000;
// Code that belongs to no account at all.
constexpr int64_t kStrayNs = 500'000'000;
// How often, in CPU, a running isolate is asked for its size.
constexpr int64_t kSizeNs = 1'000'000;
// The longest text that V8 makes; beyond it a length would not fit in its `int` either.
constexpr size_t kTextMax = String::kMaxLength;
// Records that say that an entry is not answered: `toHost.fault` of bridge/protocol.ts.
constexpr char kFault[] = "!\x01answer\x01\x02";
constexpr char kOversized[] = "!\x01memory\x01\x02";

int64_t Read(clockid_t clock) {
  timespec t;
  clock_gettime(clock, &t);
  return t.tv_sec * 1'000'000'000LL + t.tv_nsec;
}

// Memory that V8 counts for no isolate: of a SharedArrayBuffer that grows, and of a shared WebAssembly memory, as far as they may grow.
struct SharedMemory {
  std::weak_ptr<BackingStore> store;
  size_t bytes;
};
// V8 reserves more than that for each; it also bounds how many there are.
constexpr size_t kSharedBytesMin = 64 * 1024;

struct Engine;
// A function of V8's that tenants get ours in place of.
constexpr int kFences = 9;
struct Fence {
  Engine* engine;
  Global<Function> original, self, adapt;
};

// One per context. It lies in the backing store of an ArrayBuffer that the context keeps, so it goes with its isolate.
struct Engine {
  Isolate* isolate;
  Global<Context> context;
  Global<Function> process, flush, rejected, leave;
  Global<String> account_key, used_key, limit_key;
  Global<ArrayBuffer> memory;
  Global<Object> breached, nobody;
  // For what tenants get in place of V8's constructors.
  Global<Function> construct, compile_error;
  Fence fences[kFences];
  int fence_count;
  SharedMemory* shared;
  size_t shared_count, shared_room;
  // Lies in `gate_memory` while nothing runs here: whatever V8 or isolated-vm would run of a worker then waits for an entry.
  MicrotasksScope* gate;
  alignas(MicrotasksScope) char gate_memory[sizeof(MicrotasksScope)];
  // The worker: what its top level settles, until that is asked for, and its compiled form, until that is taken.
  Global<Module> module;
  Global<Promise> evaluated;
  Global<UnboundModuleScript> script;
  // Under the watch's lock: links of the list of running entries, and what the watch samples.
  Engine *next, *previous;
  bool running;
  pthread_t thread;
  clockid_t clock;
  int64_t watched;
  // The thread's CPU when it was last charged, and when the answer began, or 0. `stretch`: how much the watch lets pass without
  // either before it ends the entry itself, 0 for any; `forced`: it did.
  std::atomic<int64_t> charged, flushing, stretch;
  std::atomic<bool> forced;
  // Only touched on the thread that runs the isolate.
  int64_t stray, unsized;
  bool overran, oversized;
  // Bytes outside the heap that it may hold.
  size_t external_max;
  // Whose code it is, for the note that a crash leaves.
  char owner[96];
};

// The watch: one thread a process. It looks at the CPU clocks of all running entries and interrupts the long ones; it
// sleeps while nothing has run for half a second.
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t wake = PTHREAD_COND_INITIALIZER;
Engine* running = nullptr;
bool started = false, asleep = true;

// What is left of the counted shared memories.
size_t SharedBytes(Engine* engine) {
  size_t bytes = 0, kept = 0;
  for (size_t at = 0; at < engine->shared_count; at++) {
    SharedMemory& memory = engine->shared[at];
    if (memory.store.expired()) continue;
    bytes += memory.bytes;
    if (kept != at) engine->shared[kept] = std::move(memory);
    kept++;
  }
  for (size_t at = kept; at < engine->shared_count; at++) engine->shared[at].store.reset();
  engine->shared_count = kept;
  return bytes;
}

size_t OutsideBytes(Engine* engine) {
  HeapStatistics statistics;
  engine->isolate->GetHeapStatistics(&statistics);
  return statistics.external_memory() + SharedBytes(engine);
}

void Collect(Isolate* isolate) {
  isolate->MemoryPressureNotification(MemoryPressureLevel::kCritical);
  isolate->MemoryPressureNotification(MemoryPressureLevel::kNone);
}

// Whether it holds more outside its heap than it may, with so many bytes more: buffers, and WebAssembly memories, which isolated-vm
// does not see. What is garbage by now does not count.
bool TooLarge(Engine* engine, size_t more = 0) {
  if (engine->external_max == 0) return false;
  if (more > engine->external_max) return true;
  if (OutsideBytes(engine) + more <= engine->external_max) return false;
  Collect(engine->isolate);
  return OutsideBytes(engine) + more > engine->external_max;
}

// Makes `breached` the account of nobody. It is made with the engine and has no prototype: nothing of a tenant hears of it.
void BlameNobody(Engine* engine, double used_ms, double limit_ms) {
  Isolate* isolate = engine->isolate;
  Local<Context> context = engine->context.Get(isolate);
  Local<Object> nobody = engine->nobody.Get(isolate);
  if (nobody->CreateDataProperty(context, engine->used_key.Get(isolate), Number::New(isolate, used_ms)).IsNothing() ||
      nobody->CreateDataProperty(context, engine->limit_key.Get(isolate), Number::New(isolate, limit_ms)).IsNothing()) {
    // Then it says what was said last, which is no less a breach.
  }
  engine->breached.Reset(isolate, nobody);
}

// Charges the CPU up to `now` to the account of the code that is running, and says whether that account, then `breached`, is over
// its limit.
// Only properties that our own objects own are read and written: no script runs.
bool Charge(Engine* engine, int64_t now) {
  Isolate* isolate = engine->isolate;
  int64_t used_ns = now - engine->charged;
  if (used_ns < 0) return false;
  double used_ms = used_ns / 1e6;
  engine->charged = now;
  TryCatch caught(isolate);
  Local<Value> data = isolate->GetContinuationPreservedEmbedderData();
  Local<Context> context = engine->context.Get(isolate);
  Local<Value> account, used, limit;
  if (!data->IsObject() || !data.As<Object>()->GetRealNamedProperty(context, engine->account_key.Get(isolate)).ToLocal(&account) || !account->IsObject()) {
    engine->stray += used_ns;
    if (engine->stray < kStrayNs) return false;
    BlameNobody(engine, engine->stray / 1e6, 0);
    return true;
  }
  Local<Object> object = account.As<Object>();
  if (!object->GetRealNamedProperty(context, engine->used_key.Get(isolate)).ToLocal(&used) || !used->IsNumber() ||
      !object->GetRealNamedProperty(context, engine->limit_key.Get(isolate)).ToLocal(&limit) || !limit->IsNumber() ||
      !std::isfinite(used_ms += used.As<Number>()->Value()) ||
      object->CreateDataProperty(context, engine->used_key.Get(isolate), Number::New(isolate, used_ms)).IsNothing()) {
    // It cannot be charged: what is running ends, rather than going on for nothing.
    BlameNobody(engine, used_ns / 1e6, 0);
    return true;
  }
  double limit_ms = limit.As<Number>()->Value();
  if (limit_ms <= 0 || used_ms < limit_ms) return false;
  engine->breached.Reset(isolate, object);
  return true;
}

// The entry was ended by the watch, and with it everything that had not finished in it. V8 has forgotten whose microtask it was:
// `breached` is then an account of nobody, with a limit below 0.
void ChargeForced(Engine* engine, int64_t now) {
  engine->isolate->CancelTerminateExecution();
  double used_ms = (now - engine->charged) / 1e6;
  if (engine->breached.IsEmpty() && !Charge(engine, now)) BlameNobody(engine, used_ms, -1);
}

// Runs on the isolate's own thread, at a point where V8 allows an interrupt. Charges the CPU since the last sample, and ends the
// entry when an account is over its limit.
void Sample(Isolate* isolate, void* pointer) {
  auto* engine = static_cast<Engine*>(pointer);
  if (!engine->running) return;
  int64_t now = Read(CLOCK_THREAD_CPUTIME_ID);
  if (engine->flushing != 0) {
    if (now - engine->flushing < kFlushNs) return;
    engine->overran = true;
    isolate->TerminateExecution();
    return;
  }
  HandleScope scope(isolate);
  if (TooLarge(engine)) {
    engine->oversized = true;
    isolate->TerminateExecution();
    return;
  }
  if (Charge(engine, now)) isolate->TerminateExecution();
}

// Some of what hostile code can do ends the process, whatever isolates it runs in. The handler of the signal says on a descriptor,
// which leads to another process, whose code the dying thread was running: "<signal> <owner>\n". The list is read without its
// lock, which the dying thread may hold itself; should that fail, the process dies without a word.
int crash_descriptor = -1;
constexpr int kCrashSignals[] = {SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGSEGV};
struct sigaction crash_before[32];

void NoteCrash(int signal) {
  pthread_t self = pthread_self();
  for (Engine* engine = running; engine != nullptr; engine = engine->next) {
    if (!pthread_equal(engine->thread, self)) continue;
    char note[112];
    size_t size = 0;
    if (signal >= 10) note[size++] = static_cast<char>('0' + signal / 10);
    note[size++] = static_cast<char>('0' + signal % 10);
    note[size++] = ' ';
    for (size_t at = 0; at < sizeof engine->owner && engine->owner[at] != 0; at++) note[size++] = engine->owner[at];
    note[size++] = '\n';
    send(crash_descriptor, note, size, MSG_DONTWAIT | MSG_NOSIGNAL);
    return;
  }
}

void OnCrash(int signal, siginfo_t* info, void* context) {
  struct sigaction* before = &crash_before[signal];
  if ((before->sa_flags & SA_SIGINFO) != 0 && before->sa_sigaction != nullptr) {
    // V8's: a trap of WebAssembly is none of our business, and for all else it puts the default action back.
    before->sa_sigaction(signal, info, context);
    struct sigaction now;
    if (sigaction(signal, nullptr, &now) == 0 && now.sa_handler == SIG_DFL) NoteCrash(signal);
    return;
  }
  NoteCrash(signal);
  if (before->sa_handler != SIG_DFL && before->sa_handler != SIG_IGN) {
    before->sa_handler(signal);
    return;
  }
  struct sigaction standard = {};
  standard.sa_handler = SIG_DFL;
  sigaction(signal, &standard, nullptr);
  raise(signal);
}

void* Watch(void*) {
  pthread_mutex_lock(&lock);
  for (int idle = 0;;) {
    if (running != nullptr) {
      idle = 0;
    } else if (++idle > kIdleTicks) {
      asleep = true;
      while (running == nullptr) pthread_cond_wait(&wake, &lock);
      asleep = false;
      idle = 0;
    }
    for (Engine* engine = running; engine != nullptr; engine = engine->next) {
      int64_t now = Read(engine->clock);
      if (now - engine->watched < kSampleNs) continue;
      engine->watched = now;
      // A loop over slow built-ins comes to no point where V8 allows an interrupt, for thousands of turns. Some built-ins, those of
      // BigInt among them, do ask whether they are to end.
      int64_t flushing = engine->flushing, stretch = flushing != 0 ? kFlushNs : engine->stretch.load();
      if (stretch > 0 && now - (flushing != 0 ? flushing : engine->charged.load()) > stretch) {
        engine->forced = true;
        engine->isolate->TerminateExecution();
      }
      engine->isolate->RequestInterrupt(Sample, engine);
    }
    pthread_mutex_unlock(&lock);
    timespec pause{0, kSampleNs};
    nanosleep(&pause, nullptr);
    pthread_mutex_lock(&lock);
  }
}

// Microtasks run while the gate is open: between Enter and Leave, where their CPU is watched.
void OpenGate(Engine* engine) {
  if (engine->gate == nullptr) return;
  engine->gate->~MicrotasksScope();
  engine->gate = nullptr;
}

void CloseGate(Engine* engine) {
  if (engine->gate != nullptr) return;
  engine->gate = new (engine->gate_memory) MicrotasksScope(engine->isolate, nullptr, MicrotasksScope::kRunMicrotasks);
}

// From here to Leave the thread's CPU is watched as this engine's. Returns the CPU clock.
int64_t Enter(Engine* engine) {
  OpenGate(engine);
  int64_t now = Read(CLOCK_THREAD_CPUTIME_ID);
  engine->charged = now;
  engine->flushing = 0;
  pthread_mutex_lock(&lock);
  if (!engine->running) {
    engine->running = true;
    engine->thread = pthread_self();
    pthread_getcpuclockid(pthread_self(), &engine->clock);
    engine->watched = now;
    engine->previous = nullptr;
    engine->next = running;
    if (running != nullptr) running->previous = engine;
    running = engine;
    if (!started) {
      started = true;
      asleep = false;
      pthread_t thread;
      if (pthread_create(&thread, nullptr, Watch, nullptr) == 0) pthread_detach(thread);
    } else if (asleep) {
      pthread_cond_signal(&wake);
    }
  }
  pthread_mutex_unlock(&lock);
  return now;
}

void Leave(Engine* engine) {
  CloseGate(engine);
  pthread_mutex_lock(&lock);
  if (engine->running) {
    engine->running = false;
    if (engine->next != nullptr) engine->next->previous = engine->previous;
    if (engine->previous != nullptr) engine->previous->next = engine->next;
    else running = engine->next;
  }
  pthread_mutex_unlock(&lock);
}

Engine* From(const FunctionCallbackInfo<Value>& info) {
  return static_cast<Engine*>(info.Data().As<External>()->Value());
}

// Tells the host, with nothing that a tenant could have changed, that an entry ends without an answer.
void LeaveWith(Engine* engine, Local<Context> context, Local<String> record, double cpu_ms) {
  Isolate* isolate = engine->isolate;
  TryCatch caught(isolate);
  Local<Value> ignored;
  // A function of isolated-vm's own: it reads no property of anything.
  Local<Value> parameters[] = {record, String::Empty(isolate), Number::New(isolate, 0), Number::New(isolate, cpu_ms)};
  if (!engine->leave.Get(isolate)->Call(context, Undefined(isolate), 4, parameters).ToLocal(&ignored)) return;
}

// run(meta, text, ...bytes): process(meta, text, ...bytes), then all microtasks, then
// flush(cpuMs, uncharged CPU ms, breached account or undefined). Where flush throws or does not end, the host is told that:
// an entry that never left would hold its isolate and its requests for ever.
void Run(const FunctionCallbackInfo<Value>& info) {
  Engine* engine = From(info);
  Isolate* isolate = engine->isolate;
  Local<Context> context = engine->context.Get(isolate);
  int count = info.Length();
  LocalVector<Value> arguments(isolate);
  arguments.reserve(count);
  for (int i = 0; i < count; i++) arguments.push_back(info[i]);
  int64_t start = Enter(engine);
  {
    TryCatch caught(isolate);
    Local<Value> ignored;
    if (engine->process.Get(isolate)->Call(context, Undefined(isolate), count, arguments.data()).ToLocal(&ignored)) {
      isolate->PerformMicrotaskCheckpoint();
    }
  }
  int64_t end = Read(CLOCK_THREAD_CPUTIME_ID);
  engine->flushing = end;
  // The watch decides under its lock: past it, it ends nothing more that it took for the worker's.
  int64_t stretch = engine->stretch;
  if (stretch > 0 && end - engine->charged + 2 * kSampleNs > stretch) {
    pthread_mutex_lock(&lock);
    pthread_mutex_unlock(&lock);
  }
  if (engine->forced.exchange(false)) ChargeForced(engine, end);
  engine->stray = 0;
  double cpu_ms = (end - start) / 1e6;
  engine->unsized += end - start;
  if (!engine->oversized && engine->unsized >= kSizeNs) {
    engine->unsized = 0;
    engine->oversized = !isolate->IsExecutionTerminating() && TooLarge(engine);
  }
  if (engine->oversized) {
    isolate->CancelTerminateExecution();
    Leave(engine);
    LeaveWith(engine, context, String::NewFromUtf8Literal(isolate, kOversized), cpu_ms);
    return;
  }
  Local<Value> breached = Undefined(isolate);
  if (!engine->breached.IsEmpty()) {
    breached = engine->breached.Get(isolate);
    engine->breached.Reset();
    isolate->CancelTerminateExecution();
  } else if (isolate->IsExecutionTerminating()) {
    Leave(engine);
    return;  // disposed or out of memory: the host notices by itself
  }
  isolate->SetContinuationPreservedEmbedderData(Undefined(isolate));
  Local<Value> results[] = {Number::New(isolate, cpu_ms), Number::New(isolate, (end - engine->charged) / 1e6), breached};
  Local<Value> ignored;
  TryCatch caught(isolate);
  bool answered = engine->flush.Get(isolate)->Call(context, Undefined(isolate), 3, results).ToLocal(&ignored);
  Leave(engine);
  bool overran = engine->overran | engine->forced.exchange(false);
  engine->overran = false;
  if (overran) isolate->CancelTerminateExecution();
  if (answered || (!overran && isolate->IsExecutionTerminating())) return;
  caught.Reset();
  LeaveWith(engine, context, String::NewFromUtf8Literal(isolate, kFault), cpu_ms);
}

// What load and settled answer with: a state, and what belongs to it.
void Return(const FunctionCallbackInfo<Value>& info, int state, Local<Value> first = {}, int line = 0, int column = 0) {
  Isolate* isolate = info.GetIsolate();
  Local<Value> elements[] = {Integer::New(isolate, state), first.IsEmpty() ? Local<Value>(Undefined(isolate)) : first, Integer::New(isolate, line),
                             Integer::New(isolate, column)};
  info.GetReturnValue().Set(Array::New(isolate, elements, 4));
}

// A worker is one file.
MaybeLocal<Module> RefuseImport(Local<Context> context, Local<String> specifier, Local<FixedArray>, Local<Module>) {
  context->GetIsolate()->ThrowException(specifier);
  return {};
}

// load(code, form, context, bytes): compiles a worker, from V8's compiled form of exactly this code where there is one, and runs its
// top level to the end of its microtasks, watched; `bytes` bounds what it holds outside its heap. [0] it ran, [1] ended by its
// CPU limit, [2] ended by that bound, [3, error, line, column] it does not compile, [4, specifier] it imports, [5, error] it threw.
void Load(const FunctionCallbackInfo<Value>& info) {
  Engine* engine = From(info);
  Isolate* isolate = engine->isolate;
  if (!info[0]->IsString() || !info[2]->IsObject()) return;
  Local<Context> context = engine->context.Get(isolate);
  double bytes_max = info[3]->IsNumber() ? info[3].As<Number>()->Value() : 0;
  engine->external_max = bytes_max >= 1 && bytes_max < 1e15 ? static_cast<size_t>(bytes_max) : 0;
  ScriptOrigin origin(String::NewFromUtf8Literal(isolate, "worker.js"), 0, 0, false, -1, Local<Value>(), false, false, true);
  ScriptCompiler::CachedData* form = nullptr;
  if (info[1]->IsSharedArrayBuffer()) {
    auto bytes = info[1].As<SharedArrayBuffer>();
    if (bytes->ByteLength() <= kTextMax) form = new (std::nothrow) ScriptCompiler::CachedData(static_cast<const uint8_t*>(bytes->Data()), static_cast<int>(bytes->ByteLength()));
  }
  ScriptCompiler::Source source(info[0].As<String>(), origin, form);
  // From here on, so that a crash is blamed on it. Compiling is not the worker's own time.
  Enter(engine);
  engine->charged = INT64_MAX;
  Local<Module> module;
  {
    TryCatch caught(isolate);
    auto how = form == nullptr ? ScriptCompiler::kNoCompileOptions : ScriptCompiler::kConsumeCodeCache;
    if (!ScriptCompiler::CompileModule(isolate, &source, how).ToLocal(&module)) {
      Leave(engine);
      if (caught.HasTerminated() || caught.Message().IsEmpty()) return;
      Return(info, 3, caught.Exception(), caught.Message()->GetLineNumber(context).FromMaybe(0), caught.Message()->GetStartColumn(context).FromMaybe(0) + 1);
      return;
    }
    if (form == nullptr || form->rejected) engine->script.Reset(isolate, module->GetUnboundModuleScript());
    if (module->InstantiateModule(context, RefuseImport).IsNothing()) {
      Leave(engine);
      if (!caught.HasTerminated()) Return(info, caught.Exception()->IsString() ? 4 : 5, caught.Exception());
      return;
    }
  }
  engine->charged = Read(CLOCK_THREAD_CPUTIME_ID);
  isolate->SetContinuationPreservedEmbedderData(info[2]);
  TryCatch caught(isolate);
  Local<Value> evaluated;
  if (module->Evaluate(context).ToLocal(&evaluated)) isolate->PerformMicrotaskCheckpoint();
  Leave(engine);
  if (engine->forced.exchange(false)) ChargeForced(engine, Read(CLOCK_THREAD_CPUTIME_ID));
  if (engine->oversized || !engine->breached.IsEmpty()) {
    isolate->CancelTerminateExecution();
    Return(info, engine->oversized ? 2 : 1);
    engine->oversized = false;
    engine->breached.Reset();
  } else if (isolate->IsExecutionTerminating()) {
    return;  // disposed or out of memory: the host notices by itself
  } else if (evaluated.IsEmpty() || !evaluated->IsPromise()) {
    Return(info, 5, caught.Exception());
  } else {
    engine->module.Reset(isolate, module);
    engine->evaluated.Reset(isolate, evaluated.As<Promise>());
    Return(info, 0);
  }
  isolate->SetContinuationPreservedEmbedderData(Undefined(isolate));
}

// settled(): [0] the top level waits for something, [1, namespace] it has run, [2, error] it threw.
void Settled(const FunctionCallbackInfo<Value>& info) {
  Engine* engine = From(info);
  Isolate* isolate = engine->isolate;
  if (engine->evaluated.IsEmpty()) return;
  Local<Promise> evaluated = engine->evaluated.Get(isolate);
  auto state = evaluated->State();
  if (state == Promise::kPending) return Return(info, 0);
  Return(info, state == Promise::kFulfilled ? 1 : 2, state == Promise::kFulfilled ? engine->module.Get(isolate)->GetModuleNamespace() : evaluated->Result());
  engine->evaluated.Reset();
  engine->module.Reset();
}

// compiledForm(): V8's form of the worker with all functions that have been compiled so far, as an ArrayBuffer; once, and only
// where it was loaded without one.
void CompiledForm(const FunctionCallbackInfo<Value>& info) {
  Engine* engine = From(info);
  Isolate* isolate = engine->isolate;
  if (engine->script.IsEmpty()) return;
  auto* form = ScriptCompiler::CreateCodeCache(engine->script.Get(isolate));
  engine->script.Reset();
  if (form == nullptr) return;
  Local<ArrayBuffer> buffer;
  if (form->length > 0 && ArrayBuffer::MaybeNew(isolate, form->length).ToLocal(&buffer)) {
    memcpy(buffer->Data(), form->data, form->length);
    info.GetReturnValue().Set(buffer);
  }
  delete form;
}

// trim(): gives back what an isolate that has been idle does not need. Twice: V8 keeps the pages that the first collection empties.
void Trim(const FunctionCallbackInfo<Value>& info) {
  for (int i = 0; i < 2; i++) Collect(info.GetIsolate());
}

void Bind(const FunctionCallbackInfo<Value>& info) {
  Engine* engine = From(info);
  for (int at = 0; at < 4; at++) {
    if (!info[at]->IsFunction()) return;
  }
  engine->process.Reset(engine->isolate, info[0].As<Function>());
  engine->flush.Reset(engine->isolate, info[1].As<Function>());
  engine->rejected.Reset(engine->isolate, info[2].As<Function>());
  engine->leave.Reset(engine->isolate, info[3].As<Function>());
}

// own(owner, descriptor): whose code this is, and where a crash is to be noted; below 0: nowhere.
void Own(const FunctionCallbackInfo<Value>& info) {
  Engine* engine = From(info);
  Isolate* isolate = engine->isolate;
  if (!info[0]->IsString() || !info[1]->IsInt32()) return;
  auto owner = info[0].As<String>();
  size_t length = owner->Length(), most = sizeof engine->owner - 1;
  if (length > most) length = most;
  owner->WriteOneByteV2(isolate, 0, length, reinterpret_cast<uint8_t*>(engine->owner));
  engine->owner[length] = 0;
  int descriptor = info[1].As<Int32>()->Value();
  pthread_mutex_lock(&lock);
  if (descriptor >= 0 && crash_descriptor < 0) {
    crash_descriptor = descriptor;
    for (int signal : kCrashSignals) {
      struct sigaction action = {};
      action.sa_sigaction = OnCrash;
      action.sa_flags = SA_SIGINFO | SA_ONSTACK;
      sigaction(signal, &action, &crash_before[signal]);
    }
  }
  pthread_mutex_unlock(&lock);
}

// stretch(ms): how long code may run here without a point where V8 allows an interrupt; 0: for ever.
void Stretch(const FunctionCallbackInfo<Value>& info) {
  double ms = info[0]->IsNumber() ? info[0].As<Number>()->Value() : -1;
  if (ms >= 0 && ms < 1e12) From(info)->stretch = static_cast<int64_t>(ms * 1e6);
}

void GetContext(const FunctionCallbackInfo<Value>& info) {
  info.GetReturnValue().Set(info.GetIsolate()->GetContinuationPreservedEmbedderData());
}

void SetContext(const FunctionCallbackInfo<Value>& info) {
  info.GetIsolate()->SetContinuationPreservedEmbedderData(info[0]);
}

// checkpoint(): runs all microtasks that are waiting, as between two timers.
void Checkpoint(const FunctionCallbackInfo<Value>& info) {
  info.GetIsolate()->PerformMicrotaskCheckpoint();
}

void Now(const FunctionCallbackInfo<Value>& info) {
  info.GetReturnValue().Set(Read(CLOCK_MONOTONIC) / 1e6);
}

// randomFill(bytes): fills a Uint8Array from the system's generator.
void RandomFill(const FunctionCallbackInfo<Value>& info) {
  if (!info[0]->IsUint8Array()) return;
  auto view = info[0].As<Uint8Array>();
  auto* at = static_cast<char*>(view->Buffer()->Data()) + view->ByteOffset();
  for (size_t left = view->ByteLength(); left > 0;) {
    ssize_t got = getrandom(at, left > 256 ? 256 : left, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) {
      info.GetIsolate()->ThrowError("No randomness can be had from the system");
      return;
    }
    at += got;
    left -= got;
  }
}

// What is smaller is not worth asking for.
constexpr size_t kUnasked = 1024 * 1024;

void ThrowNoMemory(Isolate* isolate) {
  isolate->ThrowException(Exception::RangeError(String::NewFromUtf8Literal(isolate, "Array buffer allocation failed")));
}

// Whether so many bytes more fit on the heap. A text that does not would end the isolate, and its thread with it.
bool FitsOnHeap(Isolate* isolate, size_t bytes) {
  if (bytes < kUnasked) return true;
  HeapStatistics statistics;
  isolate->GetHeapStatistics(&statistics);
  if (bytes > statistics.heap_size_limit()) return false;
  if (statistics.used_heap_size() + bytes <= statistics.heap_size_limit()) return true;
  Collect(isolate);
  isolate->GetHeapStatistics(&statistics);
  return statistics.used_heap_size() + bytes <= statistics.heap_size_limit();
}

// Whether a text can be looked at: V8 joins its pieces first, on the heap.
bool MayFlatten(Isolate* isolate, Local<String> text) {
  if (FitsOnHeap(isolate, static_cast<size_t>(text->Length()) * (text->IsOneByte() ? 1 : 2))) return true;
  ThrowNoMemory(isolate);
  return false;
}

// Memory for the length of a call: of the thread for all but the largest, since asking the system for it takes longer than the work.
// Never more than the isolate may hold outside its heap: where `bytes` is null there is none.
class Room {
 public:
  Room(const Engine* engine, size_t size) : own_(size > kKeptMax), bytes_(nullptr) {
    if (own_) {
      if (engine->external_max == 0 || size <= engine->external_max) bytes_ = new (std::nothrow) uint8_t[size];
      return;
    }
    if (kept_ == nullptr) kept_ = new (std::nothrow) uint8_t[kKeptMax];
    bytes_ = kept_;
  }
  ~Room() {
    if (own_) delete[] bytes_;
  }
  Room(const Room&) = delete;
  uint8_t* bytes() { return bytes_; }

 private:
  static constexpr size_t kKeptMax = 256 * 1024;
  static inline thread_local uint8_t* kept_ = nullptr;
  bool own_;
  uint8_t* bytes_;
};

// The bytes of a view; small ones may lie on V8's heap, and are copied to `small`.
struct Bytes {
  uint8_t small[64];
  MemorySpan<uint8_t> span;
  explicit Bytes(Local<Value> view) : span(view.As<Uint8Array>()->GetContents({small, sizeof small})) {}
};

void ReturnBytes(const FunctionCallbackInfo<Value>& info, const uint8_t* bytes, size_t length) {
  Isolate* isolate = info.GetIsolate();
  Local<String> text;
  if (length > kTextMax || !FitsOnHeap(isolate, length)) return ThrowNoMemory(isolate);
  if (String::NewFromOneByte(isolate, bytes, NewStringType::kNormal, static_cast<int>(length)).ToLocal(&text)) info.GetReturnValue().Set(text);
}

// A new buffer, not filled; where there is no memory for it, that is thrown, and it is empty.
MaybeLocal<ArrayBuffer> NewBuffer(Isolate* isolate, size_t size) {
  auto buffer = ArrayBuffer::MaybeNew(isolate, size, BackingStoreInitializationMode::kUninitialized);
  if (buffer.IsEmpty()) ThrowNoMemory(isolate);
  return buffer;
}

// utf8Encode(text): Uint8Array, lone surrogates as U+FFFD.
void Utf8Encode(const FunctionCallbackInfo<Value>& info) {
  Isolate* isolate = info.GetIsolate();
  if (!info[0]->IsString()) return;
  auto text = info[0].As<String>();
  size_t units = text->Length(), size = 0;
  if (!MayFlatten(isolate, text)) return;
  bool ascii = false, narrow = false;
  if (units >= kUnasked) {
    String::ValueView view(isolate, text);
    narrow = view.is_one_byte();
    ascii = narrow && codecs::AsciiPrefix(view.data8(), units) == units;
    size = units;
  }
  if (!ascii) {
    Room room(From(info), units * (narrow ? 2 : 3) + codecs::kEncodeSpare);
    if (room.bytes() == nullptr) return ThrowNoMemory(isolate);
    {
      String::ValueView view(isolate, text);
      if (view.is_one_byte()) {
        ascii = codecs::AsciiPrefix(view.data8(), units) == units;
        size = ascii ? units : codecs::FromLatin1(view.data8(), units, room.bytes());
      } else {
        size = codecs::FromUtf16(view.data16(), units, room.bytes());
      }
    }
    if (!ascii) {
      Local<ArrayBuffer> buffer;
      if (!NewBuffer(isolate, size).ToLocal(&buffer)) return;
      if (size > 0) memcpy(buffer->Data(), room.bytes(), size);
      info.GetReturnValue().Set(Uint8Array::New(buffer, 0, size));
      return;
    }
  }
  Local<ArrayBuffer> buffer;
  if (!NewBuffer(isolate, size).ToLocal(&buffer)) return;
  text->WriteOneByteV2(isolate, 0, static_cast<uint32_t>(units), static_cast<uint8_t*>(buffer->Data()));
  info.GetReturnValue().Set(Uint8Array::New(buffer, 0, size));
}

// utf8EncodeInto(text, target): how many bytes it wrote; none where three for each unit and the spare do not fit, or the target is small
// enough to lie on V8's heap.
void Utf8EncodeInto(const FunctionCallbackInfo<Value>& info) {
  info.GetReturnValue().Set(0);
  if (!info[0]->IsString() || !info[1]->IsUint8Array()) return;
  auto text = info[0].As<String>();
  auto target = info[1].As<Uint8Array>();
  size_t units = text->Length(), size = 0;
  if (!target->HasBuffer() || units * 3 + codecs::kEncodeSpare > target->ByteLength() || !MayFlatten(info.GetIsolate(), text)) return;
  uint8_t* out = static_cast<uint8_t*>(target->Buffer()->Data()) + target->ByteOffset();
  {
    String::ValueView view(info.GetIsolate(), text);
    size = view.is_one_byte() ? codecs::FromLatin1(view.data8(), units, out) : codecs::FromUtf16(view.data16(), units, out);
  }
  info.GetReturnValue().Set(static_cast<double>(size));
}

// clone(object): a shallow copy with all properties, also those that only a definition makes, and private ones.
void Clone(const FunctionCallbackInfo<Value>& info) {
  if (info[0]->IsObject()) info.GetReturnValue().Set(info[0].As<Object>()->Clone(info.GetIsolate()));
}

// utf8Decode(bytes): text, malformed sequences as U+FFFD as the Encoding Standard says; no byte order mark handling.
void Utf8Decode(const FunctionCallbackInfo<Value>& info) {
  Isolate* isolate = info.GetIsolate();
  if (!info[0]->IsUint8Array()) return;
  Bytes bytes(info[0]);
  const uint8_t* at = bytes.span.data();
  size_t size = bytes.span.size();
  if (codecs::AsciiPrefix(at, size) == size) return ReturnBytes(info, at, size);
  // At worst every byte becomes a unit of two.
  if (size > kTextMax || !FitsOnHeap(isolate, size)) return ThrowNoMemory(isolate);
  MaybeLocal<String> text;
  Room room(From(info), size * 2);
  auto* units = reinterpret_cast<uint16_t*>(room.bytes());
  size_t count = 0;
  uint16_t seen = 0;
  if (units == nullptr || !codecs::ToUtf16(at, size, units, &count, &seen)) {
    if (!FitsOnHeap(isolate, size * 2)) return ThrowNoMemory(isolate);
    text = String::NewFromUtf8(isolate, reinterpret_cast<const char*>(at), NewStringType::kNormal, static_cast<int>(size));
  } else if (seen < 0x100) {
    // Text that fits in one byte a character stays so: half the memory, and faster to search.
    uint8_t* narrow = room.bytes();
    for (size_t unit = 0; unit < count; unit++) narrow[unit] = static_cast<uint8_t>(units[unit]);
    return ReturnBytes(info, narrow, count);
  } else {
    if (!FitsOnHeap(isolate, count * 2)) return ThrowNoMemory(isolate);
    text = String::NewFromTwoByte(isolate, units, NewStringType::kNormal, static_cast<int>(count));
  }
  Local<String> result;
  if (text.ToLocal(&result)) info.GetReturnValue().Set(result);
}

// btoa(text): base64 of one byte a character; undefined when a character is above U+00FF. (V8's own codec, behind a flag in
// this version, ignores the offset of a subarray.)
void Btoa(const FunctionCallbackInfo<Value>& info) {
  Isolate* isolate = info.GetIsolate();
  if (!info[0]->IsString()) return;
  auto text = info[0].As<String>();
  size_t size = text->Length(), length = codecs::Base64Length(size);
  if (!MayFlatten(isolate, text)) return;
  Room room(From(info), length + size);
  if (room.bytes() == nullptr) return ThrowNoMemory(isolate);
  {
    String::ValueView view(isolate, text);
    const uint8_t* in = view.data8();
    if (!view.is_one_byte()) {
      // Units of two bytes, each of which may still hold one.
      uint8_t* narrow = room.bytes() + length;
      uint16_t seen = 0;
      for (size_t unit = 0; unit < size; unit++) {
        seen |= view.data16()[unit];
        narrow[unit] = static_cast<uint8_t>(view.data16()[unit]);
      }
      if (seen > 0xff) return;
      in = narrow;
    }
    codecs::ToBase64(in, size, room.bytes());
  }
  ReturnBytes(info, room.bytes(), length);
}

// atob(text): the forgiving decoding of the Infra Standard, one character a byte; undefined when the text is not base64.
void Atob(const FunctionCallbackInfo<Value>& info) {
  Isolate* isolate = info.GetIsolate();
  if (!info[0]->IsString()) return;
  auto text = info[0].As<String>();
  size_t size = text->Length(), length = 0, count = 0;
  if (!MayFlatten(isolate, text)) return;
  Room room(From(info), size * 2 + 4);
  if (room.bytes() == nullptr) return ThrowNoMemory(isolate);
  {
    String::ValueView view(isolate, text);
    bool valid = view.is_one_byte() && codecs::FromBase64(view.data8(), size, room.bytes(), &length);
    if (!valid) {
      // White space, and text that is kept in two bytes a character, are rare: only looked at where something does not fit.
      uint8_t* letters = room.bytes() + size;
      for (size_t unit = 0; unit < size; unit++) {
        uint16_t letter = view.is_one_byte() ? view.data8()[unit] : view.data16()[unit];
        if (letter == ' ' || letter == '\t' || letter == '\n' || letter == '\f' || letter == '\r') continue;
        if (letter > 0x7f) return;
        letters[count++] = static_cast<uint8_t>(letter);
      }
      if (!codecs::FromBase64(letters, count, room.bytes(), &length)) return;
    }
  }
  ReturnBytes(info, room.bytes(), length);
}

// digest(bytes, bits): the SHA digest as an ArrayBuffer.
void Digest(const FunctionCallbackInfo<Value>& info) {
  if (!info[0]->IsUint8Array() || !info[1]->IsInt32()) return;
  Bytes bytes(info[0]);
  uint8_t digest[64];
  size_t length = codecs::Digest(info[1].As<Int32>()->Value(), bytes.span.data(), bytes.span.size(), digest);
  Local<ArrayBuffer> buffer;
  if (length == 0 || !NewBuffer(info.GetIsolate(), length).ToLocal(&buffer)) return;
  memcpy(buffer->Data(), digest, length);
  info.GetReturnValue().Set(buffer);
}

// plainUrl(text, base, places): the text where it is an ordinary URL, or what a path and an ordinary base (undefined: none) give
// together, with the places of its components in a Uint32Array of six; undefined where it takes the whole parser.
void PlainUrl(const FunctionCallbackInfo<Value>& info) {
  Isolate* isolate = info.GetIsolate();
  if (!info[0]->IsString() || !info[2]->IsUint32Array()) return;
  auto text = info[0].As<String>();
  url::Places places;
  if (!MayFlatten(isolate, text)) return;
  if (!info[1]->IsString()) {
    String::ValueView view(isolate, text);
    if (!view.is_one_byte() || !url::Scan(view.data8(), view.length(), &places)) return;
  } else {
    auto base = info[1].As<String>();
    if (!MayFlatten(isolate, base)) return;
    Room room(From(info), static_cast<size_t>(base->Length()) + text->Length());
    if (room.bytes() == nullptr) return;
    size_t joined = 0;
    // Makes it flat: no string may move while another is looked at.
    { String::ValueView flat(isolate, text); }
    {
      String::ValueView base_view(isolate, base);
      url::Places base_places;
      if (!base_view.is_one_byte() || !url::Scan(base_view.data8(), base_view.length(), &base_places)) return;
      String::ValueView view(isolate, text);
      if (!view.is_one_byte()) return;
      if (!url::Scan(view.data8(), view.length(), &places)) {
        joined = url::Join(base_view.data8(), base_places, view.data8(), view.length(), room.bytes());
        if (joined == 0 || joined > kTextMax || !url::Scan(room.bytes(), joined, &places)) return;
      }
    }
    if (joined > 0 && !FitsOnHeap(isolate, joined)) return ThrowNoMemory(isolate);
    if (joined > 0 && !String::NewFromOneByte(isolate, room.bytes(), NewStringType::kNormal, static_cast<int>(joined)).ToLocal(&text)) return;
  }
  auto view = info[2].As<Uint32Array>();
  if (view->ByteLength() < sizeof places) return;
  memcpy(static_cast<char*>(view->Buffer()->Data()) + view->ByteOffset(), &places, sizeof places);
  info.GetReturnValue().Set(text);
}

// evaluate(code, name, cache): the value of a script of the guest's own, with V8's compiled form of it as one character a byte;
// a form that V8 refuses only costs the time to compile.
void Evaluate(const FunctionCallbackInfo<Value>& info) {
  Isolate* isolate = info.GetIsolate();
  if (!info[0]->IsString() || !info[1]->IsString() || !info[2]->IsString()) return;
  Local<Context> context = From(info)->context.Get(isolate);
  auto form = info[2].As<String>();
  size_t size = form->Length();
  auto* bytes = new (std::nothrow) uint8_t[size + 1];
  if (bytes == nullptr) return;
  form->WriteOneByteV2(isolate, 0, size, bytes);
  ScriptOrigin origin(info[1]);
  // The source owns the form, and the form its bytes.
  ScriptCompiler::Source source(info[0].As<String>(), origin,
                                new ScriptCompiler::CachedData(bytes, static_cast<int>(size), ScriptCompiler::CachedData::BufferOwned));
  Local<Script> script;
  Local<Value> result;
  if (ScriptCompiler::Compile(context, &source, ScriptCompiler::kConsumeCodeCache).ToLocal(&script) && script->Run(context).ToLocal(&result)) {
    info.GetReturnValue().Set(result);
  }
}

// evaluateShared(key, name, label): the value of a script that was provided for the snapshot of that key; undefined where there is none.
void EvaluateShared(const FunctionCallbackInfo<Value>& info) {
  Local<Context> context = From(info)->context.Get(info.GetIsolate());
  Local<Script> script;
  Local<Value> result;
  if (shared::Find(context, info[0], info[1], info[2]).ToLocal(&script) && script->Run(context).ToLocal(&result)) info.GetReturnValue().Set(result);
}

// Counts a shared memory as what it may grow to; false where that is more than is left.
bool CountShared(Engine* engine, std::shared_ptr<BackingStore> store) {
  size_t bytes = store->MaxByteLength() > kSharedBytesMin ? store->MaxByteLength() : kSharedBytesMin;
  if (TooLarge(engine, bytes)) return false;
  if (engine->shared_count == engine->shared_room) {
    size_t room = engine->shared_room == 0 ? 8 : engine->shared_room * 2;
    auto* larger = new (std::nothrow) SharedMemory[room];
    if (larger == nullptr) return false;
    for (size_t at = 0; at < engine->shared_count; at++) larger[at] = std::move(engine->shared[at]);
    delete[] engine->shared;
    engine->shared = larger;
    engine->shared_room = room;
  }
  engine->shared[engine->shared_count++] = {store, bytes};
  return true;
}

// Whether an object that V8 has just made, and nobody has touched, may be had. The allocator of isolated-vm bounds what cannot grow.
bool Admits(Engine* engine, Local<Object> made) {
  if (engine->external_max == 0) return true;
  if (made->IsArrayBuffer()) {
    auto buffer = made.As<ArrayBuffer>();
    return !buffer->IsResizableByUserJavaScript() || (buffer->MaxByteLength() <= engine->external_max && !TooLarge(engine));
  }
  if (made->IsSharedArrayBuffer()) {
    auto store = made.As<SharedArrayBuffer>()->GetBackingStore();
    return !store->IsResizableByUserJavaScript() || CountShared(engine, store);
  }
  if (!made->IsWasmMemoryObject()) return true;
  Local<Value> buffer = made.As<WasmMemoryObject>()->Buffer();
  return buffer->IsSharedArrayBuffer() ? CountShared(engine, buffer.As<SharedArrayBuffer>()->GetBackingStore()) : !TooLarge(engine);
}

// A constructor that tenants have in place of V8's: it makes the same object, and says whether it may be had.
void Construct(const FunctionCallbackInfo<Value>& info) {
  auto* fence = static_cast<Fence*>(info.Data().As<External>()->Value());
  Engine* engine = fence->engine;
  Isolate* isolate = engine->isolate;
  Local<Context> context = isolate->GetCurrentContext();
  Local<Function> original = fence->original.Get(isolate);
  int count = info.Length() < 2 ? info.Length() : 2;
  Local<Value> arguments[] = {info[0], info[1]};
  Local<Value> made;
  if (!info.IsConstructCall()) {
    // It throws.
    if (original->Call(context, info.This(), count, arguments).ToLocal(&made)) info.GetReturnValue().Set(made);
    return;
  }
  if (!fence->adapt.IsEmpty() && info[0]->IsFunction()) {
    Local<Value> adapted;
    if (!fence->adapt.Get(isolate)->Call(context, Undefined(isolate), 1, arguments).ToLocal(&adapted)) return;
    arguments[0] = adapted;
  }
  if (info.NewTarget() == fence->self.Get(isolate)) {
    Local<Object> object;
    if (!original->NewInstance(context, count, arguments).ToLocal(&object)) return;
    made = object;
  } else {
    Local<Value> parameters[] = {original, Array::New(isolate, arguments, count), info.NewTarget()};
    if (!engine->construct.Get(isolate)->Call(context, Undefined(isolate), 3, parameters).ToLocal(&made)) return;
  }
  if (made->IsObject() && !Admits(engine, made.As<Object>())) return ThrowNoMemory(isolate);
  info.GetReturnValue().Set(made);
}

// Calls what a function of V8's was, with the same receiver.
void CallOriginal(const FunctionCallbackInfo<Value>& info, Local<Function> original, Local<Value> first) {
  Isolate* isolate = info.GetIsolate();
  Local<Value> arguments[] = {first, info[1]}, result;
  int count = info.Length() < 2 ? info.Length() : 2;
  if (original->Call(isolate->GetCurrentContext(), info.This(), count, arguments).ToLocal(&result)) info.GetReturnValue().Set(result);
}

// ArrayBuffer.prototype.resize, transfer and transferToFixedLength: memory that can be resized is asked for here, before it is had.
void Resize(const FunctionCallbackInfo<Value>& info) {
  auto* fence = static_cast<Fence*>(info.Data().As<External>()->Value());
  Isolate* isolate = info.GetIsolate();
  Local<Function> original = fence->original.Get(isolate);
  if (!info.This()->IsArrayBuffer() || !info.This().As<ArrayBuffer>()->IsResizableByUserJavaScript() || info[0]->IsUndefined())
    return CallOriginal(info, original, info[0]);
  // Asked for its number once: it may be any object.
  Local<Number> number;
  if (!info[0]->ToNumber(isolate->GetCurrentContext()).ToLocal(&number)) return;
  double bytes = number->Value();
  size_t now = info.This().As<ArrayBuffer>()->ByteLength();
  if (bytes > static_cast<double>(now) && bytes <= static_cast<double>(info.This().As<ArrayBuffer>()->MaxByteLength()) &&
      TooLarge(fence->engine, static_cast<size_t>(bytes) - now))
    return ThrowNoMemory(isolate);
  CallOriginal(info, original, number);
}

// Whether bytes that are to be compiled make a shared memory, which then is said with an error.
bool RefusesModule(Engine* engine, Local<Value> source, Local<Value>* error) {
  Isolate* isolate = engine->isolate;
  const uint8_t* bytes = nullptr;
  size_t size = 0;
  if (source->IsArrayBufferView()) {
    auto view = source.As<ArrayBufferView>();
    size = view->ByteLength();
    if (size > 64) bytes = static_cast<const uint8_t*>(view->Buffer()->Data()) + view->ByteOffset();
    uint8_t small[64];
    if (size <= 64) {
      view->CopyContents(small, sizeof small);
      if (!wasm::MakesSharedMemory(small, size)) return false;
    }
  } else if (source->IsArrayBuffer()) {
    bytes = static_cast<const uint8_t*>(source.As<ArrayBuffer>()->Data());
    size = source.As<ArrayBuffer>()->ByteLength();
  } else if (source->IsSharedArrayBuffer()) {
    bytes = static_cast<const uint8_t*>(source.As<SharedArrayBuffer>()->Data());
    size = source.As<SharedArrayBuffer>()->ByteLength();
  } else {
    return false;
  }
  if (bytes != nullptr && !wasm::MakesSharedMemory(bytes, size)) return false;
  if (bytes == nullptr && size > 64) return false;
  Local<Value> message = String::NewFromUtf8Literal(isolate, "A module cannot make a shared memory here: import a WebAssembly.Memory instead");
  Local<Object> made;
  *error = engine->compile_error.Get(isolate)->NewInstance(isolate->GetCurrentContext(), 1, &message).ToLocal(&made) ? made.As<Value>() : message;
  return true;
}

Engine* EngineOf(Local<Context> context) {
  if (context->GetNumberOfEmbedderDataFields() <= 1 || !context->GetEmbedderData(1)->IsExternal()) return nullptr;
  return static_cast<Engine*>(context->GetEmbedderData(1).As<External>()->Value());
}

// new WebAssembly.Module(bytes).
bool OnModule(const FunctionCallbackInfo<Value>& info) {
  Engine* engine = EngineOf(info.GetIsolate()->GetCurrentContext());
  Local<Value> error;
  if (engine == nullptr || engine->compile_error.IsEmpty() || !RefusesModule(engine, info[0], &error)) return false;
  info.GetIsolate()->ThrowException(error);
  return true;
}

// WebAssembly.compile and instantiate.
void Compile(const FunctionCallbackInfo<Value>& info) {
  auto* fence = static_cast<Fence*>(info.Data().As<External>()->Value());
  Isolate* isolate = info.GetIsolate();
  Local<Context> context = isolate->GetCurrentContext();
  Local<Value> error;
  if (!RefusesModule(fence->engine, info[0], &error)) {
    Local<Value> arguments[] = {info[0], info[1], info[2]}, result;
    int count = info.Length() < 3 ? info.Length() : 3;
    if (fence->original.Get(isolate)->Call(context, info.This(), count, arguments).ToLocal(&result)) info.GetReturnValue().Set(result);
    return;
  }
  Local<Promise::Resolver> resolver;
  if (!Promise::Resolver::New(context).ToLocal(&resolver) || resolver->Reject(context, error).IsNothing()) return;
  info.GetReturnValue().Set(resolver->GetPromise());
}

// A function in place of another, with its name and length; empty where V8 has no room for it.
MaybeLocal<Function> Replace(Engine* engine, Local<Function> original, FunctionCallback callback, int length, ConstructorBehavior behavior) {
  Isolate* isolate = engine->isolate;
  if (engine->fence_count == kFences) return {};
  Fence* fence = &engine->fences[engine->fence_count++];
  fence->engine = engine;
  fence->original.Reset(isolate, original);
  auto pattern = FunctionTemplate::New(isolate, callback, External::New(isolate, fence), {}, length, behavior);
  if (original->GetName()->IsString()) pattern->SetClassName(original->GetName().As<String>());
  Local<Function> made;
  if (!pattern->GetFunction(engine->context.Get(isolate)).ToLocal(&made)) return {};
  fence->self.Reset(isolate, made);
  return made;
}

// fence(original, adapt): a constructor that makes what the original makes, as far as the isolate may hold it. `adapt` gives the first
// argument where it is a function. Its properties are the caller's to copy.
void FenceConstructor(const FunctionCallbackInfo<Value>& info) {
  Engine* engine = From(info);
  Isolate* isolate = engine->isolate;
  Local<Context> context = engine->context.Get(isolate);
  if (!info[0]->IsFunction()) return;
  Local<Function> original = info[0].As<Function>(), made;
  Local<Value> prototype;
  auto key = String::NewFromUtf8Literal(isolate, "prototype", NewStringType::kInternalized);
  if (!Replace(engine, original, Construct, 1, ConstructorBehavior::kAllow).ToLocal(&made) || !original->Get(context, key).ToLocal(&prototype)) return;
  if (info[1]->IsFunction()) engine->fences[engine->fence_count - 1].adapt.Reset(isolate, info[1].As<Function>());
  if (made->Set(context, key, prototype).IsNothing()) return;
  info.GetReturnValue().Set(made);
}

// fenceMethod(original, length, kind): ArrayBuffer's that resize (0), WebAssembly's that compile (1).
void FenceMethod(const FunctionCallbackInfo<Value>& info) {
  Engine* engine = From(info);
  if (!info[0]->IsFunction() || !info[1]->IsInt32() || !info[2]->IsInt32()) return;
  auto callback = info[2].As<Int32>()->Value() == 0 ? Resize : Compile;
  Local<Function> made;
  if (Replace(engine, info[0].As<Function>(), callback, info[1].As<Int32>()->Value(), ConstructorBehavior::kThrow).ToLocal(&made)) info.GetReturnValue().Set(made);
}

// fences(construct, CompileError): Reflect.construct, and what modules are refused with, as they were before any tenant's code.
void Fences(const FunctionCallbackInfo<Value>& info) {
  Engine* engine = From(info);
  if (info[0]->IsFunction()) engine->construct.Reset(engine->isolate, info[0].As<Function>());
  if (info[1]->IsFunction()) engine->compile_error.Reset(engine->isolate, info[1].As<Function>());
}

void LoadLazy(Local<Name> name, const PropertyCallbackInfo<Value>& info) {
  Isolate* isolate = info.GetIsolate();
  Local<Value> argument = name;
  Local<Value> value;
  if (info.Data().As<Function>()->Call(isolate->GetCurrentContext(), Undefined(isolate), 1, &argument).ToLocal(&value)) info.GetReturnValue().Set(value);
}

// defineLazy(target, name, enumerable, load): a property whose value is load(name) from its first use on. Script cannot tell it from
// a plain one, which an accessor would not manage.
void DefineLazy(const FunctionCallbackInfo<Value>& info) {
  if (!info[0]->IsObject() || !info[1]->IsName() || !info[3]->IsFunction()) return;
  auto attributes = info[2]->IsTrue() ? None : DontEnum;
  Local<Context> context = From(info)->context.Get(info.GetIsolate());
  // Where it cannot, that is thrown already.
  if (info[0].As<Object>()->SetLazyDataProperty(context, info[1].As<Name>(), LoadLazy, info[3], attributes).IsNothing()) return;
}

// Tells the guest of promises that were rejected without a handler (1), and of handlers that came late (0).
void OnReject(PromiseRejectMessage message) {
  auto event = message.GetEvent();
  if (event != kPromiseRejectWithNoHandler && event != kPromiseHandlerAddedAfterReject) return;
  Local<Promise> promise = message.GetPromise();
  Isolate* isolate = Isolate::GetCurrent();
  HandleScope scope(isolate);
  Engine* engine = EngineOf(isolate->GetCurrentContext());
  Local<Value> found;
  if (engine == nullptr) return;
  if (engine->rejected.IsEmpty() || isolate->IsExecutionTerminating()) return;
  Local<Value> arguments[] = {Boolean::New(isolate, event == kPromiseRejectWithNoHandler), promise,
                              message.GetValue().IsEmpty() ? Local<Value>(Undefined(isolate)) : message.GetValue()};
  TryCatch caught(isolate);
  if (!engine->rejected.Get(isolate)->Call(isolate->GetCurrentContext(), Undefined(isolate), 3, arguments).ToLocal(&found)) return;
}

}  // namespace

namespace {

// The context's buffer goes, and its isolate with it: no handle may be touched any more, and none needs to be.
void Release(void*, size_t, void* pointer) {
  auto* engine = static_cast<Engine*>(pointer);
  delete[] engine->shared;
  operator delete(pointer);
}

}  // namespace

extern "C" __attribute__((visibility("default"))) void InitForContext(Isolate* isolate, Local<Context> context, Local<Object> target) {
  void* room = operator new(sizeof(Engine), std::nothrow);
  if (room == nullptr) {
    isolate->ThrowError("There is no memory for an isolate");
    return;
  }
  auto* engine = new (room) Engine();
  std::shared_ptr<BackingStore> store = ArrayBuffer::NewBackingStore(room, sizeof(Engine), Release, room);
  engine->isolate = isolate;
  engine->context.Reset(isolate, context);
  engine->memory.Reset(isolate, ArrayBuffer::New(isolate, std::move(store)));
  engine->account_key.Reset(isolate, String::NewFromUtf8Literal(isolate, "account", NewStringType::kInternalized));
  engine->used_key.Reset(isolate, String::NewFromUtf8Literal(isolate, "used", NewStringType::kInternalized));
  engine->limit_key.Reset(isolate, String::NewFromUtf8Literal(isolate, "limit", NewStringType::kInternalized));
  Local<Name> names[] = {engine->used_key.Get(isolate), engine->limit_key.Get(isolate)};
  Local<Value> values[] = {Number::New(isolate, 0), Number::New(isolate, 0)};
  engine->nobody.Reset(isolate, Object::New(isolate, Null(isolate), names, values, 2));
  Local<External> self = External::New(isolate, engine);
  context->SetEmbedderData(1, self);
  isolate->SetPromiseRejectCallback(OnReject);
  isolate->SetWasmModuleCallback(OnModule);
  isolate->SetMicrotasksPolicy(MicrotasksPolicy::kExplicit);
  CloseGate(engine);
  auto define = [&](const char* name, FunctionCallback callback) {
    Local<String> key;
    Local<Function> function;
    if (!String::NewFromUtf8(isolate, name, NewStringType::kInternalized).ToLocal(&key)) return;
    if (!Function::New(context, callback, self, 0, ConstructorBehavior::kThrow).ToLocal(&function)) return;
    // Before any tenant's code. Where it cannot be had, whoever asks for it finds nothing.
    if (target->CreateDataProperty(context, key, function).IsNothing()) return;
  };
  define("run", Run);
  define("load", Load);
  define("settled", Settled);
  define("compiledForm", CompiledForm);
  define("trim", Trim);
  define("bind", Bind);
  define("own", Own);
  define("stretch", Stretch);
  define("getContext", GetContext);
  define("setContext", SetContext);
  define("checkpoint", Checkpoint);
  define("now", Now);
  define("randomFill", RandomFill);
  define("evaluate", Evaluate);
  define("defineLazy", DefineLazy);
  define("atob", Atob);
  define("btoa", Btoa);
  define("utf8Encode", Utf8Encode);
  define("utf8EncodeInto", Utf8EncodeInto);
  define("clone", Clone);
  define("utf8Decode", Utf8Decode);
  define("digest", Digest);
  define("plainUrl", PlainUrl);
  define("fences", Fences);
  define("fence", FenceConstructor);
  define("fenceMethod", FenceMethod);
  define("shareSource", shared::ShareSource);
  define("provideScript", shared::ProvideScript);
  define("evaluateShared", EvaluateShared);
}
