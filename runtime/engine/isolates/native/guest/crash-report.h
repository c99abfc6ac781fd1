// Crash report: hostile code may end the process, whatever isolate it runs in. The handler of the signal then tells
// another process, over a descriptor, whose code the crashing thread was running: "<signal> <owner>\n".
#pragma once

#include <v8.h>

namespace native {

// Function of the guest, see guest.cc.
void Own(const v8::FunctionCallbackInfo<v8::Value>& info);

}  // namespace native
