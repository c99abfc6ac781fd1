// The durable objects in this isolate, created by their first event, and the events that they handle. lazy.ts loads
// this module when it is first used; entry.ts and dispatch.ts call it for the records of objects.
import type { Part } from '../../bridge/protocol.ts';
import { AsyncLocalStorage } from '../context.ts';
import { currentInvocation, type GuestInvocation } from '../invocation.ts';
import { useModule } from '../modules.ts';
import { exportOf } from '../object-records.ts';
import { SafeMap, toJson } from '../safe.ts';
import type { SessionMain } from '../session-main.ts';
import { createIncomingResponse } from '../web/response.ts';
import { clearTimeout, setTimeout } from '../web/timers.ts';
import { Gate } from './objects/gate.ts';
import { DurableObjectId } from './objects/ids.ts';
import { AcceptedSockets, type SocketEvent } from './objects/sockets.ts';
import { DurableObjectState, type StateOwner } from './objects/state.ts';
import { StorageQueue } from './objects/storage-queue.ts';

/** The address of the object of an event, from the host (core/object-address.ts). */
interface Address {
  readonly id: string;
  readonly class: string;
  readonly name?: string;
  readonly op: 'fetch' | 'rpc' | 'alarm';
  /** For `alarm`, the number of earlier attempts. */
  readonly retries?: number;
}

type Instance = Record<string, unknown>;

/** Status of a response that represents an error of the object; workers cannot use it. */
const THREW = 999;

const JSON_HEADERS = 'content-type\0application/json\0';
/** How long a section of `blockConcurrencyWhile` may run. */
const SECTION_MS_MAX = 30_000;

const TOO_LONG =
  'A call to blockConcurrencyWhile() in a Durable Object waited for too long. ' +
  'The call was canceled and the Durable Object was reset.';

class LiveObject implements StateOwner {
  readonly #inside = new AsyncLocalStorage<LiveObject>();
  readonly gate = new Gate(() => this.#inside.getStore() === this);
  readonly queue: StorageQueue;
  readonly sockets = new AcceptedSockets(this);
  readonly alarm = { isRunning: false, wasSet: false };
  readonly id: string;
  readonly #pending = new Set<(error: Error) => void>();
  hasAlarm = false;
  #section: Promise<unknown> = Promise.resolve();
  #instance: Instance | null = null;
  #failure: Error | null = null;

  constructor(id: string) {
    this.id = id;
    this.queue = new StorageQueue(id, this.gate);
  }

  /** @throws the error that the constructor throws. */
  create(address: Address, env: unknown): void {
    const exported = exportOf(address.class);
    if (typeof exported !== 'function')
      throw new TypeError(`The class ${address.class} of this object is not exported by the worker`);
    const state = new DurableObjectState(this, new DurableObjectId(address.id, address.name));
    this.hasAlarm = typeof (exported.prototype as { alarm?: unknown } | undefined)?.alarm === 'function';
    this.#instance = new (exported as new (ctx: unknown, env: unknown) => Instance)(state, env);
  }

  get instance(): Instance | null {
    return this.#instance;
  }

  readonly reset = (reason: Error): void => {
    this.#failure = reason;
    if (live.get(this.id) === this) live.delete(this.id);
    const rejections = Array.from(this.#pending);
    this.#pending.clear();
    for (const reject of rejections) reject(reason);
    this.sockets.closeAll(reason.message);
  };

  /**
   * Runs a section of code. No event enters in the meantime. Sections of events that have already entered run one after
   * the other.
   */
  readonly alone = <Result>(section: () => Promise<Result>): Promise<Result> => {
    const isFirst = this.gate.sections === 0;
    this.gate.sections++;
    const run = async (): Promise<Result> => {
      const timer = setTimeout(() => this.reset(new Error(TOO_LONG)), SECTION_MS_MAX);
      try {
        return await this.#inside.run(this, section);
      } finally {
        clearTimeout(timer);
        this.gate.sections--;
        this.gate.open();
      }
    };
    // A nested section does not wait, because it would wait for the section that contains it.
    if (isFirst || this.#inside.getStore() === this) {
      const done = run();
      if (isFirst) this.#section = done.catch(() => {});
      return done;
    }
    const turn = this.#section.then(run);
    this.#section = turn.catch(() => {});
    return turn;
  };

  /** Runs an event as soon as it is allowed to enter. */
  run(event: (instance: Instance) => unknown): Promise<unknown> {
    if (this.#failure !== null) return Promise.reject(this.#failure);
    return new Promise((resolve, reject) => {
      this.#pending.add(reject);
      const settle = (): void => void this.#pending.delete(reject);
      this.gate.enter(() => {
        if (this.#failure !== null) return;
        (async () => event(this.#instance!))().then(
          (value) => {
            settle();
            resolve(value);
          },
          (error: unknown) => {
            settle();
            reject(error as Error);
          },
        );
      });
    });
  }
}

const live = new SafeMap<string, LiveObject>();

function find(address: Address, env: unknown): LiveObject {
  const known = live.get(address.id);
  if (known !== undefined) return known;
  const made = new LiveObject(address.id);
  live.set(address.id, made);
  // The constructor may wait for its storage.
  const invocation = currentInvocation();
  if (invocation !== undefined) enter(invocation, made);
  try {
    made.create(address, env);
  } catch (error) {
    live.delete(address.id);
    throw error;
  }
  return made;
}

/** Marks the invocation as an event of the object, whose code continues after the response. */
function enter(invocation: GuestInvocation, object: LiveObject): void {
  invocation.gate = object.gate;
  invocation.isKept = true;
}

function methodOf(instance: Instance, name: string): (...args: unknown[]) => unknown {
  const method = instance[name];
  if (typeof method !== 'function') throw new Error(`Handler does not export a ${name}() function.`);
  return method.bind(instance) as (...args: unknown[]) => unknown;
}

/** Names that other workers cannot call: methods that only the platform calls, and one method of stubs. */
const hidden = new Set(['dup', 'fetch', 'alarm', 'webSocketMessage', 'webSocketClose', 'webSocketError']);

/** The target of an RPC session: each call is an event of the object. */
function session(address: Address, env: unknown, invocation: GuestInvocation): SessionMain {
  let object: LiveObject;
  try {
    object = find(address, env);
  } catch (error) {
    return { object: () => null, run: () => Promise.reject(error as Error) };
  }
  enter(invocation, object);
  return {
    object: () => object.instance,
    hides: (name) => hidden.has(name),
    run: (call) => object.run(call),
  };
}

async function ring(object: LiveObject, instance: Instance, { retries = 0 }: Address): Promise<unknown> {
  const { queue, alarm } = object;
  const at = (await queue.add(['a'], { closesGate: true, writes: false })) as number | null;
  const answer = (value: object): unknown => createIncomingResponse(200, '', JSON_HEADERS, toJson(value), '', false);
  if (at === null) return answer({ at: null });
  if (at > Date.now() + 1) return answer({ at });
  alarm.isRunning = true;
  alarm.wasSet = false;
  try {
    await methodOf(instance, 'alarm')({ retryCount: retries, isRetry: retries > 0, scheduledTime: at });
    if (!alarm.wasSet) await queue.add(['A', null], { closesGate: false, writes: true });
  } finally {
    alarm.isRunning = false;
  }
  return answer({ at: alarm.wasSet ? 'set' : null });
}

/** Runs an event of an object, and returns its response, or a response that represents its error. */
async function event(address: Address, request: unknown, env: unknown, invocation: GuestInvocation): Promise<unknown> {
  try {
    const object = find(address, env);
    enter(invocation, object);
    return await object.run((instance) =>
      address.op === 'fetch' ? methodOf(instance, 'fetch')(request) : ring(object, instance, address),
    );
  } catch (error) {
    return createIncomingResponse(THREW, '', JSON_HEADERS, toJson(stored(error)), '', false);
  }
}

/** Runs an event of a WebSocket that the engine keeps. @param data the data of a message. */
async function socketEvent(
  address: Address & SocketEvent,
  data: Part | null,
  env: unknown,
  invocation: GuestInvocation,
): Promise<unknown> {
  const object = find(address, env);
  enter(invocation, object);
  return object.run((instance) => object.sockets.receive(instance, address, data));
}

/** The thrown value, if it can be copied; for an error, with its own fields. */
function stored(error: unknown): readonly [error: unknown, fields: unknown] {
  const { toStored } = useModule('stored-values');
  const copy = (value: () => unknown, otherwise: unknown): unknown => {
    try {
      return toStored(value());
    } catch {
      return otherwise;
    }
  };
  const message = String((error as { message?: unknown } | null)?.message ?? 'An error');
  return [
    copy(() => error, toStored(new Error(message))),
    error instanceof Error ? copy(() => ({ ...error }), {}) : {},
  ];
}

/** Called when no code of the object runs any more, and another isolate may create it again. */
function forget(id: string): void {
  live.delete(id);
}

export { event, forget, session, socketEvent };
