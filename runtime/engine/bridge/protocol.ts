// The protocol between host and guest: the only file that both sides import. Records, host calls and their codec. No
// I/O and no Node types, because it is also bundled into the guest's snapshot.
//
// An entry into an isolate carries `meta`, `text` and any number of byte arrays, and so does its result. `meta` is a
// list of records, each terminated by RECORD, their fields by FIELD. No field may contain either character: fields are
// numbers, our own names, or JSON, which escapes them. Data that a client or a tenant chose freely (URLs, header
// blocks, bodies) is a part outside the records, in the order of the fields that refer to it. Text is concatenated in
// `text` (field `t<length>`), bytes are separate arguments (field `b`), and an empty part is `-`.

// The function is captured before any tenant code can replace it.
const { parse } = JSON;

export const FIELD = '\u0001';
export const RECORD = '\u0002';

/** Text or bytes that are sent next to the records, never inside them. */
export type Part = string | Uint8Array;

/** Field that says that the body is streamed, under the id of its message. */
export const STREAM = 's';
export const NOTHING = '-';
/** Field of bytes. */
export const BYTES = 'b';

/** Code of a `clientGone` that only ends the unawaited work of an answered event. */
export const LEAVING = 'object_leaving';

/** Records from the host into the guest. The letter is the first field. */
export const toGuest = {
  /** A request. Fields: id, method, URL part, header block part, body part | `s` | `-`. */
  request: 'R',
  /** Marks the next request as a call of another worker. Field: JSON part that describes the call. */
  callee: 'n',
  /**
   * An event other than a request. Fields: id, kind of the event, CPU limit in ms, JSON part of its head, parts of its
   * bodies.
   */
  event: 'E',
  /**
   * An event of a durable object. Fields: those of `request`, with a JSON part of the object's address after the id.
   */
  object: 'O',
  /**
   * An event of an object's WebSocket (serving/objects/object-sockets.ts). Fields: id, JSON part of the event, part of
   * the message or `-`.
   */
  socketEvent: 'W',
  /**
   * Drops an object that has no events, because it moves to another engine or is not needed. Field: part of the
   * object's id.
   */
  forget: 'o',
  /** stream id, part. */
  chunk: 'c',
  /** stream id. */
  end: 'e',
  /** stream id, JSON failure. */
  broken: 'x',
  /** Allows the guest to send more bytes of a stream. Fields: stream id, number of additional bytes. */
  credit: 'k',
  /** The stream has no reader any more. Field: stream id. */
  cancel: 'q',
  /**
   * No more chunks of the stream follow, only its end. The guest replies with `handOver` after it has forwarded the
   * received chunks. Field: stream id.
   */
  spliced: 'p',
  /** The result of a host call. Fields: call id, JSON value, parts. */
  result: 'r',
  /** The failure of a host call. Fields: call id, JSON failure. */
  failure: 'f',
  /** Asks whether the worker has started; the guest replies with `started`. No fields. */
  start: 'S',
  /** Timers are due. No fields. */
  timers: 't',
  /** The response is no longer needed. Fields: invocation id, JSON failure. */
  abort: 'a',
  /**
   * The client of an invocation has disconnected. The invocation continues, and its response is discarded. With the
   * code LEAVING, only unawaited work of an object's answered event ends. Fields: invocation id, JSON failure.
   */
  clientGone: 'g',
  /**
   * The host used CPU for an invocation, which reduces the remaining budget of its code. Fields: invocation id, CPU ms.
   */
  hostCpu: 'z',
  /**
   * A message of a socket. Fields: socket id, part. A text part is a text message, and a bytes part is a binary
   * message.
   */
  socketMessage: 'm',
  /** A socket was closed. Fields: socket id, close code, JSON reason, `1` after a closing handshake. */
  socketClosed: 'w',
  /** A socket failed; `socketClosed` follows. Fields: socket id, JSON message. */
  socketFailed: 'y',
} as const;

/** Records from the guest to the host. */
export const toHost = {
  /**
   * A response. Fields: invocation id, status, header block part, body part | `s` | `-`, `1` when this ends the
   * invocation.
   */
  response: 'R',
  /** The result of an event. Fields: invocation id, JSON part of the result, `1` when this ends the invocation. */
  eventResult: 'V',
  /**
   * A response with status 101, which opens a socket with the invocation's id. Fields: invocation id, header block
   * part.
   */
  upgrade: 'U',
  /**
   * A response with status 101, whose socket the host connects to a socket that a call has opened and the guest has not
   * read. Fields: invocation id, header block part, id of that socket, `1` when this ends the invocation.
   */
  join: 'J',
  /** The guest begins to read a socket that a call has opened. Field: socket id. */
  socketBegin: 'A',
  /**
   * A response with status 101, which opens a WebSocket that the object's engine keeps. Fields: invocation id, header
   * block part, id of the WebSocket (negative), JSON part `{object, tags, attachment}`, `1` when this ends the
   * invocation.
   */
  hold: 'G',
  /** A message to a kept WebSocket. Fields: id of the WebSocket, invocation id, part. */
  heldMessage: 'M',
  /** Closes a kept WebSocket. Fields: id of the WebSocket, close code (1005: none), JSON reason. */
  heldClose: 'W',
  /** Sets the attachment of a kept WebSocket. Fields: id of the WebSocket, JSON part of the attachment. */
  heldAttachment: 'N',
  /**
   * Changes the settings of all kept WebSockets of an object. Field: JSON part `{object, auto?, eventMs?, closes?}`.
   */
  heldState: 'X',
  /** An event of a kept WebSocket has reached the object. Field: invocation id. */
  heldBegun: 'I',
  /** socket id, part. */
  socketMessage: 'm',
  /** Closes a socket. Fields: socket id, close code (1005: none), JSON reason. */
  socketClose: 'w',
  /** Messages of a socket were delivered. Fields: socket id, bytes of the messages. */
  socketCredit: 'j',
  /** There is no response. Fields: invocation id, JSON failure, `1` when this ends the invocation. */
  failed: 'F',
  /** A request arrived after a breach, and has not run in this isolate. Field: invocation id. */
  unstarted: 'u',
  /** The response of an invocation is sent, and all `waitUntil` promises have settled. Field: invocation id. */
  done: 'D',
  /** stream id, part. */
  chunk: 'c',
  /** stream id. */
  end: 'e',
  /** stream id, JSON failure. */
  broken: 'x',
  /** The guest has read bytes of a stream. Fields: stream id, number of bytes. */
  credit: 'k',
  /** The reader of a stream needs no more bytes. Field: stream id. */
  cancel: 'q',
  /**
   * One stream only forwards another one, whose bytes do not have to enter the guest. Fields: id of the stream into the
   * guest, id of the stream out of it.
   */
  splice: 'p',
  /**
   * The guest has forwarded all received chunks of a spliced stream, so the host may forward the rest itself. Fields:
   * as for `splice`.
   */
  handOver: 'h',
  /** A host call. Fields: call id, invocation id, name, JSON arguments, parts. */
  call: 'C',
  /**
   * A request to the storage of an object. The record comes before all other records of its entry. Fields: call id,
   * invocation id, JSON arguments (serving/objects/object-storage.ts), part of the steps.
   */
  storage: 'O',
  /** The result of a host call is no longer needed. Field: call id. */
  drop: 'Y',
  /** A log line. Fields: invocation id (0 = none), level, JSON text. */
  log: 'L',
  /** Field: when the earliest timer is due, in ms of the monotonic clock, or -1. */
  wake: 'T',
  /**
   * CPU of an invocation. Fields: invocation id (0 = unattributed code), total CPU ms, the part of it that was not
   * reported yet; only if that differs from this entry's share.
   */
  charge: 'Z',
  /**
   * An invocation exceeded its CPU budget. Fields: invocation id (0 = unattributed code), CPU ms used, comma-separated
   * ids of invocations whose continuations were lost with it.
   */
  breach: 'B',
  /**
   * Whether the worker has started. Fields: `ready`, `pending` (a top-level `await`), `no-handler` or `failed`; JSON
   * reason.
   */
  started: 'S',
  /**
   * A fault of the isolate. Field: `answer` if the records of an entry could not be sent and are lost, `memory` if the
   * isolate held too much memory outside its heap.
   */
  fault: '!',
  /**
   * Invocations that can never respond, because no pending operation could complete them. Field: comma-separated
   * invocation ids.
   */
  hung: 'H',
} as const;

/** Collects the content of one entry or one result. */
export class RecordWriter {
  meta = '';
  text = '';
  bytes: Uint8Array[] = [];
  /** Characters and bytes of all parts; reset by the code that takes them. */
  size = 0;
  /** Number of requests and other events among the records. */
  requests = 0;

  /** Adds a record of ready-made fields. */
  record(letter: string, ...fields: readonly (string | number)[]): void {
    this.meta += letter + FIELD;
    // This code uses no iterator and no `push`, because a tenant may have replaced them in the guest.
    for (let at = 0; at < fields.length; at++) this.meta += fields[at]! + FIELD;
    this.meta += RECORD;
  }

  /** Adds a part next to the records and returns the field that refers to it. */
  part(part: Part | null): string {
    if (part === null) return NOTHING;
    if (typeof part === 'string') {
      this.text += part;
      this.size += part.length;
      return `t${part.length}`;
    }
    this.bytes[this.bytes.length] = part;
    this.size += part.byteLength;
    return BYTES;
  }
}

/**
 * Reads the content of a {@link RecordWriter} in the order it was written. Throws on malformed records: data from a
 * guest is untrusted.
 */
export class RecordReader {
  #meta: string;
  #text: string;
  #bytes: readonly Uint8Array[];
  #at = 0;
  #textAt = 0;
  #bytesAt = 0;

  constructor(meta: string, text: string, bytes: readonly Uint8Array[]) {
    this.#meta = meta;
    this.#text = text;
    this.#bytes = bytes;
  }

  /** Letter of the next record, or `''` after the last. */
  next(): string {
    if (this.#at >= this.#meta.length) return '';
    const letter = this.#meta[this.#at] as string;
    this.#at += 2;
    return letter;
  }

  /** The next field of this record. */
  field(): string {
    const end = this.#meta.indexOf(FIELD, this.#at);
    if (end < 0) throw new Error('record truncated');
    const field = this.#meta.slice(this.#at, end);
    this.#at = end + 1;
    return field;
  }

  /**
   * The next field as a number. Integers, such as ids, are read digit by digit, at half the cost of converting a slice
   * with `Number`.
   */
  number(): number {
    const meta = this.#meta;
    let at = this.#at;
    let value = 0;
    let digit = meta.charCodeAt(at) - 48;
    while (digit >= 0 && digit <= 9) {
      value = value * 10 + digit;
      digit = meta.charCodeAt(++at) - 48;
    }
    if (at === this.#at || meta[at] !== FIELD) return Number(this.field());
    this.#at = at + 1;
    return value;
  }

  json(): unknown {
    return parse(this.field());
  }

  /** The part that a field refers to; null if there is no part. Not for `s`. */
  part(field: string): Part | null {
    if (field === NOTHING) return null;
    if (field === BYTES) {
      const bytes = this.#bytes[this.#bytesAt++];
      if (bytes === undefined) throw new Error('part missing');
      return bytes;
    }
    const from = this.#textAt;
    const to = from + Number(field.slice(1));
    // The field may also be something other than a number.
    if (!(to >= from && to <= this.#text.length)) throw new Error('part missing');
    this.#textAt = to;
    return this.#text.slice(from, to);
  }

  /** All parts up to the end of this record. */
  parts(): Part[] {
    const parts: Part[] = [];
    while (this.#meta[this.#at] !== RECORD) parts.push(this.part(this.field()) as Part);
    this.#at++;
    return parts;
  }

  /** Skips the rest of this record; reading every record ends with this or {@link parts}. */
  close(): void {
    if (this.#meta[this.#at] !== RECORD) throw new Error('record has more fields than its kind');
    this.#at++;
  }
}

/** Encoding of an error on the bridge, which never contains a stack of the host or a cause. */
export interface Failure {
  readonly code: string;
  readonly name: string;
  readonly message: string;
  /** Only from guest to host: the worker's own stack, which the host maps to the sources. */
  readonly stack?: string;
  /** Only from guest to host: whether the handler called `passThroughOnException`. */
  readonly passThrough?: boolean;
}

export type { HostCallName } from './call-names.ts';
