#include "fences.h"

#include "../codecs/wasm-module.h"
#include "checked-numbers.h"
#include "guest.h"

namespace native {

namespace {

// The kinds of `fenceMethod`, see guest.cc.
enum MethodKind { kResizes, kCompiles, kValidates, kMakes, kSegments };

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

// What is said of a module that is refused.
Local<String> ReasonOf(Isolate* isolate, const wasm::Finding& found) {
  if (found.refusal == wasm::kSharedMemory)
    return String::NewFromUtf8Literal(isolate,
                                      "A module cannot make a shared memory here: import a WebAssembly.Memory instead");
  Local<String> what;
  if (found.refusal == wasm::kTailCall) {
    auto name = found.opcode == wasm::kReturnCall ? String::NewFromUtf8Literal(isolate, "return_call")
                : found.opcode == wasm::kReturnCallIndirect
                    ? String::NewFromUtf8Literal(isolate, "return_call_indirect")
                    : String::NewFromUtf8Literal(isolate, "return_call_ref");
    auto why = String::NewFromUtf8Literal(
        isolate, " cannot be used here, since nothing ends an endless one: compile the module without tail calls");
    what = String::Concat(isolate, name, why);
  } else {
    what = String::NewFromUtf8Literal(isolate, "An instruction is not known here");
  }
  what = String::Concat(isolate, what, String::NewFromUtf8Literal(isolate, " @+"));
  Local<String> place;
  auto at = Number::New(isolate, static_cast<double>(found.at));
  if (!at->ToString(isolate->GetCurrentContext()).ToLocal(&place)) return what;
  return String::Concat(isolate, what, place);
}

// What V8 holds of a module outside the heap: the bytes, what it knows of each function, and code.
size_t BytesOfModule(size_t size, size_t functions) { return 24 * 1024 + 3 * size + 320 * functions; }

// Whether a WebAssembly module is refused; `error` is then what is to be thrown, else `held` what is to be held.
bool RefusesModule(Guest* guest, Local<Value> source, Local<Value>* error, size_t* held) {
  Isolate* isolate = guest->isolate;
  ModuleBytes module(source);
  if (module.bytes == nullptr) return false;
  wasm::Finding found = wasm::FindRefused(module.bytes, module.size);
  *held = BytesOfModule(module.size, found.functions);
  if (found.refusal == wasm::kNothing) {
    if (MayHold(guest, *held)) return false;
    *error = Exception::RangeError(String::NewFromUtf8Literal(isolate, "There is no memory left for a module"));
    return true;
  }
  Local<Value> message = ReasonOf(isolate, found);
  Local<Object> made;
  Local<Function> compile_error = guest->fences.compile_error.Get(isolate);
  bool could_make = compile_error->NewInstance(isolate->GetCurrentContext(), 1, &message).ToLocal(&made);
  *error = could_make ? made.As<Value>() : message;
  return true;
}

void ThrowNothingLeft(Isolate* isolate) {
  auto message = String::NewFromUtf8Literal(isolate, "There is no memory left for an object of Intl");
  isolate->ThrowException(Exception::RangeError(message));
}

// Counts what the object that was made holds.
void HoldMade(const FunctionCallbackInfo<Value>& info, size_t bytes) {
  Local<Value> made = info.GetReturnValue().Get();
  if (made->IsObject()) Hold(FenceOf(info)->guest, made.As<Object>(), bytes);
}

// In place of a constructor: makes the same object, and throws where the guest may not hold it.
void Construct(const FunctionCallbackInfo<Value>& info) {
  Fence* fence = FenceOf(info);
  size_t held_bytes = fence->held_bytes;
  if (held_bytes > 0 && !MayHold(fence->guest, held_bytes)) return ThrowNothingLeft(info.GetIsolate());
  if (!info.IsConstructCall()) {
    // Of those without `held_bytes` V8's function throws.
    CallOriginal<2>(info, info[0]);
    if (held_bytes > 0) HoldMade(info, held_bytes);
    return;
  }
  Guest* guest = fence->guest;
  Isolate* isolate = guest->isolate;
  Local<Context> context = isolate->GetCurrentContext();
  Local<Function> original = fence->original.Get(isolate);
  int count = info.Length() < 2 ? info.Length() : 2;
  Local<Value> arguments[] = {info[0], info[1]};
  Local<Value> made, error;
  if (fence->compiles && RefusesModule(guest, info[0], &error, &held_bytes)) {
    isolate->ThrowException(error);
    return;
  }
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
  if (held_bytes > 0) HoldMade(info, held_bytes);
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

// In place of WebAssembly.compile and instantiate. V8 compiles before they return (core/node-flags.mjs).
void Compile(const FunctionCallbackInfo<Value>& info) {
  Guest* guest = FenceOf(info)->guest;
  Local<Context> context = info.GetIsolate()->GetCurrentContext();
  Local<Value> error;
  size_t held = 0;
  if (RefusesModule(guest, info[0], &error, &held)) {
    Local<Promise::Resolver> resolver;
    if (!Promise::Resolver::New(context).ToLocal(&resolver) || resolver->Reject(context, error).IsNothing()) return;
    return info.GetReturnValue().Set(resolver->GetPromise());
  }
  CallOriginal<3>(info, info[0]);
  Local<Value> promise = info.GetReturnValue().Get();
  if (held == 0 || !promise->IsPromise() || promise.As<Promise>()->State() != Promise::kFulfilled) return;
  Local<Value> made = promise.As<Promise>()->Result();
  // Of `instantiate` it is a property, its own.
  if (made->IsObject() && !made->IsWasmModuleObject() &&
      !made.As<Object>()
           ->GetRealNamedProperty(context, String::NewFromUtf8Literal(info.GetIsolate(), "module"))
           .ToLocal(&made))
    return;
  if (made->IsWasmModuleObject()) Hold(guest, made.As<Object>(), held);
}

// In place of WebAssembly.validate: whoever asks for a feature is told what compiling would do.
void Validate(const FunctionCallbackInfo<Value>& info) {
  ModuleBytes module(info[0]);
  if (module.bytes != nullptr && wasm::FindRefused(module.bytes, module.size).refusal != wasm::kNothing)
    return info.GetReturnValue().Set(false);
  CallOriginal<2>(info, info[0]);
}

// In place of a method whose object holds as much as those of a constructor.
void Make(const FunctionCallbackInfo<Value>& info) {
  Fence* fence = FenceOf(info);
  if (!MayHold(fence->guest, fence->held_bytes)) return ThrowNothingLeft(info.GetIsolate());
  CallOriginal<1>(info, info[0]);
  HoldMade(info, fence->held_bytes);
}

// In place of %SegmentsPrototype%[Symbol.iterator]: an iterator has a copy of what its segments hold.
void Iterate(const FunctionCallbackInfo<Value>& info) {
  Guest* guest = FenceOf(info)->guest;
  size_t bytes = info.This()->IsObject() ? HeldBytes(guest, info.This().As<Object>()) : 0;
  if (!MayHold(guest, bytes)) return ThrowNothingLeft(info.GetIsolate());
  CallOriginal<1>(info, info[0]);
  HoldMade(info, bytes);
}

MaybeLocal<Function> Replace(Guest*, Local<Function>, FunctionCallback, int, ConstructorBehavior);

// Before anybody has any segments, the first ones show where their prototype is.
bool FenceSegments(Guest* guest, Local<Object> segments) {
  if (guest->fences.fenced_segments) return true;
  Isolate* isolate = guest->isolate;
  Local<Context> context = isolate->GetCurrentContext();
  Local<Value> prototype = segments->GetPrototypeV2(), original;
  Local<Symbol> key = Symbol::GetIterator(isolate);
  Local<Function> made;
  guest->fences.fenced_segments =
      prototype->IsObject() && prototype.As<Object>()->Get(context, key).ToLocal(&original) && original->IsFunction() &&
      Replace(guest, original.As<Function>(), Iterate, 0, ConstructorBehavior::kThrow).ToLocal(&made) &&
      prototype.As<Object>()->DefineOwnProperty(context, key, made, DontEnum).FromMaybe(false);
  return guest->fences.fenced_segments;
}

// In place of Intl.Segmenter.prototype.segment: its segments have a copy of the text, of two bytes a character.
void Segment(const FunctionCallbackInfo<Value>& info) {
  Fence* fence = FenceOf(info);
  Isolate* isolate = info.GetIsolate();
  Local<String> text;
  if (!info[0]->ToString(isolate->GetCurrentContext()).ToLocal(&text)) return;
  size_t bytes = fence->held_bytes + static_cast<size_t>(text->Length()) * 2;
  if (!MayHold(fence->guest, bytes)) return ThrowNothingLeft(isolate);
  CallOriginal<1>(info, text);
  Local<Value> made = info.GetReturnValue().Get();
  if (!made->IsObject()) return;
  Hold(fence->guest, made.As<Object>(), bytes);
  if (!FenceSegments(fence->guest, made.As<Object>())) info.GetReturnValue().SetUndefined();
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

// Of the fence that was made last.
void SetHeldBytes(Guest* guest, Local<Value> bytes) {
  if (bytes->IsUint32()) guest->fences.fences[guest->fences.count - 1].held_bytes = bytes.As<Uint32>()->Value();
}

}  // namespace

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
  SetHeldBytes(guest, info[2]);
  fence.compiles = info[3]->IsTrue();
  if (made->Set(context, key, prototype).IsNothing()) return;
  info.GetReturnValue().Set(made);
}

void FenceMethod(const FunctionCallbackInfo<Value>& info) {
  if (!info[0]->IsFunction() || !info[1]->IsInt32() || !info[2]->IsInt32()) return;
  static constexpr FunctionCallback kCallbacks[] = {Resize, Compile, Validate, Make, Segment};
  int length = info[1].As<Int32>()->Value(), kind = info[2].As<Int32>()->Value();
  if (kind < kResizes || kind > kSegments) return;
  Guest* guest = GuestOf(info);
  Local<Function> made;
  if (!Replace(guest, info[0].As<Function>(), kCallbacks[kind], length, ConstructorBehavior::kThrow).ToLocal(&made))
    return;
  SetHeldBytes(guest, info[3]);
  info.GetReturnValue().Set(made);
}

void PrepareFences(const FunctionCallbackInfo<Value>& info) {
  Guest* guest = GuestOf(info);
  if (info[0]->IsFunction()) guest->fences.construct.Reset(guest->isolate, info[0].As<Function>());
  if (info[1]->IsFunction()) guest->fences.compile_error.Reset(guest->isolate, info[1].As<Function>());
}

}  // namespace native
