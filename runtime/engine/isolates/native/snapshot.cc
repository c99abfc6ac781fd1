// Makes the guest's snapshot: an addon for the child process that builds it (../snapshot-build.ts), never loaded by an
// engine. isolated-vm makes a context of its own in each isolate beside the one that is requested, and its
// createSnapshot would put the guest into both. This snapshot has two contexts: the default, which is bare, and the
// guest's (../snapshot.ts says which is used for what).
#include <node.h>
#include <uv.h>

#include <string.h>

#include <new>

using namespace v8;

namespace {

StartupData NoFields(Local<Object>, int, void*) { return {nullptr, 0}; }

void Throw(Isolate* isolate, const char* text) {
  isolate->ThrowException(Exception::Error(String::NewFromUtf8(isolate, text).ToLocalChecked()));
}

// A script, as bytes of the calling isolate.
struct Source {
  const char* bytes;
  int length;
  explicit Source(Local<Value> value) {
    auto view = value.As<Uint8Array>();
    bytes = static_cast<char*>(view->Buffer()->Data()) + view->ByteOffset();
    length = static_cast<int>(view->ByteLength());
  }
};

bool Compile(Local<Context> context, const Source& source, const char* name, Local<UnboundScript>* unbound,
             Local<String>* text = nullptr) {
  Isolate* isolate = context->GetIsolate();
  Local<String> code, label;
  if (!String::NewFromUtf8(isolate, source.bytes, NewStringType::kNormal, source.length).ToLocal(&code)) return false;
  if (text != nullptr) *text = code;
  if (!String::NewFromUtf8(isolate, name).ToLocal(&label)) return false;
  ScriptOrigin origin(label);
  Local<Script> script;
  if (!Script::Compile(context, code, &origin).ToLocal(&script)) return false;
  *unbound = script->GetUnboundScript();
  return true;
}

// Runs the guest in its context, and again in another with the warm-up: both share the functions' bytecode.
bool Run(Local<Context> guest, Local<Context> other, const Source& code, const Source& warm_up) {
  Isolate* isolate = guest->GetIsolate();
  Local<UnboundScript> script, warming;
  Local<Value> result;
  {
    Context::Scope scope(guest);
    // The guest's own text, which `shareSource` of guest/scripts.cc shares between isolates.
    Local<String> text;
    if (!Compile(guest, code, "platform:guest", &script, &text)) return false;
    if (guest->Global()->Set(guest, String::NewFromUtf8Literal(isolate, "source"), text).IsNothing()) return false;
    if (!script->BindToCurrentContext()->Run(guest).ToLocal(&result)) return false;
  }
  Context::Scope scope(other);
  if (!script->BindToCurrentContext()->Run(other).ToLocal(&result)) return false;
  if (!Compile(other, warm_up, "platform:warm-up", &warming) ||
      !warming->BindToCurrentContext()->Run(other).ToLocal(&result))
    return false;
  isolate->PerformMicrotaskCheckpoint();
  return result->IsFunction() && result.As<Function>()->Call(other, Undefined(isolate), 0, nullptr).ToLocal(&result);
}

// createSnapshot(utf8 code, utf8 warm-up): ArrayBuffer.
void CreateSnapshot(const FunctionCallbackInfo<Value>& info) {
  Isolate* caller = info.GetIsolate();
  if (!info[0]->IsUint8Array() || !info[1]->IsUint8Array())
    return Throw(caller, "createSnapshot needs the bytes of two scripts");
  Source code(info[0]), warm_up(info[1]);
  auto* platform = node::GetMultiIsolatePlatform(node::GetCurrentEnvironment(caller->GetCurrentContext()));
  char error[2000] = {};
  StartupData blob{nullptr, 0};
  Isolate* isolate = Isolate::Allocate();
  platform->RegisterIsolate(isolate, uv_default_loop());
  {
    SnapshotCreator creator(isolate);
    {
      Locker locker(isolate);
      Isolate::Scope isolate_scope(isolate);
      HandleScope scope(isolate);
      SerializeInternalFieldsCallback fields(&NoFields, nullptr);
      creator.SetDefaultContext(Context::New(isolate), fields);
      Local<Context> guest = Context::New(isolate);
      Local<Context> other = Context::New(isolate);
      Context::Scope entered(other);
      TryCatch caught(isolate);
      if (!Run(guest, other, code, warm_up)) {
        Local<Value> thrown = caught.Exception(), stack;
        if (caught.StackTrace(other).ToLocal(&stack) && stack->IsString()) thrown = stack;
        String::Utf8Value text(isolate, thrown);
        strncpy(error, *text == nullptr ? "The guest failed" : *text, sizeof error - 1);
      }
      creator.AddContext(guest, fields);
    }
    platform->DrainTasks(isolate);
    // Also after an error: a SnapshotCreator that makes no blob ends the process.
    blob = creator.CreateBlob(SnapshotCreator::FunctionCodeHandling::kKeep);
  }
  platform->UnregisterIsolate(isolate);
  if (error[0] != 0) return Throw(caller, error);
  if (blob.data == nullptr) return Throw(caller, "V8 made no snapshot");
  auto buffer = ArrayBuffer::New(caller, blob.raw_size);
  memcpy(buffer->Data(), blob.data, blob.raw_size);
  delete[] blob.data;
  info.GetReturnValue().Set(buffer);
}

}  // namespace

extern "C" NODE_MODULE_EXPORT void NODE_MODULE_INITIALIZER(Local<Object> exports, Local<Value>,
                                                           Local<Context> context) {
  exports
      ->Set(context, String::NewFromUtf8Literal(Isolate::GetCurrent(), "createSnapshot"),
            Function::New(context, CreateSnapshot).ToLocalChecked())
      .Check();
}
