// The WebSockets that a durable object has accepted, in the engine that has the object. The sockets stay open while the
// object moves to another isolate, or is in no isolate. Stores the attachments and tags of sockets, and passes their
// events to the object in order, as fast as the object accepts them. Made by live-objects.ts.
import type { CallOwner } from '../../bridge/call-owner.ts';
import type { Part } from '../../bridge/protocol.ts';
import { BridgedSocket, type SocketDeps } from '../../bridge/sockets.ts';
import { PlatformError } from '#core/errors.ts';
import type { Outcome } from '../../invocation/outcome.ts';
import { SocketEventQueue } from './socket-events.ts';
import type { SocketAccount } from './socket-accounts.ts';

/** Limits of the sockets of an object. */
export type ObjectSocketLimits = SocketDeps['limits'] & { readonly webSocketsMax: number };

interface ObjectSocketsDeps {
  readonly limits: ObjectSocketLimits;
  /** Maximum memory for all objects of the project, or of one preview. */
  readonly account: SocketAccount;
  /** Passes an event on; its end is reported to `event.ended`. */
  readonly deliver: (event: SocketEvent) => void;
  readonly log: (text: string) => void;
}

/** The kind and content of a socket's event. */
interface EventContent {
  readonly event: 'message' | 'close' | 'error';
  readonly code?: number;
  readonly reason?: string;
  readonly clean?: boolean;
}

const SOCKETS_MAX = 32_768;
/** Limits for values from the guest, which also enforces them, and for a closing reason. */
const [TAGS_MAX, TAG_CHARS_MAX, ATTACHMENT_CHARS_MAX, AUTO_CHARS_MAX] = [10, 256, 16 * 1024, 2048];
/** Memory of a socket in addition to its tags, its attachment and its messages. */
const SOCKET_BYTES = 16 * 1024;
/**
 * Memory of each waiting message in addition to its length. This limits how many messages wait before the client is
 * paused.
 */
const MESSAGE_BYTES = 1024;
/** Limits of a page of sockets for an isolate. */
const [PAGE_SOCKETS, PAGE_CHARS] = [1000, 256 * 1024];

/** A socket. */
export class ObjectSocket {
  readonly number: number;
  readonly tags: readonly string[];
  readonly bridged: BridgedSocket;
  attachment: string | null;
  /** When a message was last answered without the object; null if never. */
  answeredAt: number | null = null;
  /** Number of the socket in the object's isolate when the isolate loaded it. */
  known = 0;
  stay: object | null = null;

  constructor(number: number, tags: readonly string[], attachment: string | null, bridged: BridgedSocket) {
    this.number = number;
    this.tags = tags;
    this.attachment = attachment;
    this.bridged = bridged;
  }

  get bytes(): number {
    return SOCKET_BYTES + 2 * ((this.attachment?.length ?? 0) + this.tags.reduce((sum, tag) => sum + tag.length, 0));
  }
}

/** An event that is being delivered to the object. */
export class SocketEvent {
  readonly sockets: ObjectSockets;
  readonly socket: ObjectSocket;
  readonly content: EventContent;
  readonly data: Part | null;
  readonly number: number;
  isBegun = false;
  tries = 0;

  constructor(sockets: ObjectSockets, socket: ObjectSocket, content: EventContent, data: Part | null, number: number) {
    this.sockets = sockets;
    this.socket = socket;
    this.content = content;
    this.data = data;
    this.number = number;
  }

  get msMax(): number {
    return this.sockets.eventMs;
  }

  ended(outcome: Outcome): void {
    this.sockets.ended(this, outcome);
  }
}

/** A socket, as its isolate gets it. */
interface DescribedSocket {
  readonly socket: number;
  readonly tags: readonly string[];
  readonly attachment: string | null;
}

export class ObjectSockets {
  readonly #deps: ObjectSocketsDeps;
  readonly #bridge: SocketDeps;
  readonly #sockets = new Map<number, ObjectSocket>();
  readonly #queue: SocketEventQueue<SocketEvent>;
  #lastNumber = 0;
  /** The owner of the code that sends, which is charged for it. */
  #sender: CallOwner | null = null;
  auto: readonly [request: string, response: string] | null = null;
  /** How long an event may run; 0 means the default. */
  eventMs = 0;
  #isClosed = false;

  constructor(deps: ObjectSocketsDeps) {
    this.#deps = deps;
    const { account, limits } = deps;
    this.#queue = new SocketEventQueue({
      memory: account.memory,
      deliver: deps.deliver,
      lost: (event) => {
        deps.log(`WebSocket closed: its ${event.content.event} did not reach the object`);
        event.socket.bridged.close(1011, 'The object could not be reached');
      },
    });
    this.#bridge = {
      limits,
      messageBytes: MESSAGE_BYTES,
      buffered: account.buffered,
      recount: () => account.recount(),
      message: (number, data) => this.#message(number, data),
      attached: () => {},
      failed: (number, message) => this.#happened(number, { event: 'error', reason: message }),
      closed: (number, code, reason, clean) => this.#closed(number, code, reason, clean),
      worked: (_owner, cpuMs) => this.#sender?.settleCpu(0, cpuMs),
      log: (_owner, text) => deps.log(text),
    };
  }

  get size(): number {
    return this.#sockets.size;
  }

  /** Whether an event waits or runs. */
  get isBusy(): boolean {
    return this.#queue.isBusy;
  }

  has(socket: ObjectSocket): boolean {
    return this.#sockets.get(socket.number) === socket;
  }

  values(): Iterable<ObjectSocket> {
    return this.#sockets.values();
  }

  /**
   * Called when the object accepts a socket. @param given its untrusted description from the isolate.
   *
   * @throws {PlatformError} `websocket_limit_exceeded`, `host_memory_exceeded`, `invalid_argument`.
   */
  accept(given: { readonly tags: unknown; readonly attachment: unknown }): ObjectSocket {
    const { account, limits } = this.#deps;
    if (this.#isClosed) throw new PlatformError('object_reset', { reason: 'it does not live here any more' });
    const limit = Math.min(SOCKETS_MAX, limits.webSocketsMax);
    if (this.#sockets.size >= limit || account.open >= limits.webSocketsMax)
      throw new PlatformError('websocket_limit_exceeded', { limit });
    const { tags, attachment } = given;
    const areTags =
      Array.isArray(tags) &&
      tags.length <= TAGS_MAX &&
      tags.every((tag) => typeof tag === 'string' && tag.length <= TAG_CHARS_MAX);
    if (!areTags || !isAttachment(attachment))
      throw new PlatformError('invalid_argument', { reason: 'The WebSocket is not valid' });
    const number = ++this.#lastNumber;
    const bridged = new BridgedSocket(number, 0, { ofCall: false, renews: true }, this.#bridge);
    const socket = new ObjectSocket(number, tags as string[], attachment, bridged);
    account.memory.reserve(socket.bytes, 'A WebSocket');
    this.#sockets.set(number, socket);
    account.add(bridged);
    return socket;
  }

  /** Called when a socket was closed, or its connection was never established. */
  forget(socket: ObjectSocket): void {
    const { account } = this.#deps;
    if (!this.#sockets.delete(socket.number)) return;
    account.memory.release(socket.bytes);
    account.remove(socket.bridged);
  }

  /** @throws {Error} for data that a correct isolate never sends. */
  attach(socket: ObjectSocket, attachment: string): void {
    if (!isAttachment(attachment)) throw new Error('attachment too large');
    if (!this.#sockets.has(socket.number)) return;
    const { memory } = this.#deps.account;
    const before = socket.bytes;
    const old = socket.attachment;
    socket.attachment = attachment;
    const more = socket.bytes - before;
    if (more <= 0 || memory.hasRoom(more)) {
      memory.add(more);
      return;
    }
    socket.attachment = old;
    this.#deps.log('WebSocket closed: there is no memory for its attachment');
    socket.bridged.close(1013, 'Too much memory');
  }

  send(socket: ObjectSocket, data: Part, sender: CallOwner): void {
    this.#sender = sender;
    socket.bridged.send(data);
    this.#sender = null;
  }

  /** Sets the state of all sockets, from an isolate. @throws {Error} for data that a correct isolate never sends. */
  setState(state: Readonly<Record<string, unknown>>): void {
    const { auto, eventMs, closes } = state;
    if (eventMs !== undefined) {
      if (!Number.isSafeInteger(eventMs) || (eventMs as number) < 0) throw new Error('time of events not valid');
      this.eventMs = eventMs as number;
    }
    if (auto === null) this.auto = null;
    else if (auto !== undefined) {
      if (!Array.isArray(auto) || auto.length !== 2 || !auto.every(isShort)) throw new Error('response not valid');
      this.auto = auto as [string, string];
    }
    if (typeof closes === 'string') this.closeAll(1011, closes);
  }

  /** Called when the object no longer belongs to this engine. */
  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.closeAll(1012, 'Service restart');
    this.#deps.account.objects--;
  }

  /** Closes all sockets of the object without an event of the object. */
  closeAll(code: number, reason: string): void {
    this.#queue.clear();
    for (const socket of this.#sockets.values()) {
      socket.bridged.abandon(code, reason);
      this.forget(socket);
    }
    this.#deps.account.recount();
  }

  #message(number: number, data: Part): void {
    const socket = this.#sockets.get(number);
    if (socket === undefined) return;
    if (this.auto === null || data !== this.auto[0]) {
      this.#happened(number, { event: 'message' }, data);
      return;
    }
    socket.answeredAt = Date.now();
    socket.bridged.send(this.auto[1]);
    socket.bridged.credit(data.length + MESSAGE_BYTES);
  }

  #closed(number: number, code: number, reason: string, clean: boolean): void {
    const socket = this.#sockets.get(number);
    if (socket === undefined) return;
    this.forget(socket);
    this.#queue.push(new SocketEvent(this, socket, { event: 'close', code, reason, clean }, null, ++this.#lastNumber));
  }

  #happened(number: number, content: EventContent, data: Part | null = null): void {
    const socket = this.#sockets.get(number);
    if (socket === undefined) return;
    if (this.#queue.push(new SocketEvent(this, socket, content, data, ++this.#lastNumber))) return;
    this.#deps.log('WebSocket closed: too much data is queued for the objects of this project');
    socket.bridged.close(1013, 'Too slow');
  }

  /** Called when an event has ended. */
  ended(event: SocketEvent, outcome: Outcome): void {
    if (!this.#queue.ended(event, outcome)) return;
    if (event.content.event === 'message') event.socket.bridged.credit((event.data?.length ?? 0) + MESSAGE_BYTES);
  }

  /**
   * Returns a page of the sockets for the object's isolate.
   *
   * @param after number of the last socket of the previous page.
   * @param introduce returns the isolate's number for a socket.
   */
  page(
    after: number,
    introduce: (socket: ObjectSocket) => number,
  ): { sockets: DescribedSocket[]; next: number; auto: ObjectSockets['auto']; eventMs: number } {
    const sockets: DescribedSocket[] = [];
    let chars = 0;
    let next = -1;
    for (const socket of this.#sockets.values()) {
      if (socket.number <= after) continue;
      if (sockets.length >= PAGE_SOCKETS || chars > PAGE_CHARS) {
        next = after;
        break;
      }
      ({ number: after } = socket);
      chars += socket.bytes - SOCKET_BYTES;
      sockets.push(described(socket, introduce(socket)));
    }
    return { sockets, next, auto: this.auto, eventMs: this.eventMs };
  }
}

/** A socket, as its isolate gets it. */
export function described({ tags, attachment }: ObjectSocket, known: number): DescribedSocket {
  return { socket: known, tags, attachment };
}

function isAttachment(value: unknown): value is string | null {
  return value === null || (typeof value === 'string' && value.length <= ATTACHMENT_CHARS_MAX);
}

function isShort(value: unknown): boolean {
  return typeof value === 'string' && value.length <= AUTO_CHARS_MAX;
}
