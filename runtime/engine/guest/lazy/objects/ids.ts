// Ids of durable objects: 32 bytes. The second half is a checksum of the class and the first half, so ids of other
// classes are refused. The host computes the same checksum (runtime/engine/bindings/object-ids.ts).
import { host } from '../../host.ts';

/** An object's id, as workers see it. */
export class DurableObjectId {
  readonly #id: string;
  readonly name: string | undefined;
  readonly jurisdiction: string | undefined;

  constructor(id: string, name?: string, jurisdiction?: string) {
    this.#id = id;
    if (name !== undefined) this.name = name;
    if (jurisdiction !== undefined) this.jurisdiction = jurisdiction;
  }

  toString(): string {
    return this.#id;
  }

  equals(other: unknown): boolean {
    return other instanceof DurableObjectId && other.#id === this.#id;
  }
}

const HALF_BYTES = 16;

function toHex(bytes: Uint8Array): string {
  let text = '';
  for (let at = 0; at < bytes.length; at++) text += (bytes[at]! + 256).toString(16).slice(1);
  return text;
}

function half(text: string): string {
  return toHex(new Uint8Array(host.digest(host.utf8Encode(text), 256)).subarray(0, HALF_BYTES));
}

function complete(key: string, first: string): string {
  return first + half(`${key}\ncheck\n${first}`);
}

/** @param key the key of the class. */
export function idOfName(key: string, name: string): string {
  return complete(key, half(`${key}\nname\n${name}`));
}

export function uniqueId(key: string): string {
  const bytes = new Uint8Array(HALF_BYTES);
  host.randomFill(bytes);
  return complete(key, toHex(bytes));
}

/** Whether a text is an id of the class. */
export function isIdOf(key: string, id: string): boolean {
  return /^[0-9a-f]{64}$/.test(id) && complete(key, id.slice(0, 2 * HALF_BYTES)) === id;
}
