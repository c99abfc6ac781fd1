// The host's end of WebSockets over the bridge, both of responses and of the worker. Messages go into the guest until
// its window is used up, and out of it until the peer falls too far behind. Used by link.ts only.
import type { Part } from './protocol.ts';
import { checkedCredit } from './streams.ts';

/** A WebSocket connection for the bridge; made by http/websocket.ts. */
export interface SocketWire {
  send(data: Part): void;
  /** Begins the closing handshake; 1005 sends no code. */
  close(code: number, reason: string): void;
  /** Pauses and resumes reading messages. */
  pause(): void;
  resume(): void;
  /**
   * Sends received messages, and all following ones, to these events. Undefined if they were given when the object was
   * made.
   */
  attach?(events: SocketEvents): void;
  /** Whether sent messages are deflated. */
  readonly deflates?: boolean;
  /** Bytes passed to `send` that the network has not taken; small messages count with their memory cost. */
  readonly bufferedBytes: number;
}

/** Events of a wire. None follow `closed`. */
export interface SocketEvents {
  message(data: Part): void;
  /** The connection broke or the peer violated the protocol; `closed` follows. */
  failed(message: string): void;
  /** `clean`: after a closing handshake; else the code is 1006. */
  closed(code: number, reason: string, clean: boolean): void;
}

/** Dependencies of a bridged socket. */
export interface SocketDeps {
  readonly limits: {
    readonly streamWindowBytes: number;
    readonly webSocketMessageBytesMax: number;
    readonly webSocketBufferedBytesMax: number;
    readonly bufferedBytesMax: number;
  };
  /** Bytes that the peers of all sockets of the isolate have not received, as of the last message of each. */
  readonly buffered: { bytes: number };
  /** Recalculates it. */
  readonly recount: () => void;
  /** Added to the length of each message. */
  readonly messageBytes?: number;
  /** Adds a message to the next entry. */
  readonly message: (id: number, data: Part) => void;
  /** A socket of an RPC session has its wire. */
  readonly attached: (socket: BridgedSocket) => void;
  readonly failed: (id: number, message: string) => void;
  readonly closed: (id: number, code: number, reason: string, clean: boolean) => void;
  /** Charges host work to an invocation. */
  readonly worked: (owner: number, cpuMs: number) => void;
  /** Logs why the platform closed a socket. */
  readonly log: (owner: number, text: string) => void;
}

/** Smaller messages cost little compared with their entry. */
const CHARGED_BYTES_MIN = 1024;
/** Bytes masked per millisecond, and bytes deflated. */
const BYTES_PER_MS = 1_000_000;
const DEFLATED_BYTES_PER_MS = 60_000;

/** Connects a wire and a guest. */
export class BridgedSocket implements SocketEvents {
  readonly id: number;
  /** Invocation with which it ends; 0 for none. */
  readonly owner: number;
  /** Whether the socket carries an RPC session. */
  readonly ofCall: boolean;
  /** Whether each message starts a new CPU budget. */
  readonly renews: boolean;
  #deps: SocketDeps;
  #wire: SocketWire | null = null;
  #over = false;
  /** This side has begun the closing handshake: it sends no further messages. */
  #closing = false;
  /** Bytes sent to the guest and not delivered yet. */
  #inFlight = 0;
  #paused = false;
  /** Messages wait in the wire. */
  #isUnread = false;
  #received = 0;
  #counted = 0;

  constructor(
    id: number,
    owner: number,
    { ofCall, renews }: { readonly ofCall: boolean; readonly renews: boolean },
    deps: SocketDeps,
  ) {
    this.id = id;
    this.owner = owner;
    this.ofCall = ofCall;
    this.renews = renews;
    this.#deps = deps;
  }

  get isClosing(): boolean {
    return this.#closing;
  }

  /** @param isUnread whether the wire is not read before `begin`. */
  attach(wire: SocketWire, isUnread = false): void {
    this.#wire = wire;
    this.#isUnread = isUnread;
    if (this.ofCall) this.#deps.attached(this);
  }

  /** Reads from its wire. */
  begin(): void {
    if (!this.#isUnread) return;
    this.#isUnread = false;
    this.#wire?.attach?.(this);
  }

  /** Returns the wire of the socket, if nothing has been read from it; otherwise null. */
  giveWire(): SocketWire | null {
    if (!this.#isUnread || this.#over || this.#closing) return null;
    this.#over = true;
    return this.#wire;
  }

  message(data: Part): void {
    if (this.#over) return;
    this.#inFlight += data.length + (this.#deps.messageBytes ?? 0);
    this.#deps.message(this.id, data);
    if (this.#paused || this.#inFlight < this.#deps.limits.streamWindowBytes) return;
    this.#paused = true;
    this.#wire?.pause();
  }

  failed(message: string): void {
    if (!this.#over) this.#deps.failed(this.id, message);
  }

  closed(code: number, reason: string, clean: boolean): void {
    if (this.#over) return;
    this.#over = true;
    this.#deps.buffered.bytes -= this.#counted;
    this.#deps.closed(this.id, code, reason, clean);
  }

  /** The guest has delivered messages. */
  credit(bytes: number): void {
    this.#inFlight -= checkedCredit(bytes, this.#inFlight);
    if (!this.#paused || this.#inFlight > this.#deps.limits.streamWindowBytes / 2) return;
    this.#paused = false;
    this.#wire?.resume();
  }

  /** Sends a message of the guest. `send` has no result there, so a peer that reads too slowly ends the socket. */
  send(data: Part): void {
    const wire = this.#wire;
    if (this.#over || this.#closing || wire === null) return;
    const { webSocketMessageBytesMax, webSocketBufferedBytesMax } = this.#deps.limits;
    this.#received += data.length;
    if (data.length > webSocketMessageBytesMax) {
      this.#deps.log(
        this.owner,
        `WebSocket closed: message of ${data.length} bytes, limit ${webSocketMessageBytesMax}`,
      );
      this.close(1009, 'Message too big');
    } else if (wire.bufferedBytes > webSocketBufferedBytesMax) {
      this.#deps.log(
        this.owner,
        `WebSocket closed: its client is too slow, ${wire.bufferedBytes} bytes buffered, limit ${webSocketBufferedBytesMax}`,
      );
      this.close(1013, 'Too slow');
    } else {
      wire.send(data);
      if (data.length >= CHARGED_BYTES_MIN)
        this.#deps.worked(this.owner, data.length / (wire.deflates === true ? DEFLATED_BYTES_PER_MS : BYTES_PER_MS));
      this.#countBuffered(wire);
    }
  }

  /** Many sockets below their own limits may hold too much together. */
  #countBuffered(wire: SocketWire): void {
    const { buffered, recount, limits } = this.#deps;
    const { bufferedBytes } = wire;
    buffered.bytes += bufferedBytes - this.#counted;
    this.#counted = bufferedBytes;
    if (buffered.bytes <= limits.bufferedBytesMax) return;
    recount();
    if (buffered.bytes <= limits.bufferedBytesMax) return;
    this.#deps.log(
      this.owner,
      `WebSocket closed: those of this worker have ${buffered.bytes} bytes buffered, limit ${limits.bufferedBytesMax}`,
    );
    this.close(1013, 'Too slow');
  }

  /** Adds the bytes that its peer has not received to the common count. */
  count(): void {
    this.#counted = this.#wire?.bufferedBytes ?? 0;
    this.#deps.buffered.bytes += this.#counted;
  }

  close(code: number, reason: string): void {
    if (this.#closing) return;
    this.#closing = true;
    this.begin();
    // A paused socket would never read the reply to its close frame.
    if (this.#paused) this.#wire?.resume();
    this.#paused = false;
    this.#wire?.close(code, reason);
  }

  /** The guest has ended: it is not notified any more. */
  abandon(code: number, reason: string): void {
    this.#over = true;
    this.close(code, reason);
  }

  get state(): { received: number; buffered: number } {
    return { received: this.#received, buffered: this.#wire?.bufferedBytes ?? 0 };
  }
}
