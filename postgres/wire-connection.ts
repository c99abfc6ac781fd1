// One connection to Postgres that runs prepared statements, one at a time, each a transaction of its own: a third of what the driver
// takes per statement (bench/README.md). Made by wire.ts. No transactions of several statements, no COPY, no notifications: those go
// over the driver (connection.ts).
import { connect as connectSocket, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import type { WireAddress } from './wire-address.ts';
import { createWireLogin, type WireLogin } from './wire-login.ts';
import { formatOf, readColumn, WireWriter, type WireColumn, type WireRow, type WireValue } from './wire-values.ts';

/** An error of the server, with its SQLSTATE; or of the connection, with `CONNECTION_CLOSED`, `CONNECT_TIMEOUT` or the system's code. */
export class WireError extends Error {
  readonly code: string;
  /** The server's own function that said it: tells a plan that is out of date from a statement that is wrong. */
  readonly routine: string;

  constructor(code: string, message: string, routine = '') {
    super(message);
    this.name = 'WireError';
    this.code = code;
    this.routine = routine;
  }
}

/** A statement on its way. */
export interface WireJob {
  readonly text: string;
  readonly parameters: readonly WireValue[];
  readonly resolve: (rows: WireRow[]) => void;
  readonly reject: (error: unknown) => void;
}

/** What a connection tells its pool. */
export interface WireEvents {
  /** It takes a statement. */ readonly ready: (connection: WireConnection) => void;
  /** It is no more; what it had been given has been rejected. */ readonly gone: (connection: WireConnection, error: WireError) => void;
}

interface Statement {
  readonly name: string;
  parameters: number[];
  columns: WireColumn[];
}

const [A, B, C, D, E, N, P, R, S, T, X, Z] = [...'ABCDENPRSTXZ'].map((letter) => letter.charCodeAt(0)) as number[] as [
  number,
  number,
  number,
  number,
  number,
  number,
  number,
  number,
  number,
  number,
  number,
  number,
];
const [a1, a2, n, p, t, I, K, v] = [...'12nptIKv'].map((letter) => letter.charCodeAt(0)) as number[] as [
  number,
  number,
  number,
  number,
  number,
  number,
  number,
  number,
];
const sslRequest = Buffer.from([0, 0, 0, 8, 4, 210, 22, 47]);
const readBytes = 64 * 1024;
const connectMsMax = 5000;
const keepAliveMs = 60_000;
/** Statements that are kept prepared; the ones of stores are few, and their texts never vary. */
const statementsMax = 400;
/** A message larger than this makes no sense: no value has more than a gigabyte. */
const messageBytesMax = 2 ** 30;
const staleRoutines = new Set(['FetchPreparedStatement', 'RevalidateCachedQuery', 'transformAssignedExpr']);

export class WireConnection {
  /** By the pool: since when nothing was asked of it. */
  idleSince = 0;
  #address: WireAddress;
  #events: WireEvents;
  #socket: Socket | null = null;
  #login: WireLogin;
  #timer: NodeJS.Timeout;
  #writer = new WireWriter();
  #statements = new Map<string, Statement>();
  #named = 0;
  #isOpen = false;
  #isGone = false;
  #job: WireJob | null = null;
  #statement: Statement | null = null;
  #isDescribing = false;
  #isSecondTry = false;
  #rows: WireRow[] = [];
  #error: WireError | null = null;
  /** A message that has come in parts. */
  #partial: Buffer | null = null;
  #filled = 0;

  constructor(address: WireAddress, events: WireEvents) {
    this.#address = address;
    this.#events = events;
    this.#login = createWireLogin(address);
    this.#timer = setTimeout(
      () => this.#die(new WireError('CONNECT_TIMEOUT', `The database did not answer within ${connectMsMax} ms`)),
      connectMsMax,
    );
    const { path, host, port, tls } = address;
    const socket = connectSocket({
      ...(path === null ? { host, port } : { path }),
      // No stream in between: a buffer that is read into again and again.
      ...(tls === 'none'
        ? { onread: { buffer: Buffer.allocUnsafeSlow(readBytes), callback: (bytes, buffer) => this.#onRead(buffer as Buffer, bytes) } }
        : {}),
    });
    this.#follow(socket);
    socket.setNoDelay(true);
    socket.setKeepAlive(true, keepAliveMs);
    socket.once('connect', () => (tls === 'none' ? this.#startUp() : this.#secure(socket)));
  }

  #follow(socket: Socket): void {
    this.#socket = socket;
    socket.on('error', (error: NodeJS.ErrnoException) => this.#die(new WireError(error.code ?? 'CONNECTION_CLOSED', error.message)));
    socket.on('close', () => {
      if (this.#socket === socket) this.#die(new WireError('CONNECTION_CLOSED', 'The connection to the database was closed'));
    });
  }

  #onRead(buffer: Buffer, bytes: number): boolean {
    this.#receive(buffer.subarray(0, bytes));
    return true;
  }

  #secure(plain: Socket): void {
    const { tls, host } = this.#address;
    plain.once('data', (answer: Buffer) => {
      if (this.#isGone) return;
      if (answer.length !== 1 || answer[0] !== S) {
        if (tls !== 'preferred' || answer.length !== 1)
          return this.#die(new WireError('CONNECTION_CLOSED', 'The database does not offer TLS'));
        plain.on('data', (chunk: Buffer) => this.#receive(chunk));
        return this.#startUp();
      }
      plain.removeAllListeners('close');
      const secured = connectTls({ socket: plain, servername: host, rejectUnauthorized: tls === 'verified' });
      this.#follow(secured);
      secured.once('secureConnect', () => this.#startUp());
      secured.on('data', (chunk: Buffer) => this.#receive(chunk));
    });
    plain.write(sslRequest);
  }

  #startUp(): void {
    const { user, database, parameters } = this.#address;
    this.#writer.begin(0).int32(196_608);
    for (const [name, value] of Object.entries({ user, database, client_encoding: 'UTF8', ...parameters }))
      this.#writer.cstring(name).cstring(value);
    this.#writer.raw(nul).end();
    this.#flush();
  }

  /** Runs a statement; only between `ready` and the next. */
  run(job: WireJob): void {
    this.#job = job;
    this.#isSecondTry = false;
    this.#send();
  }

  #send(): void {
    const { text, parameters } = this.#job as WireJob;
    const statement = this.#statements.get(text);
    if (statement === undefined) return this.#prepare(text);
    this.#isDescribing = false;
    this.#statement = statement;
    const writer = this.#writer;
    try {
      const types = statement.parameters;
      if (types.length !== parameters.length)
        throw new TypeError(`The statement has ${types.length} parameters, and was given ${parameters.length}`);
      writer.begin(B).cstring('').cstring(statement.name).int16(types.length);
      for (let index = 0; index < types.length; index++)
        writer.int16(writer.formatOf(parameters[index] as WireValue, types[index] as number));
      writer.int16(types.length);
      for (let index = 0; index < types.length; index++) writer.value(parameters[index] as WireValue, types[index] as number);
      writer.int16(statement.columns.length);
      for (const { type } of statement.columns) writer.int16(formatOf(type));
      writer.end();
    } catch (error) {
      // Nothing of it has been sent.
      writer.take();
      this.#finish(error, []);
      return;
    }
    writer.begin(E).cstring('').int32(0).end();
    writer.begin(S).end();
    this.#flush();
  }

  #prepare(text: string): void {
    const writer = this.#writer;
    if (this.#statements.size >= statementsMax) {
      for (const { name } of this.#statements.values()) writer.begin(C).raw(letterS).cstring(name).end();
      this.#statements.clear();
    }
    this.#isDescribing = true;
    this.#statement = { name: `s${++this.#named}`, parameters: [], columns: [] };
    writer.begin(P).cstring(this.#statement.name).cstring(text).int16(0).end();
    writer.begin(D).raw(letterS).cstring(this.#statement.name).end();
    writer.begin(S).end();
    this.#flush();
  }

  #flush(): void {
    // It is written over only after the answer to it.
    this.#socket?.write(this.#writer.take());
  }

  #finish(error: unknown, rows: WireRow[]): void {
    const job = this.#job as WireJob;
    this.#job = null;
    this.#rows = [];
    this.#error = null;
    if (error === null) job.resolve(rows);
    else job.reject(error);
    if (!this.#isGone) this.#events.ready(this);
  }

  /** Takes the server's bytes, which stay the caller's. */
  #receive(chunk: Buffer): void {
    let at = 0;
    const { length } = chunk;
    try {
      while (at < length && !this.#isGone) {
        if (this.#partial !== null) {
          at = this.#fill(chunk, at);
          continue;
        }
        const end = length - at < 5 ? Infinity : at + 1 + toLength(chunk.readInt32BE(at + 1));
        if (end > length) {
          this.#partial = Buffer.allocUnsafeSlow(end === Infinity ? 5 : end - at);
          this.#filled = 0;
          continue;
        }
        this.#handle(chunk, at, end);
        at = end;
      }
    } catch (error) {
      // What came makes no sense: nothing of this connection can be trusted any more.
      this.#die(new WireError('CONNECTION_CLOSED', `The database cannot be understood: ${(error as Error).message}`));
    }
  }

  #fill(chunk: Buffer, at: number): number {
    let partial = this.#partial as Buffer;
    const taken = chunk.copy(partial, this.#filled, at, Math.min(chunk.length, at + partial.length - this.#filled));
    this.#filled += taken;
    if (this.#filled < partial.length) return at + taken;
    const whole = 1 + toLength(partial.readInt32BE(1));
    if (whole > partial.length) {
      // So far it was the head only.
      this.#partial = Buffer.allocUnsafeSlow(whole);
      partial.copy(this.#partial);
      return at + taken;
    }
    this.#partial = null;
    this.#handle(partial, 0, whole);
    return at + taken;
  }

  #handle(buffer: Buffer, start: number, end: number): void {
    const body = start + 5;
    switch (buffer[start]) {
      case D:
        this.#rows.push(this.#readRow(buffer, body));
        return;
      case Z:
        this.#onReady();
        return;
      case E:
        this.#error = toError(buffer.toString('utf8', body, end));
        return;
      case t:
        this.#statement!.parameters = Array.from({ length: buffer.readUInt16BE(body) }, (_, index) =>
          buffer.readUInt32BE(body + 2 + index * 4),
        );
        return;
      case T:
        this.#statement!.columns = readColumns(buffer, body);
        return;
      case R:
        void this.#signIn(buffer.readInt32BE(body), Buffer.from(buffer.subarray(body + 4, end)));
        return;
      // Word that something is done, or that need not be known here.
      case a1:
      case a2:
      case n:
      case C:
      case I:
      case K:
      case S:
      case N:
      case A:
      case v:
      case 51:
        return;
      default:
        throw new Error(`message ${buffer[start]}`);
    }
  }

  #readRow(buffer: Buffer, from: number): WireRow {
    const { columns } = this.#statement as Statement;
    const row: Record<string, unknown> = {};
    let at = from + 2;
    for (let index = 0; index < columns.length; index++) {
      const { name, type } = columns[index] as WireColumn;
      const length = buffer.readInt32BE(at);
      at += 4;
      if (length < 0) row[name] = null;
      else {
        row[name] = readColumn(buffer, type, at, at + length);
        at += length;
      }
    }
    return row;
  }

  #onReady(): void {
    if (!this.#isOpen) {
      this.#isOpen = true;
      clearTimeout(this.#timer);
      this.#events.ready(this);
      return;
    }
    const job = this.#job;
    if (job === null) throw new Error('an answer to nothing');
    const error = this.#error;
    if (error !== null) {
      if (!this.#isDescribing && !this.#isSecondTry && staleRoutines.has(error.routine)) {
        // The tables have changed since: nothing was done.
        this.#isSecondTry = true;
        this.#error = null;
        this.#rows = [];
        this.#statements.delete(job.text);
        this.#prepare(job.text);
        return;
      }
      this.#finish(error, []);
    } else if (this.#isDescribing) {
      this.#statements.set(job.text, this.#statement as Statement);
      this.#send();
    } else this.#finish(null, this.#rows);
  }

  async #signIn(kind: number, body: Buffer): Promise<void> {
    try {
      const answer = await this.#login.answer(kind, body);
      if (answer === null || this.#isGone) return;
      this.#writer.begin(p).raw(answer).end();
      this.#flush();
    } catch (error) {
      this.#die(new WireError('28000', (error as Error).message));
    }
  }

  #die(error: WireError): void {
    if (this.#isGone) return;
    this.#isGone = true;
    clearTimeout(this.#timer);
    const socket = this.#socket;
    this.#socket = null;
    socket?.destroy();
    // A server that ends a connection says why first.
    const reason = this.#error ?? error;
    if (this.#job !== null) this.#finish(reason, []);
    this.#events.gone(this, reason);
  }

  /** Ends it: at once, and what runs is rejected. */
  close(): void {
    if (this.#isOpen && this.#job === null) this.#socket?.write(this.#writer.begin(X).end().take());
    this.#die(new WireError('CONNECTION_ENDED', 'The connection to the database was ended'));
  }
}

const nul = Buffer.from([0]);
const letterS = Buffer.from([S]);

function toLength(length: number): number {
  if (length < 4 || length > messageBytesMax) throw new Error(`a message of ${length} bytes`);
  return length;
}

function readColumns(buffer: Buffer, from: number): WireColumn[] {
  const columns: WireColumn[] = [];
  let at = from + 2;
  for (let left = buffer.readUInt16BE(from); left > 0; left--) {
    const end = buffer.indexOf(0, at);
    columns.push({ name: buffer.toString('utf8', at, end), type: buffer.readUInt32BE(end + 7) });
    at = end + 19;
  }
  return columns;
}

function toError(fields: string): WireError {
  const found = new Map(fields.split('\0').map((field) => [field[0], field.slice(1)]));
  return new WireError(found.get('C') ?? 'XX000', found.get('M') ?? 'The database reports an error', found.get('R') ?? '');
}
