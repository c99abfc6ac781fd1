// What the guest has to tell the host, collected until the entry ends. Every part of the guest writes here; dispatch.ts
// sends and empties it.
import { FIELD, Outbox, RECORD, type Part } from '../bridge/protocol.ts';
import { giveBack, isWhole, isWorthGivingBack } from './spent.ts';

const Bytes = Uint8Array;

class GuestOutbox extends Outbox {
  /** Views cross with all of the memory behind them, so those of a part of it are copied first. */
  override part(part: Part | null): string {
    if (part === null || typeof part === 'string' || isWhole(part)) return super.part(part);
    const copy = new Bytes(part);
    this.spend(copy);
    return super.part(copy);
  }

  /** Says of a part that neither we nor the worker read it any more: its memory goes when the entry has ended. */
  spend(part: Uint8Array): void {
    if (!isWorthGivingBack(part)) return;
    const spent = (this.spent ??= []);
    spent[spent.length] = part;
  }

  /** The entry has ended. Nothing of it can be a tenant's. */
  release(): void {
    const { spent } = this;
    if (spent === null) return;
    this.spent = null;
    for (let at = 0; at < spent.length; at++) giveBack(spent[at]!);
  }
}

export const outbox = new GuestOutbox();

export function send(letter: string, ...fields: readonly (string | number)[]): void {
  // Not handed on by a spread, which would ask an iterator that may be a tenant's.
  let record = letter + FIELD;
  for (let at = 0; at < fields.length; at++) record += fields[at]! + FIELD;
  outbox.meta += record + RECORD;
}
