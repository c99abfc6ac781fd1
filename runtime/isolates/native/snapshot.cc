// Makes the guest's snapshot: an addon for the child process that builds it (../snapshot-build.ts), never loaded by an engine.
// isolated-vm gives each isolate a context of its own beside the one that is asked for, and its createSnapshot would put the
// guest into both. This one holds two contexts: the default, which is bare, and the guest's (../snapshot.ts says who gets which).
//
// Built by build.ts like guest.cc.
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

// The script of the guest, copied out of the isolate that asks.
struct Source {
  char* bytes;
  int length;
};

// Runs the script; what it throws is copied into `error`.
bool RunGuest(Isolate* isolate, Local<Context> context, const Source& source, char* error, size_t error_max) {
  Context::Scope scope(context);
  TryCatch caught(isolate);
  Local<String> code;
  Local<Script> script;
  Local<Value> result;
  ScriptOrigin origin(String::NewFromUtf8Literal(isolate, "platform:guest"));
  if (String::NewFromUtf8(isolate, source.bytes, NewStringType::kNormal, source.length).ToLocal(&code) &&
      Script::Compile(context, code, &origin).ToLocal(&script) && script->Run(context).ToLocal(&result)) {
    return true;
  }
  Local<Value> stack;
  String::Utf8Value text(isolate, caught.StackTrace(context).ToLocal(&stack) ? stack : caught.Exception());
  strncpy(error, *text == nullptr ? "The guest failed" : *text, error_max - 1);
  return false;
}

// createSnapshot(utf8 code): ArrayBuffer.
void CreateSnapshot(const FunctionCallbackInfo<Value>& info) {
  Isolate* caller = info.GetIsolate();
  if (!info[0]->IsUint8Array()) return Throw(caller, "createSnapshot needs the bytes of a script");
  auto view = info[0].As<Uint8Array>();
  Source source{static_cast<char*>(view->Buffer()->Data()) + view->ByteOffset(), static_cast<int>(view->ByteLength())};
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
      RunGuest(isolate, guest, source, error, sizeof error);
      creator.AddContext(guest, fields);
    }
    platform->DrainTasks(isolate);
    // Also after an error: a creator that made no blob ends the process.
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

extern "C" NODE_MODULE_EXPORT void NODE_MODULE_INITIALIZER(Local<Object> exports, Local<Value>, Local<Context> context) {
  exports->Set(context, String::NewFromUtf8Literal(Isolate::GetCurrent(), "createSnapshot"), Function::New(context, CreateSnapshot).ToLocalChecked())
      .Check();
}
