#include "fences.h"

#include "../codecs/wasm-memory.h"
#include "checked-numbers.h"
#include "guest.h"

namespace native {

namespace {

// The kinds of `fenceMethod`, see guest.cc.
enum MethodKind { kResizes, kCompiles };

Fence* FenceOf(const FunctionCallbackInfo<Value>& info) {
  return static_cast<Fence*>(info.Data().As<External>()->Value());
}

// Calls V8's function with the same receiver and at most `count_max` arguments, the first replaced by `first`.
template <int kCountMax>
void CallOriginal(const FunctionCallbackInfo<Value>& info, Local<Value> first) {
  Isolate* isolate = info.GetIsolate();
  Local<Value> arguments[kCountMax] = {first}, result;
  for (int at = 1; at < kCountMax; at++) arguments[at] = info[at];
  int count = info.Length() < kCountMax ? info.Length() : kCountMax;
  Local<Function> original = FenceOf(info)->original.Get(isolate);
  if (original->Call(isolate->GetCurrentContext(), info.This(), count, arguments).ToLocal(&result))
    info.GetReturnValue().Set(result);
}

// Whether a tenant may have an object that V8 has just made. What cannot grow is bounded by isolated-vm's allocator.
bool Allows(Guest* guest, Local<Object> made) {
  size_t max = guest->memory.external_max;
  if (max == 0) return true;
  if (made->IsArrayBuffer()) {
    auto buffer = made.As<ArrayBuffer>();
    return !buffer->IsResizableByUserJavaScript() || (buffer->MaxByteLength() <= max && !ExceedsMemory(guest));
  }
  if (made->IsSharedArrayBuffer()) {
    auto store = made.As<SharedArrayBuffer>()->GetBackingStore();
    return !store->IsResizableByUserJavaScript() || CountShared(guest, store);
  }
  if (!made->IsWasmMemoryObject()) return true;
  Local<Value> buffer = made.As<WasmMemoryObject>()->Buffer();
  if (!buffer->IsSharedArrayBuffer()) return !ExceedsMemory(guest);
  return CountShared(guest, buffer.As<SharedArrayBuffer>()->GetBackingStore());
}

// In place of a constructor: makes the same object, and throws where the guest may not hold it.
void Construct(const FunctionCallbackInfo<Value>& info) {
  // Without `new` V8's function throws.
  if (!info.IsConstructCall()) return CallOriginal<2>(info, info[0]);
  Fence* fence = FenceOf(info);
  Guest* guest = fence->guest;
  Isolate* isolate = guest->isolate;
  Local<Context> context = isolate->GetCurrentContext();
  Local<Function> original = fence->original.Get(isolate);
  int count = info.Length() < 2 ? info.Length() : 2;
  Local<Value> arguments[] = {info[0], info[1]};
  Local<Value> made;
  if (!fence->adapt.IsEmpty() && info[0]->IsFunction()) {
    Local<Value> adapted;
    if (!fence->adapt.Get(isolate)->Call(context, Undefined(isolate), 1, arguments).ToLocal(&adapted)) return;
    arguments[0] = adapted;
  }
  if (info.NewTarget() == fence->replacement.Get(isolate)) {
    Local<Object> object;
    if (!original->NewInstance(context, count, arguments).ToLocal(&object)) return;
    made = object;
  } else {
    Local<Value> parameters[] = {original, Array::New(isolate, arguments, count), info.NewTarget()};
    Local<Function> construct = guest->fences.construct.Get(isolate);
    if (!construct->Call(context, Undefined(isolate), 3, parameters).ToLocal(&made)) return;
  }
  if (made->IsObject() && !Allows(guest, made.As<Object>())) return ThrowNoMemory(isolate);
  info.GetReturnValue().Set(made);
}

// In place of ArrayBuffer.prototype.resize, transfer and transferToFixedLength: checked before V8 commits the memory.
void Resize(const FunctionCallbackInfo<Value>& info) {
  Isolate* isolate = info.GetIsolate();
  bool resizable = info.This()->IsArrayBuffer() && info.This().As<ArrayBuffer>()->IsResizableByUserJavaScript();
  if (!resizable || info[0]->IsUndefined()) return CallOriginal<2>(info, info[0]);
  // Converted once, since it may be an object that gives another number each time; it may also resize or detach the
  // buffer.
  Local<Number> number;
  if (!info[0]->ToNumber(isolate->GetCurrentContext()).ToLocal(&number)) return;
  auto buffer = info.This().As<ArrayBuffer>();
  size_t growth = GrowthInBytes(number->Value(), buffer->ByteLength(), buffer->MaxByteLength());
  if (growth > 0 && ExceedsMemory(FenceOf(info)->guest, growth)) return ThrowNoMemory(isolate);
  CallOriginal<2>(info, number);
}

// The bytes of a buffer or view; views of up to 64 bytes may lie on V8's heap and are copied. Null where it is neither.
struct ModuleBytes {
  uint8_t small[64];
  const uint8_t* bytes = nullptr;
  size_t size = 0;

  explicit ModuleBytes(Local<Value> source) {
    if (source->IsArrayBufferView()) {
      auto view = source.As<ArrayBufferView>();
      size = view->ByteLength();
      if (size > sizeof small) {
        bytes = static_cast<const uint8_t*>(view->Buffer()->Data()) + view->ByteOffset();
      } else {
        view->CopyContents(small, sizeof small);
        bytes = small;
      }
    } else if (source->IsArrayBuffer()) {
      bytes = static_cast<const uint8_t*>(source.As<ArrayBuffer>()->Data());
      size = source.As<ArrayBuffer>()->ByteLength();
    } else if (source->IsSharedArrayBuffer()) {
      bytes = static_cast<const uint8_t*>(source.As<SharedArrayBuffer>()->Data());
      size = source.As<SharedArrayBuffer>()->ByteLength();
    }
  }
};

// Whether a WebAssembly module is refused because it makes a shared memory; `error` is then what is to be thrown.
bool RefusesModule(Guest* guest, Local<Value> source, Local<Value>* error) {
  Isolate* isolate = guest->isolate;
  ModuleBytes module(source);
  if (module.bytes == nullptr || !wasm::MakesSharedMemory(module.bytes, module.size)) return false;
  Local<Value> message = String::NewFromUtf8Literal(
      isolate, "A module cannot make a shared memory here: import a WebAssembly.Memory instead");
  Local<Object> made;
  Local<Function> compile_error = guest->fences.compile_error.Get(isolate);
  bool could_make = compile_error->NewInstance(isolate->GetCurrentContext(), 1, &message).ToLocal(&made);
  *error = could_make ? made.As<Value>() : message;
  return true;
}

// In place of WebAssembly.compile and instantiate.
void Compile(const FunctionCallbackInfo<Value>& info) {
  Local<Context> context = info.GetIsolate()->GetCurrentContext();
  Local<Value> error;
  if (!RefusesModule(FenceOf(info)->guest, info[0], &error)) return CallOriginal<3>(info, info[0]);
  Local<Promise::Resolver> resolver;
  if (!Promise::Resolver::New(context).ToLocal(&resolver) || resolver->Reject(context, error).IsNothing()) return;
  info.GetReturnValue().Set(resolver->GetPromise());
}

// A function in place of another, with its name and the given length; empty where that fails.
MaybeLocal<Function> Replace(Guest* guest, Local<Function> original, FunctionCallback callback, int length,
                             ConstructorBehavior behavior) {
  Isolate* isolate = guest->isolate;
  FenceState& state = guest->fences;
  if (state.count == FenceState::kFencesMax) return {};
  Fence* fence = &state.fences[state.count++];
  fence->guest = guest;
  fence->original.Reset(isolate, original);
  auto pattern = FunctionTemplate::New(isolate, callback, External::New(isolate, fence), {}, length, behavior);
  if (original->GetName()->IsString()) pattern->SetClassName(original->GetName().As<String>());
  Local<Function> made;
  if (!pattern->GetFunction(guest->context.Get(isolate)).ToLocal(&made)) return {};
  fence->replacement.Reset(isolate, made);
  return made;
}

}  // namespace

bool OnModule(const FunctionCallbackInfo<Value>& info) {
  Guest* guest = GuestOf(info.GetIsolate()->GetCurrentContext());
  Local<Value> error;
  if (guest == nullptr || guest->fences.compile_error.IsEmpty() || !RefusesModule(guest, info[0], &error)) return false;
  info.GetIsolate()->ThrowException(error);
  return true;
}

void FenceConstructor(const FunctionCallbackInfo<Value>& info) {
  Guest* guest = GuestOf(info);
  Isolate* isolate = guest->isolate;
  Local<Context> context = guest->context.Get(isolate);
  if (!info[0]->IsFunction()) return;
  Local<Function> original = info[0].As<Function>(), made;
  Local<Value> prototype;
  auto key = String::NewFromUtf8Literal(isolate, "prototype", NewStringType::kInternalized);
  if (!Replace(guest, original, Construct, 1, ConstructorBehavior::kAllow).ToLocal(&made)) return;
  if (!original->Get(context, key).ToLocal(&prototype)) return;
  Fence& fence = guest->fences.fences[guest->fences.count - 1];
  if (info[1]->IsFunction()) fence.adapt.Reset(isolate, info[1].As<Function>());
  if (made->Set(context, key, prototype).IsNothing()) return;
  info.GetReturnValue().Set(made);
}

void FenceMethod(const FunctionCallbackInfo<Value>& info) {
  if (!info[0]->IsFunction() || !info[1]->IsInt32() || !info[2]->IsInt32()) return;
  auto callback = info[2].As<Int32>()->Value() == kResizes ? Resize : Compile;
  int length = info[1].As<Int32>()->Value();
  Local<Function> made;
  if (Replace(GuestOf(info), info[0].As<Function>(), callback, length, ConstructorBehavior::kThrow).ToLocal(&made)) {
    info.GetReturnValue().Set(made);
  }
}

void PrepareFences(const FunctionCallbackInfo<Value>& info) {
  Guest* guest = GuestOf(info);
  if (info[0]->IsFunction()) guest->fences.construct.Reset(guest->isolate, info[0].As<Function>());
  if (info[1]->IsFunction()) guest->fences.compile_error.Reset(guest->isolate, info[1].As<Function>());
}

}  // namespace native
