// What the guest asks of the system and of V8 beside entries, memory and codecs: a clock, randomness, two operations on
// objects.
#pragma once

#include <v8.h>

namespace native {

// Functions of the guest, see guest.cc.
void Now(const v8::FunctionCallbackInfo<v8::Value>& info);
void RandomFill(const v8::FunctionCallbackInfo<v8::Value>& info);
void Clone(const v8::FunctionCallbackInfo<v8::Value>& info);
void DefineLazy(const v8::FunctionCallbackInfo<v8::Value>& info);

}  // namespace native
