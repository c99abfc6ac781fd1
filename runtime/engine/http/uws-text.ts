// Text for uWebSockets.js: it writes the bytes of a string as V8 stores them, which is Latin-1 for some strings. Used
// by uws-exchange.ts and uws-socket.ts.

/** Text conversions for bodies and messages. ASCII is the same in both encodings. */
export function utf8(text: string): string | Uint8Array {
  return Buffer.byteLength(text) === text.length ? text : Buffer.from(text);
}

/** Header values are Latin-1 on the wire. */
export function latin1(value: string): string | Uint8Array {
  for (let i = 0; i < value.length; i++) if (value.charCodeAt(i) > 0x7f) return Buffer.from(value, 'latin1');
  return value;
}
