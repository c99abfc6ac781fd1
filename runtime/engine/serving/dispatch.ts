// Passes requests and events to one isolate and reads its records. Each record is handled by exactly one file. Created
// by serving.ts. responses.ts handles responses; the link (bridge/link.ts) handles streams, sockets and host calls.
import { performance } from 'node:perf_hooks';
import { errorMessage, PlatformError } from '#core/errors.ts';
import type { CallOwner } from '../bridge/call-owner.ts';
import type { Link } from '../bridge/link.ts';
import { RecordReader, toHost, type Failure, type Part } from '../bridge/protocol.ts';
import { isHttp, type AnyInvocation } from '../invocation/invocation.ts';
import { failed, isFailureCode, ok, type Outcome } from '../invocation/outcome.ts';
import type { ServingDeps } from './config.ts';
import type { CpuAccounts } from './cpu-accounts.ts';
import { Responses } from './responses.ts';
import type { IsolateObjects } from './objects/isolate-objects.ts';
import type { RunningInvocations } from './running-invocations.ts';
import type { ServedDeployment } from './served-deployment.ts';

/** After this many consecutive requests that can never be answered, a fresh isolate replaces this isolate. */
const UNANSWERED_MAX = 2;

/** The isolate, as the dispatcher needs it; implemented by serving.ts. */
export interface DispatchedIsolate {
  readonly isStarting: boolean;
  readonly isCondemned: boolean;
  /** Reports the state of the worker's top level. */
  started(state: string, reason: string): void;
  condemn(): void;
}

/** Dependencies of the dispatcher. */
interface DispatchDeps {
  readonly deployment: ServedDeployment;
  readonly serving: ServingDeps;
  readonly isolate: DispatchedIsolate;
  readonly link: Link;
  readonly running: RunningInvocations;
  readonly accounts: CpuAccounts;
  readonly owners: { owner(id: number): CallOwner };
  /** The objects of the isolate; null in all lanes except that of durable objects. */
  readonly objects: IsolateObjects | null;
}

export class Dispatch {
  #deployment: ServedDeployment;
  #deps: ServingDeps;
  #isolate: DispatchedIsolate;
  #link: Link;
  #running: RunningInvocations;
  #accounts: CpuAccounts;
  #responses: Responses;
  #timer: NodeJS.Timeout | null = null;
  #closed = false;
  #owners: DispatchDeps['owners'];
  #objects: IsolateObjects | null;

  constructor(deps: DispatchDeps) {
    this.#owners = deps.owners;
    this.#objects = deps.objects;
    this.#deployment = deps.deployment;
    this.#deps = deps.serving;
    this.#isolate = deps.isolate;
    this.#link = deps.link;
    this.#running = deps.running;
    this.#accounts = deps.accounts;
    this.#responses = new Responses(deps);
  }

  /** @param body the body of a request: null without a body, undefined when it is streamed. */
  send(invocation: AnyInvocation, body: Part | null | undefined): void {
    if (invocation.phase === 'over') return;
    if (invocation.isClientGone) {
      this.#deployment.ends.end(invocation, failed('client_gone'));
      return;
    }
    const id = this.#running.add(invocation);
    invocation.id = id;
    invocation.phase = 'running';
    invocation.meter = this.#accounts;
    if (!isHttp(invocation)) {
      this.#link.sendEvent(id, invocation.kind, this.#accounts.limitMs(invocation), invocation.answer.event);
      return;
    }
    const exchange = invocation.answer;
    // Here and wherever a request creates a closure, it is assigned in two steps. V8 allocates a closure that is
    // directly assigned to a property in the old generation, where it retains its whole request until the next full
    // collection (docs/decisions/53-closures-of-a-request.md).
    const onAbort = (): void => this.#running.clientGone(invocation);
    exchange.onAbort = onAbort;
    const { object } = invocation;
    if (object === null) {
      const { callee = null } = exchange;
      if (callee !== null && (callee.entrypoint !== null || callee.session !== null))
        this.#link.sendCallee(
          JSON.stringify({
            entrypoint: callee.entrypoint ?? 'default',
            props: callee.props,
            isSession: callee.session !== null,
          }),
        );
      const headerBlock = this.#deps.clientHeaders(exchange.headerBlock, exchange.remoteAddress);
      const url = callee === null ? `${this.#deps.protocol}://${exchange.host}${exchange.target}` : callee.url;
      this.#link.sendRequest(id, exchange.method, url, headerBlock, body);
    } else {
      const { protocol } = object.address;
      const url = `${protocol}//${exchange.host}${exchange.target}`;
      this.#objects?.attach(object);
      if (object.socketEvent !== null) {
        this.#link.sendSocketEvent(id, this.#objects!.describe(object), object.socketEvent.data);
        return;
      }
      this.#link.sendObject(id, JSON.stringify(object.address), exchange.method, url, exchange.headerBlock, body);
    }
    if (body !== undefined) return;
    const stream = this.#link.openBody(id, {
      resume: () => exchange.resumeBody(),
      cancel: () => exchange.resumeBody(),
    });
    exchange.readBody({ chunk: (bytes) => stream.write(bytes, true), end: () => stream.end() });
  }

  /**
   * Reads the records of an entry.
   *
   * @throws {Error} for malformed records, after which the isolate cannot be trusted.
   */
  read(meta: string, text: string, bytes: readonly Uint8Array[]): void {
    this.readRest(new RecordReader(meta, text, bytes));
  }

  /**
   * Reads the storage records of objects, which come first in an entry. The caller has checked that there are some.
   *
   * @returns a promise that resolves when the other records may be read; null means immediately.
   * @throws {Error} for malformed records.
   */
  readStorage(reader: RecordReader, count: number): Promise<unknown> | null {
    const gates: Promise<void>[] = [];
    for (let at = 0; at < count; at++) {
      reader.next();
      const call = reader.number();
      const owner = this.#owners.owner(reader.number());
      const json = reader.field();
      const steps = reader.part(reader.field());
      reader.close();
      if (typeof steps !== 'string' || this.#objects === null) throw new Error('storage outside of an object');
      const gate = this.#objects.store(call, owner, json, steps);
      if (gate !== null) gates.push(gate);
    }
    return gates.length === 0 ? null : Promise.all(gates);
  }

  /** Like `read`, when the storage has committed. */
  readRest(reader: RecordReader): void {
    this.#link.beginTurn();
    for (let letter = reader.next(); letter !== ''; letter = reader.next()) {
      switch (letter) {
        case toHost.response:
          this.#responses.respond(reader);
          break;
        case toHost.eventResult:
          this.#eventResult(reader);
          break;
        case toHost.upgrade:
          this.#responses.upgrade(reader);
          break;
        case toHost.join:
          this.#responses.join(reader);
          break;
        case toHost.hold:
          this.#responses.hold(reader);
          break;
        case toHost.heldMessage:
        case toHost.heldClose:
        case toHost.heldAttachment:
        case toHost.heldState:
        case toHost.heldBegun:
          this.#held(letter, reader);
          break;
        case toHost.failed: {
          const id = reader.number();
          const failure = reader.json() as Failure;
          this.#failed(id, failure, reader.field() === '1');
          break;
        }
        case toHost.unstarted: {
          const id = reader.number();
          if (this.#isolate.isCondemned) this.#running.restart(id, 0);
          break;
        }
        case toHost.done: {
          const id = reader.number();
          // Do not trust "done" without a response: the client would wait forever.
          const ended = this.#running.get(id);
          const isUnanswered = ended?.phase === 'running' && !ended.isClientGone;
          this.#running.end(id, isUnanswered ? failed('no_response', { got: 'nothing' }) : ok);
          break;
        }
        case toHost.log:
          this.#log(reader.number(), reader.field(), String(reader.json()));
          break;
        case toHost.wake:
          this.#wakeAt(reader.number());
          break;
        case toHost.charge: {
          const id = reader.number();
          const cpuMs = milliseconds(reader.number());
          const untoldMs = milliseconds(reader.number());
          const invocation = this.#running.find(id);
          if (invocation !== undefined) this.#accounts.charge(invocation, cpuMs);
          // The CPU of a failed top level is charged to the invocations that waited for it. The CPU of ended
          // invocations is charged to the deployment.
          else this.#accounts.chargeAlike(id === 0 ? this.#running.all() : [], untoldMs);
          break;
        }
        case toHost.breach: {
          const id = reader.number();
          const cpuMs = milliseconds(reader.number());
          this.#breach(id, cpuMs, numbers(reader.field()));
          break;
        }
        case toHost.started:
          this.#isolate.started(reader.field(), String(reader.json()));
          break;
        case toHost.hung:
          this.#hung(numbers(reader.field()));
          break;
        case toHost.fault:
          throw reader.field() === 'memory'
            ? new PlatformError('memory_limit_exceeded')
            : new PlatformError('isolate_replaced', { reason: 'the worker broke a global that responses need' });
        case toHost.call:
          this.#link.call(reader);
          continue; // its parts were read from the record
        default:
          this.#link.read(letter, reader);
      }
      reader.close();
    }
  }

  /**
   * Handles a record about WebSockets that the engine keeps for objects. @throws {Error} outside of the objects' lane.
   */
  #held(letter: string, reader: RecordReader): void {
    const objects = this.#objects;
    if (objects === null) throw new Error('a WebSocket outside of an object');
    if (letter === toHost.heldState) {
      objects.setSocketState(reader.part(reader.field()) as string);
      return;
    }
    const id = reader.number();
    if (letter === toHost.heldMessage) {
      const sender = this.#owners.owner(reader.number());
      objects.send(id, reader.part(reader.field()) as Part, sender);
    } else if (letter === toHost.heldClose) {
      const code = reader.number();
      objects.closeSocket(id, code, String(reader.json()));
    } else if (letter === toHost.heldAttachment) objects.attachToSocket(id, reader.part(reader.field()) as string);
    else {
      const invocation = this.#running.get(id);
      const event = invocation?.object?.socketEvent ?? null;
      if (invocation === undefined || event === null) return;
      event.isBegun = true;
      invocation.wallFrom = performance.now();
      invocation.wallMsMax = event.msMax;
    }
  }

  #eventResult(reader: RecordReader): void {
    const id = reader.number();
    const result = reader.part(reader.field()) as string;
    const isOver = reader.field() === '1';
    const invocation = this.#running.get(id);
    if (invocation === undefined || isHttp(invocation)) return;
    const { deliveryBytesMax } = this.#deps.limits;
    if (result.length > deliveryBytesMax) {
      const reason = `what the handler answers has ${result.length} characters as JSON, and may have ${deliveryBytesMax}`;
      this.#deployment.log('error', `Event failed: ${reason}`, invocation);
      this.#running.end(id, failed('worker_threw', { reason }));
      return;
    }
    invocation.answer.result = result;
    invocation.phase = 'answered';
    if (isOver) this.#running.end(id, ok);
  }

  /** @param isOver whether no further record follows. */
  #failed(id: number, failure: Failure, isOver: boolean): void {
    const invocation = this.#running.get(id);
    if (invocation === undefined) return;
    const outcome = toOutcome(failure);
    if (failure.code === 'worker_threw') {
      this.#deployment.log('error', `Uncaught ${failure.stack ?? `${failure.name}: ${failure.message}`}`, invocation);
      const status =
        failure.passThrough === true && isHttp(invocation)
          ? this.#deps.fallBackToAssets(invocation.answer, this.#deployment.config)
          : 0;
      if (status !== 0) {
        invocation.phase = 'answered';
        invocation.status = status;
        invocation.firstByteAt = invocation.answeredAt = performance.now();
        if (isOver) this.#running.end(id, ok);
        return;
      }
    } else this.#deployment.log('error', errorMessage(outcome.code, outcome.details), invocation);
    // The event will be retried, so its `waitUntil` work is not awaited.
    if (isOver || !isHttp(invocation)) this.#running.end(id, outcome);
    else this.#running.fail(invocation, outcome);
  }

  #log(id: number, level: string, text: string): void {
    const known = level === 'debug' || level === 'info' || level === 'warn' || level === 'error' ? level : 'info';
    this.#deployment.log(known, text, this.#running.find(id) ?? null);
  }

  /** @param at when the isolate must be entered for its timers, in ms of the monotonic clock; -1 means never. */
  #wakeAt(at: number): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    if (!(at >= 0) || this.#closed) return;
    const now = Number(process.hrtime.bigint()) / 1e6;
    this.#timer = setTimeout(
      () => {
        this.#timer = null;
        this.#link.runTimers();
      },
      Math.min(Math.max(0, at - now), 2 ** 31 - 1),
    );
  }

  /**
   * Called when the code of an invocation, or of no invocation (0), exceeded a budget: the isolate takes no new work,
   * and the other invocations that are lost with the code run again.
   */
  #breach(id: number, cpuMs: number, lost: readonly number[]): void {
    if (this.#isolate.isStarting) {
      this.#isolate.started('cpu', '');
      return;
    }
    const invocation = this.#running.get(id) ?? null;
    const { plan } = this.#deployment.config;
    const { limitMs, usedMs } = this.#accounts.chargeBreach(invocation, cpuMs);
    // An invocation that the host has ended before is already logged.
    if (invocation !== null || id === 0)
      this.#deployment.log(
        'error',
        `CPU limit exceeded: used ${usedMs} ms of ${limitMs} ms (plan ${plan})`,
        invocation,
      );
    if (invocation !== null) this.#running.end(id, failed('cpu_limit_exceeded', { limitMs, usedMs }));
    // V8 no longer knows whose code this was, or the code belonged to no invocation.
    if (id === 0)
      this.#accounts.chargeAlike(
        lost.flatMap((other) => this.#running.get(other) ?? []),
        cpuMs,
      );
    this.#isolate.condemn();
    // The next entry reads the records that this one did not read.
    this.#link.runTimers();
    for (const other of lost) this.#running.restart(other, 1);
  }

  #hung(ids: readonly number[]): void {
    for (const id of ids) this.#running.endHung(id);
    if (this.#running.unanswered >= UNANSWERED_MAX) this.#isolate.condemn();
  }

  /** Called when the isolate has ended. */
  close(): void {
    this.#closed = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
  }
}

function toOutcome({ code, name, message, stack }: Failure): Outcome & { kind: 'failed' } {
  if (code === 'no_response') return failed(code, { got: message });
  if (code === 'illegal_response') return failed(code, { what: message });
  if (code === 'no_event_handler') return failed(code, { handler: message });
  if (code === 'worker_threw')
    return { kind: 'failed', code, details: { reason: message }, thrown: { name, message, stack: stack ?? null } };
  return isFailureCode(code) ? failed(code) : failed('internal');
}

/** @throws {Error} if the value is not a valid duration. */
function milliseconds(value: number): number {
  if (!(value >= 0 && value < Infinity)) throw new Error(`guest reported ${value} ms of CPU`);
  return value;
}

function numbers(list: string): number[] {
  return list === '' ? [] : list.split(',').map(Number);
}
