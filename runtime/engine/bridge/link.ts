// The host's end of one isolate's bridge: collects what goes in with the next entry, and keeps the streams, sockets and
// host calls that are open. It knows invocations by number only; what it needs of them it asks its `LinkOwner`. Records
// about invocations are read by deployments/dispatch.ts, the others here.
import { PlatformError } from '#core/errors.ts';
import { GuestCalls } from './guest-calls.ts';
import { HandleTable } from './handle-table.ts';
import type { CallOwner, CallScope, GuestStream, HostFunctions, HostReply } from './host-calls.ts';
import type { HostMemory } from './host-memory.ts';
import { HostRecords } from './host-records.ts';
import { InFlight } from './in-flight.ts';
import { FIELD, RECORD, STREAM, toGuest, toHost, type Failure, type Part, type RecordReader } from './protocol.ts';
import { SocketTable } from './socket-table.ts';
import type { BridgedSocket } from './sockets.ts';
import { Diversion, StreamToGuest, StreamToHost, type ByteSink, type ByteSource } from './streams.ts';

/** Whom a link asks and tells about invocations. */
export interface LinkOwner {
  /** Who is charged for a call; what is nobody's, or of an invocation that is over, has an owner as well. */
  owner(id: number): CallOwner;
  /** A message goes in to a socket of an invocation, which has a budget for it. */
  messaged(id: number): void;
  /** A socket that was answered with, or one the worker opened, is closed. */
  socketClosed(id: number): void;
  /** Why a socket of an invocation was closed by the platform. */
  log(id: number, text: string): void;
  /** More waits for the isolate than may. */
  overflowed(): void;
}

/** What a link is made of. */
export interface LinkParts {
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
  readonly owner: LinkOwner;
  /** Open WebSockets of all links of the deployment. */
  readonly openSockets: { count: number };
  /** There is something to take into the isolate. */
  readonly request: () => void;
}

/** What an open stream takes beside the bytes that wait in it. */
const STREAM_BYTES = 16 * 1024;

// Ids of streams the host opens lie above all ids of invocations, whose request bodies have the invocation's.
const FIRST_STREAM = 2 ** 45;

/** One isolate's bridge. */
export class Link implements CallScope {
  readonly records: HostRecords;
  readonly memory: HostMemory;
  readonly handles: HandleTable;
  readonly calls: GuestCalls;
  #parts: LinkParts;
  #sockets: SocketTable;
  /** Bodies of requests, by their invocations' numbers. */
  #bodies = new InFlight<StreamToGuest>();
  #streamsToGuest = new InFlight<StreamToGuest>(FIRST_STREAM);
  // A Map: the numbers are the guest's.
  #streamsToHost = new Map<number, StreamToHost>();
  #closed = false;

  constructor(parts: LinkParts) {
    this.#parts = parts;
    this.memory = parts.memory;
    this.records = new HostRecords(parts.memory);
    this.handles = new HandleTable(parts.limits.handlesMax, parts.memory);
    this.calls = new GuestCalls({
      hostFunctions: parts.hostFunctions,
      callsMax: parts.limits.callsMax,
      isolate: this,
      answered: (id, reply) => this.#answer(id, reply),
      failed: (id, failure) => this.#send(toGuest.failure, id, JSON.stringify(failure)),
    });
    const { owner } = parts;
    this.#sockets = new SocketTable({
      limits: parts.limits,
      memory: parts.memory,
      openSockets: parts.openSockets,
      message: (id, invocation, data) => {
        owner.messaged(invocation);
        this.#sendMessage(id, data);
      },
      failed: (id, message) => this.#send(toGuest.socketFailed, id, JSON.stringify(message)),
      closed: (id, code, reason, clean) => {
        this.#send(toGuest.socketClosed, id, code, JSON.stringify(reason), clean ? '1' : '');
        owner.socketClosed(id);
      },
      worked: (invocation, cpuMs) => owner.owner(invocation).settleCpu(0, cpuMs),
      log: (invocation, text) => owner.log(invocation, text),
    });
  }

  /** Takes a request in; `body` undefined means that it follows by `openBody`. Its bytes are nobody's any more. */
  sendRequest(id: number, method: string, url: string, headerBlock: string, body: Part | null | undefined): void {
    const { records } = this;
    records.requests++;
    records.meta +=
      toGuest.request +
      FIELD +
      id +
      FIELD +
      method +
      FIELD +
      records.part(url) +
      FIELD +
      records.part(headerBlock) +
      FIELD +
      (body === undefined ? STREAM : records.transferredPart(body)) +
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
    this.#bodies.put(id, stream);
    return this.#guestStream(id, stream, () => this.#bodies.remove(id));
  }

  /** Nothing comes any more of a request's body that has not come yet: the guest drops what it holds of it. */
  breakBody(id: number, failure: Failure): void {
    if (this.#bodies.size > 0 && this.#bodies.remove(id) !== undefined)
      this.#send(toGuest.broken, id, JSON.stringify(failure));
  }

  openStream(source: ByteSource): GuestStream {
    const { streamsMax } = this.#parts.limits;
    if (this.#streamsToGuest.size >= streamsMax)
      throw new PlatformError('quota_exceeded', { what: 'One more open stream', limit: streamsMax });
    this.memory.reserve(STREAM_BYTES, 'A stream');
    const stream = new StreamToGuest(source, this.#parts.limits.streamWindowBytes);
    const id = this.#streamsToGuest.add(stream);
    return this.#guestStream(id, stream, () => this.#removeStream(id));
  }

  #removeStream(id: number): StreamToGuest | undefined {
    const stream = this.#streamsToGuest.remove(id);
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
    this.#streamsToHost.get(id)?.sink.destroy('stream number used again');
    const stream = new StreamToHost(sink, this.#parts.limits.streamWindowBytes, (bytes) =>
      this.#send(toGuest.credit, id, bytes),
    );
    this.#streamsToHost.set(id, stream);
    return stream;
  }

  /** Whether a stream from the guest is still open. */
  isReceiving(id: number): boolean {
    return this.#streamsToHost.has(id);
  }

  /** Nobody wants the rest of a stream from the guest. */
  cancelStream(id: number): void {
    if (this.#streamsToHost.delete(id)) this.#send(toGuest.cancel, id);
  }

  openSocket(id: number, owner: number): BridgedSocket {
    return this.#sockets.open(id, owner);
  }

  socketState(id: number): { received: number; buffered: number } | null {
    return this.#sockets.get(id)?.state ?? null;
  }

  /** Takes back what `openSocket` gave, when there is no connection after all. */
  forgetSocket(id: number): void {
    this.#sockets.forget(id);
  }

  /** Closes the sockets of an invocation, or all. */
  closeSockets(code: number, reason: string, owner?: number): void {
    this.#sockets.close(code, reason, owner);
  }

  /** Nobody waits for an invocation any more. */
  abort(id: number, failure: Failure): void {
    this.breakBody(id, failure);
    this.#send(toGuest.abort, id, JSON.stringify(failure));
  }

  /** The host has spent so much CPU for an invocation, of the budget it has now. */
  reportHostCpu(id: number, cpuMs: number): void {
    this.#send(toGuest.hostCpu, id, cpuMs);
  }

  /** Asks whether the worker serves; the guest answers with `started`. */
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
    const { records } = this;
    records.meta += toGuest.socketMessage + FIELD + id + FIELD + records.part(data) + FIELD + RECORD;
    this.#parts.request();
  }

  /** The records of an entry follow. */
  beginTurn(): void {
    this.calls.beginTurn();
  }

  /** Begins a host call; leaves its record. */
  call(reader: RecordReader): void {
    const id = reader.number();
    const owner = this.#parts.owner.owner(reader.number());
    const name = reader.field();
    const args = reader.field();
    this.calls.begin(id, owner, name, args, reader.parts());
  }

  /**
   * Reads the fields of any other record about a stream, a socket or a call.
   *
   * @throws {Error} for one of no known kind.
   */
  read(letter: string, reader: RecordReader): void {
    switch (letter) {
      case toHost.chunk: {
        const id = reader.number();
        const chunk = reader.part(reader.field()) as Part;
        this.#streamsToHost.get(id)?.chunk(chunk);
        break;
      }
      case toHost.end:
        this.#takeStream(reader.number())?.sink.end();
        break;
      case toHost.broken: {
        const id = reader.number();
        const failure = reader.json() as Failure;
        this.#takeStream(id)?.sink.destroy(failure.message);
        break;
      }
      case toHost.credit: {
        const id = reader.number();
        const bytes = reader.number();
        (this.#bodies.get(id) ?? this.#streamsToGuest.get(id))?.credit(bytes);
        break;
      }
      case toHost.cancel: {
        const id = reader.number();
        (this.#bodies.remove(id) ?? this.#removeStream(id))?.source.cancel();
        break;
      }
      case toHost.splice: {
        const id = reader.number();
        const to = reader.number();
        this.#splice(id, to);
        break;
      }
      case toHost.handOver:
        reader.number();
        this.#streamsToHost.get(reader.number())?.diversion?.handOver();
        break;
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
      case toHost.drop:
        this.calls.drop(reader.number());
        break;
      default:
        throw new Error(`unknown record: ${JSON.stringify(letter)}`);
    }
  }

  #takeStream(id: number): StreamToHost | undefined {
    const stream = this.#streamsToHost.get(id);
    this.#streamsToHost.delete(id);
    return stream;
  }

  /**
   * A stream into the guest goes on to one out of it without coming in; without an answer the guest passes it on by
   * itself.
   */
  #splice(id: number, to: number): void {
    const from = this.#bodies.get(id) ?? this.#streamsToGuest.get(id);
    const stream = this.#streamsToHost.get(to);
    if (from === undefined || stream === undefined || from.diversion !== null || stream.diversion !== null) return;
    void new Diversion(from, stream, () => this.#streamsToHost.get(to) === stream);
    this.#send(toGuest.spliced, id);
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
    if (this.records.size > this.#parts.limits.bufferedBytesMax) this.#parts.owner.overflowed();
    this.#parts.request();
  }

  /** The isolate is gone: ends everything that was opened for it, sockets with a code for their peers. */
  close(code: number, reason: string): void {
    if (this.#closed) return;
    this.#closed = true;
    this.calls.close();
    for (const stream of [...this.#bodies.values(), ...this.#streamsToGuest.values()]) stream.source.cancel();
    this.memory.release(this.#streamsToGuest.size * STREAM_BYTES);
    this.#bodies = new InFlight();
    this.#streamsToGuest = new InFlight(FIRST_STREAM);
    this.#sockets.abandon(code, reason);
    for (const stream of this.#streamsToHost.values()) stream.sink.destroy('isolate disposed');
    this.#streamsToHost.clear();
    this.handles.closeAll();
    this.records.taken();
  }
}
