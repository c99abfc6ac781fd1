// A request forwarded by another engine, as an exchange for this engine's handler. The response is sent back as frames.
// Made by receiver.ts.
import type { HeldBytes, HostMemory } from '../bridge/host-memory.ts';
import type { SocketEvents, SocketWire } from '../bridge/sockets.ts';
import { hasBody, headerIn, type HeadCache, type ResponseHead } from '../http/header-block.ts';
import type { BodySink, Exchange } from '../http/listener.ts';
import {
  BEGIN,
  CHUNK,
  CREDIT,
  CUT,
  END,
  READ_BODY,
  UPGRADE,
  WHOLE_BYTES,
  WHOLE_BYTES_MAX,
  WHOLE_EMPTY,
  WHOLE_TEXT,
  WINDOW_BYTES,
  type FrameReader,
} from './frames.ts';
import { LinkedWire } from './linked-wire.ts';
import type { EngineLink } from './engine-link.ts';

/** Fields of a received request. */
interface ReceivedRequest {
  readonly method: string;
  readonly target: string;
  readonly host: string;
  readonly remoteAddress: string;
  readonly headerBlock: string;
  readonly bodyBytes: number;
  /** Whether the request is an event of a durable object, whose caller also accepts errors. */
  readonly takesErrors: boolean;
}

// States of the response. `flushing` means that the handler has ended the response, but not all of it has been sent.
const OPEN = 0;
const STREAMING = 1;
const FLUSHING = 2;
const ENDED = 3;
const SOCKET = 4;

export class ReceivedExchange implements Exchange {
  readonly method: string;
  readonly target: string;
  readonly host: string;
  readonly headerBlock: string;
  readonly remoteAddress: string;
  readonly bodyBytes: number;
  requestId = '';
  memory: HostMemory | null = null;
  refusedCookies = '';
  sentBytes = 0;
  onAbort: (() => void) | null = null;
  onDrain: (() => void) | null = null;
  readonly #takesErrors: boolean;
  readonly #id: number;
  readonly #link: EngineLink;
  readonly #heads: HeadCache;
  readonly #onOver: (id: number) => void;
  #state = OPEN;
  #sink: BodySink | null = null;
  #paused = false;
  /** Body chunks received while the reader pauses. */
  #held: Uint8Array[] = [];
  #heldEnd = false;
  #taken = 0;
  #credit = WINDOW_BYTES;
  #waits = false;
  /** The unsent rest of a large body. */
  #tail: Uint8Array | null = null;
  #unsent: HeldBytes | null = null;
  #socket: LinkedWire | null = null;

  constructor(id: number, request: ReceivedRequest, link: EngineLink, heads: HeadCache, onOver: (id: number) => void) {
    this.method = request.method;
    this.target = request.target;
    this.host = request.host;
    this.headerBlock = request.headerBlock;
    this.remoteAddress = request.remoteAddress;
    this.bodyBytes = request.bodyBytes;
    this.#takesErrors = request.takesErrors;
    this.#id = id;
    this.#link = link;
    this.#heads = heads;
    this.#onOver = onOver;
  }

  header(name: string): string | null {
    return headerIn(this.headerBlock, name);
  }

  readBody(sink: BodySink): void {
    if (this.#state >= FLUSHING || this.#sink !== null) return;
    this.#sink = sink;
    if (this.bodyBytes === 0) sink.end();
    else this.#link.say(READ_BODY, this.#id);
  }

  resumeBody(): void {
    if (!this.#paused || this.#state >= FLUSHING) return;
    this.#paused = false;
    while (this.#held.length > 0 && !this.#paused) this.#give(this.#held.shift()!);
    if (this.#heldEnd && !this.#paused) this.#sink?.end();
  }

  send(status: number, headerBlock: string, body: string | Uint8Array | null): void {
    if (this.#state !== OPEN) return;
    const head = this.#checkedHead(status, headerBlock);
    const { writer } = this.#link;
    if (body !== null && !hasBody(this.method, status)) {
      const bytes = typeof body === 'string' ? Buffer.byteLength(body) : body.byteLength;
      this.#head(WHOLE_EMPTY, status, withLength(head, bytes), 0);
      writer.end();
    } else if (body === null) {
      this.#head(WHOLE_EMPTY, status, headerBlock, 0);
      writer.end();
    } else if (body.length <= WHOLE_BYTES_MAX) {
      if (typeof body === 'string') {
        this.#head(WHOLE_TEXT, status, headerBlock, body.length * 3);
        this.sentBytes = writer.text(body);
        writer.end();
      } else {
        this.sentBytes = body.byteLength;
        this.#head(WHOLE_BYTES, status, headerBlock, 0);
        writer.end(body);
      }
    } else {
      const bytes = typeof body === 'string' ? Buffer.from(body) : body;
      this.#head(BEGIN, status, withLength(head, bytes.byteLength), 0);
      writer.end();
      this.#tail = bytes;
      this.#state = FLUSHING;
      this.#push();
      this.#countUnsent();
      return;
    }
    this.#link.flush();
    this.#over();
  }

  begin(status: number, headerBlock: string): void {
    if (this.#state !== OPEN) return;
    this.#checkedHead(status, headerBlock);
    this.#head(BEGIN, status, headerBlock, 0);
    this.#link.writer.end();
    this.#link.flush();
    this.#state = STREAMING;
  }

  write(chunk: Uint8Array | string): boolean {
    if (this.#state !== STREAMING || chunk.length === 0) return true;
    const bytes = typeof chunk === 'string' ? Buffer.from(chunk) : chunk;
    for (let at = 0; at < bytes.byteLength; at += WINDOW_BYTES) this.#chunk(bytes.subarray(at, at + WINDOW_BYTES));
    this.#waits = this.#credit <= 0;
    return !this.#waits;
  }

  end(): void {
    if (this.#state !== STREAMING) return;
    this.#link.say(END, this.#id);
    this.#over();
  }

  /**
   * Only events of durable objects open WebSockets here, because other WebSockets are served in the engine that has
   * their connection.
   */
  upgrade(headerBlock: string, events: SocketEvents): SocketWire | null {
    if (this.#state !== OPEN || this.header('upgrade') === null) return null;
    const { writer } = this.#link;
    writer.begin(UPGRADE, this.#id, 4 + headerBlock.length * 3);
    writer.string(headerBlock);
    writer.end();
    this.#link.flush();
    this.#state = SOCKET;
    this.#socket = new LinkedWire(this.#link, this.#id, () => this.#over());
    this.#socket.attach(events);
    return this.#socket;
  }

  get isSocket(): boolean {
    return this.#socket !== null;
  }

  /** Handles a frame of the WebSocket. */
  socket(frame: FrameReader): void {
    this.#socket?.read(frame);
  }

  destroy(): void {
    if (this.#state === ENDED) return;
    this.#link.say(CUT, this.#id);
    this.#over();
  }

  /** Handlers of frames from the other engine: */
  body(bytes: Uint8Array): void {
    if (this.#sink === null || this.#state >= FLUSHING) return;
    if (this.#paused) this.#held.push(bytes);
    else this.#give(bytes);
  }

  bodyEnd(): void {
    if (this.#sink === null || this.#state >= FLUSHING) return;
    if (this.#paused || this.#held.length > 0) this.#heldEnd = true;
    else this.#sink.end();
  }

  credit(bytes: number): void {
    this.#credit += bytes;
    if (this.#state === FLUSHING) this.#push();
    else if (this.#waits && this.#credit > 0) {
      this.#waits = false;
      this.onDrain?.();
    }
  }

  abort(): void {
    if (this.#state === ENDED) return;
    if (this.#socket !== null) {
      this.#socket.lost();
      return;
    }
    const before = this.#state;
    this.#over();
    if (before !== FLUSHING) this.onAbort?.();
  }

  #give(bytes: Uint8Array): void {
    this.#taken += bytes.byteLength;
    if (!this.#sink!.chunk(bytes)) this.#paused = true;
    if (this.#state < FLUSHING && this.#taken >= WINDOW_BYTES / 4) {
      this.#link.sayNumber(CREDIT, this.#id, this.#taken);
      this.#taken = 0;
    }
  }

  #head(kind: number, status: number, headerBlock: string, room: number): void {
    const { writer } = this.#link;
    writer.begin(kind, this.#id, 12 + (this.requestId.length + headerBlock.length) * 3 + room);
    writer.number(status);
    writer.string(this.requestId);
    writer.string(headerBlock);
  }

  #chunk(bytes: Uint8Array): void {
    this.#credit -= bytes.byteLength;
    this.sentBytes += bytes.byteLength;
    this.#link.sayBytes(CHUNK, this.#id, bytes);
  }

  /** Number of bytes of a complete body that the other engine's client has not received yet. */
  #countUnsent(): void {
    const { memory } = this;
    const bytes = this.#tail?.byteLength ?? 0;
    if (bytes === 0 || memory === null) return;
    if (memory.hasRoom(bytes)) (this.#unsent = memory.count()).bytes = bytes;
    else this.destroy();
  }

  #push(): void {
    let tail = this.#tail;
    while (tail !== null && this.#credit > 0) {
      this.#chunk(tail.subarray(0, WHOLE_BYTES_MAX));
      tail = tail.byteLength > WHOLE_BYTES_MAX ? tail.subarray(WHOLE_BYTES_MAX) : null;
    }
    this.#tail = tail;
    if (tail !== null) return;
    this.#link.say(END, this.#id);
    this.#over();
  }

  #over(): void {
    this.#state = ENDED;
    this.#tail = null;
    if (this.#unsent !== null) this.#unsent.bytes = 0;
    this.#held.length = 0;
    this.#onOver(this.#id);
  }

  #checkedHead(status: number, headerBlock: string): ResponseHead {
    // The last two statuses represent errors of durable objects (core/object-address.ts). They are never sent to
    // visitors.
    const isError = this.#takesErrors && (status === 998 || status === 999);
    return isError ? this.#heads.get(headerBlock, this) : this.#heads.ofAnswer(status, headerBlock, this);
  }
}

/** The header block with the content length, which the listener would set. */
function withLength({ pairs }: ResponseHead, bytes: number): string {
  let block = '';
  for (let i = 0; i < pairs.length; i += 2) block += `${pairs[i]}\0${pairs[i + 1]}\0`;
  return `${block}content-length\0${bytes}\0`;
}
