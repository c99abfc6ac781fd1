// What the guest has to tell the host, collected until the entry ends. Every part of the guest writes here; dispatch.ts
// sends and empties it.
import { FIELD, Outbox, RECORD } from '../bridge/protocol.ts';

export const outbox = new Outbox();

export function send(letter: string, ...fields: readonly (string | number)[]): void {
  // Not handed on by a spread, which would ask an iterator that may be a tenant's.
  let record = letter + FIELD;
  for (let at = 0; at < fields.length; at++) record += fields[at]! + FIELD;
  outbox.meta += record + RECORD;
}
