// Fences: functions that tenants have in place of V8's, which bound memory that V8 counts for no isolate (buffers that
// grow, shared memories, WebAssembly, Intl), and refuse modules that nothing could end. guest/fences.ts installs them.
#pragma once

#include <v8.h>

namespace native {

using namespace v8;

struct Guest;

struct Fence {
  Guest* guest;
  Global<Function> original, replacement;
  // Gives the first argument where the caller's is a function.
  Global<Function> adapt;
  // What each object that it makes holds outside the heap, where V8 does not know of it.
  size_t held_bytes;
  // It is WebAssembly.Module.
  bool compiles;
};

struct FenceState {
  static constexpr int kFencesMax = 25;
  Fence fences[kFencesMax];
  int count;
  // The prototype of segments has its fence.
  bool fenced_segments;
  // Reflect.construct and WebAssembly.CompileError, as they were before any tenant's code.
  Global<Function> construct, compile_error;
};

// Functions of the guest, see guest.cc.
void PrepareFences(const FunctionCallbackInfo<Value>& info);
void FenceConstructor(const FunctionCallbackInfo<Value>& info);
void FenceMethod(const FunctionCallbackInfo<Value>& info);

}  // namespace native
