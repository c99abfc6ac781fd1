#include "entry.h"

#include "guest.h"

namespace native {

namespace {

// Records that say that an entry has no answer: `toHost.fault` of bridge/protocol.ts.
constexpr char kAnswerFault[] = "!\x01answer\x01\x02";
constexpr char kMemoryFault[] = "!\x01memory\x01\x02";

// Tells the host that an entry ends without an answer. `leave` is a function of isolated-vm's own, which reads no
// property of anything: a tenant cannot change what it does.
void SendFault(Guest* guest, Local<Context> context, Local<String> record, double cpu_ms) {
  Isolate* isolate = guest->isolate;
  TryCatch caught(isolate);
  Local<Value> ignored;
  Local<Value> parameters[] = {record, String::Empty(isolate), Number::New(isolate, 0), Number::New(isolate, cpu_ms)};
  if (!guest->entry.leave.Get(isolate)->Call(context, Undefined(isolate), 4, parameters).ToLocal(&ignored)) return;
}

}  // namespace

void Bind(const FunctionCallbackInfo<Value>& info) {
  Guest* guest = GuestOf(info);
  for (int at = 0; at < 4; at++) {
    if (!info[at]->IsFunction()) return;
  }
  EntryState& entry = guest->entry;
  entry.process.Reset(guest->isolate, info[0].As<Function>());
  entry.flush.Reset(guest->isolate, info[1].As<Function>());
  entry.rejected.Reset(guest->isolate, info[2].As<Function>());
  entry.leave.Reset(guest->isolate, info[3].As<Function>());
}

// Where flush throws or does not end, the host is told: an entry that never left would hold its isolate and its
// requests for ever.
void Run(const FunctionCallbackInfo<Value>& info) {
  Guest* guest = GuestOf(info);
  Isolate* isolate = guest->isolate;
  Local<Context> context = guest->context.Get(isolate);
  int count = info.Length();
  LocalVector<Value> arguments(isolate);
  arguments.reserve(count);
  for (int i = 0; i < count; i++) arguments.push_back(info[i]);
  int64_t start = Enter(guest);
  {
    TryCatch caught(isolate);
    Local<Value> ignored;
    Local<Function> process = guest->entry.process.Get(isolate);
    if (process->Call(context, Undefined(isolate), count, arguments.data()).ToLocal(&ignored)) {
      isolate->PerformMicrotaskCheckpoint();
    }
  }
  int64_t end = ThreadCpuNs();
  BeginFlush(guest, end);
  double cpu_ms = (end - start) / 1e6;
  CheckMemoryAfter(guest, end - start);
  if (guest->memory.exceeded) {
    isolate->CancelTerminateExecution();
    Leave(guest);
    SendFault(guest, context, String::NewFromUtf8Literal(isolate, kMemoryFault), cpu_ms);
    return;
  }
  Local<Value> breached = Undefined(isolate);
  Local<Object> account;
  if (TakeBreached(guest).ToLocal(&account)) {
    breached = account;
  } else if (isolate->IsExecutionTerminating()) {
    Leave(guest);
    return;  // disposed or out of memory: the host notices by itself
  }
  isolate->SetContinuationPreservedEmbedderData(Undefined(isolate));
  double uncharged_ms = (end - guest->cpu.charged_at) / 1e6;
  Local<Value> results[] = {Number::New(isolate, cpu_ms), Number::New(isolate, uncharged_ms), breached};
  Local<Value> ignored;
  TryCatch caught(isolate);
  bool answered = guest->entry.flush.Get(isolate)->Call(context, Undefined(isolate), 3, results).ToLocal(&ignored);
  Leave(guest);
  bool timed_out = EndFlush(guest);
  if (answered || (!timed_out && isolate->IsExecutionTerminating())) return;
  caught.Reset();
  SendFault(guest, context, String::NewFromUtf8Literal(isolate, kAnswerFault), cpu_ms);
}

void GetContext(const FunctionCallbackInfo<Value>& info) {
  info.GetReturnValue().Set(info.GetIsolate()->GetContinuationPreservedEmbedderData());
}

void SetContext(const FunctionCallbackInfo<Value>& info) {
  info.GetIsolate()->SetContinuationPreservedEmbedderData(info[0]);
}

void Checkpoint(const FunctionCallbackInfo<Value>& info) { info.GetIsolate()->PerformMicrotaskCheckpoint(); }

void OnReject(PromiseRejectMessage message) {
  auto event = message.GetEvent();
  if (event != kPromiseRejectWithNoHandler && event != kPromiseHandlerAddedAfterReject) return;
  Local<Promise> promise = message.GetPromise();
  Isolate* isolate = Isolate::GetCurrent();
  HandleScope scope(isolate);
  Local<Context> context = isolate->GetCurrentContext();
  Guest* guest = GuestOf(context);
  if (guest == nullptr || guest->entry.rejected.IsEmpty() || isolate->IsExecutionTerminating()) return;
  Local<Value> reason = message.GetValue();
  if (reason.IsEmpty()) reason = Undefined(isolate);
  Local<Value> arguments[] = {Boolean::New(isolate, event == kPromiseRejectWithNoHandler), promise, reason}, ignored;
  TryCatch caught(isolate);
  if (!guest->entry.rejected.Get(isolate)->Call(context, Undefined(isolate), 3, arguments).ToLocal(&ignored)) return;
}

}  // namespace native
