// Ordinary URLs: http and https in serialised form, and paths on them. Bytes in, positions out, nothing of V8. All
// other URLs are left to the whole parser, guest/web/url-record.ts.
#pragma once

#include <stdint.h>
#include <string.h>

namespace url {

// Where the components begin and end; as UrlPlaces of guest/web/url-parse.ts has them.
struct Places {
  uint32_t scheme_end, host_start, host_end, path_start, query_start, hash_start;
};

enum Class : uint8_t { kHost = 1, kDigit = 2, kPathStop = 4, kQueryStop = 8, kFragmentStop = 16 };

// The percent-encode sets of the URL Standard, section 1.3; everything beyond ASCII is in all of them.
struct Classes {
  uint8_t of[256];
  constexpr void Mark(const char* characters, uint8_t as) {
    for (; *characters != 0; characters++) of[static_cast<uint8_t>(*characters)] |= as;
  }
  constexpr Classes() : of() {
    for (int unit = 0; unit < 256; unit++)
      of[unit] = unit < 32 || unit > 126 ? kPathStop | kQueryStop | kFragmentStop : 0;
    Mark("abcdefghijklmnopqrstuvwxyz0123456789.-", kHost);
    Mark("0123456789", kDigit);
    Mark(" \"#<>?^`{}\\", kPathStop);
    Mark(" \"#<>'", kQueryStop);
    Mark(" \"<>`", kFragmentStop);
  }
};
constexpr Classes kClasses;

inline bool Is(uint8_t unit, uint8_t what) { return (kClasses.of[unit] & what) != 0; }

// Whether a path segment begins with what may be a dot segment; ".well-known" is not one.
inline bool IsDot(const uint8_t* text, size_t length, size_t at) {
  auto unit = [&](size_t place) -> uint8_t { return place < length ? text[place] : 0; };
  if (unit(at) == '%') return unit(at + 1) == '2' && (unit(at + 2) | 32) == 'e';
  if (unit(at) != '.') return false;
  uint8_t next = unit(at + 1);
  return !(next > '/' && next != '?' && next != '\\') && next != '-';
}

// The places of an absolute http or https URL that is in serialised form; false for anything else, valid or not.
inline bool Scan(const uint8_t* text, size_t length, Places* places) {
  if (length < 8 || memcmp(text, "http", 4) != 0) return false;
  size_t at = text[4] == 's' ? 5 : 4;
  bool secure = at == 5;
  if (memcmp(text + at, "://", 3) != 0) return false;
  places->scheme_end = static_cast<uint32_t>(at + 1);
  at += 3;
  places->host_start = static_cast<uint32_t>(at);
  size_t label = at;
  for (; at < length && Is(text[at], kHost); at++) {
    if (text[at] == '.') label = at + 1;
    // "xn--": the host of the platform has the tables for it.
    else if (text[at] == '-' && text[at - 1] == '-' && text[at - 2] == 'n')
      return false;
  }
  places->host_end = static_cast<uint32_t>(at);
  // A last label that starts with a digit or is empty may be an IPv4 address.
  if (at >= length || at == label || Is(text[label], kDigit)) return false;
  if (text[at] == ':') {
    uint32_t port = 0;
    size_t first = ++at;
    for (; at < length && Is(text[at], kDigit); at++) {
      port = port * 10 + text[at] - '0';
      if (port > 65535) return false;
    }
    if (at == first || text[first] == '0' || port == (secure ? 443 : 80)) return false;
  }
  if (at >= length || text[at] != '/') return false;
  places->path_start = static_cast<uint32_t>(at);
  for (; at < length && !Is(text[at], kPathStop); at++) {
    if (text[at] == '/' && IsDot(text, length, at + 1)) return false;
  }
  places->query_start = static_cast<uint32_t>(at);
  if (at < length && text[at] == '?') {
    do at++;
    while (at < length && !Is(text[at], kQueryStop));
  }
  places->hash_start = static_cast<uint32_t>(at);
  if (at == length) return true;
  if (text[at] != '#') return false;
  do at++;
  while (at < length && !Is(text[at], kFragmentStop));
  return at == length;
}

// Resolves a reference (a path with segments `.` and `..`, a query or a fragment) against a base that Scan accepted.
// `out` must have room for both together. Returns the length of the result, which Scan must still accept, or 0 where
// the whole parser has to resolve it.
inline size_t Join(const uint8_t* base, const Places& places, const uint8_t* text, size_t length, uint8_t* out) {
  if (length == 0) return 0;
  auto with = [&](size_t kept, size_t to, size_t from) -> size_t {
    if (kept > 0) memcpy(out, base, kept);
    if (from < length) memcpy(out + to, text + from, length - from);
    return to + length - from;
  };
  if (text[0] == '?') return with(places.query_start, places.query_start, 0);
  if (text[0] == '#') return with(places.hash_start, places.hash_start, 0);
  size_t from = text[0] == '/' ? 1 : 0, root = places.path_start + 1, to = root;
  if (from == 1 && length > 1 && text[1] == '/') return 0;
  if (from == 0) {
    to = places.query_start;
    while (base[to - 1] != '/') to--;
  }
  memcpy(out, base, to);
  for (size_t at = from;; at++) {
    uint8_t unit = at < length ? text[at] : '#';
    if (unit != '/' && unit != '#' && unit != '?') {
      // An encoded dot; the end of a scheme; what must be encoded, or another slash.
      if (unit == '%' || unit == ':' || Is(unit, kPathStop)) return 0;
      continue;
    }
    size_t size = at - from;
    if (size > 0 && size < 3 && text[from] == '.' && text[at - 1] == '.') {
      if (size == 2 && to > root) {
        do to--;
        while (out[to - 1] != '/');
      }
    } else {
      size_t count = unit == '/' ? size + 1 : size;
      memcpy(out + to, text + from, count);
      to += count;
    }
    if (unit != '/') return with(0, to, at);
    from = at + 1;
  }
}

}  // namespace url
