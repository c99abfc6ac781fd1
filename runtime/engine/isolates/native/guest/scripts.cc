#include "scripts.h"

#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <new>

#include "guest.h"
#include "script-table.h"

namespace native {

namespace {

// A text outside all heaps. Never deleted: it outlives all isolates.
class SharedText final : public String::ExternalOneByteStringResource {
 public:
  SharedText(const char* text, size_t length) : text_(text), length_(length) {}
  const char* data() const override { return text_; }
  size_t length() const override { return length_; }
  void Dispose() override {}

  // A copy of a text; null where there is no memory for it, it is empty, or it does not fit in one byte a character.
  static SharedText* Copy(Isolate* isolate, Local<String> text) {
    String::ValueView view(isolate, text);
    if (!view.is_one_byte() || view.length() == 0) return nullptr;
    auto* copy = new (std::nothrow) char[view.length() + 1];
    if (copy == nullptr) return nullptr;
    memcpy(copy, view.data8(), view.length());
    return new (std::nothrow) SharedText(copy, view.length());
  }

 private:
  const char* text_;
  size_t length_;
};

// One a process.
using Table = ScriptTable<SharedText>;
Table table;
pthread_mutex_t guest_text_lock = PTHREAD_MUTEX_INITIALIZER;
SharedText* guest_text = nullptr;

template <typename Fixed>
bool CopyTo(Isolate* isolate, Local<Value> value, Fixed* fixed) {
  if (!value->IsString()) return false;
  auto text = value.As<String>();
  char* to = fixed->Reserve(text->Length());
  if (to == nullptr) return false;
  text->WriteOneByteV2(isolate, 0, text->Length(), reinterpret_cast<uint8_t*>(to));
  return true;
}

// The bytes of a code cache that comes as one character a byte; null where there is no memory for them.
uint8_t* CopyCache(Isolate* isolate, Local<String> text) {
  auto* bytes = new (std::nothrow) uint8_t[static_cast<size_t>(text->Length()) + 1];
  if (bytes != nullptr) text->WriteOneByteV2(isolate, 0, static_cast<uint32_t>(text->Length()), bytes);
  return bytes;
}

void RunScript(const FunctionCallbackInfo<Value>& info, Local<Context> context, ScriptCompiler::Source* source) {
  Local<Script> script;
  Local<Value> result;
  if (!ScriptCompiler::Compile(context, source, ScriptCompiler::kConsumeCodeCache).ToLocal(&script)) return;
  if (script->Run(context).ToLocal(&result)) info.GetReturnValue().Set(result);
}

}  // namespace

// V8 reads the text again when it compiles one of its functions for the first time.
void ShareSource(const FunctionCallbackInfo<Value>& info) {
  Isolate* isolate = info.GetIsolate();
  if (!info[0]->IsString()) return;
  auto text = info[0].As<String>();
  const uint8_t* characters = nullptr;
  size_t length = text->Length();
  pthread_mutex_lock(&guest_text_lock);
  if (guest_text == nullptr) guest_text = SharedText::Copy(isolate, text);
  SharedText* shared = guest_text;
  pthread_mutex_unlock(&guest_text_lock);
  if (shared == nullptr) return;
  {
    String::ValueView view(isolate, text);
    if (!view.is_one_byte()) return;
    characters = view.data8();
    // Another snapshot's, in the tests.
    if (shared->length() != length || memcmp(shared->data(), characters, length) != 0) return;
  }
  if (!text->MakeExternal(isolate, shared)) return;
  // V8 would not return these pages before its next full collection.
  auto page_size = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  Pages free = FreePages(reinterpret_cast<uintptr_t>(characters), length, page_size);
  if (free.from < free.to) madvise(reinterpret_cast<void*>(free.from), free.to - free.from, MADV_DONTNEED);
}

void ProvideScript(const FunctionCallbackInfo<Value>& info) {
  Isolate* isolate = info.GetIsolate();
  Table::Key key;
  if (!CopyTo(isolate, info[0], &key)) return;
  if (info.Length() == 1) return table.Seal(key);
  Table::Script script;
  if (!table.Accepts(key) || !CopyTo(isolate, info[1], &script.name) || !info[2]->IsString() || !info[3]->IsString())
    return;
  auto cache = info[3].As<String>();
  script.cache_size = cache->Length();
  script.cache = CopyCache(isolate, cache);
  if (script.cache == nullptr) return;
  script.text = SharedText::Copy(isolate, info[2].As<String>());
  if (script.text == nullptr) {
    delete[] script.cache;
    return;
  }
  table.Add(key, script);
}

void EvaluateShared(const FunctionCallbackInfo<Value>& info) {
  Isolate* isolate = info.GetIsolate();
  Table::Key key;
  Table::Name name;
  if (!CopyTo(isolate, info[0], &key) || !CopyTo(isolate, info[1], &name)) return;
  const Table::Script* script = table.Find(key, name);
  Local<String> code;
  if (script == nullptr || !String::NewExternalOneByte(isolate, script->text).ToLocal(&code)) return;
  auto* cache = new (std::nothrow) ScriptCompiler::CachedData(script->cache, script->cache_size);
  if (cache == nullptr) return;
  ScriptOrigin origin(info[2]);
  ScriptCompiler::Source source(code, origin, cache);
  RunScript(info, GuestOf(info)->context.Get(isolate), &source);
}

// A cache that V8 rejects only costs the time to compile.
void Evaluate(const FunctionCallbackInfo<Value>& info) {
  Isolate* isolate = info.GetIsolate();
  if (!info[0]->IsString() || !info[1]->IsString() || !info[2]->IsString()) return;
  auto text = info[2].As<String>();
  uint8_t* bytes = CopyCache(isolate, text);
  if (bytes == nullptr) return;
  ScriptOrigin origin(info[1]);
  // The source owns the cache, and the cache its bytes.
  auto* cache = new ScriptCompiler::CachedData(bytes, text->Length(), ScriptCompiler::CachedData::BufferOwned);
  ScriptCompiler::Source source(info[0].As<String>(), origin, cache);
  RunScript(info, GuestOf(info)->context.Get(isolate), &source);
}

}  // namespace native
