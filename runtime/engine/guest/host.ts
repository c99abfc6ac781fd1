// The guest's end of the bridge for the web APIs. `main.ts` connects it when an isolate starts; while the snapshot is
// created and in unit tests under Node there is no host, and every use throws.
import type { HostCallName, Part } from '../bridge/protocol.ts';

/** The host's reply to a call. */
export interface HostReply {
  readonly value: unknown;
  readonly parts: readonly Part[];
}

/** A body whose bytes are on the host. Chunks are read one by one; null means the end. */
export interface HostBody {
  read(): Promise<Uint8Array | null>;
  cancel(reason?: unknown): void;
}

/** Functions of the host; set once per isolate. */
interface Host {
  /** An asynchronous host call; rejects with an Error (with `code`) of this realm. */
  call(name: HostCallName, args: unknown, parts?: readonly Part[]): Promise<HostReply>;
  /** A synchronous host call, which takes about 14 us. Arguments and result are JSON, or one part in each direction. */
  callSync(name: HostCallName, args: unknown, part?: Part): unknown;
  /** A host call of kind `both` for which this thread waits about 20 us; throws an Error of this realm. */
  callWaiting(name: HostCallName, args: unknown, parts: readonly Uint8Array[]): HostReply;
  /**
   * Defines a property whose value is created by `load(name)` on first use, and that otherwise looks like an ordinary
   * property.
   */
  defineLazy(target: object, name: string, enumerable: boolean, load: (name: string) => unknown): void;
  /** Evaluates a script of the platform. `cache` is V8's code cache for the script, one character per byte. */
  evaluate(code: string, name: string, cache: string): unknown;
  /** Evaluates a script of lazy/ that all isolates share; undefined if the script must be requested from the host. */
  evaluateShared(module: string): unknown;
  /** Fills bytes with cryptographic randomness, on this thread where possible. */
  randomFill(bytes: Uint8Array): void;
  /** Milliseconds of a monotonic clock with a fraction. */
  now(): number;
  /** Base64 of a binary string; undefined when a character is above U+00FF. */
  btoa(text: string): string | undefined;
  /** Decodes forgiving base64 to a binary string; undefined when it is invalid. */
  atob(text: string): string | undefined;
  /** UTF-8 bytes of a text; lone surrogates become U+FFFD. */
  utf8Encode(text: string): Uint8Array;
  /**
   * Writes the UTF-8 bytes of a text to the start of an array, which must have three bytes for each code unit, and 64
   * more; returns the number of bytes.
   */
  utf8EncodeInto(text: string, target: Uint8Array): number;
  /**
   * A shallow copy of a platform object, with its own and private properties; undefined if the function is not
   * supported here.
   */
  clone<Copied extends object>(object: Copied): Copied | undefined;
  /** Decodes UTF-8; malformed sequences become U+FFFD, a byte order mark is kept. */
  utf8Decode(bytes: Uint8Array): string;
  /** The SHA digest of 160 (SHA-1), 256, 384 or 512 bits. */
  digest(bytes: Uint8Array, bits: number): ArrayBuffer;
  /**
   * Serializes an ordinary http or https URL, or a path that is resolved against such a base; writes the offsets of its
   * components to `places`.
   */
  plainUrl(text: string, base: string | undefined, places: Uint32Array): string | undefined;
}

function missing(): never {
  throw new Error('The host is not connected yet');
}

export const host: Host = {
  call: missing,
  callSync: missing,
  callWaiting: missing,
  defineLazy: missing,
  evaluate: missing,
  evaluateShared: () => undefined,
  randomFill: missing,
  now: missing,
  atob: missing,
  btoa: missing,
  utf8Encode: missing,
  utf8EncodeInto: missing,
  utf8Decode: missing,
  digest: missing,
  // If these functions are missing, events define their own properties, and the full URL parser is used, with the same
  // results.
  clone: () => undefined,
  plainUrl: () => undefined,
};
