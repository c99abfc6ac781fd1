// The host's end of WebSockets over the bridge, both of responses and of the worker. Messages go into the guest until
// its window is used up, and out of it until the peer falls too far behind. Used by link.ts only.
import type { Part } from './protocol.ts';
import { checkedCredit } from './streams.ts';

/** A WebSocket connection for the bridge, created by http/websocket.ts. */
export interface SocketWire {
  send(data: Part): void;
  /** Begins the closing handshake; 1005 sends no code. */
  close(code: number, reason: string): void;
  /** Pauses and resumes reading messages. */
  pause(): void;
  resume(): void;
  /**
   * Passes received messages to these events from now on. Undefined if the events were given when the object was
   * created.
   */
  attach?(events: SocketEvents): void;
  /** Whether sent messages are deflated. */
  readonly deflates?: boolean;
  /**
   * Bytes that were passed to `send`, and that the network has not taken yet; small messages count with their memory
   * cost.
   */
  readonly bufferedBytes: number;
}

/** Events of a wire. None follow `closed`. */
export interface SocketEvents {
  message(data: Part): void;
  /** Called when the connection broke, or the peer violated the protocol; `closed` follows. */
  failed(message: string): void;
  /** Called when the connection is closed. `clean` means after a closing handshake; otherwise, the code is 1006. */
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
  /** Bytes that are added to the length of each message. */
  readonly messageBytes?: number;
  /** Adds a message to the next entry. */
  readonly message: (id: number, data: Part) => void;
  /** Called when the socket of an RPC session has its wire. */
  readonly attached: (socket: BridgedSocket) => void;
  readonly failed: (id: number, message: string) => void;
  readonly closed: (id: number, code: number, reason: string, clean: boolean) => void;
  /** Charges host work to an invocation. */
  readonly worked: (owner: number, cpuMs: number) => void;
  /** Logs why the platform closed a socket. */
  readonly log: (owner: number, text: string) => void;
}

/** Host work for smaller messages is not charged, because it costs little compared with the entry. */
const CHARGED_BYTES_MIN = 1024;
/** Number of bytes that are masked per millisecond, and that are deflated per millisecond. */
const BYTES_PER_MS = 1_000_000;
const DEFLATED_BYTES_PER_MS = 60_000;

/** A socket that connects a wire and a guest. */
export class BridgedSocket implements SocketEvents {
  readonly id: number;
  /** Invocation with which the socket ends; 0 if there is none. */
  readonly owner: number;
  /** Whether the socket carries an RPC session. */
  readonly ofCall: boolean;
  /** Whether each message starts a new CPU budget. */
  readonly renews: boolean;
  #deps: SocketDeps;
  #wire: SocketWire | null = null;
  #over = false;
  /** Whether this side has begun the closing handshake, so that it sends no further messages. */
  #closing = false;
  /** Bytes sent to the guest and not delivered yet. */
  #inFlight = 0;
  #paused = false;
  /** Whether the wire is paused, so that messages wait in it. */
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

  /** Begins to read from the socket's wire. */
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

  /** Called when the guest has delivered messages. */
  credit(bytes: number): void {
    this.#inFlight -= checkedCredit(bytes, this.#inFlight);
    if (!this.#paused || this.#inFlight > this.#deps.limits.streamWindowBytes / 2) return;
    this.#paused = false;
    this.#wire?.resume();
  }

  /**
   * Sends a message of the guest. In a worker, `send` cannot report that the peer reads too slowly, so the socket is
   * ended then.
   */
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

  /** Many sockets may together hold too much, although each is below its own limit. */
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

  /** Updates the common count of bytes that peers have not received. */
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

  /** Called when the guest has ended, which is not notified any more. */
  abandon(code: number, reason: string): void {
    this.#over = true;
    this.close(code, reason);
  }

  get state(): { received: number; buffered: number } {
    return { received: this.#received, buffered: this.#wire?.bufferedBytes ?? 0 };
  }
}
