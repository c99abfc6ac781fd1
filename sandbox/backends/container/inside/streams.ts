// Multiplexes byte streams over one stream: a container's standard input and output carry all connections to its agent
// and out of the sandbox. Used on both sides (../channel.ts, main.ts), which do not trust each other. Either process
// may restart at any byte, so a session begins with a greeting.
import { randomBytes } from 'node:crypto';
import { Duplex } from 'node:stream';

/** The frame format: kind, stream id, length of the payload. */
const HEADER_BYTES = 9;
/** Zeros between frames are skipped: after a full frame of zeros, the receiver is in sync. */
const [OPEN, DATA, END, RESET, CREDIT, TAKEN, HELLO, WELCOME] = [1, 2, 3, 4, 5, 6, 7, 8];
const FRAME_BYTES_MAX = 16 * 1024;
/** How much one side may send on a stream before the other has read it. */
const WINDOW_BYTES = 128 * 1024;
/**
 * Limit of unacknowledged bytes on all streams together, where each frame costs this overhead too: pipes and sockets
 * between the sides are not limited otherwise, and podman closes connections that are read too slowly.
 */
const ON_ITS_WAY_MAX = 64 * 1024;
/** Maximum buffered output, control frames included, before the greeting side gives up the connection. */
const UNREAD_MAX = 256 * 1024;
const FRAME_COST = 1024;
const TAKEN_LEAST = 16 * 1024;
/** Frames handled in a row, so that a flood does not block the event loop. */
const FRAMES_AT_ONCE = 64;
/** Maximum streams opened by one side. */
const STREAMS_MAX = 256;
const TOPIC_BYTES_MAX = 512;
const GREETING_BYTES = 16;

/** One side of the connection. */
interface Streams {
  /** Opens a stream to the other side, whose `onOpen` is called. Opening a stream fails when the connection is lost. */
  open(topic: string): Duplex;
  /** Ends everything. */
  close(): void;
}

interface StreamsDeps {
  /** Writes frames; after false, `drained` resolves when more can be written. */
  readonly channel: Duplex;
  /** Whether this side sends greetings. The other side only answers greetings; each greeting resets all streams. */
  readonly greets: boolean;
  onOpen(topic: string, stream: Duplex): void;
  /** For the greeting side: called when the other side has answered. */
  onGreeted?(): void;
  onLost(error: Error): void;
}

/** State shared by the streams. */
interface Line {
  send(kind: number, id: number, payload: Uint8Array, done?: () => void): void;
  /** Whether more data may be sent; otherwise `again` is called when it may, or when the stream has ended. */
  hasRoom(stream: OneStream, again: () => void): boolean;
  forget(stream: OneStream): void;
}

class OneStream extends Duplex {
  readonly id: number;
  /** Bytes that may be sent, and bytes read but not credited yet. */
  credit = WINDOW_BYTES;
  unread = 0;
  isOver = false;
  waiting: (() => void) | null = null;
  #line: Line;
  /** Data received before it was read, merged into blocks, since a frame may have a single byte. */
  #blocks: Buffer[] = [];
  /** Bytes in the last block. */
  #lastUsed = 0;
  #isWanted = false;
  #hasEnded = false;

  constructor(id: number, line: Line) {
    super({ allowHalfOpen: true, readableHighWaterMark: 1, writableHighWaterMark: FRAME_BYTES_MAX });
    this.id = id;
    this.#line = line;
    // The other events of the stream also report the error.
    this.on('error', () => {});
  }

  override _write(chunk: Buffer, _encoding: string, done: (error?: Error | null) => void): void {
    if (this.isOver) return done(lost());
    if (chunk.length === 0) return done();
    const size = Math.min(chunk.length, this.credit, FRAME_BYTES_MAX);
    if (size === 0) {
      this.waiting = () => this._write(chunk, _encoding, done);
      return;
    }
    if (!this.#line.hasRoom(this, () => this._write(chunk, _encoding, done))) return;
    this.credit -= size;
    const isWhole = size === chunk.length;
    this.#line.send(DATA, this.id, chunk.subarray(0, size), () =>
      isWhole ? done() : this._write(chunk.subarray(size), _encoding, done),
    );
  }

  override _final(done: () => void): void {
    if (!this.isOver) this.#line.send(END, this.id, EMPTY);
    done();
  }

  override _read(): void {
    this.#isWanted = true;
    this.#pass();
    const kept = this.#blocks.length === 0 ? 0 : (this.#blocks.length - 1) * FRAME_BYTES_MAX + this.#lastUsed;
    const read = this.unread - this.readableLength - kept;
    // Credits are batched.
    if (this.isOver || read < WINDOW_BYTES / 4) return;
    this.unread -= read;
    this.#line.send(CREDIT, this.id, uint32(read));
  }

  /** Delivers buffered data. */
  #pass(): void {
    if (!this.#isWanted || (this.#blocks.length === 0 && !this.#hasEnded)) return;
    this.#isWanted = false;
    const isWhole = this.#blocks.length > 1 || this.#lastUsed === FRAME_BYTES_MAX;
    const block = this.#blocks.shift();
    if (block === undefined) this.push(null);
    else this.push(isWhole ? block : copyOf(block.subarray(0, this.#lastUsed)));
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    if (!this.isOver) {
      this.isOver = true;
      if (!(this.readableEnded && this.writableFinished)) this.#line.send(RESET, this.id, EMPTY);
    }
    this.#line.forget(this);
    const { waiting } = this;
    this.waiting = null;
    waiting?.();
    done(error);
  }

  /** Receives data. Returns false if the data exceeds the credit. */
  accept(chunk: Buffer): boolean {
    this.unread += chunk.length;
    if (this.unread > WINDOW_BYTES || this.#hasEnded) return false;
    if (this.#isWanted && chunk.length > 0) {
      this.#isWanted = false;
      this.push(copyOf(chunk));
      return true;
    }
    for (let at = 0; at < chunk.length;) {
      if (this.#blocks.length === 0 || this.#lastUsed === FRAME_BYTES_MAX) {
        this.#blocks.push(Buffer.allocUnsafe(FRAME_BYTES_MAX));
        this.#lastUsed = 0;
      }
      const size = chunk.copy(this.#blocks.at(-1)!, this.#lastUsed, at);
      this.#lastUsed += size;
      at += size;
    }
    return true;
  }

  /** Records that no more data follows. */
  finish(): void {
    this.#hasEnded = true;
    this.#pass();
  }

  wake(): void {
    const { waiting } = this;
    this.waiting = null;
    waiting?.();
  }
}

const EMPTY = new Uint8Array();

/** Copies the data: a slice would keep its whole buffer in memory. */
function copyOf(bytes: Buffer): Buffer {
  const copy = Buffer.allocUnsafeSlow(bytes.length);
  bytes.copy(copy);
  return copy;
}

export function openStreams({ channel, greets, onOpen, onGreeted, onLost }: StreamsDeps): Streams {
  const streams = new Map<number, OneStream>();
  let lastId = greets ? 1 : 0;
  let theirs = 0;
  let isOver = false;
  let pending: Buffer[] = [];
  let pendingBytes = 0;
  /** Until the greeting is answered, data belongs to an earlier session. */
  let greeting: Buffer | null = greets ? randomBytes(GREETING_BYTES) : null;

  /** Bytes sent but not acknowledged; bytes received but not acknowledged yet. */
  let onItsWay = 0;
  let taken = 0;
  const waiting = new Map<OneStream, () => void>();

  const send = (kind: number, id: number, payload: Uint8Array, done?: () => void): void => {
    if (isOver) return done?.();
    if (kind !== TAKEN) onItsWay += FRAME_COST + payload.length;
    const header = Buffer.allocUnsafe(HEADER_BYTES);
    header.writeUInt8(kind, 0);
    header.writeUInt32BE(id, 1);
    header.writeUInt32BE(payload.length, 5);
    if (payload.length === 0) channel.write(header, done);
    else channel.write(Buffer.concat([header, payload]), done);
  };
  const line: Line = {
    send,
    hasRoom(stream, again) {
      if (onItsWay < ON_ITS_WAY_MAX || isOver) return true;
      waiting.set(stream, again);
      return false;
    },
    forget(stream) {
      const again = waiting.get(stream);
      waiting.delete(stream);
      again?.();
      if (streams.get(stream.id) !== stream) return;
      streams.delete(stream.id);
      if (isTheirs(stream.id)) theirs--;
    },
  };
  /** Resumes waiting streams. */
  const room = (): void => {
    const ready = [...waiting.values()];
    waiting.clear();
    for (const again of ready) again();
  };
  const isUnread = (): boolean => greets && channel.writableLength > UNREAD_MAX;
  const isTheirs = (id: number): boolean => (id % 2 === 1) !== greets;

  function dropAll(): void {
    for (const stream of streams.values()) {
      stream.isOver = true;
      stream.destroy(lost());
    }
    streams.clear();
    theirs = 0;
    onItsWay = 0;
    taken = 0;
    room();
  }

  function end(error: Error): void {
    if (isOver) return;
    isOver = true;
    dropAll();
    channel.destroy();
    onLost(error);
  }

  function take(kind: number, id: number, payload: Buffer): string | null {
    if (kind === HELLO) {
      if (greets || payload.length !== GREETING_BYTES) return 'a greeting';
      dropAll();
      send(WELCOME, 0, payload);
      return null;
    }
    if (kind === OPEN) {
      if (!isTheirs(id) || streams.has(id) || payload.length > TOPIC_BYTES_MAX) return 'a stream that cannot be';
      const stream = new OneStream(id, line);
      if (theirs >= STREAMS_MAX) {
        send(RESET, id, EMPTY);
        stream.isOver = true;
        stream.destroy();
        return null;
      }
      streams.set(id, stream);
      theirs++;
      onOpen(payload.toString(), stream);
      return null;
    }
    if (kind === TAKEN && payload.length === 4) {
      onItsWay = Math.max(0, onItsWay - payload.readUInt32BE(0));
      room();
      return null;
    }
    const stream = streams.get(id);
    // Arrived after the stream was closed here.
    if (stream === undefined) return kind <= CREDIT ? null : `kind ${kind}`;
    if (kind === DATA) return stream.accept(payload) ? null : 'more than the window of a stream';
    if (kind === END) stream.finish();
    else if (kind === RESET) {
      stream.isOver = true;
      stream.destroy(lost());
    } else if (kind === CREDIT && payload.length === 4) {
      stream.credit = Math.min(WINDOW_BYTES, stream.credit + payload.readUInt32BE(0));
      stream.wake();
    } else return `kind ${kind}`;
    return null;
  }

  function read(chunk: Buffer): void {
    pending.push(chunk);
    pendingBytes += chunk.length;
    // Waits for the payload of a frame without repeated concatenation.
    if (needed > pendingBytes) return;
    let rest = pending.length === 1 ? chunk : Buffer.concat(pending);
    if (greeting !== null) {
      const at = rest.indexOf(greeting);
      if (at === -1) {
        rest = rest.subarray(Math.max(0, rest.length - GREETING_BYTES));
        pending = [rest];
        pendingBytes = rest.length;
        return;
      }
      greeting = null;
      rest = rest.subarray(at + GREETING_BYTES);
      onGreeted?.();
    }
    needed = 0;
    for (let frames = 0; ; frames++) {
      if (frames === FRAMES_AT_ONCE) return goOnLater(rest);
      let at = 0;
      while (at < rest.length && rest[at] === 0) at++;
      rest = rest.subarray(at);
      if (rest.length < HEADER_BYTES) break;
      const length = rest.readUInt32BE(5);
      if (length > FRAME_BYTES_MAX) return fail(`a frame of ${length} bytes`);
      if (rest.length < HEADER_BYTES + length) {
        needed = HEADER_BYTES + length;
        break;
      }
      if (isUnread()) return fail('frames, and reads no answers');
      const payload = rest.subarray(HEADER_BYTES, HEADER_BYTES + length);
      const wrong = take(rest[0]!, rest.readUInt32BE(1), payload);
      if (isOver) return;
      if (rest[0] !== TAKEN) taken += FRAME_COST + length;
      if (taken >= TAKEN_LEAST) {
        send(TAKEN, 0, uint32(taken));
        taken = 0;
      }
      if (wrong !== null) return fail(wrong);
      rest = rest.subarray(HEADER_BYTES + length);
    }
    pending = rest.length === 0 ? [] : [rest];
    pendingBytes = rest.length;
  }
  let needed = 0;

  /** Continues after other tasks have run. */
  function goOnLater(left: Buffer): void {
    pending = [];
    pendingBytes = 0;
    channel.pause();
    setImmediate(() => {
      if (isOver) return;
      channel.resume();
      read(left);
    });
  }

  function fail(wrong: string): void {
    // The greeting side gives up; the other side waits for the next greeting, which follows zeros.
    if (greets) return end(new Error(`The other side of a sandbox's channel sent ${wrong}`));
    dropAll();
    pending = [];
    pendingBytes = 0;
    needed = 0;
  }

  channel.on('data', read);
  channel.on('error', end);
  channel.on('close', () => end(lost()));
  channel.on('end', () => end(lost()));
  if (greeting !== null) {
    channel.write(Buffer.alloc(HEADER_BYTES + FRAME_BYTES_MAX));
    send(HELLO, 0, greeting);
  }
  return {
    open(topic) {
      if (isUnread()) end(new Error("The other side of a sandbox's channel does not read"));
      if (isOver) throw lost();
      lastId += 2;
      const stream = new OneStream(lastId, line);
      streams.set(stream.id, stream);
      send(OPEN, stream.id, Buffer.from(topic));
      return stream;
    },
    close: () => end(lost()),
  };
}

function lost(): Error {
  return Object.assign(new Error('The connection to the sandbox is lost'), { code: 'ECONNRESET' });
}

function uint32(value: number): Buffer {
  const bytes = Buffer.allocUnsafe(4);
  bytes.writeUInt32BE(value, 0);
  return bytes;
}
