// Converts texts for uWebSockets.js, which writes the bytes of a string as V8 stores them; for some strings, these are
// Latin-1. Used by uws-exchange.ts and uws-socket.ts.

/** Converts the text of a body or message. ASCII is the same in both encodings. */
export function utf8(text: string): string | Uint8Array {
  return Buffer.byteLength(text) === text.length ? text : Buffer.from(text);
}

/** Converts header values, which are sent in Latin-1. */
export function latin1(value: string): string | Uint8Array {
  for (let i = 0; i < value.length; i++) if (value.charCodeAt(i) > 0x7f) return Buffer.from(value, 'latin1');
  return value;
}
