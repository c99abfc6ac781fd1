// The host's end of one isolate's bridge: collects what goes in with the next entry, and keeps the streams, sockets and
// host calls that are open. It knows invocations by number only; what it needs of them it asks its `LinkOwner`. Records
// about invocations are read by serving/dispatch.ts, the others here.
import type { EventContent } from '#core/event.ts';
import { GuestCalls } from './guest-calls.ts';
import { HandleTable } from './handle-table.ts';
import type { CallScope, GuestStream, HostFunctions, HostReply } from './host-calls.ts';
import type { CallOwner } from './call-owner.ts';
import type { HostMemory } from './host-memory.ts';
import { HostRecords } from './host-records.ts';
import { FIELD, RECORD, STREAM, toGuest, toHost, type Failure, type Part, type RecordReader } from './protocol.ts';
import { SocketTable } from './socket-table.ts';
import { StreamTable } from './stream-table.ts';
import type { BridgedSocket } from './sockets.ts';
import type { ByteSink, ByteSource } from './streams.ts';

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
  readonly mapStack: (text: string) => string | null;
}

/** One isolate's bridge. */
export class Link implements CallScope {
  readonly records: HostRecords;
  readonly memory: HostMemory;
  readonly handles: HandleTable;
  readonly calls: GuestCalls;
  #parts: LinkParts;
  #streams: StreamTable;
  #sockets: SocketTable;
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
      allBegun: () => this.#streams.allBegun(),
    });
    this.#streams = new StreamTable({
      memory: parts.memory,
      records: this.records,
      limits: parts.limits,
      hasRoom: () => this.hasRoom(0),
      mayComeEarly: () => this.calls.hasDeferred,
      send: (letter, ...fields) => this.#send(letter, ...fields),
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

  /** Takes an event in that is no request, and the CPU it may use (0: no limit). */
  sendEvent(id: number, kind: string, cpuLimitMs: number, { head, bodies }: EventContent): void {
    this.records.requests++;
    const parts = [head, ...bodies].map((part) => this.records.part(part));
    this.#send(toGuest.event, id, kind, cpuLimitMs, ...parts);
  }

  /** The body of a request that was sent with `undefined`. */
  openBody(id: number, source: ByteSource): GuestStream {
    return this.#streams.openBody(id, source);
  }

  /** Nothing comes any more of a request's body that has not come yet: the guest drops what it holds of it. */
  breakBody(id: number, failure: Failure): void {
    this.#streams.breakBody(id, failure);
  }

  openStream(source: ByteSource): GuestStream {
    return this.#streams.open(source);
  }

  hasRoom(bytes: number): boolean {
    return this.records.size + bytes <= this.#parts.limits.bufferedBytesMax / 2 && this.memory.hasRoom(bytes);
  }

  receiveStream(id: number, sink: ByteSink): { drained(): void } {
    return this.#streams.receive(id, sink);
  }

  /** Whether a stream from the guest is still open. */
  isReceiving(id: number): boolean {
    return this.#streams.isReceiving(id);
  }

  /** Nobody wants the rest of a stream from the guest. */
  cancelStream(id: number): void {
    this.#streams.cancel(id);
  }

  openSocket(id: number, owner: number): BridgedSocket {
    return this.#sockets.open(id, owner);
  }

  socketState(id: number): { received: number; buffered: number } | null {
    return this.#sockets.get(id)?.state ?? null;
  }

  mapStack(text: string): string | null {
    return this.#parts.mapStack(text);
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

  /** The client of an invocation is gone, with what it had still to send. */
  clientGone(id: number, failure: Failure): void {
    this.breakBody(id, failure);
    this.#send(toGuest.clientGone, id, JSON.stringify(failure));
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
    if (this.#streams.read(letter, reader)) return;
    switch (letter) {
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
    this.#sockets.abandon(code, reason);
    this.#streams.close();
    this.handles.closeAll();
    this.records.taken();
  }
}
