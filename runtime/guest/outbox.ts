// What the guest has to tell the host, collected until the entry ends. Every part of the guest writes here; dispatch.ts
// sends and empties it.
import { Outbox } from '../bridge/protocol.ts';

export const outbox = new Outbox();

export function send(letter: string, ...fields: readonly (string | number)[]): void {
  outbox.record(letter, ...fields);
}
