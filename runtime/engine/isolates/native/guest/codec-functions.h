// Codecs: strings and buffers of V8 in and out of the plain codecs in codecs/. What comes in is any tenant's: every
// size is checked before memory is taken, and no view of a string is held while V8 may move it.
#pragma once

#include <v8.h>

namespace native {

// Functions of the guest, see guest.cc.
void Utf8Encode(const v8::FunctionCallbackInfo<v8::Value>& info);
void Utf8EncodeInto(const v8::FunctionCallbackInfo<v8::Value>& info);
void Utf8Decode(const v8::FunctionCallbackInfo<v8::Value>& info);
void Btoa(const v8::FunctionCallbackInfo<v8::Value>& info);
void Atob(const v8::FunctionCallbackInfo<v8::Value>& info);
void Digest(const v8::FunctionCallbackInfo<v8::Value>& info);
void PlainUrl(const v8::FunctionCallbackInfo<v8::Value>& info);

}  // namespace native
