// Ids of durable objects, as ../guest/lazy/objects/ids.ts makes them: the second half is a check over the class and the
// first. Pure.
import { createHash } from 'node:crypto';

const HALF_CHARS = 32;

function half(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, HALF_CHARS);
}

/** The id of an object of the class with that name. */
export function objectIdOf(key: string, name: string): string {
  const first = half(`${key}\nname\n${name}`);
  return first + half(`${key}\ncheck\n${first}`);
}

/** Whether a text from a worker is an id of the class, and of the name if it has one. @param key of the class. */
export function isObjectId(key: string, id: unknown, name?: string): id is string {
  if (typeof id !== 'string' || !/^[0-9a-f]{64}$/.test(id)) return false;
  const first = id.slice(0, HALF_CHARS);
  if (first + half(`${key}\ncheck\n${first}`) !== id) return false;
  return name === undefined || half(`${key}\nname\n${name}`) === first;
}
