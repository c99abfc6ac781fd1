// Gives requests and events to one isolate and reads what it answers: each record goes to the one file that acts on it.
// Made by serving.ts. Responses are in responses.ts; streams, sockets and host calls are the link's (bridge/link.ts).
import { errorMessage, PlatformError } from '#core/errors.ts';
import type { Link } from '../bridge/link.ts';
import { RecordReader, toHost, type Failure, type Part } from '../bridge/protocol.ts';
import { isHttp, type AnyInvocation } from '../invocation/invocation.ts';
import { failed, isFailureCode, ok, type Outcome } from '../invocation/outcome.ts';
import type { ServedDeployment, ServingParts } from './config.ts';
import type { CpuAccounts } from './cpu-accounts.ts';
import { Responses } from './responses.ts';
import type { RunningInvocations } from './running-invocations.ts';

/** After so many requests in a row that nothing can answer a fresh isolate takes its place. */
const UNANSWERED_MAX = 2;

/** The isolate, as far as answers concern it: serving.ts. */
export interface DispatchedIsolate {
  readonly isStarting: boolean;
  readonly isCondemned: boolean;
  /** How far the worker's top level is. */
  started(state: string, reason: string): void;
  condemn(): void;
}

/** What a dispatch is made of. */
export interface DispatchParts {
  readonly deployment: ServedDeployment;
  readonly serving: ServingParts;
  readonly isolate: DispatchedIsolate;
  readonly link: Link;
  readonly running: RunningInvocations;
  readonly accounts: CpuAccounts;
}

export class Dispatch {
  #deployment: ServedDeployment;
  #parts: ServingParts;
  #isolate: DispatchedIsolate;
  #link: Link;
  #running: RunningInvocations;
  #accounts: CpuAccounts;
  #responses: Responses;
  #timer: NodeJS.Timeout | null = null;
  #closed = false;

  constructor(parts: DispatchParts) {
    this.#deployment = parts.deployment;
    this.#parts = parts.serving;
    this.#isolate = parts.isolate;
    this.#link = parts.link;
    this.#running = parts.running;
    this.#accounts = parts.accounts;
    this.#responses = new Responses(parts);
  }

  /** @param body of a request: null without one, undefined when it streams in. */
  send(invocation: AnyInvocation, body: Part | null | undefined): void {
    if (invocation.phase === 'over') return;
    if (invocation.isClientGone) {
      this.#deployment.end(invocation, failed('client_gone'));
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
    // In two steps, here and wherever a request makes one: V8 makes a closure that goes to a property at once in the
    // old generation, where it holds on to all of its request until the next full collection
    // (docs/decisions/53-closures-of-a-request.md).
    const onAbort = (): void => this.#running.clientGone(invocation);
    exchange.onAbort = onAbort;
    const headerBlock = this.#parts.clientHeaders(exchange.headerBlock, exchange.remoteAddress);
    this.#link.sendRequest(
      id,
      exchange.method,
      `${this.#parts.protocol}://${exchange.host}${exchange.target}`,
      headerBlock,
      body,
    );
    if (body !== undefined) return;
    const stream = this.#link.openBody(id, {
      resume: () => exchange.resumeBody(),
      cancel: () => exchange.resumeBody(),
    });
    exchange.readBody({ chunk: (bytes) => stream.write(bytes, true), end: () => stream.end() });
  }

  /**
   * Reads what an entry sent.
   *
   * @throws {Error} where it makes no sense: nothing of the isolate can be trusted any more.
   */
  read(meta: string, text: string, bytes: readonly Uint8Array[]): void {
    const reader = new RecordReader(meta, text, bytes);
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
          // Over without an answer is none of ours to believe: its client would wait for ever.
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
          // A top level that failed is paid by those that waited for it; code of what is over, by the deployment.
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
            : new PlatformError('isolate_replaced', { reason: 'the worker broke what its answers are made with' });
        case toHost.call:
          this.#link.call(reader);
          continue; // its parts have left the record
        default:
          this.#link.read(letter, reader);
      }
      reader.close();
    }
  }

  #eventResult(reader: RecordReader): void {
    const id = reader.number();
    const result = reader.part(reader.field()) as string;
    const isOver = reader.field() === '1';
    const invocation = this.#running.get(id);
    if (invocation === undefined || isHttp(invocation)) return;
    const { deliveryBytesMax } = this.#parts.limits;
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

  /** @param isOver nothing else follows. */
  #failed(id: number, failure: Failure, isOver: boolean): void {
    const invocation = this.#running.get(id);
    if (invocation === undefined) return;
    const outcome = toOutcome(failure);
    if (failure.code === 'worker_threw') {
      this.#deployment.log('error', `Uncaught ${failure.stack ?? `${failure.name}: ${failure.message}`}`, invocation);
      if (
        failure.passThrough === true &&
        isHttp(invocation) &&
        this.#parts.passThrough(invocation.answer, this.#deployment.config)
      ) {
        invocation.phase = 'answered';
        if (isOver) this.#running.end(id, ok);
        return;
      }
    } else this.#deployment.log('error', errorMessage(outcome.code, outcome.details), invocation);
    // An event begins again: what it left to `waitUntil` is not waited for.
    if (isOver || !isHttp(invocation)) this.#running.end(id, outcome);
    else this.#running.fail(invocation, outcome);
  }

  #log(id: number, level: string, text: string): void {
    const known = level === 'debug' || level === 'info' || level === 'warn' || level === 'error' ? level : 'info';
    this.#deployment.log(known, text, this.#running.find(id) ?? null);
  }

  /** @param at when it wants to be entered for its timers: ms of the monotonic clock; -1: not. */
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
   * The code of an invocation, or of none (0), used up a budget: its isolate takes nothing new, and what was lost with
   * it runs again.
   */
  #breach(id: number, cpuMs: number, lost: readonly number[]): void {
    if (this.#isolate.isStarting) {
      this.#isolate.started('cpu', '');
      return;
    }
    const invocation = this.#running.get(id) ?? null;
    const { plan } = this.#deployment.config;
    const { limitMs, usedMs } = this.#accounts.chargeBreach(invocation, cpuMs);
    // One that the host has ended before is in the log.
    if (invocation !== null || id === 0)
      this.#deployment.log(
        'error',
        `CPU limit exceeded: used ${usedMs} ms of ${limitMs} ms (plan ${plan})`,
        invocation,
      );
    if (invocation !== null) this.#running.end(id, failed('cpu_limit_exceeded', { limitMs, usedMs }));
    // V8 has forgotten whose code it was, or it belonged to no invocation.
    if (id === 0)
      this.#accounts.chargeAlike(
        lost.flatMap((other) => this.#running.get(other) ?? []),
        cpuMs,
      );
    this.#isolate.condemn();
    // What the entry had not come to read yet is read by the next one.
    this.#link.runTimers();
    for (const other of lost) this.#running.restart(other, 1);
  }

  #hung(ids: readonly number[]): void {
    for (const id of ids) this.#running.endHung(id);
    if (this.#running.unanswered >= UNANSWERED_MAX) this.#isolate.condemn();
  }

  /** The isolate is gone. */
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

/** @throws {Error} for what is no time that was used. */
function milliseconds(value: number): number {
  if (!(value >= 0 && value < Infinity)) throw new Error(`guest reported ${value} ms of CPU`);
  return value;
}

function numbers(list: string): number[] {
  return list === '' ? [] : list.split(',').map(Number);
}
