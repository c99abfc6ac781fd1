// The end of an entry, after all its microtasks: distributes its CPU, ends invocations that exceeded their budget or
// can never settle, and returns all collected records (records.ts). Connected by entry.ts. Hot path.
import { toHost } from '../bridge/protocol.ts';
import { finish } from './answers.ts';
import { pendingCalls } from './calls.ts';
import type { Account } from './context.ts';
import { hasFinalizers } from './fences.ts';
import { closeInvocation, GuestInvocation, openInvocations, touchedInvocations } from './invocation.ts';
import { flushPumps, hasOpenStreams } from './pumps.ts';
import { records, send } from './records.ts';
import { safeArray } from './safe.ts';
import { dropStorage, flushStorage } from './object-records.ts';
import { hasOpenSockets } from './sockets.ts';
import { hasTimers, nextWake } from './web/timers.ts';

const { apply } = Reflect;

/** Passes an entry's records to the host. */
export type Leave = (meta: string, text: string, shareMs: number, cpuMs: number, ...bytes: Uint8Array[]) => void;

let leave: Leave;
/** Whether requests already reach the worker; before that, they wait for it. */
let isServing: () => boolean;
let lastWake = -1;
/** Whether a budget was exceeded in this isolate, which the host then replaces. */
let condemned = false;

export function connectEntryEnd(answer: Leave, serves: () => boolean): void {
  leave = answer;
  isServing = serves;
}

/** Whether the host called because of due timers, so that it needs the next deadline again. */
export function forgetWake(): void {
  lastWake = -1;
}

export function isCondemned(): boolean {
  return condemned;
}

/** Native code calls this function, which must not call anything that a tenant can replace. */
export function flush(cpuMs: number, unchargedMs: number, ended: Account | undefined): void {
  flushPumps();
  if (ended === undefined) flushStorage();
  // Interrupted changes are not stored, because the host replaces the isolate.
  else dropStorage();
  const touched = touchedInvocations();
  const breached = ended === undefined ? undefined : culprit(ended, touched);
  let count = 0;
  for (let at = touched; at !== null; at = at.nextTouched) count++;
  const share = count > 0 ? unchargedMs / count : 0;
  for (let at = touched; at !== null; at = at.nextTouched) {
    const used = at.usedBefore + (at.used += share);
    if (used !== share) send(toHost.charge, at.id, used, used - at.told);
    at.told = used;
    // The budget was exceeded by many short entries that the watch did not observe, so no code of this entry is lost.
    if (at.limit > 0 && at.used >= at.limit && !at.over && at !== breached) {
      send(toHost.breach, at.id, at.used, '');
      closeInvocation(at);
    }
    if (ended === undefined && at.isDone) finish(at);
  }
  if (breached !== undefined) onBreach(breached, touched);
  else if (openInvocations() !== null && isServing()) endHung();
  for (let at = touched; at !== null;) {
    const next = at.nextTouched;
    at.nextTouched = null;
    at = next;
  }
  const wake = hasFinalizers() ? 0 : nextWake();
  if (wake !== lastWake) {
    lastWake = wake;
    send(toHost.wake, wake);
  }
  const { meta, text, bytes } = records;
  records.meta = '';
  records.text = '';
  records.size = 0;
  if (bytes.length === 0) {
    leave(meta, text, share, cpuMs);
    return;
  }
  records.bytes = safeArray<Uint8Array>() as unknown as Uint8Array[];
  const parameters = safeArray<unknown>();
  parameters[0] = meta;
  parameters[1] = text;
  parameters[2] = share;
  parameters[3] = cpuMs;
  for (let at = 0; at < bytes.length; at++) parameters[at + 4] = bytes[at];
  apply(leave, undefined, parameters as ArrayLike<never> as never);
  records.release();
}

/** If V8 no longer knows whose code was terminated, it is the only invocation that ran. */
function culprit(account: Account, touched: GuestInvocation | null): Account {
  if (!(account.limit < 0)) return account;
  if (touched === null || touched.nextTouched !== null || touched.over) return account;
  touched.used += account.used;
  return touched;
}

// Called when native code has terminated the entry. V8 has dropped all queued continuations, so unfinished code of this
// entry may never continue.
function onBreach(account: Account, touched: GuestInvocation | null): void {
  condemned = true;
  let lost = '';
  for (let at = touched; at !== null; at = at.nextTouched)
    if (!at.over && at !== account) lost += (lost === '' ? '' : ',') + at.id;
  send(toHost.breach, account instanceof GuestInvocation ? account.id : 0, account.used, lost);
  if (account instanceof GuestInvocation) closeInvocation(account);
}

function endHung(): void {
  if (pendingCalls() > 0 || hasFinalizers() || hasTimers() || hasOpenStreams() || hasOpenSockets()) return;
  let hung = '';
  for (let at = openInvocations(); at !== null;) {
    const next = at.next;
    // An event of an object may wait for another event.
    if (!at.isKept && (!at.answered || at.waiting > 0)) {
      hung += (hung === '' ? '' : ',') + at.id;
      at.answered = true;
      closeInvocation(at);
    }
    at = next;
  }
  if (hung !== '') send(toHost.hung, hung);
}
