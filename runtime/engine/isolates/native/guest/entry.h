// Entry: one call into a guest, to the end of its microtasks and with its answer, under the watch of CPU and memory.
#pragma once

#include <v8.h>

namespace native {

using namespace v8;

struct Guest;

struct EntryState {
  // Functions of the guest, from `bind`; `leave` is the host's, made by isolated-vm.
  Global<Function> process, flush, rejected, leave;
};

// Tells the guest of rejected promises.
void OnReject(PromiseRejectMessage message);

// Functions of the guest, see guest.cc.
void Bind(const FunctionCallbackInfo<Value>& info);
void Run(const FunctionCallbackInfo<Value>& info);
void GetContext(const FunctionCallbackInfo<Value>& info);
void SetContext(const FunctionCallbackInfo<Value>& info);
void Checkpoint(const FunctionCallbackInfo<Value>& info);

}  // namespace native
