// Module loading: compiles a worker, runs its top level, and gives out V8's code cache of it.
#pragma once

#include <v8.h>

namespace native {

using namespace v8;

struct Guest;

struct ModuleState {
  // The worker and what its top level resolves to, until `settled` has answered.
  Global<Module> module;
  Global<Promise> evaluated;
  // What the code cache is made of.
  Global<UnboundModuleScript> script;
};

// Functions of the guest, see guest.cc.
void Load(const FunctionCallbackInfo<Value>& info);
void Settled(const FunctionCallbackInfo<Value>& info);
void CompiledForm(const FunctionCallbackInfo<Value>& info);
void CompileAhead(const FunctionCallbackInfo<Value>& info);

}  // namespace native
