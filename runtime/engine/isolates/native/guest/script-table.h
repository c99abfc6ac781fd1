// The table behind scripts.cc: which scripts were provided for which snapshot, and which pages of a text that moved are
// free. Bytes and numbers in and out, nothing of V8: test/native fuzzes this file.
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>

namespace native {

// A short text in a place of fixed size, with a 0 at its end.
template <size_t kSize>
class FixedText {
 public:
  // Where a text of this length is to be written, without its 0; null where it does not fit.
  char* Reserve(size_t length) {
    if (length >= kSize) return nullptr;
    characters_[length] = 0;
    return characters_;
  }
  bool operator==(const FixedText& other) const { return strcmp(characters_, other.characters_) == 0; }

 private:
  char characters_[kSize] = {};
};

// Scripts of one snapshot. Filled by one thread until it is sealed, read by all threads from then on.
template <typename Text>
class ScriptTable {
 public:
  static constexpr size_t kScriptsMax = 64;
  using Key = FixedText<80>;
  using Name = FixedText<48>;
  struct Script {
    Name name;
    // Both live as long as the process.
    Text* text;
    const uint8_t* cache;
    int cache_size;
  };

  // Whether a script of this snapshot may be added: the first snapshot that adds one is the only one.
  bool Accepts(const Key& key) const {
    return !__atomic_load_n(&sealed_, __ATOMIC_ACQUIRE) && count_ < kScriptsMax && (count_ == 0 || key_ == key);
  }
  // Only after Accepts.
  void Add(const Key& key, const Script& script) {
    if (count_ == 0) key_ = key;
    scripts_[count_++] = script;
  }
  // From here on nothing changes and scripts are found.
  void Seal(const Key& key) {
    if (__atomic_load_n(&sealed_, __ATOMIC_ACQUIRE)) return;
    if (count_ == 0) key_ = key;
    if (key_ == key) __atomic_store_n(&sealed_, true, __ATOMIC_RELEASE);
  }
  // Null where the table is not sealed, is another snapshot's, or has no script of this name.
  const Script* Find(const Key& key, const Name& name) const {
    if (!__atomic_load_n(&sealed_, __ATOMIC_ACQUIRE) || !(key_ == key)) return nullptr;
    for (size_t at = 0; at < count_; at++) {
      if (scripts_[at].name == name) return &scripts_[at];
    }
    return nullptr;
  }

 private:
  Key key_;
  Script scripts_[kScriptsMax] = {};
  size_t count_ = 0;
  bool sealed_ = false;
};

// The whole pages between the header of a string and its end; empty where `from` is not below `to`.
struct Pages {
  uintptr_t from, to;
};

// Which pages are free after V8 has replaced a string of `length` characters at `characters` by an external one. V8
// writes the external string's header, which is smaller than kHeaderMax, at the start of the old one.
inline Pages FreePages(uintptr_t characters, size_t length, uintptr_t page_size) {
  constexpr uintptr_t kHeaderMax = 64;
  return {(characters + kHeaderMax + page_size - 1) & ~(page_size - 1), (characters + length) & ~(page_size - 1)};
}

}  // namespace native
