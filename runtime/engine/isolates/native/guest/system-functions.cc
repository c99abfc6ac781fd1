#include "system-functions.h"

#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "guest.h"

namespace native {

void Now(const FunctionCallbackInfo<Value>& info) {
  timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  info.GetReturnValue().Set((time.tv_sec * 1'000'000'000LL + time.tv_nsec) / 1e6);
}

void RandomFill(const FunctionCallbackInfo<Value>& info) {
  if (!info[0]->IsUint8Array()) return;
  auto view = info[0].As<Uint8Array>();
  auto* at = static_cast<char*>(view->Buffer()->Data()) + view->ByteOffset();
  for (size_t left = view->ByteLength(); left > 0;) {
    size_t size = left > 256 ? 256 : left;
    if (getentropy(at, size) != 0) {
      info.GetIsolate()->ThrowError("The system's random number generator failed");
      return;
    }
    at += size;
    left -= size;
  }
}

void Clone(const FunctionCallbackInfo<Value>& info) {
  if (info[0]->IsObject()) info.GetReturnValue().Set(info[0].As<Object>()->Clone(info.GetIsolate()));
}

namespace {

void LoadLazy(Local<Name> name, const PropertyCallbackInfo<Value>& info) {
  Isolate* isolate = info.GetIsolate();
  Local<Value> argument = name, value;
  Local<Function> load = info.Data().As<Function>();
  if (load->Call(isolate->GetCurrentContext(), Undefined(isolate), 1, &argument).ToLocal(&value))
    info.GetReturnValue().Set(value);
}

}  // namespace

void DefineLazy(const FunctionCallbackInfo<Value>& info) {
  if (!info[0]->IsObject() || !info[1]->IsName() || !info[3]->IsFunction()) return;
  auto attributes = info[2]->IsTrue() ? None : DontEnum;
  Local<Context> context = GuestOf(info)->context.Get(info.GetIsolate());
  auto defined = info[0].As<Object>()->SetLazyDataProperty(context, info[1].As<Name>(), LoadLazy, info[3], attributes);
  if (defined.IsNothing()) return;  // V8 has thrown why
}

}  // namespace native
