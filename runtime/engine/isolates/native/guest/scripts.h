// Scripts of our own, the guest's and those that it loads late: their texts and code caches lie once in the process for
// all isolates. Filled on the main thread before any tenant's code runs, read from all threads.
#pragma once

#include <v8.h>

namespace native {

// Functions of the guest, see guest.cc.
void Evaluate(const v8::FunctionCallbackInfo<v8::Value>& info);
void EvaluateShared(const v8::FunctionCallbackInfo<v8::Value>& info);
void ProvideScript(const v8::FunctionCallbackInfo<v8::Value>& info);
void ShareSource(const v8::FunctionCallbackInfo<v8::Value>& info);

}  // namespace native
