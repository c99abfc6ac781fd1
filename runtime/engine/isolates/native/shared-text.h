// Texts of our own scripts that lie once in the process for all isolates: the guest's, and those that it loads late. Filled on the main
// thread before any tenant's code runs, read from all threads. Included by guest.cc alone.
#pragma once

#include <v8.h>

#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <new>

namespace shared {

using namespace v8;

// Never deleted: it outlives all isolates.
class Text final : public String::ExternalOneByteStringResource {
 public:
  Text(const char* text, size_t length) : text_(text), length_(length) {}
  const char* data() const override { return text_; }
  size_t length() const override { return length_; }
  void Dispose() override {}

  // A copy of a text; null where there is no memory for it, or it does not fit in one byte a character.
  static Text* Of(Isolate* isolate, Local<String> text) {
    String::ValueView view(isolate, text);
    // V8 takes no external text that is empty.
    if (!view.is_one_byte() || view.length() == 0) return nullptr;
    auto* copy = new (std::nothrow) char[view.length() + 1];
    if (copy == nullptr) return nullptr;
    memcpy(copy, view.data8(), view.length());
    return new (std::nothrow) Text(copy, view.length());
  }

 private:
  const char* text_;
  size_t length_;
};

inline pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
inline Text* guest_text = nullptr;

// shareSource(text): lets the text of the guest's script lie in memory that all isolates share, and gives back the pages that
// it filled in this one's heap. V8 reads it when it compiles a function for the first time.
inline void ShareSource(const FunctionCallbackInfo<Value>& info) {
  Isolate* isolate = info.GetIsolate();
  if (!info[0]->IsString()) return;
  auto text = info[0].As<String>();
  const uint8_t* bytes = nullptr;
  size_t length = text->Length();
  pthread_mutex_lock(&lock);
  if (guest_text == nullptr) guest_text = Text::Of(isolate, text);
  Text* known = guest_text;
  pthread_mutex_unlock(&lock);
  if (known == nullptr) return;
  {
    String::ValueView view(isolate, text);
    if (!view.is_one_byte()) return;
    bytes = view.data8();
    // Another snapshot's, in the tests.
    if (known->length() != length || memcmp(known->data(), bytes, length) != 0) return;
  }
  if (!text->MakeExternal(isolate, known)) return;
  // V8 gives nothing back before its next full collection. What lies between the string's new header and its old end is nobody's.
  auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  uintptr_t from = (reinterpret_cast<uintptr_t>(bytes) + 64 + page - 1) & ~(page - 1), to = (reinterpret_cast<uintptr_t>(bytes) + length) & ~(page - 1);
  if (from < to) madvise(reinterpret_cast<void*>(from), to - from, MADV_DONTNEED);
}

// A script that is loaded late, with V8's compiled form of it.
struct Script {
  char name[48];
  Text* text;
  uint8_t* form;
  int form_size;
};
constexpr int kScriptsMax = 64;
inline Script scripts[kScriptsMax];
inline int count = 0;
// The snapshot that they belong to. From when they are sealed nothing here changes.
inline char snapshot_key[80];
inline bool sealed = false;

// Whether a string of ASCII fits, with its end.
inline bool Copy(Isolate* isolate, Local<Value> value, char* to, size_t room) {
  if (!value->IsString()) return false;
  auto text = value.As<String>();
  size_t length = text->Length();
  if (length >= room) return false;
  text->WriteOneByteV2(isolate, 0, length, reinterpret_cast<uint8_t*>(to));
  to[length] = 0;
  return true;
}

// provideScript(key, name, code, form): one script of a snapshot, its form as one character a byte; provideScript(key) says that
// these were all. The first snapshot of the process is the only one that is heard.
inline void ProvideScript(const FunctionCallbackInfo<Value>& info) {
  Isolate* isolate = info.GetIsolate();
  char key[sizeof snapshot_key];
  if (__atomic_load_n(&sealed, __ATOMIC_ACQUIRE) || !Copy(isolate, info[0], key, sizeof key)) return;
  if (count == 0) memcpy(snapshot_key, key, sizeof key);
  if (strcmp(snapshot_key, key) != 0) return;
  if (info.Length() == 1) {
    __atomic_store_n(&sealed, true, __ATOMIC_RELEASE);
    return;
  }
  if (count >= kScriptsMax) return;
  Script& script = scripts[count];
  if (!Copy(isolate, info[1], script.name, sizeof script.name) || !info[2]->IsString() || !info[3]->IsString()) return;
  auto form = info[3].As<String>();
  script.form_size = form->Length();
  script.form = new (std::nothrow) uint8_t[static_cast<size_t>(script.form_size) + 1];
  if (script.form == nullptr) return;
  script.text = Text::Of(isolate, info[2].As<String>());
  if (script.text == nullptr) {
    delete[] script.form;
    return;
  }
  form->WriteOneByteV2(isolate, 0, static_cast<uint32_t>(script.form_size), script.form);
  count++;
}

// The script of that name, as V8 compiles it without copying anything; empty where it is not known for this snapshot.
inline MaybeLocal<v8::Script> Find(Local<Context> context, Local<Value> key_value, Local<Value> name_value, Local<Value> label) {
  Isolate* isolate = Isolate::GetCurrent();
  char key[sizeof snapshot_key], name[sizeof Script::name];
  if (!__atomic_load_n(&sealed, __ATOMIC_ACQUIRE) || !Copy(isolate, key_value, key, sizeof key) || strcmp(snapshot_key, key) != 0) return {};
  if (!Copy(isolate, name_value, name, sizeof name)) return {};
  for (int at = 0; at < count; at++) {
    if (strcmp(scripts[at].name, name) != 0) continue;
    Local<String> code;
    if (!String::NewExternalOneByte(isolate, scripts[at].text).ToLocal(&code)) return {};
    auto* form = new (std::nothrow) ScriptCompiler::CachedData(scripts[at].form, scripts[at].form_size);
    if (form == nullptr) return {};
    ScriptOrigin origin(label);
    ScriptCompiler::Source source(code, origin, form);
    return ScriptCompiler::Compile(context, &source, ScriptCompiler::kConsumeCodeCache);
  }
  return {};
}

}  // namespace shared
