// The native state of one guest. Each part of it belongs to the file of that name, and only that file writes it.
#pragma once

#include <v8.h>

#include "cpu-watch.h"
#include "entry.h"
#include "fences.h"
#include "memory.h"
#include "modules.h"

namespace native {

// One per context. It lies in the backing store of an ArrayBuffer that the context keeps, so it is freed with its
// isolate.
struct Guest {
  Isolate* isolate;
  Global<Context> context;
  Global<ArrayBuffer> storage;
  CpuState cpu;
  EntryState entry;
  FenceState fences;
  MemoryState memory;
  ModuleState module;
  // Whose code it is, "<project>/<deployment>", for the report of a crash.
  char owner[96];
};

// The guest that a function from the list in guest.cc was made for.
inline Guest* GuestOf(const FunctionCallbackInfo<Value>& info) {
  return static_cast<Guest*>(info.Data().As<External>()->Value());
}

// The guest of a context; null where it has none.
Guest* GuestOf(Local<Context> context);

}  // namespace native
