// WebSocket and WebSocketPair. The two ends of a pair are connected in this isolate, until a response takes one of
// them, and the network becomes the other end. lazy.ts loads this module when it is first used.
import type { Part } from '../../bridge/protocol.ts';
import type { Context } from '../context.ts';
import type { LazyDeps } from '../lazy.ts';
import type { HeldSocket, SocketEnd, SocketInternals } from '../sockets.ts';
import { clientProtocols, clientUrl, closeArguments, NO_CODE, toPart } from './web-socket/arguments.ts';
import { WebSocketRequestResponsePair } from './web-socket/request-response-pair.ts';

const CONNECTING = 0;
const OPEN = 1;
const CLOSING = 2;
const CLOSED = 3;

const ATTACHMENT_CHARS_MAX = 16 * 1024;

export default function createWebSockets(deps: LazyDeps): Record<string, unknown> {
  const { CloseEvent, DOMException, ErrorEvent, Event, EventTarget, MessageEvent, URL, createBlob } = deps;
  const {
    checkpoint,
    currentContext,
    currentInvocation,
    defineEventHandler,
    dispatchTrusted,
    host,
    runInContext,
    setImmediate,
  } = deps;
  const { dropCall, fromJson, startCall, toJson, useModule } = deps;
  const { NetworkEnd, connectEnd, disconnectEnd, reserveSocketId, socketClasses } = deps.sockets;
  const { defineConstants, finishInterface, internal, requireArguments, toDomString } = deps.webidl;

  let innerOf!: (value: unknown) => SocketInternals | null;
  let endOf!: (socket: WebSocket) => SocketEnd;

  class WebSocket extends EventTarget {
    declare onopen: unknown;
    declare onmessage: unknown;
    declare onerror: unknown;
    declare onclose: unknown;
    #state = CONNECTING;
    #url = '';
    #protocol = '';
    #extensions = '';
    #binaryType: 'blob' | 'arraybuffer' = 'arraybuffer';
    /** Whether `new WebSocket(url)` created the socket, which is then stricter, as the WebSockets Standard requires. */
    #isClient = false;
    #id = 0;
    #call = -1;
    #other: SocketEnd | null = null;
    /** Receives all incoming events instead, if the socket is part of a response. */
    #redirected: SocketEnd | null = null;
    #flows = false;
    #context: Context | undefined = undefined;
    /** Events that came before `accept()`, or that this isolate itself caused. */
    #queue: (() => void)[] = [];
    #scheduled = false;
    #sentLength = 0;
    /** The attachment, as JSON of a stored value. */
    #attachment: string | null = null;
    /** Set when a durable object has accepted the socket. */
    #held: HeldSocket | null = null;

    constructor(url: string, protocols: unknown = []) {
      super();
      if ((url as unknown) === internal) return;
      requireArguments(arguments.length, 1, 'WebSocket');
      const target = clientUrl(url);
      const offered = clientProtocols(protocols);
      this.#isClient = true;
      this.#binaryType = 'blob';
      this.#url = target.href;
      this.#connect(target, offered);
    }

    #connect(target: InstanceType<typeof URL>, offered: readonly string[]): void {
      const id = (this.#id = reserveSocketId());
      this.#other = new NetworkEnd(id);
      this.#context = currentContext();
      connectEnd(id, this.#inner.end, currentInvocation(), () => {});
      const address = target.protocol === 'wss:' ? `https:${target.href.slice(4)}` : `http:${target.href.slice(3)}`;
      const headers = offered.length > 0 ? `sec-websocket-protocol\0${offered.join(', ')}\0` : '';
      const call = startCall('socket.connect', { url: address, headers, redirect: 'error', socket: id });
      this.#call = call.id;
      call.reply.then(
        ({ value }) => {
          this.#call = -1;
          const { upgraded, status, protocol, extensions } = value as {
            upgraded?: boolean;
            status: number;
            protocol: string;
            extensions: string;
          };
          if (this.#state !== CONNECTING) {
            if (upgraded) this.#other?.closing(NO_CODE, '', false);
          } else if (upgraded) this.#inner.opened({ url: this.#url, protocol, extensions }, true);
          else this.#refused(`The server answered with status ${status} instead of 101`);
        },
        (error: unknown) => this.#refused(String((error as { message?: unknown }).message)),
      );
    }

    #refused(message: string): void {
      this.#call = -1;
      if (this.#state !== CONNECTING) return;
      disconnectEnd(this.#id);
      this.#state = CLOSING;
      // The events are two tasks, because code that awaits the first may still add a listener for the second.
      setImmediate(() => {
        this.#failed(message);
        setImmediate(() => this.#closed(1006, '', false, false));
      });
    }

    readonly #inner: SocketInternals = {
      join: (other) => {
        this.#other = other;
        this.#state = OPEN;
      },
      other: () => this.#other,
      end: endOf(this),
      checkSendable: () => {
        if (this.#flows || this.#isClient)
          throw new TypeError('A response needs a WebSocket that has not been accepted');
        if (this.#redirected !== null) throw new TypeError('The WebSocket is part of another response already');
      },
      redirect: (to) => {
        this.#redirected = to;
        // Messages that have already arrived are passed to the new end first.
        for (const event of this.#queue.splice(0)) event();
      },
      opened: ({ url, protocol, extensions }, flows) => {
        this.#url = url;
        this.#protocol = protocol;
        this.#extensions = extensions;
        this.#state = OPEN;
        if (!flows) return;
        this.#flows = true;
        dispatchTrusted(this, new Event('open'));
        this.#schedule();
      },
      hold: (held, other, attachment) => {
        this.#held = held;
        if (other === null) return;
        this.#other = other;
        this.#attachment = attachment;
        this.#state = OPEN;
        this.#flows = true;
      },
      attachment: () => this.#attachment,
      finish: () => {
        this.#state = CLOSED;
      },
    };

    /** @param isTask whether no worker code is on the stack. Otherwise, the event waits for a separate task. */
    #arrive(isTask: boolean, event: () => void): void {
      if (isTask && this.#flows && this.#queue.length === 0) {
        runInContext(this.#context, event);
        checkpoint();
        return;
      }
      this.#queue.push(event);
      this.#schedule();
    }

    #schedule(): void {
      if (!this.#flows || this.#scheduled || this.#queue.length === 0) return;
      this.#scheduled = true;
      setImmediate(() => {
        this.#scheduled = false;
        const event = this.#queue.shift();
        if (event !== undefined) runInContext(this.#context, event);
        this.#schedule();
      });
    }

    #message(data: Part): void {
      if (this.#redirected !== null) {
        this.#redirected.receive(data, false);
        return;
      }
      if (this.#state !== OPEN) return;
      let value: unknown = data;
      if (typeof data !== 'string') {
        const bytes = data.byteLength === data.buffer.byteLength ? data : data.slice();
        value = this.#binaryType === 'blob' ? createBlob(bytes, '') : bytes.buffer;
      }
      dispatchTrusted(
        this,
        new MessageEvent('message', { data: value, origin: this.#isClient ? new URL(this.#url).origin : '' }),
      );
    }

    /** @param answers whether the other end is in this isolate, and waits for the reply to its close. */
    #closed(code: number, reason: string, clean: boolean, answers: boolean): void {
      if (this.#redirected !== null) {
        if (answers) this.#redirected.closing(code, reason, false);
        else this.#redirected.closed(code, reason, clean, false);
        return;
      }
      if (this.#state === CLOSED) return;
      this.#state = CLOSED;
      if (answers) this.#other?.closed(code, reason, true, false);
      dispatchTrusted(this, new CloseEvent('close', { code, reason, wasClean: clean }));
    }

    #failed(message: string): void {
      if (this.#redirected !== null) this.#redirected.failed(message, false);
      else if (this.#state !== CLOSED)
        dispatchTrusted(this, new ErrorEvent('error', { message, error: new Error(message) }));
    }

    get url(): string {
      return this.#url;
    }
    get readyState(): number {
      return this.#state;
    }
    get bufferedAmount(): number {
      const id = this.#other?.networkId ?? 0;
      if (id === 0 || this.#sentLength === 0) return 0;
      const state = host.callSync('socket.buffered', { id }) as { received: number; buffered: number } | null;
      return state === null ? 0 : this.#sentLength - state.received + state.buffered;
    }
    get extensions(): string {
      return this.#extensions;
    }
    get protocol(): string {
      return this.#protocol;
    }
    get binaryType(): 'blob' | 'arraybuffer' {
      return this.#binaryType;
    }
    set binaryType(value: unknown) {
      const type = toDomString(value);
      if (type === 'blob' || type === 'arraybuffer') this.#binaryType = type;
    }

    /** As in Cloudflare's API, starts the events of this end of a pair, or of a response's socket. */
    accept(): void {
      if (this.#isClient)
        throw new TypeError('Only an end of a WebSocketPair, or the WebSocket of a response, can be accepted');
      if (this.#redirected !== null) throw new TypeError('The WebSocket is part of a response');
      if (this.#flows) return;
      this.#flows = true;
      this.#context = currentContext();
      this.#other?.begin?.();
      this.#schedule();
    }

    send(data: unknown): void {
      requireArguments(arguments.length, 1, 'WebSocket.send');
      this.#mustBeOwn();
      if (this.#isClient) {
        if (this.#state === CONNECTING) throw new DOMException('The WebSocket is not open yet', 'InvalidStateError');
      } else if (!this.#flows) throw new TypeError('accept() must be called on a WebSocket before it sends');
      const part = toPart(data);
      this.#sentLength += part.length;
      if (this.#state === OPEN) this.#other?.receive(part, false);
    }

    close(code: unknown = undefined, reason: unknown = undefined): void {
      // A worker may handle a `close` event by closing with the event's code, so the call must not fail on a closed
      // socket.
      if (!this.#isClient && this.#state >= CLOSING) return;
      const sent = closeArguments(code, reason, this.#isClient);
      this.#mustBeOwn();
      if (this.#state >= CLOSING) return;
      if (this.#state === CONNECTING) {
        if (this.#call >= 0) dropCall(this.#call);
        this.#refused('The WebSocket was closed before it was open');
        return;
      }
      this.#state = CLOSING;
      this.#other?.closing(sent.code, sent.reason, false);
    }

    /** Keeps a copy of a value with the socket. */
    serializeAttachment(value: unknown): void {
      this.#mustBeOwn();
      const text = toJson(useModule('stored-values').toStored(value));
      if (text.length > ATTACHMENT_CHARS_MAX)
        throw new RangeError(`An attachment has at most ${ATTACHMENT_CHARS_MAX} characters`);
      this.#held?.attached(text);
      this.#attachment = text;
    }
    deserializeAttachment(): unknown {
      this.#mustBeOwn();
      return this.#attachment === null ? null : useModule('stored-values').fromStored(fromJson(this.#attachment));
    }

    #mustBeOwn(): void {
      if (this.#redirected !== null) throw new TypeError('The WebSocket is part of a response');
    }

    static {
      innerOf = (value) => (typeof value === 'object' && value !== null && #inner in value ? value.#inner : null);
      endOf = (socket) => ({
        get networkId() {
          return socket.#redirected?.networkId ?? 0;
        },
        get held() {
          return socket.#held;
        },
        receive(data, isTask) {
          if (socket.#redirected === null) socket.#arrive(isTask, () => socket.#message(data));
          else socket.#redirected.receive(data, isTask);
        },
        closing(code, reason, isTask) {
          if (socket.#redirected === null) socket.#arrive(isTask, () => socket.#closed(code, reason, true, true));
          else socket.#redirected.closing(code, reason, isTask);
        },
        closed(code, reason, clean, isTask) {
          if (socket.#redirected === null) socket.#arrive(isTask, () => socket.#closed(code, reason, clean, false));
          else socket.#redirected.closed(code, reason, clean, isTask);
        },
        failed(message, isTask) {
          if (socket.#redirected === null) socket.#arrive(isTask, () => socket.#failed(message));
          else socket.#redirected.failed(message, isTask);
        },
      });
    }
  }
  finishInterface(WebSocket);
  const states = { CONNECTING, OPEN, CLOSING, CLOSED };
  defineConstants(WebSocket, states);
  // Names that Workers use for the same constants.
  for (const [name, value] of Object.entries(states))
    Object.defineProperty(WebSocket, `READY_STATE_${name}`, { value, enumerable: true });
  for (const type of ['open', 'message', 'error', 'close']) defineEventHandler(WebSocket.prototype, type);

  class WebSocketPair {
    readonly 0: WebSocket;
    readonly 1: WebSocket;
    constructor() {
      this[0] = new WebSocket(internal as never);
      this[1] = new WebSocket(internal as never);
      const one = innerOf(this[0])!;
      const other = innerOf(this[1])!;
      one.join(other.end);
      other.join(one.end);
    }
  }
  Object.defineProperty(WebSocketPair.prototype, Symbol.toStringTag, { value: 'WebSocketPair', configurable: true });

  socketClasses.internalsOf = innerOf;
  return { WebSocket, WebSocketPair, WebSocketRequestResponsePair, create: () => new WebSocket(internal as never) };
}
