// One engine's connection to a shard: parses requests from the stream, forwards them, and sends the responses of one
// tick together.
import type { Socket } from 'node:net';
import { SqlRefusal } from '#core/database-request.ts';
import type { Job } from '../sqlite/job.ts';
import { answerFrame, FrameReader, kinds, ops, readRequest, type RequestFrame } from '../protocol/frames.ts';
import type { Confirmations } from './confirmations.ts';
import type { HomeGuard } from './home-guard.ts';
import type { OpenFiles } from './open-files.ts';
import { endTurn, field } from './running.ts';

interface ShardConnectionDeps {
  readonly socket: Socket;
  /** Slot of the connection in the shared memory. */
  readonly place: number;
  readonly view: Int32Array;
  readonly files: OpenFiles;
  readonly guard: HomeGuard;
  /** Null means that writes do not wait for the replica. */
  readonly confirmations: Confirmations | null;
  readonly frameBytesMax: number;
  /** Time limit of a request. */
  readonly limitMs: number;
  /** Whether the process is also ended when a request exceeds its own budget. */
  readonly isOwn: boolean;
}

/** A request may take at least this long, even if less of its budget is left. */
const LEAST_MS = 100;
/** Resolution of the system's thread clock if it is coarse. */
const TICK_MS = 4;
/** Limit of responses waiting for a slow engine; beyond this limit, the engine's requests are not read. */
const UNSENT_BYTES_MAX = 64 * 1024 * 1024;
/** Maximum delay of responses that are sent together with later ones. */
const FLUSH_AFTER_MS = 1;

/** Operations without a time limit: they copy whole files. */
const unwatched = new Set<number>([ops.backup, ops.branch, ops.restore, ops.remove, ops.describe, ops.slow]);

export class ShardConnection {
  readonly #deps: ShardConnectionDeps;
  #answers: Buffer[] = [];
  /** Time of the first waiting response. */
  #oldest = 0;
  #reading = false;
  #greeted = false;

  constructor(deps: ShardConnectionDeps) {
    this.#deps = deps;
    const { socket, frameBytesMax } = deps;
    const reader = new FrameReader(frameBytesMax);
    socket.setNoDelay(true);
    socket.on('error', () => {});
    socket.on('drain', () => socket.resume());
    socket.on('data', (chunk: Buffer) => {
      this.#reading = true;
      try {
        reader.push(chunk, (frame) => this.#take(frame));
      } catch {
        // The client uses another protocol, so this connection is unusable.
        socket.destroy();
        return;
      } finally {
        this.#reading = false;
      }
      this.#flush();
    });
  }

  #take(frame: Buffer): void {
    const request = readRequest(frame);
    const { id, op, name, payload } = request;
    const { view, place, files, guard } = this.#deps;
    const own = field.connections + 2 * place;
    if (op === ops.hello) {
      const { key } = JSON.parse(payload.toString('utf8')) as { key: number };
      view[own] = key;
      this.#greeted = true;
      this.send(id, kinds.json, '{}');
      return;
    }
    if (!this.#greeted) throw new RangeError('The first frame must be a greeting');
    view[own + 1] = id;
    let args: unknown;
    try {
      args = JSON.parse(payload.toString('utf8'));
    } catch {
      args = null;
    }
    if (!Array.isArray(args)) {
      this.send(id, kinds.json, new SqlRefusal('SQLITE_MISUSE', 'the request is not a JSON list').toJson());
      return;
    }
    const job = new ShardJob(this, this.#deps, request, args);
    const admitted = guard.admit(name, job.continues);
    if (admitted === 'begins') files.take(name, job);
    else if (admitted === 'elsewhere') job.goElsewhere();
    else guard.keep(name, { go: () => files.take(name, job), goElsewhere: () => job.goElsewhere() });
  }

  /** Responses that have waited too long to be batched are sent before the next request starts. */
  flushLate(): void {
    if (this.#answers.length > 0 && performance.now() - this.#oldest > FLUSH_AFTER_MS) this.#flush();
  }

  /** Answers a request. */
  send(id: number, kind: number, payload: string | Uint8Array, cpuMs = 0): void {
    if (this.#answers.length === 0) this.#oldest = performance.now();
    this.#answers.push(answerFrame(id, kind, payload, cpuMs));
    if (!this.#reading) this.#flush();
  }

  #flush(): void {
    const { socket, guard } = this.#deps;
    const answers = this.#answers;
    if (answers.length === 0) return;
    this.#answers = [];
    // Another machine may have the databases by now, so the result must not be sent.
    if (!guard.isValid) {
      socket.destroy();
      return;
    }
    socket.write(answers.length === 1 ? (answers[0] as Buffer) : Buffer.concat(answers));
    if (socket.writableLength > UNSENT_BYTES_MAX) socket.pause();
  }

  /** Closes the connection, so that its engine looks up the home again. */
  destroy(): void {
    this.#deps.socket.destroy();
  }

  /** Stops taking requests. */
  pause(): void {
    this.#deps.socket.pause();
  }

  /** Sends finished responses and closes. */
  end(): Promise<void> {
    const { socket } = this.#deps;
    this.#flush();
    return new Promise((resolve) => socket.end(resolve));
  }
}

/** A request of an engine, in the memory that the watchdog reads while SQL runs. */
class ShardJob implements Job {
  readonly op: number;
  readonly transaction: number;
  readonly args: readonly unknown[];
  readonly owner: ShardConnection;
  readonly #deps: ShardConnectionDeps;
  readonly #id: number;
  readonly #name: string;
  /** Remaining CPU budget of the request's owner; 0 means no limit. */
  readonly #cpuLeftMs: number;
  readonly #meter = new CpuMeter();
  #applied: number;
  /** Number of changes of the request's database before it started. */
  #changes: number;

  constructor(owner: ShardConnection, deps: ShardConnectionDeps, request: RequestFrame, args: readonly unknown[]) {
    [this.owner, this.#deps, this.args] = [owner, deps, args];
    ({
      op: this.op,
      transaction: this.transaction,
      id: this.#id,
      name: this.#name,
      cpuLeftMs: this.#cpuLeftMs,
    } = request);
    this.#changes = deps.confirmations?.changesOf(this.#name) ?? 0;
    // The number of statements of a script that were applied before the last process exited, as counted by the client.
    this.#applied = this.op === ops.exec && Number.isSafeInteger(args[1]) ? Math.max(0, args[1] as number) : 0;
  }

  get applied(): number {
    return this.#applied;
  }

  set applied(count: number) {
    this.#deps.view[field.applied] = this.#applied = count;
  }

  /** Whether the request is part of an open transaction, including an object's. */
  get continues(): boolean {
    return this.transaction !== 0 || (this.op === ops.steps && this.args[1] !== 0);
  }

  goElsewhere(): void {
    if (this.transaction === 0) this.owner.send(this.#id, kinds.elsewhere, '');
    else {
      const reason = 'the transaction has ended: its database moved to another machine';
      this.answer(kinds.json, new SqlRefusal('SQLITE_ABORT', reason).toJson());
    }
  }

  answer(kind: number, payload: string | Uint8Array): void {
    const { confirmations } = this.#deps;
    if (confirmations === null || confirmations.changesOf(this.#name) === this.#changes) this.#send(kind, payload);
    else
      void confirmations.confirm(this.#name).then((problem) => {
        if (problem === null) this.#send(kind, payload);
        else this.#send(kinds.json, new SqlRefusal('SQLITE_IOERR', problem).toJson());
      });
  }

  #send(kind: number, payload: string | Uint8Array): void {
    this.owner.send(this.#id, kind, payload, this.#meter.cpuMs);
  }

  begin(): void {
    this.owner.flushLate();
    this.#changes = this.#deps.confirmations?.changesOf(this.#name) ?? 0;
    if (unwatched.has(this.op)) return;
    const { view, place, files, limitMs, isOwn } = this.#deps;
    view[field.connection] = place;
    view[field.request] = this.#id;
    view[field.applied] = this.#applied;
    view[field.database] = files.numberOf(this.#name);
    // The limit is twice the CPU budget of the call: on a busy machine, CPU time passes more slowly than wall time.
    view[field.limit] = isOwn && this.#cpuLeftMs > 0 ? Math.min(limitMs, 2 * this.#cpuLeftMs + LEAST_MS) : limitMs;
    this.#meter.begin();
    Atomics.add(view, field.turn, 1);
  }

  settle(): void {
    endTurn(this.#deps.view);
  }

  end(): void {
    this.#meter.end();
    endTurn(this.#deps.view);
  }
}

/** Measures the CPU of one request's statements. */
class CpuMeter {
  cpuMs = 0;
  #began = -1;
  #cpuBefore = 0;

  begin(): void {
    this.#cpuBefore = threadCpuMs();
    this.#began = performance.now();
  }

  end(): void {
    if (this.#began < 0) return;
    this.cpuMs += Math.min(performance.now() - this.#began, threadCpuMs() - this.#cpuBefore + TICK_MS);
    this.#began = -1;
  }
}

function threadCpuMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}
