// setTimeout, setInterval, setImmediate and scheduler.wait. The host keeps one timer per isolate, for the earliest
// deadline; a binary heap here determines which timers are due. A timer runs in the context that set it.
import { checkpoint, currentContext, runInContext, type Context } from '../context.ts';
import { currentInvocation, touch, type GuestInvocation } from '../invocation.ts';
import { host } from '../host.ts';
import { SafeMap, safeArray } from '../safe.ts';
import { reportUncaught } from './console.ts';

interface Timer {
  id: number;
  at: number;
  every: number | null;
  callback: (...parameters: unknown[]) => unknown;
  parameters: unknown[];
  context: Context | undefined;
  owner: GuestInvocation | undefined;
  /** Whether the timer is counted as pending work of its owner. */
  isWork: boolean;
  cleared: boolean;
}

const DELAY_MAX = 2 ** 31 - 1;
/** A timer of an ended event of a durable object runs if it is due within this time. */
const WORK_MS_MAX = 60_000;

let timersMax = 10_000;
let nextId = 1;
const heap = safeArray<Timer>();
const byId = new SafeMap<number, Timer>();

export function connectTimers(options: { timersMax: number }): void {
  timersMax = options.timersMax;
}

const earlier = (a: Timer, b: Timer): boolean => a.at < b.at || (a.at === b.at && a.id < b.id);

function push(timer: Timer): void {
  let at = heap.length;
  while (at > 0) {
    const parent = (at - 1) >> 1;
    const above = heap[parent] as Timer;
    if (!earlier(timer, above)) break;
    heap[at] = above;
    at = parent;
  }
  heap[at] = timer;
}

function pop(): Timer {
  const top = heap[0] as Timer;
  const last = heap[heap.length - 1] as Timer;
  heap.length--;
  if (heap.length === 0) return top;
  let at = 0;
  for (;;) {
    let child = at * 2 + 1;
    if (child >= heap.length) break;
    if (child + 1 < heap.length && earlier(heap[child + 1] as Timer, heap[child] as Timer)) child++;
    const below = heap[child] as Timer;
    if (!earlier(below, last)) break;
    heap[at] = below;
    at = child;
  }
  heap[at] = last;
  return top;
}

function schedule(callback: unknown, delay: unknown, parameters: unknown[], repeat: boolean): number {
  if (typeof callback !== 'function') throw new TypeError('The callback of a timer must be a function');
  if (byId.size >= timersMax) throw new RangeError(`More than ${timersMax} timers at a time are not allowed`);
  let ms = Math.trunc(Number(delay)) || 0;
  if (ms < 0 || ms > DELAY_MAX) ms = 0;
  if (repeat && ms === 0) ms = 1;
  const owner = currentInvocation();
  const timer: Timer = {
    id: nextId++,
    at: host.now() + ms,
    every: repeat ? ms : null,
    callback: callback as Timer['callback'],
    parameters,
    context: currentContext(),
    owner,
    isWork: !repeat && ms <= WORK_MS_MAX && owner !== undefined,
    cleared: false,
  };
  if (timer.isWork) owner!.work++;
  byId.set(timer.id, timer);
  push(timer);
  return timer.id;
}

export function setTimeout(callback: unknown, delay?: unknown, ...parameters: unknown[]): number {
  return schedule(callback, delay, parameters, false);
}

export function setInterval(callback: unknown, delay?: unknown, ...parameters: unknown[]): number {
  return schedule(callback, delay, parameters, true);
}

export function setImmediate(callback: unknown, ...parameters: unknown[]): number {
  return schedule(callback, 0, parameters, false);
}

export function clearTimeout(id?: unknown): void {
  const key = Number(id);
  const timer = byId.get(key);
  if (timer === undefined) return;
  timer.cleared = true;
  byId.delete(key);
  if (!timer.isWork) return;
  timer.owner!.work--;
  // This timer may have been the last work of its owner.
  touch(timer.owner);
}

/** Whether any timer is scheduled, except timers of ended invocations, which never run. */
export function hasTimers(): boolean {
  drop();
  return heap.length > 0;
}

function isDead(timer: Timer): boolean {
  return timer.cleared || timer.owner?.over === true;
}

function drop(): void {
  while (heap.length > 0 && isDead(heap[0] as Timer)) byId.delete(pop().id);
}

/**
 * When the earliest timer is due, in milliseconds, rounded up so that an unchanged deadline is not sent again; -1 if
 * there is no timer.
 */
export function nextWake(): number {
  drop();
  if (heap.length === 0) return -1;
  return Math.max(0, Math.ceil((heap[0] as Timer).at));
}

/** Runs due timers. */
export function dueTimers(): void {
  const now = host.now();
  // Callbacks run one at a time, so a terminated callback leaves the others in the heap.
  for (drop(); heap.length > 0 && (heap[0] as Timer).at <= now; drop()) {
    const timer = pop();
    if (timer.every === null) {
      byId.delete(timer.id);
    } else {
      timer.at = now + timer.every;
      push(timer);
    }
    if (timer.isWork) timer.owner!.work--;
    timer.owner?.renewForTimer(now);
    touch(timer.owner);
    try {
      runInContext(timer.context, timer.callback as (...parameters: never[]) => unknown, globalThis, timer.parameters);
    } catch (error) {
      reportUncaught(error, 'Uncaught', timer.owner);
    }
    checkpoint();
  }
}

/** `scheduler.wait(ms, { signal })`. */
export const scheduler = {
  wait(
    ms: number,
    options: {
      signal?: { aborted: boolean; reason: unknown; addEventListener(type: string, listener: () => void): void };
    } = {},
  ): Promise<void> {
    const { signal } = options;
    return new Promise((resolve, reject) => {
      if (signal?.aborted) {
        reject(signal.reason);
        return;
      }
      const id = setTimeout(resolve, ms);
      signal?.addEventListener('abort', () => {
        clearTimeout(id);
        reject(signal.reason);
      });
    });
  },
};
