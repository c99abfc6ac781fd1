#include "modules.h"

#include <string.h>

#include <new>

#include "checked-numbers.h"
#include "guest.h"

namespace native {

namespace {

// What `load` answers, see guest.cc.
enum LoadState { kLoaded, kCpuExceeded, kMemoryExceeded, kDoesNotCompile, kImports, kThrew };
// What `settled` answers.
enum SettledState { kPending, kFulfilled, kRejected };

// [state, value, line, column].
void Return(const FunctionCallbackInfo<Value>& info, int state, Local<Value> value = {}, int line = 0, int column = 0) {
  Isolate* isolate = info.GetIsolate();
  if (value.IsEmpty()) value = Undefined(isolate);
  Local<Value> elements[] = {Integer::New(isolate, state), value, Integer::New(isolate, line),
                             Integer::New(isolate, column)};
  info.GetReturnValue().Set(Array::New(isolate, elements, 4));
}

// A worker is one file: an import throws its specifier.
MaybeLocal<Module> RefuseImport(Local<Context> context, Local<String> specifier, Local<FixedArray>, Local<Module>) {
  context->GetIsolate()->ThrowException(specifier);
  return {};
}

// V8's code cache where the host has one; null where it has none. The source deletes it.
ScriptCompiler::CachedData* CacheOf(Local<Value> value) {
  if (!value->IsSharedArrayBuffer()) return nullptr;
  auto bytes = value.As<SharedArrayBuffer>();
  if (bytes->ByteLength() > String::kMaxLength) return nullptr;
  return new (std::nothrow)
      ScriptCompiler::CachedData(static_cast<const uint8_t*>(bytes->Data()), static_cast<int>(bytes->ByteLength()));
}

// Compiles and instantiates; where that fails, `info` has the answer and the module is empty.
MaybeLocal<Module> Compile(const FunctionCallbackInfo<Value>& info, Guest* guest, Local<Context> context) {
  Isolate* isolate = guest->isolate;
  auto name = String::NewFromUtf8Literal(isolate, "worker.js");
  ScriptOrigin origin(name, 0, 0, false, -1, Local<Value>(), false, false, true);
  ScriptCompiler::CachedData* cache = CacheOf(info[1]);
  ScriptCompiler::Source source(info[0].As<String>(), origin, cache);
  auto options = cache == nullptr ? ScriptCompiler::kNoCompileOptions : ScriptCompiler::kConsumeCodeCache;
  TryCatch caught(isolate);
  Local<Module> module;
  if (!ScriptCompiler::CompileModule(isolate, &source, options).ToLocal(&module)) {
    Local<Message> message = caught.Message();
    if (caught.HasTerminated() || message.IsEmpty()) return {};
    int line = message->GetLineNumber(context).FromMaybe(0), column = message->GetStartColumn(context).FromMaybe(0) + 1;
    Return(info, kDoesNotCompile, caught.Exception(), line, column);
    return {};
  }
  if (cache == nullptr || cache->rejected) guest->module.script.Reset(isolate, module->GetUnboundModuleScript());
  if (module->InstantiateModule(context, RefuseImport).IsNothing()) {
    if (!caught.HasTerminated()) Return(info, caught.Exception()->IsString() ? kImports : kThrew, caught.Exception());
    return {};
  }
  return module;
}

}  // namespace

void Load(const FunctionCallbackInfo<Value>& info) {
  Guest* guest = GuestOf(info);
  Isolate* isolate = guest->isolate;
  if (!info[0]->IsString() || !info[2]->IsObject()) return;
  Local<Context> context = guest->context.Get(isolate);
  guest->memory.external_max = info[3]->IsNumber() ? ToByteLimit(info[3].As<Number>()->Value()) : 0;
  // Already for compiling, so that a crash is blamed on the worker; but compiling is not charged to it.
  Enter(guest);
  PauseCharging(guest);
  Local<Module> module;
  if (!Compile(info, guest, context).ToLocal(&module)) {
    Leave(guest);
    return;
  }
  ResumeCharging(guest);
  isolate->SetContinuationPreservedEmbedderData(info[2]);
  TryCatch caught(isolate);
  Local<Value> evaluated;
  if (module->Evaluate(context).ToLocal(&evaluated)) isolate->PerformMicrotaskCheckpoint();
  Leave(guest);
  EndWithoutFlush(guest);
  bool cpu_exceeded = !TakeBreached(guest).IsEmpty();
  if (guest->memory.exceeded || cpu_exceeded) {
    isolate->CancelTerminateExecution();
    Return(info, guest->memory.exceeded ? kMemoryExceeded : kCpuExceeded);
    guest->memory.exceeded = false;
  } else if (isolate->IsExecutionTerminating()) {
    return;  // disposed or out of memory: the host notices by itself
  } else if (evaluated.IsEmpty() || !evaluated->IsPromise()) {
    Return(info, kThrew, caught.Exception());
  } else {
    guest->module.module.Reset(isolate, module);
    guest->module.evaluated.Reset(isolate, evaluated.As<Promise>());
    Return(info, kLoaded);
  }
  isolate->SetContinuationPreservedEmbedderData(Undefined(isolate));
}

void Settled(const FunctionCallbackInfo<Value>& info) {
  Guest* guest = GuestOf(info);
  Isolate* isolate = guest->isolate;
  ModuleState& worker = guest->module;
  if (worker.evaluated.IsEmpty()) return;
  Local<Promise> evaluated = worker.evaluated.Get(isolate);
  if (evaluated->State() == Promise::kPending) return Return(info, kPending);
  if (evaluated->State() == Promise::kFulfilled)
    Return(info, kFulfilled, worker.module.Get(isolate)->GetModuleNamespace());
  else
    Return(info, kRejected, evaluated->Result());
  worker.evaluated.Reset();
  worker.module.Reset();
}

void CompiledForm(const FunctionCallbackInfo<Value>& info) {
  Guest* guest = GuestOf(info);
  Isolate* isolate = guest->isolate;
  Global<UnboundModuleScript>& script = guest->module.script;
  if (script.IsEmpty()) return;
  auto* cache = ScriptCompiler::CreateCodeCache(script.Get(isolate));
  script.Reset();
  if (cache == nullptr) return;
  Local<ArrayBuffer> buffer;
  if (cache->length > 0 && ArrayBuffer::MaybeNew(isolate, cache->length).ToLocal(&buffer)) {
    memcpy(buffer->Data(), cache->data, cache->length);
    info.GetReturnValue().Set(buffer);
  }
  delete cache;
}

}  // namespace native
