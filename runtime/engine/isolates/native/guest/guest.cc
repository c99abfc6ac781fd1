// Native half of the guest, loaded into each isolate's context through ivm.NativeModule: what JavaScript inside an
// isolate cannot do. This file lists the functions that the guest gets, and prepares a context. Only the guest's
// closure holds these functions; no tenant's code can reach them. Arguments of the wrong type give undefined.
#include "guest.h"

#include <new>

#include "codec-functions.h"
#include "crash-report.h"
#include "scripts.h"
#include "system-functions.h"

namespace native {

namespace {

struct GuestFunction {
  const char* name;
  FunctionCallback callback;
};

constexpr GuestFunction kFunctions[] = {
    // entry.cc
    // bind(process, flush, rejected, leave): the functions that entries call.
    {"bind", Bind},
    // run(meta, text, ...bytes): process(meta, text, ...bytes), then all microtasks, then flush(cpuMs, uncharged CPU
    // ms, breached account or undefined).
    {"run", Run},
    // getContext(), setContext(context): V8's continuation data, which follows every `await`; its `account` is charged.
    {"getContext", GetContext},
    {"setContext", SetContext},
    // checkpoint(): runs all microtasks that are waiting, as between two timers.
    {"checkpoint", Checkpoint},

    // cpu-watch.cc
    // show(memory): a SharedArrayBuffer in which the host sees the running entry (`ShownWord`). Once, and not while an
    // entry runs.
    {"show", Show},
    // stretch(ms): after how much CPU without a point where V8 allows an interrupt an entry is terminated; 0: never.
    {"stretch", Stretch},

    // crash-report.cc
    // own(owner, descriptor): whose code this is, and where a crash is reported; below 0: nowhere.
    {"own", Own},

    // modules.cc
    // load(text, wide, cache, context, bytes): compiles a worker, from V8's code cache where there is one, and runs its
    // top level to the end of its microtasks, watched. `text` is a SharedArrayBuffer of one byte a character, of two
    // where it is `wide`, and is read where it lies; `bytes` bounds what the worker holds outside its heap. [0] it ran,
    // [1] over its CPU limit, [2] over that bound, [3, error, line, column] it does not compile, [4, specifier] it
    // imports, [5, error] it threw.
    {"load", Load},
    // settled(): [0] the top level is waiting, [1, namespace] it has run, [2, error] it threw.
    {"settled", Settled},
    // compiledForm(): V8's code cache of the worker with all functions that it has compiled now, as an ArrayBuffer.
    {"compiledForm", CompiledForm},
    // compileAhead(text, wide, eager): the code cache of a text that is not run, with all its functions where it is
    // `eager`; undefined where it does not compile.
    {"compileAhead", CompileAhead},

    // memory.cc
    // trim(): collects garbage and returns memory that an idle isolate does not need.
    {"trim", Trim},

    // fences.cc
    // fences(construct, CompileError): Reflect.construct, and what modules are refused with.
    {"fences", PrepareFences},
    // fence(original, adapt, held, compiles): a constructor that makes what the original makes, if the guest may hold
    // it. `adapt`
    // gives the first argument where it is a function; `held`: bytes that V8 does not count of each object; `compiles`:
    // it is WebAssembly.Module. The caller copies the properties.
    {"fence", FenceConstructor},
    // fenceMethod(original, length, kind, held): ArrayBuffer's that resize (0), WebAssembly's that compile (1) or
    // validate (2), those that make an object that holds so many bytes (3), Segmenter's `segment` (4).
    {"fenceMethod", FenceMethod},

    // codec-functions.cc
    // utf8Encode(text): a Uint8Array; lone surrogates become U+FFFD.
    {"utf8Encode", Utf8Encode},
    // utf8EncodeInto(text, target): how many bytes it wrote; 0 where three for each unit and kEncodeSpare do not fit,
    // or the target is so small that it lies on V8's heap.
    {"utf8EncodeInto", Utf8EncodeInto},
    // utf8Decode(bytes): text; malformed sequences become U+FFFD as the Encoding Standard says, a byte order mark
    // stays.
    {"utf8Decode", Utf8Decode},
    // btoa(text): base64 of one byte a character; undefined where a character is above U+00FF.
    {"btoa", Btoa},
    // atob(text): the forgiving decoding of the Infra Standard, one character a byte; undefined where the text is not
    // base64.
    {"atob", Atob},
    // digest(bytes, bits): the SHA digest as an ArrayBuffer.
    {"digest", Digest},
    // plainUrl(text, base, places): the text where it is an ordinary URL, or what a path and an ordinary base
    // (undefined: none) give together, with the places of its components in a Uint32Array of six; undefined where it
    // takes the whole parser.
    {"plainUrl", PlainUrl},

    // system-functions.cc
    // now(): milliseconds of the monotonic clock, with a fraction.
    {"now", Now},
    // randomFill(bytes): fills a Uint8Array from the system's generator.
    {"randomFill", RandomFill},
    // clone(object): a shallow copy with all own properties, also private ones.
    {"clone", Clone},
    // defineLazy(target, name, enumerable, load): a property whose value is load(name) from its first use on. Script
    // cannot tell it from a plain one, as it could an accessor.
    {"defineLazy", DefineLazy},

    // scripts.cc
    // evaluate(code, name, cache): the value of a script of our own; `cache` is V8's code cache, one character a byte.
    {"evaluate", Evaluate},
    // evaluateShared(key, name, label): the same of a script that was provided for the snapshot of that key; undefined
    // where there is none.
    {"evaluateShared", EvaluateShared},
    // provideScript(key, name, code, cache): a script for all isolates of the snapshot of that key; provideScript(key):
    // these were all. Only the first snapshot of a process provides scripts.
    {"provideScript", ProvideScript},
    // shareSource(text): moves the text of the guest's script to memory that all isolates share, and frees its pages in
    // this heap.
    {"shareSource", ShareSource},
};

// Which of a context's embedder fields leads to its guest; isolated-vm uses none of this number.
constexpr int kGuestField = 1;
// The same of an isolate's data; neither isolated-vm nor Node uses it in isolates of isolated-vm.
constexpr uint32_t kGuestSlot = 3;

// The backing store goes with the context and its isolate. No handle may be touched any more, and none needs to be.
void Release(void*, size_t, void* pointer) {
  auto* guest = static_cast<Guest*>(pointer);
  GiveBackAfter(guest->memory);
  guest->memory.shared.~SharedMemories();
  guest->cpu.shown_memory.~shared_ptr();
  operator delete(pointer);
}

// isolated-vm's own handler ends the process unless the isolate was made on the main thread. Returns, and V8 ends the
// process, where the thread is none of an isolate's.
void OnOutOfMemory(const char*, const OOMDetails&) {
  Isolate* isolate = Isolate::TryGetCurrent();
  if (isolate == nullptr) return;
  if (void* guest = isolate->GetData(kGuestSlot)) ParkThread(static_cast<Guest*>(guest));
}

// Before any tenant's code runs. A function that cannot be made is missing in `target`.
void Define(Isolate* isolate, Local<Context> context, Local<Object> target, Local<Value> guest,
            const GuestFunction& entry) {
  Local<String> key;
  Local<Function> function;
  if (!String::NewFromUtf8(isolate, entry.name, NewStringType::kInternalized).ToLocal(&key)) return;
  if (!Function::New(context, entry.callback, guest, 0, ConstructorBehavior::kThrow).ToLocal(&function)) return;
  if (target->CreateDataProperty(context, key, function).IsNothing()) return;
}

}  // namespace

Guest* GuestOf(Local<Context> context) {
  if (context->GetNumberOfEmbedderDataFields() <= kGuestField) return nullptr;
  Local<Value> field = context->GetEmbedderData(kGuestField);
  return field->IsExternal() ? static_cast<Guest*>(field.As<External>()->Value()) : nullptr;
}

void Init(Isolate* isolate, Local<Context> context, Local<Object> target) {
  void* storage = operator new(sizeof(Guest), std::nothrow);
  if (storage == nullptr) {
    isolate->ThrowError("There is no memory for an isolate");
    return;
  }
  auto* guest = new (storage) Guest();
  std::shared_ptr<BackingStore> store = ArrayBuffer::NewBackingStore(storage, sizeof(Guest), Release, storage);
  guest->isolate = isolate;
  guest->context.Reset(isolate, context);
  guest->storage.Reset(isolate, ArrayBuffer::New(isolate, std::move(store)));
  StartCpuState(guest);
  Local<External> self = External::New(isolate, guest);
  context->SetEmbedderData(kGuestField, self);
  isolate->SetPromiseRejectCallback(OnReject);
  isolate->SetData(kGuestSlot, guest);
  isolate->SetOOMErrorHandler(OnOutOfMemory);
  for (const GuestFunction& function : kFunctions) Define(isolate, context, target, self, function);
}

}  // namespace native

// What ivm.NativeModule looks for.
extern "C" __attribute__((visibility("default"))) void InitForContext(v8::Isolate* isolate,
                                                                      v8::Local<v8::Context> context,
                                                                      v8::Local<v8::Object> target) {
  native::Init(isolate, context, target);
}

// Counted pointers of the C++ library ask for it; not every libc has it.
#pragma GCC visibility push(hidden)
extern "C" {
char __libc_single_threaded = 0;
}
#pragma GCC visibility pop
