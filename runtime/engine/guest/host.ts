// The guest's end of the bridge as the web APIs see it. `main.ts` fills it in when an isolate starts; at snapshot time
// and in unit tests under Node there is no host, and every use says so.
import type { HostCallName, Part } from '../bridge/protocol.ts';

/** What the host answers to a call. */
export interface HostReply {
  readonly value: unknown;
  readonly parts: readonly Part[];
}

/** A body whose bytes lie on the host: pulled chunk by chunk, null at its end. */
export interface HostBody {
  read(): Promise<Uint8Array | null>;
  cancel(reason?: unknown): void;
}

/** Functions the host side provides; filled in once per isolate. */
interface Host {
  /** An asynchronous host call; rejects with an Error (with `code`) made in this realm. */
  call(name: HostCallName, args: unknown, parts?: readonly Part[]): Promise<HostReply>;
  /** A synchronous host call, about 14 us. JSON-able arguments and result, or one part each way. */
  callSync(name: HostCallName, args: unknown, part?: Part): unknown;
  /** A host call of kind `both` that this thread waits for, about 20 us; throws an Error of this realm. */
  callWaiting(name: HostCallName, args: unknown, parts: readonly Uint8Array[]): HostReply;
  /** Defines a property whose value is `load(name)` from its first use on, and that looks like any other. */
  defineLazy(target: object, name: string, enumerable: boolean, load: (name: string) => unknown): void;
  /** The value of a script of our own. `cache`: V8's compiled form of it, one character a byte. */
  evaluate(code: string, name: string, cache: string): unknown;
  /** The value of a script of lazy/ that all isolates share; undefined: the host is to be asked for it. */
  evaluateShared(module: string): unknown;
  /** Fills bytes with cryptographic randomness, without leaving the thread where possible. */
  randomFill(bytes: Uint8Array): void;
  /** Milliseconds of a monotonic clock with a fraction. */
  now(): number;
  /** Base64 of a text of bytes; undefined when a character is above U+00FF. */
  btoa(text: string): string | undefined;
  /** The bytes of forgiving base64 as a text; undefined when it is none. */
  atob(text: string): string | undefined;
  /** UTF-8 bytes of a text; lone surrogates become U+FFFD. */
  utf8Encode(text: string): Uint8Array;
  /**
   * The same into the beginning of an array that is 64 bytes longer than three for each code unit: how many it took.
   */
  utf8EncodeInto(text: string, target: Uint8Array): number;
  /**
   * A shallow copy of an object of our own, with the properties that it owns by definition and its private ones;
   * undefined: not here.
   */
  clone<Copied extends object>(object: Copied): Copied | undefined;
  /** Text of UTF-8 bytes; malformed sequences become U+FFFD, a byte order mark stays. */
  utf8Decode(bytes: Uint8Array): string;
  /** The SHA digest of 160 (SHA-1), 256, 384 or 512 bits. */
  digest(bytes: Uint8Array, bits: number): ArrayBuffer;
  /**
   * An ordinary http or https URL, or what a path and such a base give together; where its components begin goes into
   * `places`.
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
  // Without them events define what they own, and the whole parser says the same.
  clone: () => undefined,
  plainUrl: () => undefined,
};
