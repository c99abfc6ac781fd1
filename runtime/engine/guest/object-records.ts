// Storage records of durable objects: one record per object and entry, before all other records, so that the host sends
// no output that depends on a write before it is on disk. lazy/objects.ts fills it; entry-end.ts sends it.
import { FIELD, RECORD, toHost, type Part } from '../bridge/protocol.ts';
import { checkpoint } from './context.ts';
import type { GuestInvocation } from './invocation.ts';
import { loader } from './modules.ts';
import { records } from './records.ts';
import type { SessionMain } from './session-main.ts';

/** The steps of one object in this entry. */
export interface StorageBatch {
  /** Number of the call that the reply settles. */
  readonly call: number;
  readonly invocation: number;
  /** Id of the object: hex digits. */
  readonly object: string;
  /** JSON of the steps, comma-separated. */
  steps: string;
  /** Whether the transaction stays open, because it spans several turns. */
  staysOpen: boolean;
  /** Whether the steps write, or a transaction may be open. */
  writes: boolean;
  /** Whether output does not wait until the write is on disk. */
  isUnconfirmed: boolean;
  /** A new alarm in ms since 1970; -1 removes the alarm, undefined leaves it unchanged. */
  alarm: number | undefined;
  next: StorageBatch | null;
  /** Whether the record was sent, so that nothing can be added. */
  isSent: boolean;
}

/** The functions of lazy/objects.ts, which the first event of an object loads. */
interface ObjectModule {
  event(address: unknown, request: unknown, env: unknown, invocation: GuestInvocation): Promise<unknown>;
  /** Runs an event of a WebSocket that the engine keeps for an object. */
  socketEvent(event: unknown, data: Part | null, env: unknown, invocation: GuestInvocation): Promise<unknown>;
  /** The object that the calls of a session reach. */
  session(address: unknown, env: unknown, invocation: GuestInvocation): SessionMain;
  forget(id: string): void;
}

export function objectModule(): ObjectModule {
  return loader.load('objects') as ObjectModule;
}

let look: (() => boolean) | null = null;

/** Sets the function that admits events waiting at a gate. @param given whether an event entered. */
export function lookAtGates(given: () => boolean): void {
  look = given;
}

/** Called between two tasks: completes synchronous steps of the first task, and admits waiting events. */
export function settleObjects(): void {
  if (look === null) return;
  do checkpoint();
  while (look());
}

let first: StorageBatch | null = null;
let exported: Readonly<Record<string, unknown>> = {};

/** An export of the worker's module, by its name. */
export function exportOf(name: string): unknown {
  return Object.hasOwn(exported, name) ? exported[name] : undefined;
}

/** Names of the exports of the worker's module. */
export function exportNames(): string[] {
  return Object.keys(exported);
}

export function setExports(namespace: unknown): void {
  exported = (namespace ?? {}) as typeof exported;
}

/** Sends a batch at the end of the entry. */
export function sendAtEntryEnd(batch: StorageBatch): void {
  batch.next = first;
  first = batch;
}

/** This function must not call anything that tenant code can replace. */
export function flushStorage(): void {
  if (first === null) return;
  let meta = '';
  let text = '';
  for (let batch: StorageBatch | null = first; batch !== null; batch = batch.next) {
    const steps = `[${batch.steps}]`;
    const head =
      `{"object":"${batch.object}","end":${batch.staysOpen ? 0 : 1},"writes":${batch.writes ? 1 : 0}` +
      `,"unconfirmed":${batch.isUnconfirmed ? 1 : 0}${batch.alarm === undefined ? '' : `,"alarm":${batch.alarm}`}}`;
    meta += `${toHost.storage}${FIELD}${batch.call}${FIELD}${batch.invocation}${FIELD}${head}${FIELD}t${steps.length}${FIELD}${RECORD}`;
    text += steps;
    batch.isSent = true;
  }
  first = null;
  records.meta = meta + records.meta;
  records.text = text + records.text;
  records.size += text.length;
}

/** Drops steps that were not sent. */
export function dropStorage(): void {
  first = null;
}
