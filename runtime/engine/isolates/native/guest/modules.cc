#include "modules.h"

#include <string.h>

#include <memory>
#include <new>
#include <utility>

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

// A worker's text in memory that the host shares with all isolates of a deployment, and never writes to again.
template <typename Resource, typename Character>
class HostText final : public Resource {
 public:
  explicit HostText(std::shared_ptr<BackingStore> store) : store_(std::move(store)) {}
  const Character* data() const override { return static_cast<const Character*>(store_->Data()); }
  size_t length() const override { return store_->ByteLength() / sizeof(Character); }

 private:
  std::shared_ptr<BackingStore> store_;
};

// The text of a SharedArrayBuffer, one or (`wide`) two bytes a character; empty where it cannot be had.
MaybeLocal<String> TextOf(Isolate* isolate, Local<Value> value, Local<Value> wide) {
  if (!value->IsSharedArrayBuffer()) return {};
  std::shared_ptr<BackingStore> store = value.As<SharedArrayBuffer>()->GetBackingStore();
  if (store->ByteLength() == 0) return String::Empty(isolate);
  MaybeLocal<String> text;
  if (wide->IsTrue()) {
    auto* resource = new (std::nothrow) HostText<String::ExternalStringResource, uint16_t>(std::move(store));
    if (resource == nullptr) return {};
    text = String::NewExternalTwoByte(isolate, resource);
    if (text.IsEmpty()) delete resource;
  } else {
    auto* resource = new (std::nothrow) HostText<String::ExternalOneByteStringResource, char>(std::move(store));
    if (resource == nullptr) return {};
    text = String::NewExternalOneByte(isolate, resource);
    if (text.IsEmpty()) delete resource;
  }
  return text;
}

ScriptOrigin OriginOf(Isolate* isolate) {
  auto name = String::NewFromUtf8Literal(isolate, "worker.js");
  return ScriptOrigin(name, 0, 0, false, -1, Local<Value>(), false, false, true);
}

// Answers with V8's code cache of a script, as an ArrayBuffer.
void ReturnCache(const FunctionCallbackInfo<Value>& info, Local<UnboundModuleScript> script) {
  auto* cache = ScriptCompiler::CreateCodeCache(script);
  if (cache == nullptr) return;
  Local<ArrayBuffer> buffer;
  if (cache->length > 0 && ArrayBuffer::MaybeNew(info.GetIsolate(), cache->length).ToLocal(&buffer)) {
    memcpy(buffer->Data(), cache->data, cache->length);
    info.GetReturnValue().Set(buffer);
  }
  delete cache;
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
MaybeLocal<Module> Compile(const FunctionCallbackInfo<Value>& info, Guest* guest, Local<Context> context,
                           Local<String> text) {
  Isolate* isolate = guest->isolate;
  ScriptCompiler::CachedData* cache = CacheOf(info[2]);
  ScriptCompiler::Source source(text, OriginOf(isolate), cache);
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
  guest->module.script.Reset(isolate, module->GetUnboundModuleScript());
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
  Local<String> text;
  if (!info[3]->IsObject() || !TextOf(isolate, info[0], info[1]).ToLocal(&text)) return;
  Local<Context> context = guest->context.Get(isolate);
  guest->memory.external_max = info[4]->IsNumber() ? ToByteLimit(info[4].As<Number>()->Value()) : 0;
  // Already for compiling, so that a crash is blamed on the worker; but compiling is not charged to it.
  Enter(guest);
  PauseCharging(guest);
  Local<Module> module;
  if (!Compile(info, guest, context, text).ToLocal(&module)) {
    Leave(guest);
    return;
  }
  ResumeCharging(guest);
  isolate->SetContinuationPreservedEmbedderData(info[3]);
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
  if (!guest->module.script.IsEmpty()) ReturnCache(info, guest->module.script.Get(guest->isolate));
}

void CompileAhead(const FunctionCallbackInfo<Value>& info) {
  Isolate* isolate = info.GetIsolate();
  Local<String> text;
  if (!TextOf(isolate, info[0], info[1]).ToLocal(&text)) return;
  ScriptCompiler::Source source(text, OriginOf(isolate));
  auto options = info[2]->IsTrue() ? ScriptCompiler::kEagerCompile : ScriptCompiler::kNoCompileOptions;
  TryCatch caught(isolate);
  Local<Module> module;
  if (ScriptCompiler::CompileModule(isolate, &source, options).ToLocal(&module))
    ReturnCache(info, module->GetUnboundModuleScript());
}

}  // namespace native
