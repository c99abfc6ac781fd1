// The host's end of one isolate's bridge: collects the input of the next entry, and keeps open streams, sockets and
// host calls. The bridge only knows the numbers of invocations, and asks its `LinkOwner` about them. Records about
// invocations are read by serving/dispatch.ts, all others here.
import type { EventContent } from '#core/event.ts';
import { GuestCalls } from './guest-calls.ts';
import { HandleTable } from './handle-table.ts';
import type { CallScope, GuestStream, HostFunctions, HostReply } from './host-calls.ts';
import type { CallOwner } from './call-owner.ts';
import type { HostMemory } from './host-memory.ts';
import { HostRecords } from './host-records.ts';
import {
  FIELD,
  LEAVING,
  RECORD,
  STREAM,
  toGuest,
  toHost,
  type Failure,
  type Part,
  type RecordReader,
} from './protocol.ts';
import { SocketTable } from './socket-table.ts';
import { StreamTable } from './stream-table.ts';
import type { BridgedSocket, SocketWire } from './sockets.ts';
import type { ByteSink, ByteSource } from './streams.ts';

/** Answers a link's questions about invocations, and receives its notifications. */
export interface LinkOwner {
  /** The owner charged for a call; unattributed work, and work of an ended invocation, has an owner as well. */
  owner(id: number): CallOwner;
  /** Called when a message enters a socket of an invocation, which gets a budget for it. */
  messaged(id: number): void;
  /** Called when a socket of a response, or of the worker, is closed. */
  socketClosed(id: number): void;
  /** Logs why the platform closed a socket of an invocation. */
  log(id: number, text: string): void;
  /** Called when more input waits for the isolate than allowed. */
  overflowed(): void;
}

/** Dependencies of a link. */
interface LinkDeps {
  /** Memory account of the deployment. */
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
  /** Number of open WebSockets of the deployment, over all links. */
  readonly openSockets: { count: number };
  /** Called when there is input for the isolate. */
  readonly request: () => void;
  readonly mapStack: (text: string) => string | null;
}

/** One isolate's bridge. */
export class Link implements CallScope {
  readonly records: HostRecords;
  readonly memory: HostMemory;
  readonly handles: HandleTable;
  readonly calls: GuestCalls;
  #deps: LinkDeps;
  #streams: StreamTable;
  #sockets: SocketTable;
  #closed = false;

  constructor(deps: LinkDeps) {
    this.#deps = deps;
    this.memory = deps.memory;
    this.records = new HostRecords(deps.memory);
    this.handles = new HandleTable(deps.limits.handlesMax, deps.memory);
    this.calls = new GuestCalls({
      hostFunctions: deps.hostFunctions,
      callsMax: deps.limits.callsMax,
      isolate: this,
      answered: (id, reply) => this.#answer(id, reply),
      failed: (id, failure) => this.#send(toGuest.failure, id, JSON.stringify(failure)),
      allBegun: () => {
        this.#streams.allBegun();
        this.#sockets.allBegun();
      },
    });
    this.#streams = new StreamTable({
      memory: deps.memory,
      records: this.records,
      limits: deps.limits,
      hasRoom: () => this.hasRoom(0),
      mayComeEarly: () => this.calls.hasDeferred,
      send: (letter, ...fields) => this.#send(letter, ...fields),
    });
    const { owner } = deps;
    this.#sockets = new SocketTable({
      limits: deps.limits,
      memory: deps.memory,
      openSockets: deps.openSockets,
      mayComeEarly: () => this.calls.hasDeferred,
      message: (id, invocation, data, renews) => {
        if (renews) owner.messaged(invocation);
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

  /** Sends a request; with `body` undefined, `openBody` follows. The caller gives up the bytes of the body. */
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
    this.#deps.request();
  }

  /** Describes the next request, if it is a call of another worker. @param callee JSON for guest/entrypoints.ts. */
  sendCallee(callee: string): void {
    const { records } = this;
    records.meta += toGuest.callee + FIELD + records.part(callee) + FIELD + RECORD;
  }

  /** Sends an event other than a request, with its CPU limit (0: none). */
  sendEvent(id: number, kind: string, cpuLimitMs: number, { head, bodies }: EventContent): void {
    this.records.requests++;
    const parts = [head, ...bodies].map((part) => this.records.part(part));
    this.#send(toGuest.event, id, kind, cpuLimitMs, ...parts);
  }

  /** Sends an event of a durable object, as a request with the object's address. */
  sendObject(
    id: number,
    address: string,
    method: string,
    url: string,
    headerBlock: string,
    body: Part | null | undefined,
  ): void {
    const { records } = this;
    records.requests++;
    const parts = [records.part(address), method, records.part(url), records.part(headerBlock)];
    this.#send(toGuest.object, id, ...parts, body === undefined ? STREAM : records.transferredPart(body));
  }

  /** Sends an event of a WebSocket that the engine keeps for an object. @param event JSON. */
  sendSocketEvent(id: number, event: string, data: Part | null): void {
    this.records.requests++;
    this.#send(toGuest.socketEvent, id, this.records.part(event), this.records.part(data));
  }

  /** Tells the guest to drop an object that does not run in this isolate. */
  forgetObject(id: string): void {
    if (!this.#closed) this.#send(toGuest.forget, this.records.part(id));
  }

  /** Replies to a record of storage. */
  answerStorage(call: number, text: string): void {
    this.#answer(call, { parts: [text] });
  }

  failStorage(call: number, failure: Failure): void {
    this.#send(toGuest.failure, call, JSON.stringify(failure));
  }

  /** Opens the body of a request that was sent with `undefined`. */
  openBody(id: number, source: ByteSource): GuestStream {
    return this.#streams.openBody(id, source);
  }

  /** Called when the rest of a request's body will not arrive: the guest drops the part that it has. */
  breakBody(id: number, failure: Failure): void {
    this.#streams.breakBody(id, failure);
  }

  openStream(source: ByteSource): GuestStream {
    return this.#streams.open(source);
  }

  hasRoom(bytes: number): boolean {
    return this.records.size + bytes <= this.#deps.limits.bufferedBytesMax / 2 && this.memory.hasRoom(bytes);
  }

  receiveStream(id: number, sink: ByteSink): { drained(): void } {
    return this.#streams.receive(id, sink);
  }

  /** Whether a stream from the guest is still open. */
  isReceiving(id: number): boolean {
    return this.#streams.isReceiving(id);
  }

  /** Cancels a stream from the guest. */
  cancelStream(id: number): void {
    this.#streams.cancel(id);
  }

  openSocket(id: number, owner: number, ofCall = false, renews = !ofCall): BridgedSocket {
    return this.#sockets.open(id, owner, ofCall, renews);
  }

  /** Takes over a connection that a call has opened and the guest has not read; null if there is none. */
  takeSocket(id: number): SocketWire | null {
    return this.#sockets.take(id);
  }

  socketState(id: number): { received: number; buffered: number } | null {
    return this.#sockets.get(id)?.state ?? null;
  }

  mapStack(text: string): string | null {
    return this.#deps.mapStack(text);
  }

  /** Undoes `openSocket` if no connection was made. */
  forgetSocket(id: number): void {
    this.#sockets.forget(id);
  }

  /** Closes the sockets of an invocation, or all of them. */
  closeSockets(code: number, reason: string, owner?: number): void {
    this.#sockets.close(code, reason, owner);
  }

  /** Asks the sessions that other workers have opened with this worker to end as soon as they have no running call. */
  leaveSessions(): void {
    this.#sockets.leaveSessions();
  }

  /** Called when the response of an invocation is no longer needed. */
  abort(id: number, failure: Failure): void {
    this.breakBody(id, failure);
    this.#send(toGuest.abort, id, JSON.stringify(failure));
  }

  /** Called when the client of an invocation has disconnected; the rest of its input will not arrive. */
  clientGone(id: number, failure: Failure): void {
    this.breakBody(id, failure);
    this.#send(toGuest.clientGone, id, JSON.stringify(failure));
  }

  /** Ends the unawaited work of an answered event of an object. */
  leaveWork(id: number): void {
    const failure: Failure = { code: LEAVING, name: 'AbortError', message: 'newer code waits for the object' };
    this.#send(toGuest.clientGone, id, JSON.stringify(failure));
  }

  /** Reports host CPU used for an invocation, from its current budget. */
  reportHostCpu(id: number, cpuMs: number): void {
    this.#send(toGuest.hostCpu, id, cpuMs);
  }

  /** Asks whether the worker serves; the guest replies with `started`. */
  start(): void {
    this.#send(toGuest.start);
  }

  runTimers(): void {
    this.#send(toGuest.timers);
  }

  #send(letter: string, ...fields: (string | number)[]): void {
    if (this.#closed) return;
    this.records.record(letter, ...fields);
    this.#deps.request();
  }

  /** This code is inlined, like that of requests, because each message of each socket is one record. */
  #sendMessage(id: number, data: Part): void {
    if (this.#closed) return;
    const { records } = this;
    records.meta += toGuest.socketMessage + FIELD + id + FIELD + records.part(data) + FIELD + RECORD;
    this.#deps.request();
  }

  /** Called before the records of an entry. */
  beginTurn(): void {
    this.calls.beginTurn();
  }

  /** Starts a host call, after reading its whole record. */
  call(reader: RecordReader): void {
    const id = reader.number();
    const owner = this.#deps.owner.owner(reader.number());
    const name = reader.field();
    const args = reader.field();
    this.calls.begin(id, owner, name, args, reader.parts());
  }

  /**
   * Reads the fields of any other record about a stream, a socket or a call.
   *
   * @throws {Error} for an unknown kind.
   */
  read(letter: string, reader: RecordReader): void {
    if (this.#streams.read(letter, reader)) return;
    switch (letter) {
      case toHost.socketMessage: {
        const id = reader.number();
        // The part must be read even if the socket is closed.
        const data = reader.part(reader.field()) as Part;
        this.#sockets.send(id, data);
        break;
      }
      case toHost.socketClose: {
        const id = reader.number();
        const code = reader.number();
        const reason = String(reader.json());
        this.#sockets.get(id)?.close(code, reason);
        break;
      }
      case toHost.socketBegin:
        this.#sockets.get(reader.number())?.begin();
        break;
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
    // Replies cannot be held back, unlike streams.
    if (this.records.size > this.#deps.limits.bufferedBytesMax) this.#deps.owner.overflowed();
    this.#deps.request();
  }

  /**
   * Called when the isolate was disposed: closes everything that was opened for it. The peers of its sockets get the
   * close code.
   */
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
