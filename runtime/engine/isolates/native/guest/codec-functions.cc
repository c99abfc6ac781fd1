#include "codec-functions.h"

#include <string.h>

#include <new>

#include "../codecs/base64.h"
#include "../codecs/sha.h"
#include "../codecs/url.h"
#include "../codecs/utf8.h"
#include "guest.h"
#include "long-text.h"

namespace native {

namespace {

// V8 makes no longer strings; a larger length would not fit in its `int` either.
constexpr size_t kStringMax = String::kMaxLength;

// Whether V8 may flatten a string, which it does before it shows its characters: that takes heap.
bool MayFlatten(Isolate* isolate, Local<String> text) {
  if (FitsOnHeap(isolate, static_cast<size_t>(text->Length()) * (text->IsOneByte() ? 1 : 2))) return true;
  ThrowNoMemory(isolate);
  return false;
}

// Memory for the duration of a call, never more than the guest may hold outside its heap; `bytes` is null where there
// is none. All but large sizes come from a buffer that the thread keeps, since a new one takes longer than the work.
class ScratchBuffer {
 public:
  ScratchBuffer(const Guest* guest, size_t size) : own_(size > kThreadBufferSize), bytes_(nullptr) {
    if (own_) {
      size_t max = guest->memory.external_max;
      if (max == 0 || size <= max) bytes_ = new (std::nothrow) uint8_t[size];
      return;
    }
    if (thread_buffer_ == nullptr) thread_buffer_ = new (std::nothrow) uint8_t[kThreadBufferSize];
    bytes_ = thread_buffer_;
  }
  ~ScratchBuffer() {
    if (own_) delete[] bytes_;
  }
  ScratchBuffer(const ScratchBuffer&) = delete;
  uint8_t* bytes() { return bytes_; }

 private:
  static constexpr size_t kThreadBufferSize = 256 * 1024;
  static inline thread_local uint8_t* thread_buffer_ = nullptr;
  bool own_;
  uint8_t* bytes_;
};

// The bytes of a view; small ones may lie on V8's heap, and are copied to `small`.
struct Bytes {
  uint8_t small[64];
  MemorySpan<uint8_t> span;
  explicit Bytes(Local<Value> view) : span(view.As<Uint8Array>()->GetContents({small, sizeof small})) {}
};

void ReturnOneByte(const FunctionCallbackInfo<Value>& info, const uint8_t* bytes, size_t length) {
  Isolate* isolate = info.GetIsolate();
  Local<String> text;
  if (length > kStringMax) return ThrowNoMemory(isolate);
  if (length >= kLongTextMin && NewLongText(GuestOf(info), bytes, length).ToLocal(&text)) {
    info.GetReturnValue().Set(text);
    return;
  }
  if (!FitsOnHeap(isolate, length)) return ThrowNoMemory(isolate);
  if (!String::NewFromOneByte(isolate, bytes, NewStringType::kNormal, static_cast<int>(length)).ToLocal(&text)) return;
  info.GetReturnValue().Set(text);
}

}  // namespace

void Utf8Encode(const FunctionCallbackInfo<Value>& info) {
  Isolate* isolate = info.GetIsolate();
  if (!info[0]->IsString()) return;
  auto text = info[0].As<String>();
  size_t units = text->Length(), size = 0;
  if (!MayFlatten(isolate, text)) return;
  bool ascii = false, one_byte = false;
  if (units >= kUncheckedBytesMax) {
    String::ValueView view(isolate, text);
    one_byte = view.is_one_byte();
    ascii = one_byte && codecs::AsciiPrefix(view.data8(), units) == units;
    size = units;
  }
  if (!ascii) {
    ScratchBuffer scratch(GuestOf(info), units * (one_byte ? 2 : 3) + codecs::kEncodeSpare);
    if (scratch.bytes() == nullptr) return ThrowNoMemory(isolate);
    {
      String::ValueView view(isolate, text);
      if (view.is_one_byte()) {
        ascii = codecs::AsciiPrefix(view.data8(), units) == units;
        size = ascii ? units : codecs::FromLatin1(view.data8(), units, scratch.bytes());
      } else {
        size = codecs::FromUtf16(view.data16(), units, scratch.bytes());
      }
    }
    if (!ascii) {
      Local<ArrayBuffer> buffer;
      if (!NewBuffer(isolate, size).ToLocal(&buffer)) return;
      if (size > 0) memcpy(buffer->Data(), scratch.bytes(), size);
      info.GetReturnValue().Set(Uint8Array::New(buffer, 0, size));
      return;
    }
  }
  Local<ArrayBuffer> buffer;
  if (!NewBuffer(isolate, size).ToLocal(&buffer)) return;
  text->WriteOneByteV2(isolate, 0, static_cast<uint32_t>(units), static_cast<uint8_t*>(buffer->Data()));
  info.GetReturnValue().Set(Uint8Array::New(buffer, 0, size));
}

void Utf8EncodeInto(const FunctionCallbackInfo<Value>& info) {
  Isolate* isolate = info.GetIsolate();
  info.GetReturnValue().Set(0);
  if (!info[0]->IsString() || !info[1]->IsUint8Array()) return;
  auto text = info[0].As<String>();
  auto target = info[1].As<Uint8Array>();
  size_t units = text->Length(), size = 0;
  if (!target->HasBuffer() || units * 3 + codecs::kEncodeSpare > target->ByteLength() || !MayFlatten(isolate, text))
    return;
  uint8_t* out = static_cast<uint8_t*>(target->Buffer()->Data()) + target->ByteOffset();
  {
    String::ValueView view(isolate, text);
    size = view.is_one_byte() ? codecs::FromLatin1(view.data8(), units, out)
                              : codecs::FromUtf16(view.data16(), units, out);
  }
  info.GetReturnValue().Set(static_cast<double>(size));
}

void Utf8Decode(const FunctionCallbackInfo<Value>& info) {
  Isolate* isolate = info.GetIsolate();
  if (!info[0]->IsUint8Array()) return;
  Bytes bytes(info[0]);
  const uint8_t* at = bytes.span.data();
  size_t size = bytes.span.size();
  if (codecs::AsciiPrefix(at, size) == size) return ReturnOneByte(info, at, size);
  // At worst every byte becomes a unit of two.
  if (size > kStringMax || !FitsOnHeap(isolate, size)) return ThrowNoMemory(isolate);
  MaybeLocal<String> text;
  ScratchBuffer scratch(GuestOf(info), size * 2);
  auto* units = reinterpret_cast<uint16_t*>(scratch.bytes());
  size_t count = 0;
  uint16_t seen = 0;
  if (units == nullptr || !codecs::ToUtf16(at, size, units, &count, &seen)) {
    if (!FitsOnHeap(isolate, size * 2)) return ThrowNoMemory(isolate);
    auto* malformed = reinterpret_cast<const char*>(at);
    text = String::NewFromUtf8(isolate, malformed, NewStringType::kNormal, static_cast<int>(size));
  } else if (seen < 0x100) {
    // A string of one byte a character takes half the memory, and is faster to search.
    uint8_t* one_byte = scratch.bytes();
    for (size_t unit = 0; unit < count; unit++) one_byte[unit] = static_cast<uint8_t>(units[unit]);
    return ReturnOneByte(info, one_byte, count);
  } else {
    if (!FitsOnHeap(isolate, count * 2)) return ThrowNoMemory(isolate);
    text = String::NewFromTwoByte(isolate, units, NewStringType::kNormal, static_cast<int>(count));
  }
  Local<String> result;
  if (text.ToLocal(&result)) info.GetReturnValue().Set(result);
}

// V8's own codec, behind a flag in this version, ignores the offset of a subarray.
void Btoa(const FunctionCallbackInfo<Value>& info) {
  Isolate* isolate = info.GetIsolate();
  if (!info[0]->IsString()) return;
  auto text = info[0].As<String>();
  size_t size = text->Length(), length = codecs::Base64Length(size);
  if (!MayFlatten(isolate, text)) return;
  ScratchBuffer scratch(GuestOf(info), length + size);
  if (scratch.bytes() == nullptr) return ThrowNoMemory(isolate);
  {
    String::ValueView view(isolate, text);
    const uint8_t* in = view.data8();
    if (!view.is_one_byte()) {
      // Two bytes a unit, each of which may still hold one.
      uint8_t* one_byte = scratch.bytes() + length;
      uint16_t seen = 0;
      for (size_t unit = 0; unit < size; unit++) {
        seen |= view.data16()[unit];
        one_byte[unit] = static_cast<uint8_t>(view.data16()[unit]);
      }
      if (seen > 0xff) return;
      in = one_byte;
    }
    codecs::ToBase64(in, size, scratch.bytes());
  }
  ReturnOneByte(info, scratch.bytes(), length);
}

void Atob(const FunctionCallbackInfo<Value>& info) {
  Isolate* isolate = info.GetIsolate();
  if (!info[0]->IsString()) return;
  auto text = info[0].As<String>();
  size_t size = text->Length(), length = 0, count = 0;
  if (!MayFlatten(isolate, text)) return;
  ScratchBuffer scratch(GuestOf(info), size * 2 + 4);
  if (scratch.bytes() == nullptr) return ThrowNoMemory(isolate);
  {
    String::ValueView view(isolate, text);
    bool valid = view.is_one_byte() && codecs::FromBase64(view.data8(), size, scratch.bytes(), &length);
    if (!valid) {
      // White space, and strings of two bytes a character, are rare: only looked for after a failure.
      uint8_t* letters = scratch.bytes() + size;
      for (size_t unit = 0; unit < size; unit++) {
        uint16_t letter = view.is_one_byte() ? view.data8()[unit] : view.data16()[unit];
        if (letter == ' ' || letter == '\t' || letter == '\n' || letter == '\f' || letter == '\r') continue;
        if (letter > 0x7f) return;
        letters[count++] = static_cast<uint8_t>(letter);
      }
      if (!codecs::FromBase64(letters, count, scratch.bytes(), &length)) return;
    }
  }
  ReturnOneByte(info, scratch.bytes(), length);
}

void Digest(const FunctionCallbackInfo<Value>& info) {
  if (!info[0]->IsUint8Array() || !info[1]->IsInt32()) return;
  Bytes bytes(info[0]);
  uint8_t digest[64];
  size_t length = codecs::Digest(info[1].As<Int32>()->Value(), bytes.span.data(), bytes.span.size(), digest);
  Local<ArrayBuffer> buffer;
  if (length == 0 || !NewBuffer(info.GetIsolate(), length).ToLocal(&buffer)) return;
  memcpy(buffer->Data(), digest, length);
  info.GetReturnValue().Set(buffer);
}

void PlainUrl(const FunctionCallbackInfo<Value>& info) {
  Isolate* isolate = info.GetIsolate();
  if (!info[0]->IsString() || !info[2]->IsUint32Array()) return;
  auto text = info[0].As<String>();
  url::Places places;
  if (!MayFlatten(isolate, text)) return;
  if (!info[1]->IsString()) {
    String::ValueView view(isolate, text);
    if (!view.is_one_byte() || !url::Scan(view.data8(), view.length(), &places)) return;
  } else {
    auto base = info[1].As<String>();
    if (!MayFlatten(isolate, base)) return;
    ScratchBuffer scratch(GuestOf(info), static_cast<size_t>(base->Length()) + text->Length());
    if (scratch.bytes() == nullptr) return;
    size_t joined = 0;
    // Flattens it: no string may move while another is viewed.
    { String::ValueView flat(isolate, text); }
    {
      String::ValueView base_view(isolate, base);
      url::Places base_places;
      if (!base_view.is_one_byte() || !url::Scan(base_view.data8(), base_view.length(), &base_places)) return;
      String::ValueView view(isolate, text);
      if (!view.is_one_byte()) return;
      if (!url::Scan(view.data8(), view.length(), &places)) {
        joined = url::Join(base_view.data8(), base_places, view.data8(), view.length(), scratch.bytes());
        if (joined == 0 || joined > kStringMax || !url::Scan(scratch.bytes(), joined, &places)) return;
      }
    }
    if (joined > 0) {
      if (!FitsOnHeap(isolate, joined)) return ThrowNoMemory(isolate);
      auto whole = String::NewFromOneByte(isolate, scratch.bytes(), NewStringType::kNormal, static_cast<int>(joined));
      if (!whole.ToLocal(&text)) return;
    }
  }
  auto view = info[2].As<Uint32Array>();
  if (view->ByteLength() < sizeof places) return;
  memcpy(static_cast<char*>(view->Buffer()->Data()) + view->ByteOffset(), &places, sizeof places);
  info.GetReturnValue().Set(text);
}

}  // namespace native
