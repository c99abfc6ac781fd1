// Fences: functions that tenants have in place of V8's, which bound memory that V8 counts for no isolate (buffers that
// grow, shared memories, WebAssembly). guest/fences.ts installs them.
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
};

struct FenceState {
  static constexpr int kFencesMax = 9;
  Fence fences[kFencesMax];
  int count;
  // Reflect.construct and WebAssembly.CompileError, as they were before any tenant's code.
  Global<Function> construct, compile_error;
};

// Whether `new WebAssembly.Module(bytes)` is refused; it then has thrown. V8 calls this first.
bool OnModule(const FunctionCallbackInfo<Value>& info);

// Functions of the guest, see guest.cc.
void PrepareFences(const FunctionCallbackInfo<Value>& info);
void FenceConstructor(const FunctionCallbackInfo<Value>& info);
void FenceMethod(const FunctionCallbackInfo<Value>& info);

}  // namespace native
