// The guest's end of byte streams over the bridge. Incoming: chunks from the host, read on demand, each read giving credit
// back. Outgoing: a pump that reads a source and waits when the host's window is used up.
import { FIELD, RECORD, toHost, type Failure, type Part } from '../bridge/protocol.ts';
import { toError } from './calls.ts';
import { currentContext, runInContext, type Context } from './context.ts';
import { currentInvocation, touch, type Invocation } from './invocation.ts';
import type { HostBody } from './host.ts';
import { outbox, send } from './outbox.ts';
import { SafeMap, toJson } from './safe.ts';
import { isReadableStream, type ReadableStream } from './web/streams.ts';

/** Bytes a pump may send before the host has to give credit; the same number as the host's limit. */
let windowBytes = 256 * 1024;

export function connectStreams(options: { windowBytes: number }): void {
  windowBytes = options.windowBytes;
}

class IncomingBody implements HostBody {
  readonly id: number;
  #owner: Invocation | undefined;
  #chunks: Uint8Array[] = [];
  #failed = false;
  #error: unknown = null;
  #ended = false;
  #waiter: { resolve(chunk: Uint8Array | null): void; reject(error: unknown): void } | null = null;

  constructor(id: number, owner: Invocation | undefined) {
    this.id = id;
    this.#owner = owner;
  }

  read(): Promise<Uint8Array | null> {
    const chunk = this.#chunks.shift();
    if (chunk !== undefined) {
      send(toHost.credit, this.id, chunk.byteLength);
      return Promise.resolve(chunk);
    }
    if (this.#failed) return Promise.reject(this.#error);
    if (this.#ended) return Promise.resolve(null);
    return new Promise((resolve, reject) => {
      this.#waiter = { resolve, reject };
    });
  }

  cancel(): void {
    if (this.#ended) return;
    this.#finish();
    this.#chunks = [];
    send(toHost.cancel, this.id);
  }

  push(chunk: Uint8Array): void {
    touch(this.#owner);
    const waiter = this.#waiter;
    if (waiter === null) {
      this.#chunks.push(chunk);
      return;
    }
    this.#waiter = null;
    send(toHost.credit, this.id, chunk.byteLength);
    waiter.resolve(chunk);
  }

  end(): void {
    this.#finish();
    this.#waiter?.resolve(null);
    this.#waiter = null;
  }

  break(error: unknown): void {
    this.#finish();
    this.#failed = true;
    this.#error = error;
    this.#chunks = [];
    this.#waiter?.reject(error);
    this.#waiter = null;
  }

  #finish(): void {
    this.#ended = true;
    incoming.delete(this.id);
  }
}

const incoming = new SafeMap<number, IncomingBody>();

/** The body that the host sends under an id. */
export function incomingBody(id: number, owner: Invocation | undefined = currentInvocation()): HostBody {
  const body = new IncomingBody(id, owner);
  incoming.set(id, body);
  return body;
}

export function pushChunk(id: number, chunk: Part): void {
  incoming.get(id)?.push(chunk as Uint8Array);
}

export function endStream(id: number): void {
  incoming.get(id)?.end();
}

export function breakStream(id: number, failure: Failure): void {
  incoming.get(id)?.break(toError(failure));
}

/** Ends an incoming body from this side with a reason of the worker's own. */
export function abortIncoming(id: number, reason: unknown): void {
  const body = incoming.get(id);
  if (body === undefined) return;
  body.break(reason);
  send(toHost.cancel, id);
}

interface Source {
  read(): Promise<Uint8Array | null>;
  cancel(reason: unknown): void;
}

class Pump {
  readonly id: number;
  #source: Source;
  #credit = windowBytes;
  #resume: (() => void) | null = null;
  #context: Context | undefined = currentContext();
  #stopped = false;
  #onEnd: () => void;

  constructor(id: number, source: Source, onEnd: () => void) {
    this.id = id;
    this.#source = source;
    this.#onEnd = onEnd;
    void this.#run();
  }

  async #run(): Promise<void> {
    try {
      while (!this.#stopped) {
        const chunk = await this.#source.read();
        if (this.#stopped) break;
        if (chunk === null) {
          send(toHost.end, this.id);
          break;
        }
        if (chunk.byteLength === 0) continue;
        // A copy is not needed: the bytes are copied when the entry ends, and the stream's rules forbid changing them meanwhile.
        outbox.meta += toHost.chunk + FIELD + this.id + FIELD + outbox.part(chunk) + FIELD + RECORD;
        this.#credit -= chunk.byteLength;
        if (this.#credit <= 0) await new Promise<void>((resolve) => (this.#resume = resolve));
      }
    } catch (error) {
      if (!this.#stopped) send(toHost.broken, this.id, toJson(brokenBy(error)));
    } finally {
      pumps.delete(this.id);
      this.#onEnd();
    }
  }

  credit(bytes: number): void {
    this.#credit += bytes;
    if (this.#credit <= 0 || this.#resume === null) return;
    const resume = this.#resume;
    this.#resume = null;
    runInContext(this.#context, resume);
  }

  stop(reason: unknown): void {
    if (this.#stopped) return;
    this.#stopped = true;
    pumps.delete(this.id);
    runInContext(this.#context, () => this.#source.cancel(reason));
    this.#resume?.();
  }

  get waitsForCredit(): boolean {
    return this.#resume !== null;
  }
}

function brokenBy(error: unknown): Failure {
  const { name, message } = (error ?? {}) as { name?: unknown; message?: unknown };
  return { code: 'worker_threw', name: String(name ?? 'Error'), message: String(message ?? error) };
}

const pumps = new SafeMap<number, Pump>();

/** Sends a body to the host under an id, chunk by chunk. */
export function openPump(id: number, body: HostBody | ReadableStream<unknown>, onEnd: () => void): void {
  pumps.set(id, new Pump(id, isReadableStream(body) ? fromStream(body) : body, onEnd));
}

function fromStream(stream: ReadableStream<unknown>): Source {
  const reader = stream.getReader();
  return {
    async read() {
      const { done, value } = await reader.read();
      if (done) return null;
      if (value instanceof Uint8Array) return value;
      if (ArrayBuffer.isView(value)) return new Uint8Array(value.buffer, value.byteOffset, value.byteLength);
      if (value instanceof ArrayBuffer) return new Uint8Array(value);
      const error = new TypeError(`A body stream must give Uint8Array chunks, but gave ${value === null ? 'null' : `a ${typeof value}`}`);
      reader.cancel(error).catch(() => {});
      throw error;
    },
    cancel(reason) {
      reader.cancel(reason).catch(() => {});
    },
  };
}

export function creditPump(id: number, bytes: number): void {
  pumps.get(id)?.credit(bytes);
}

export function cancelPump(id: number): void {
  const error = new Error('The reader of this body is gone');
  error.name = 'AbortError';
  pumps.get(id)?.stop(error);
}

/** Whether the host may still have something to say about a stream: then nobody hangs. */
export function hasOpenStreams(): boolean {
  if (incoming.size > 0) return true;
  let waits = false;
  pumps.forEach((pump) => {
    waits ||= pump.waitsForCredit;
  });
  return waits;
}
