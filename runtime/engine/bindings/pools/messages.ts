// Messages of Postgres' protocol, version 3.0 ("Frontend/Backend Protocol" in its manual): finds their borders in a
// stream of bytes, and creates the few messages that a pool sends itself. Pure.

/** The code of a message type, which is a letter. */
export const codeOf = (type: string): number => type.charCodeAt(0);

export const PROTOCOL = 196_608;
export const SSL_REQUEST = 80_877_103;
export const GSS_REQUEST = 80_877_104;
export const CANCEL_REQUEST = 80_877_102;

const NOTHING = Buffer.alloc(0);

/** Finds the messages in one direction. Only requested bodies are kept. */
export class MessageReader {
  #onMessage: (type: number, body: Buffer | null) => void;
  /** Size up to which a message's body is kept; 0 if it is not kept. */
  #keeps: (type: number) => number;
  #onType: ((type: number) => boolean) | null;
  /** -1: before a message. */
  #type = -1;
  #headerBytes = 0;
  #length = 0;
  /** Number of bytes of the body that have not arrived yet. */
  #left = 0;
  #kept: Buffer[] | null = null;
  #count = 0;

  /**
   * @param onMessage gets a kept body, which is only valid during the call, because it may share the chunk's memory.
   * @param onType called with each type before its message; if it returns false, parsing stops.
   */
  constructor(
    onMessage: (type: number, body: Buffer | null) => void,
    keeps: (type: number) => number,
    onType: ((type: number) => boolean) | null = null,
  ) {
    this.#onMessage = onMessage;
    this.#keeps = keeps;
    this.#onType = onType;
  }

  /** Whether the last message was complete. */
  get isBetween(): boolean {
    return this.#type === -1;
  }

  /** Messages so far. */
  get count(): number {
    return this.#count;
  }

  /**
   * Reads the next bytes. @returns how many were read: less than all when `onType` stopped.
   *
   * @throws {Error} when a length is impossible.
   */
  push(chunk: Buffer): number {
    let at = 0;
    while (at < chunk.length) {
      if (this.#type === -1) {
        const type = chunk[at]!;
        if (this.#onType !== null && !this.#onType(type)) return at;
        this.#type = type;
        this.#headerBytes = 0;
        this.#length = 0;
        at++;
      } else if (this.#headerBytes < 4) {
        this.#length = this.#length * 256 + chunk[at++]!;
        if (++this.#headerBytes < 4) continue;
        this.#left = this.#length - 4;
        if (this.#left < 0 || this.#length > 0x7fff_ffff) throw new Error('A message has an impossible length');
        const most = this.#keeps(this.#type);
        const isKept = most > 0 && this.#left <= most;
        if (this.#left === 0) this.#end(isKept ? NOTHING : null);
        else if (isKept && at + this.#left <= chunk.length) {
          const end = at + this.#left;
          this.#end(chunk.subarray(at, end));
          at = end;
        } else this.#kept = isKept ? [] : null;
      } else {
        const bytes = Math.min(this.#left, chunk.length - at);
        // The body is copied, because a worker gets the chunk with its memory.
        this.#kept?.push(Buffer.from(chunk.subarray(at, at + bytes)));
        at += bytes;
        this.#left -= bytes;
        if (this.#left === 0) this.#end(this.#kept === null ? null : Buffer.concat(this.#kept));
      }
    }
    return at;
  }

  #end(body: Buffer | null): void {
    const type = this.#type;
    this.#type = -1;
    this.#kept = null;
    this.#count++;
    this.#onMessage(type, body);
  }
}

/** A message with a type. */
export function message(type: string, ...parts: readonly (Uint8Array | string)[]): Buffer {
  const body = Buffer.concat(parts.map((part) => (typeof part === 'string' ? Buffer.from(part) : part)));
  const header = Buffer.allocUnsafe(5);
  header[0] = codeOf(type);
  header.writeInt32BE(body.length + 4, 1);
  return Buffer.concat([header, body]);
}

/** A message without a type, as the first one of a connection. */
export function firstMessage(code: number, ...parts: readonly (Uint8Array | string)[]): Buffer {
  const body = Buffer.concat([int32(code), ...parts.map((part) => Buffer.from(part as string))]);
  return Buffer.concat([int32(body.length + 4), body]);
}

export function int32(value: number): Buffer {
  const bytes = Buffer.allocUnsafe(4);
  bytes.writeInt32BE(value | 0);
  return bytes;
}

/** The message that begins a session. */
export function startupMessage(parameters: Readonly<Record<string, string>>): Buffer {
  const pairs = Object.entries(parameters).map(([name, value]) => `${name}\0${value}\0`);
  return firstMessage(PROTOCOL, `${pairs.join('')}\0`);
}

/** An error as a server would report it. @param code SQLSTATE. */
export function errorMessage(code: string, text: string): Buffer {
  const fields = ['SFATAL', 'VFATAL', `C${code}`, `M${text.replaceAll('\0', ' ')}`];
  return message('E', `${fields.join('\0')}\0\0`);
}

/** `name\0value\0...\0` as a record; null if it is not such a list. */
export function readParameters(body: Buffer): Record<string, string> | null {
  const texts = body.toString('utf8').split('\0');
  // There are two NULs at the end, one of the last value, and one of the list.
  if (texts.length < 2 || texts.at(-1) !== '' || texts.at(-2) !== '' || texts.length % 2 !== 0) return null;
  const found: Record<string, string> = Object.create(null) as Record<string, string>;
  for (let at = 0; at + 2 < texts.length; at += 2) found[texts[at]!] = texts[at + 1]!;
  return found;
}

/** A field of the body of an error. */
export function errorField(body: Buffer, field: string): string | null {
  for (const text of body.toString('utf8').split('\0')) if (text.startsWith(field)) return text.slice(1);
  return null;
}
