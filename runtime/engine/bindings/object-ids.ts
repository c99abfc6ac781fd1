// Ids of durable objects, as ../guest/lazy/objects/ids.ts creates them: the second half is a checksum of the class and
// the first half. Pure.
import { hash } from 'node:crypto';

const HALF_CHARS = 32;

function half(text: string): string {
  return hash('sha256', text).slice(0, HALF_CHARS);
}

/** The id of an object of the class with that name. */
export function objectIdOf(key: string, name: string): string {
  const first = half(`${key}\nname\n${name}`);
  return first + half(`${key}\ncheck\n${first}`);
}

/**
 * Whether a text from a worker is an id of the class, and belongs to the name if there is one. @param key the key of
 * the class.
 */
export function isObjectId(key: string, id: unknown, name?: string): id is string {
  if (typeof id !== 'string' || !/^[0-9a-f]{64}$/.test(id)) return false;
  const first = id.slice(0, HALF_CHARS);
  if (first + half(`${key}\ncheck\n${first}`) !== id) return false;
  return name === undefined || half(`${key}\nname\n${name}`) === first;
}

/**
 * Like {@link isObjectId}, with a cache of the last ids by their first two digits, because most calls are for few
 * objects.
 */
export function createIdCheck(): (key: string, id: unknown, name?: string) => id is string {
  const last = Array.from({ length: 256 }, () => ({ key: '', id: '', name: undefined as string | undefined }));
  return (key, id, name): id is string => {
    const slot = typeof id === 'string' ? Number.parseInt(id.slice(0, 2), 16) : Number.NaN;
    const known = last[slot];
    if (known !== undefined && known.id === id && known.key === key && known.name === name) return true;
    if (!isObjectId(key, id, name)) return false;
    last[slot] = { key, id, name };
    return true;
  };
}
