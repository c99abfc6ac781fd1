// One connection of the client of the database service: sends the frames of a tick in one write, and matches responses
// to requests. database-service.ts handles a lost connection.
import { randomInt } from 'node:crypto';
import type { Socket } from 'node:net';
import { InFlight } from '#core/in-flight.ts';
import { PlatformError, isErrorCode, type ErrorDetails } from '#core/errors.ts';
import type { StatementOwner } from '../engine/bindings/database.ts';
import { FrameReader, kinds, ops, readAnswer, requestFrame } from '../databases/protocol/frames.ts';

/** A request that has no response yet. */
export interface Sent {
  id: number;
  readonly op: number;
  readonly name: string;
  readonly transaction: number;
  payload: string;
  /** Number of processes that exited during the request. */
  attempts: number;
  /** When the request was first sent to a process that no longer has its database; absent if never. */
  wanderingSince?: number;
  /** The owner that is charged; absent for requests of the platform itself. */
  readonly owner?: StatementOwner | undefined;
  readonly resolve: (answer: string | Uint8Array) => void;
  readonly reject: (error: unknown) => void;
}

export class DatabaseLink {
  readonly #socket: Socket;
  readonly #limits: { readonly inFlightMax: number };
  readonly #sent = new InFlight<Sent>();
  #out: Buffer[] = [];
  #open = true;
  /** When data was last sent or received. */
  #movedAt = 0;
  readonly #onLost: (unanswered: Sent[]) => void;
  readonly #onElsewhere: (request: Sent) => void;
  /** Identifies this connection in the memory of its shard. */
  readonly key = randomInt(1, 2 ** 31);

  /**
   * @param onLost called once, with the unanswered requests, in order.
   * @param onElsewhere called with a request that was not started because its database is on another machine.
   */
  constructor(
    socket: Socket,
    limits: { readonly inFlightMax: number; readonly answerBytesMax: number },
    onLost: (unanswered: Sent[]) => void,
    onElsewhere: (request: Sent) => void = (request) => request.reject(new PlatformError('internal')),
  ) {
    this.#socket = socket;
    this.#limits = limits;
    this.#onLost = onLost;
    this.#onElsewhere = onElsewhere;
    const reader = new FrameReader(limits.answerBytesMax);
    socket.setNoDelay(true);
    socket.on('data', (chunk: Buffer) => {
      this.#movedAt = performance.now();
      try {
        reader.push(chunk, (frame) => this.#take(frame));
      } catch {
        socket.destroy();
      }
    });
    socket.on('error', () => {});
    socket.on('close', () => this.#lost());
  }

  get isOpen(): boolean {
    return this.#open;
  }

  /** Sends the greeting, which must be the first frame. */
  greet(greeting: Readonly<Record<string, unknown>>): Promise<string | Uint8Array> {
    return this.request(ops.hello, '', 0, JSON.stringify({ ...greeting, key: this.key }));
  }

  request(op: number, name: string, transaction: number, payload: string): Promise<string | Uint8Array> {
    return new Promise((resolve, reject) => {
      this.send({ id: 0, op, name, transaction, payload, attempts: 0, resolve, reject });
    });
  }

  /** Sends a request, or resends a request that was lost with another connection. */
  send(request: Sent): void {
    if (this.#sent.size >= this.#limits.inFlightMax) {
      const reason = `more than ${this.#limits.inFlightMax} requests wait for it`;
      request.reject(new PlatformError('database_unavailable', { reason }));
      return;
    }
    request.id = this.#sent.add(request);
    if (this.#out.length === 0) queueMicrotask(() => this.#flush());
    this.#out.push(
      requestFrame(request.id, request.op, request.name, request.transaction, request.payload, budgetOf(request)),
    );
  }

  /** How long requests have been waiting without a response; 0 if none are waiting. */
  get silentMs(): number {
    return this.#sent.size === 0 ? 0 : performance.now() - this.#movedAt;
  }

  /** The name of the database of an unanswered request. */
  get waitsFor(): string | null {
    return this.#sent.values()[0]?.name ?? null;
  }

  #flush(): void {
    this.#movedAt = performance.now();
    const out = this.#out;
    this.#out = [];
    this.#socket.write(out.length === 1 ? (out[0] as Buffer) : Buffer.concat(out));
  }

  #take(frame: Buffer): void {
    const { id, kind, cpuMs, payload } = readAnswer(frame);
    const request = this.#sent.remove(id);
    if (request === undefined) return;
    request.owner?.settleCpu(0, cpuMs);
    if (kind === kinds.json) request.resolve(payload.toString('utf8'));
    else if (kind === kinds.bytes) request.resolve(new Uint8Array(payload));
    else if (kind === kinds.elsewhere) this.#onElsewhere(request);
    else request.reject(toError(payload.toString('utf8')));
  }

  #lost(): void {
    this.#open = false;
    const unanswered = this.#sent.values();
    for (const { id } of unanswered) this.#sent.remove(id);
    this.#onLost(unanswered.toSorted((one, other) => one.id - other.id));
  }

  close(): void {
    this.#socket.destroy();
  }
}

/** CPU limit of the request's statements; 0 means no limit. */
function budgetOf({ owner }: Sent): number {
  const leftMs = owner?.cpuLeftMs ?? Number.POSITIVE_INFINITY;
  return Number.isFinite(leftMs) ? Math.max(1, Math.floor(leftMs)) : 0;
}

function toError(json: string): Error {
  const [code, details] = JSON.parse(json) as [unknown, ErrorDetails];
  return isErrorCode(code) ? new PlatformError(code, details) : new PlatformError('internal');
}
