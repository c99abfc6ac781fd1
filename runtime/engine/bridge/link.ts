// The host's end of one isolate's bridge: collects what goes in with the next entry, reads what an entry sent, runs
// host calls and streams. It knows invocations by number only; what it reads about them goes to `LinkEvents`.
import { PlatformError } from '#core/errors.ts';
import { HandleTable } from './handle-table.ts';
import { GuestCalls } from './guest-calls.ts';
import { HostRecords } from './host-records.ts';
import type { HeldBytes, HostMemory } from './host-memory.ts';
import type { CallOwner, CallScope, GuestStream, HostFunctions, HostReply } from './host-calls.ts';
import { FIELD, RecordReader, RECORD, STREAM, toGuest, toHost, type Failure, type Part } from './protocol.ts';
import { InFlight } from './in-flight.ts';
import { BridgedSocket, type SocketParts } from './sockets.ts';
import { Diversion, StreamToHost, StreamToGuest, type ByteSink, type ByteSource } from './streams.ts';

/** What an isolate says about its invocations. */
export interface LinkEvents {
  /** A response; `body` undefined means that it follows as a stream, `over` that nothing else follows. */
  response(id: number, status: number, headerBlock: string, body: Part | null | undefined, over: boolean): void;
  /** What became of an event: JSON; `over` as for a response. */
  eventResult(id: number, result: string, over: boolean): void;
  /** A response that opens a WebSocket. */
  upgrade(id: number, headerBlock: string): void;
  /** A message goes in to a socket of an invocation, which has a budget for it. */
  messaged(id: number): void;
  /** A socket that was answered with, or one the worker opened, is closed. */
  socketClosed(id: number): void;
  failed(id: number, failure: Failure): void;
  done(id: number): void;
  /** A request without effect that the isolate has not begun with, since it is condemned. */
  unstarted(id: number): void;
  log(id: number, level: string, text: string): void;
  /** When the isolate wants to be entered for its timers: ms of the monotonic clock, -1 = not. */
  wake(at: number): void;
  charge(id: number, cpuMs: number): void;
  breach(id: number, cpuMs: number, lost: readonly number[]): void;
  hung(ids: readonly number[]): void;
  /** Answer to `start`. */
  started(state: string, reason: string): void;
  /** More waits for the isolate than may. */
  overflowed(): void;
  /** Who is charged for a call; what is nobody's, or of an invocation that is over, has an owner as well. */
  owner(id: number): CallOwner;
}

/** What a link is made of. */
interface LinkParts {
  /** Of the deployment. */
  readonly memory: HostMemory;
  readonly hostFunctions: HostFunctions;
  readonly limits: {
    readonly streamWindowBytes: number;
    readonly handlesMax: number;
    readonly callsMax: number;
    readonly streamsMax: number;
    readonly webSocketsMax: number;
    readonly webSocketMessageBytesMax: number;
    readonly webSocketBufferedBytesMax: number;
    readonly bufferedBytesMax: number;
  };
  readonly events: LinkEvents;
  /** Open WebSockets of all links of the deployment. */
  readonly openSockets: { count: number };
  /** There is something to take into the isolate. */
  readonly request: () => void;
}

/** What an open stream and a socket take beside the bytes that wait in them. */
const STREAM_BYTES = 16 * 1024;
const SOCKET_BYTES = 16 * 1024;

// Ids of streams the host opens lie above all ids of invocations, whose request bodies have the invocation's.
const FIRST_STREAM = 2 ** 45;

/** One isolate's bridge. */
export class Link implements CallScope {
  readonly records: HostRecords;
  readonly memory: HostMemory;
  readonly handles: HandleTable;
  readonly calls: GuestCalls;
  #parts: LinkParts;
  #streams = new InFlight<StreamToGuest>(FIRST_STREAM);
  #bodies = new Map<number, StreamToGuest>();
  #incoming = new Map<number, StreamToHost>();
  #sockets = new Map<number, BridgedSocket>();
  #socketParts: SocketParts;
  /** What the peers of all sockets have not taken, as of each one's last message. */
  readonly #held: HeldBytes;
  #closed = false;

  constructor(parts: LinkParts) {
    this.#parts = parts;
    this.memory = parts.memory;
    this.records = new HostRecords(parts.memory);
    this.#held = parts.memory.count();
    this.handles = new HandleTable(parts.limits.handlesMax, parts.memory);
    this.calls = new GuestCalls({
      hostFunctions: parts.hostFunctions,
      callsMax: parts.limits.callsMax,
      isolate: this,
      answered: (id, reply) => this.#answer(id, reply),
      failed: (id, failure) => this.#send(toGuest.failure, id, JSON.stringify(failure)),
    });
    this.#socketParts = {
      limits: parts.limits,
      held: this.#held,
      recount: () => {
        this.#held.bytes = 0;
        for (const socket of this.#sockets.values()) socket.count();
      },
      message: (id, data) => {
        parts.events.messaged(this.#sockets.get(id)?.owner ?? 0);
        this.#sendMessage(id, data);
      },
      failed: (id, message) => this.#send(toGuest.socketFailed, id, JSON.stringify(message)),
      closed: (id, code, reason, clean) => {
        this.forgetSocket(id);
        this.#send(toGuest.socketClosed, id, code, JSON.stringify(reason), clean ? '1' : '');
        parts.events.socketClosed(id);
      },
      worked: (owner, cpuMs) => parts.events.owner(owner).settleCpu(0, cpuMs),
      log: (owner, text) => parts.events.log(owner, 'error', text),
    };
  }

  /** Takes a request in; `body` undefined means that it follows by `openBody`. Its bytes are nobody's any more. */
  sendRequest(id: number, method: string, url: string, headerBlock: string, body: Part | null | undefined): void {
    const out = this.records;
    out.requests++;
    out.meta +=
      toGuest.request +
      FIELD +
      id +
      FIELD +
      method +
      FIELD +
      out.part(url) +
      FIELD +
      out.part(headerBlock) +
      FIELD +
      (body === undefined ? STREAM : out.transferredPart(body)) +
      FIELD +
      RECORD;
    this.#parts.request();
  }

  /** Takes an event in that is no request: its JSON, and the CPU it may use (0: no limit). */
  sendEvent(id: number, kind: string, cpuLimitMs: number, event: string): void {
    this.records.requests++;
    this.#send(toGuest.event, id, kind, cpuLimitMs, this.records.part(event));
  }

  /** The body of a request that was sent with `undefined`. */
  openBody(id: number, source: ByteSource): GuestStream {
    const stream = new StreamToGuest(source, this.#parts.limits.streamWindowBytes);
    this.#bodies.set(id, stream);
    return this.#guestStream(id, stream, () => this.#bodies.delete(id));
  }

  /** Nothing comes any more of a request's body that has not come yet: the guest lets go of what it holds of it. */
  breakBody(id: number, failure: Failure): void {
    if (this.#bodies.size > 0 && this.#bodies.delete(id)) this.#send(toGuest.broken, id, JSON.stringify(failure));
  }

  openStream(source: ByteSource): GuestStream {
    const { streamsMax } = this.#parts.limits;
    if (this.#streams.size >= streamsMax)
      throw new PlatformError('quota_exceeded', { what: 'One more open stream', limit: streamsMax });
    this.memory.reserve(STREAM_BYTES, 'A stream');
    const stream = new StreamToGuest(source, this.#parts.limits.streamWindowBytes);
    const id = this.#streams.add(stream);
    return this.#guestStream(id, stream, () => this.#removeStream(id));
  }

  #removeStream(id: number): StreamToGuest | undefined {
    const stream = this.#streams.remove(id);
    if (stream !== undefined) this.memory.release(STREAM_BYTES);
    return stream;
  }

  #guestStream(id: number, stream: StreamToGuest, close: () => void): GuestStream {
    return {
      id,
      write: (chunk, transfer = false) => {
        if (this.#closed) return true;
        if (stream.diversion !== null) return stream.diversion.write(chunk, transfer);
        this.records.record(
          toGuest.chunk,
          id,
          transfer ? this.records.transferredPart(chunk) : this.records.part(chunk),
        );
        this.#parts.request();
        const isOpen = stream.sent(chunk.byteLength);
        return this.hasRoom(0) ? isOpen : stream.pause();
      },
      end: () => {
        close();
        this.#send(toGuest.end, id);
      },
      break: (failure) => {
        close();
        this.#send(toGuest.broken, id, JSON.stringify(failure));
      },
    };
  }

  hasRoom(bytes: number): boolean {
    return this.records.size + bytes <= this.#parts.limits.bufferedBytesMax / 2 && this.memory.hasRoom(bytes);
  }

  receiveStream(id: number, sink: ByteSink): StreamToHost {
    // A guest that uses a number twice must leave nobody waiting.
    this.#incoming.get(id)?.sink.destroy('Another stream took its number');
    const stream = new StreamToHost(sink, this.#parts.limits.streamWindowBytes, (bytes) =>
      this.#send(toGuest.credit, id, bytes),
    );
    this.#incoming.set(id, stream);
    return stream;
  }

  /** Whether a stream from the guest is still open. */
  isReceiving(id: number): boolean {
    return this.#incoming.has(id);
  }

  /** Nobody wants the rest of a stream from the guest. */
  cancelStream(id: number): void {
    if (this.#incoming.delete(id)) this.#send(toGuest.cancel, id);
  }

  openSocket(id: number, owner: number): BridgedSocket {
    const { webSocketsMax } = this.#parts.limits;
    if (this.#parts.openSockets.count >= webSocketsMax)
      throw new PlatformError('websocket_limit_exceeded', { limit: webSocketsMax });
    if (this.#sockets.has(id)) throw new PlatformError('invalid_argument', { reason: 'The socket is open already' });
    this.memory.reserve(SOCKET_BYTES, 'A WebSocket');
    const socket = new BridgedSocket(id, owner, this.#socketParts);
    this.#sockets.set(id, socket);
    this.#parts.openSockets.count++;
    return socket;
  }

  socketState(id: number): { received: number; buffered: number } | null {
    return this.#sockets.get(id)?.state ?? null;
  }

  /** Takes back what `openSocket` gave, when there is no connection after all. */
  forgetSocket(id: number): void {
    if (!this.#sockets.delete(id)) return;
    this.memory.release(SOCKET_BYTES);
    this.#parts.openSockets.count--;
  }

  /** Closes the sockets of an invocation, or all. */
  closeSockets(code: number, reason: string, owner?: number): void {
    if (this.#sockets.size === 0) return;
    for (const socket of this.#sockets.values())
      if (owner === undefined || socket.owner === owner) socket.close(code, reason);
  }

  /** Nobody waits for an invocation any more. */
  abort(id: number, failure: Failure): void {
    this.breakBody(id, failure);
    this.#send(toGuest.abort, id, JSON.stringify(failure));
  }

  /** The host has transfer so much CPU for an invocation, of the budget it has now. */
  tellCpu(id: number, cpuMs: number): void {
    this.#send(toGuest.hostCpu, id, cpuMs);
  }

  /** Asks whether the worker serves; answered by `LinkEvents.started`. */
  start(): void {
    this.#send(toGuest.start);
  }

  runTimers(): void {
    this.#send(toGuest.timers);
  }

  #send(letter: string, ...fields: (string | number)[]): void {
    if (this.#closed) return;
    this.records.record(letter, ...fields);
    this.#parts.request();
  }

  /** Written by hand, as requests are: a record for each message of each socket. */
  #sendMessage(id: number, data: Part): void {
    if (this.#closed) return;
    const out = this.records;
    out.meta += toGuest.socketMessage + FIELD + id + FIELD + out.part(data) + FIELD + RECORD;
    this.#parts.request();
  }

  /** Reads what an entry sent. */
  receive(meta: string, text: string, bytes: readonly Uint8Array[]): void {
    const reader = new RecordReader(meta, text, bytes);
    const { events } = this.#parts;
    this.calls.beginTurn();
    for (let letter = reader.next(); letter !== ''; letter = reader.next()) {
      switch (letter) {
        case toHost.response: {
          const id = reader.number();
          const status = reader.number();
          const headerBlock = reader.part(reader.field()) as string;
          const field = reader.field();
          const body = field === STREAM ? undefined : reader.part(field);
          events.response(id, status, headerBlock, body, reader.field() === '1');
          break;
        }
        case toHost.eventResult: {
          const id = reader.number();
          const result = reader.part(reader.field()) as string;
          events.eventResult(id, result, reader.field() === '1');
          break;
        }
        case toHost.upgrade: {
          const id = reader.number();
          events.upgrade(id, reader.part(reader.field()) as string);
          break;
        }
        case toHost.socketMessage: {
          const id = reader.number();
          // Read in any case: the socket may be gone.
          const data = reader.part(reader.field()) as Part;
          this.#sockets.get(id)?.send(data);
          break;
        }
        case toHost.socketClose: {
          const id = reader.number();
          const code = reader.number();
          const reason = String(reader.json());
          this.#sockets.get(id)?.close(code, reason);
          break;
        }
        case toHost.socketCredit: {
          const id = reader.number();
          const bytes = reader.number();
          this.#sockets.get(id)?.credit(bytes);
          break;
        }
        case toHost.failed:
          events.failed(reader.number(), reader.json() as Failure);
          break;
        case toHost.unstarted:
          events.unstarted(reader.number());
          break;
        case toHost.done:
          events.done(reader.number());
          break;
        case toHost.chunk: {
          const id = reader.number();
          const chunk = reader.part(reader.field()) as Part;
          this.#incoming.get(id)?.chunk(chunk);
          break;
        }
        case toHost.end: {
          const id = reader.number();
          const stream = this.#incoming.get(id);
          this.#incoming.delete(id);
          stream?.sink.end();
          break;
        }
        case toHost.broken: {
          const id = reader.number();
          const failure = reader.json() as Failure;
          const stream = this.#incoming.get(id);
          this.#incoming.delete(id);
          stream?.sink.destroy(failure.message);
          break;
        }
        case toHost.credit: {
          const id = reader.number();
          const bytes = reader.number();
          (this.#bodies.get(id) ?? this.#streams.get(id))?.credit(bytes);
          break;
        }
        case toHost.cancel: {
          const id = reader.number();
          const stream = this.#bodies.get(id) ?? this.#removeStream(id);
          this.#bodies.delete(id);
          stream?.source.cancel();
          break;
        }
        case toHost.splice: {
          const id = reader.number();
          const to = reader.number();
          const from = this.#bodies.get(id) ?? this.#streams.get(id);
          const stream = this.#incoming.get(to);
          // Without an answer the guest passes it on by itself.
          if (from === undefined || stream === undefined || from.diversion !== null || stream.diversion !== null) break;
          void new Diversion(from, stream, () => this.#incoming.get(to) === stream);
          this.#send(toGuest.spliced, id);
          break;
        }
        case toHost.handOver: {
          reader.number();
          this.#incoming.get(reader.number())?.diversion?.handOver();
          break;
        }
        case toHost.call: {
          const id = reader.number();
          const owner = events.owner(reader.number());
          const name = reader.field();
          const args = reader.field();
          this.calls.begin(id, owner, name, args, reader.parts());
          continue; // parts() has left the record
        }
        case toHost.drop:
          this.calls.drop(reader.number());
          break;
        case toHost.log:
          events.log(reader.number(), reader.field(), String(reader.json()));
          break;
        case toHost.wake:
          events.wake(reader.number());
          break;
        case toHost.charge:
          events.charge(reader.number(), milliseconds(reader.number()));
          break;
        case toHost.breach: {
          const id = reader.number();
          const cpuMs = milliseconds(reader.number());
          events.breach(id, cpuMs, numbers(reader.field()));
          break;
        }
        case toHost.started:
          events.started(reader.field(), String(reader.json()));
          break;
        case toHost.hung:
          events.hung(numbers(reader.field()));
          break;
        case toHost.fault:
          throw reader.field() === 'memory'
            ? new PlatformError('memory_limit_exceeded')
            : new PlatformError('isolate_replaced', { reason: 'the worker broke what its answers are made with' });
        default:
          throw new Error(`Unknown record ${JSON.stringify(letter)} from a guest`);
      }
      reader.close();
    }
  }

  #answer(id: number, reply: HostReply): void {
    if (this.#closed) return;
    const fields = (reply.parts ?? []).map((part) =>
      reply.transfer === true ? this.records.transferredPart(part) : this.records.part(part),
    );
    const value = JSON.stringify(reply.value ?? null);
    this.records.addSize(value.length);
    this.records.record(toGuest.result, id, value, ...fields);
    // Answers cannot be held back as streams can.
    if (this.records.size > this.#parts.limits.bufferedBytesMax) this.#parts.events.overflowed();
    this.#parts.request();
  }

  /** The isolate is gone: ends everything that was opened for it, sockets with a code for their peers. */
  close(code: number, reason: string): void {
    if (this.#closed) return;
    this.#closed = true;
    this.calls.close();
    for (const stream of [...this.#bodies.values(), ...this.#streams.values()]) stream.source.cancel();
    this.memory.release(this.#streams.size * STREAM_BYTES);
    this.#streams = new InFlight(FIRST_STREAM);
    for (const socket of this.#sockets.values()) socket.abandon(code, reason);
    for (const id of this.#sockets.keys()) this.forgetSocket(id);
    this.#held.bytes = 0;
    for (const stream of this.#incoming.values()) stream.sink.destroy('The isolate is gone');
    this.#bodies.clear();
    this.#incoming.clear();
    this.handles.closeAll();
    this.records.taken();
  }
}

/** @throws {Error} for what is no time that was used. */
function milliseconds(value: number): number {
  if (!(value >= 0 && value < Infinity)) throw new Error(`A guest says that ${value} ms were used`);
  return value;
}

function numbers(list: string): number[] {
  return list === '' ? [] : list.split(',').map(Number);
}
