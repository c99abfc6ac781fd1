// The WebSockets that a durable object has accepted and that this isolate has loaded. The engine keeps them
// (serving/objects/object-sockets.ts), even while the object is not in an isolate. Messages of these sockets are events
// of the object.
import { currentInvocation } from '../../invocation.ts';
import { host } from '../../host.ts';
import { SafeMap, toJson } from '../../safe.ts';
import { HeldEnd, sendAttachment, sendBegun, sendSocketState, socketClasses, type HeldSocket } from '../../sockets.ts';
import type { Part } from '../../../bridge/protocol.ts';

/** What accepted sockets need from their object. */
interface SocketOwner {
  readonly id: string;
  /** Runs an event as soon as it is allowed to enter. */
  run(event: (instance: Record<string, unknown>) => unknown): Promise<unknown>;
}

export interface AcceptedSocket {
  accept(): void;
  send(data: string): void;
  close(code?: number, reason?: string): void;
  readonly readyState: number;
  addEventListener(type: string, listener: (event: never) => void): void;
}

/** A message that the engine answers without an event of the object, and its response. */
export interface AutoResponse {
  readonly request: string;
  readonly response: string;
}

/** A socket that the engine keeps. */
interface KeptSocket {
  readonly socket: number;
  readonly tags: readonly string[];
  readonly attachment: string | null;
}

/** A page of sockets, and the settings for all sockets of the object. */
interface Page {
  readonly sockets: readonly KeptSocket[];
  /** -1: no more. */
  readonly next: number;
  readonly auto: readonly [request: string, response: string] | null;
  readonly eventMs: number;
}

/** An event of a kept socket, from the host. The first event of a socket in this isolate includes its description. */
export interface SocketEvent extends Partial<KeptSocket> {
  readonly socket: number;
  readonly event: 'message' | 'close' | 'error';
  readonly code?: number;
  readonly reason?: string;
  readonly clean?: boolean;
}

const [TAGS_MAX, TAG_CHARS_MAX, SOCKETS_MAX] = [10, 256, 32_768];
const [CLOSED, NO_CODE] = [3, 1005];

/** Next number of a socket that is accepted in this isolate; the host numbers sockets from 1. */
let nextId = -1;

class Accepted implements HeldSocket {
  readonly id: number;
  readonly tags: readonly string[];
  readonly #object: string;
  readonly #attachment: () => string | null;
  isKept: boolean;
  answeredAt: Date | null = null;

  constructor(id: number, object: string, tags: readonly string[], isKept: boolean, attachment: () => string | null) {
    this.id = id;
    this.#object = object;
    this.tags = tags;
    this.isKept = isKept;
    this.#attachment = attachment;
  }

  describe(): string {
    return toJson({ object: this.#object, tags: this.tags, attachment: this.#attachment() });
  }

  attached(text: string): void {
    if (this.isKept) sendAttachment(this.id, text);
  }
}

export class AcceptedSockets {
  readonly #owner: SocketOwner;
  readonly #sockets = new Map<AcceptedSocket, Accepted>();
  readonly #byId = new SafeMap<number, AcceptedSocket>();
  /** Including closed ones. */
  readonly #accepted = new WeakMap<AcceptedSocket, Accepted>();
  /** Whether this isolate has loaded all sockets that the engine keeps. */
  #isLoaded = false;
  /** Undefined until this isolate changes the value of the engine. */
  #auto: AutoResponse | null | undefined = undefined;
  #eventMs: number | undefined = undefined;

  constructor(owner: SocketOwner) {
    this.#owner = owner;
  }

  accept(socket: AcceptedSocket, tags: readonly unknown[] = []): void {
    if (this.#accepted.has(socket)) throw new TypeError('The WebSocket has been accepted already');
    if (this.#sockets.size >= SOCKETS_MAX)
      throw new TypeError(`A durable object accepts at most ${SOCKETS_MAX} WebSockets`);
    const texts = [...new Set(Array.from(tags, String))];
    if (texts.length > TAGS_MAX) throw new TypeError(`A WebSocket has at most ${TAGS_MAX} tags`);
    if (texts.some((tag) => tag.length > TAG_CHARS_MAX))
      throw new TypeError(`A tag of a WebSocket has at most ${TAG_CHARS_MAX} characters`);
    socket.accept();
    const internals = socketClasses.internalsOf(socket)!;
    const accepted = new Accepted(nextId--, this.#owner.id, texts, false, () => internals.attachment());
    internals.hold(accepted, null, null);
    this.#add(socket, accepted);
    // Only used for a socket whose other end stays in this isolate.
    socket.addEventListener('message', ({ data }: { data: unknown }) => {
      const auto = this.autoResponse;
      if (auto !== null && data === auto.request) {
        accepted.answeredAt = new Date();
        socket.send(auto.response);
      } else this.#call('webSocketMessage', socket, data);
    });
    socket.addEventListener(
      'close',
      ({ code, reason, wasClean }: { code: number; reason: string; wasClean: boolean }) => {
        this.#remove(socket, accepted);
        this.#call('webSocketClose', socket, code === 0 ? NO_CODE : code, reason, wasClean);
      },
    );
    socket.addEventListener('error', ({ error }: { error: unknown }) => this.#call('webSocketError', socket, error));
  }

  #add(socket: AcceptedSocket, accepted: Accepted): void {
    this.#sockets.set(socket, accepted);
    this.#byId.set(accepted.id, socket);
    this.#accepted.set(socket, accepted);
  }

  #remove(socket: AcceptedSocket, { id }: Accepted): void {
    this.#sockets.delete(socket);
    this.#byId.delete(id);
  }

  #call(name: string, ...parameters: readonly unknown[]): void {
    void this.#owner
      .run((instance) => call(instance, name, parameters))
      .catch((error: unknown) => {
        if (name !== 'webSocketError') reportLater(error);
      });
  }

  /** Passes an event of a kept socket to the object. @param data the data of a message. */
  receive(instance: Record<string, unknown>, event: SocketEvent, data: Part | null): unknown {
    sendBegun(currentInvocation()?.id ?? 0);
    const socket = this.#find(event);
    if (socket === null) return undefined;
    if (event.event === 'message') return call(instance, 'webSocketMessage', [socket, messageOf(data)]);
    if (event.event === 'error')
      return call(instance, 'webSocketError', [socket, new Error(event.reason ?? 'The connection broke')]);
    this.#remove(socket, this.#accepted.get(socket)!);
    socketClasses.internalsOf(socket)!.finish();
    const { code = NO_CODE, reason = '', clean = false } = event;
    return call(instance, 'webSocketClose', [socket, code, reason, clean]);
  }

  /** The socket of an event; null if it no longer belongs to this object. */
  #find(event: SocketEvent): AcceptedSocket | null {
    const known = this.#byId.get(event.socket);
    if (known !== undefined) return known;
    if (event.tags !== undefined) return this.#meet(event as KeptSocket);
    // The event is for an instance that has been reset in the meantime.
    const [kept] = this.#page(0, event.socket).sockets;
    return kept === undefined ? null : this.#meet(kept);
  }

  #meet({ socket: id, tags, attachment }: KeptSocket): AcceptedSocket {
    const known = this.#byId.get(id);
    if (known !== undefined) return known;
    const socket = socketClasses.load().create() as AcceptedSocket;
    const internals = socketClasses.internalsOf(socket)!;
    const accepted = new Accepted(id, this.#owner.id, tags, true, () => internals.attachment());
    internals.hold(accepted, new HeldEnd(id), attachment);
    this.#add(socket, accepted);
    return socket;
  }

  #page(after: number, socket?: number): Page {
    return host.callSync('object.sockets', { object: this.#owner.id, after, socket }) as Page;
  }

  /** Loads all earlier sockets that the engine keeps. */
  #load(): void {
    if (this.#isLoaded) return;
    this.#isLoaded = true;
    for (let after = 0; after >= 0;) {
      const { sockets, next, auto, eventMs } = this.#page(after);
      for (const kept of sockets) this.#meet(kept);
      if (this.#auto === undefined) this.#auto = auto === null ? null : { request: auto[0], response: auto[1] };
      this.#eventMs ??= eventMs;
      after = next;
    }
  }

  list(tag?: unknown): AcceptedSocket[] {
    this.#load();
    const found: AcceptedSocket[] = [];
    for (const [socket, { tags }] of this.#sockets)
      if (socket.readyState < CLOSED && (tag === undefined || tags.includes(String(tag)))) found.push(socket);
    return found;
  }

  #of(socket: AcceptedSocket): Accepted {
    const accepted = this.#accepted.get(socket);
    if (accepted === undefined) throw new TypeError('The WebSocket was not accepted by this durable object');
    return accepted;
  }

  tagsOf(socket: AcceptedSocket): string[] {
    return [...this.#of(socket).tags];
  }

  answeredAt(socket: AcceptedSocket): Date | null {
    const { isKept, id, answeredAt } = this.#of(socket);
    if (!isKept) return answeredAt;
    const at = host.callSync('object.answered', { object: this.#owner.id, socket: id }) as number | null;
    return at === null ? null : new Date(at);
  }

  get autoResponse(): AutoResponse | null {
    if (this.#auto === undefined) this.#load();
    return this.#auto ?? null;
  }

  set autoResponse(pair: AutoResponse | null) {
    this.#auto = pair;
    this.#say({ auto: pair === null ? null : [pair.request, pair.response] });
  }

  get eventMs(): number {
    if (this.#eventMs === undefined) this.#load();
    return this.#eventMs ?? 0;
  }

  set eventMs(ms: number) {
    this.#eventMs = ms;
    this.#say({ eventMs: ms });
  }

  #say(state: object): void {
    sendSocketState(toJson({ object: this.#owner.id, ...state }));
  }

  /** Called when the instance is reset: its sockets are closed. */
  closeAll(reason: string): void {
    for (const [socket, { isKept }] of this.#sockets) if (!isKept) socket.close(1011, reason.slice(0, 100));
    this.#sockets.clear();
    this.#byId.clear();
    this.#say({ closes: reason.slice(0, 100) });
  }
}

function call(instance: Record<string, unknown>, name: string, parameters: readonly unknown[]): unknown {
  const method = instance[name];
  return typeof method === 'function' ? (Reflect.apply(method, instance, parameters) as unknown) : undefined;
}

function messageOf(data: Part | null): unknown {
  if (data === null || typeof data === 'string') return data ?? '';
  return data.byteLength === data.buffer.byteLength ? data.buffer : data.slice().buffer;
}

/** The error is reported as uncaught. */
function reportLater(error: unknown): void {
  void Promise.reject(error as Error);
}
