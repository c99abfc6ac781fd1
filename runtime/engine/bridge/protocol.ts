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

/** Field of a body that is streamed under the id of its message, from the sender of the message. */
export const STREAM = 's';
export const NOTHING = '-';
/** Field of bytes. */
export const BYTES = 'b';

/** Code of a `clientGone` that only ends the unawaited work of an answered event. */
export const LEAVING = 'object_leaving';

/** Records from the host into the guest. The letter is the first field. */
export const toGuest = {
  /** id, method, url part, header block part, body part | `s` | `-`. */
  request: 'R',
  /** JSON as a part that describes the next request: a call of another worker. */
  callee: 'n',
  /**
   * id, kind of the event, CPU limit in ms, JSON of its head as a part, its bodies as parts: an event other than a
   * request.
   */
  event: 'E',
  /** Like `request`, with the JSON of the object's address as a part after the id: an event of a durable object. */
  object: 'O',
  /**
   * id, JSON of an event of an object's WebSocket as a part (serving/objects/object-sockets.ts), part of the message
   * or `-`.
   */
  socketEvent: 'W',
  /** id of an object, as a part: it has no events, and moves elsewhere or is not needed. */
  forget: 'o',
  /** stream id, part. */
  chunk: 'c',
  /** stream id. */
  end: 'e',
  /** stream id, JSON failure. */
  broken: 'x',
  /** stream id, bytes that may be sent in addition. */
  credit: 'k',
  /** stream id: it has no reader any more. */
  cancel: 'q',
  /**
   * stream id: no more chunks of it follow (its end does). The guest replies with `handOver` after it has forwarded the
   * received chunks.
   */
  spliced: 'p',
  /** call id, JSON value, parts. */
  result: 'r',
  /** call id, JSON failure. */
  failure: 'f',
  /** no field: the worker's top level has finished; answered by `started`. */
  start: 'S',
  /** no field: timers are due. */
  timers: 't',
  /** invocation id, JSON failure: the response is no longer needed. */
  abort: 'a',
  /**
   * invocation id, JSON failure: its client has disconnected. The invocation continues, and its response is discarded.
   * With the code LEAVING, only unawaited work of an object's answered event ends.
   */
  clientGone: 'g',
  /** invocation id, CPU ms that the host used for it: the remaining budget of its own code is reduced by this. */
  hostCpu: 'z',
  /** socket id, part: a text part is a text message, a bytes part is a binary message. */
  socketMessage: 'm',
  /** socket id, close code, JSON reason, `1` after a closing handshake. */
  socketClosed: 'w',
  /** socket id, JSON message; `socketClosed` follows. */
  socketFailed: 'y',
} as const;

/** Records from the guest to the host. */
export const toHost = {
  /** invocation id, status, header block part, body part | `s` | `-`, `1` when this ends the invocation. */
  response: 'R',
  /** invocation id, JSON of an event's result as a part, `1` when this ends the invocation. */
  eventResult: 'V',
  /** invocation id, header block part: status 101, and from here on a socket with the invocation's id. */
  upgrade: 'U',
  /**
   * invocation id, header block part, id of a socket that a call has opened and that the guest has not read, `1` when
   * this ends the invocation: status 101, and from here on the host connects the two.
   */
  join: 'J',
  /** socket id: the guest reads a socket that a call has opened. */
  socketBegin: 'A',
  /**
   * invocation id, header block part, id of the WebSocket (negative), JSON `{object, tags, attachment}` as a part, `1`
   * when this ends the invocation: status 101, and from here on a WebSocket that the object's engine keeps.
   */
  hold: 'G',
  /** id of a kept WebSocket, invocation id, part. */
  heldMessage: 'M',
  /** id of a kept WebSocket, close code (1005: none), JSON reason. */
  heldClose: 'W',
  /** id of a kept WebSocket, JSON of its attachment as a part. */
  heldAttachment: 'N',
  /** JSON `{object, auto?, eventMs?, closes?}` as a part: settings of all kept WebSockets of an object. */
  heldState: 'X',
  /** invocation id: its event of a kept WebSocket has reached the object. */
  heldBegun: 'I',
  /** socket id, part. */
  socketMessage: 'm',
  /** socket id, close code (1005: none), JSON reason. */
  socketClose: 'w',
  /** socket id, bytes of messages that were delivered. */
  socketCredit: 'j',
  /** invocation id, JSON failure, `1` when this ends the invocation: there is no response. */
  failed: 'F',
  /** invocation id: a request that arrived after a breach, and has not run in this isolate. */
  unstarted: 'u',
  /** invocation id: its response is sent, and all `waitUntil` promises have settled. */
  done: 'D',
  /** stream id, part. */
  chunk: 'c',
  /** stream id. */
  end: 'e',
  /** stream id, JSON failure. */
  broken: 'x',
  /** stream id, bytes read. */
  credit: 'k',
  /** stream id: the reader needs no more. */
  cancel: 'q',
  /**
   * stream id into the guest, stream id out of it: the second stream only forwards the first one, which does not have
   * to enter the guest.
   */
  splice: 'p',
  /** The same ids: all received chunks are forwarded, so the host may forward the rest itself. */
  handOver: 'h',
  /** call id, invocation id, name, JSON arguments, parts. */
  call: 'C',
  /**
   * call id, invocation id, JSON arguments (serving/objects/object-storage.ts), the steps as a part: storage of an
   * object. The record comes before all other records of its entry.
   */
  storage: 'O',
  /** call id: the result is no longer needed. */
  drop: 'Y',
  /** invocation id (0 = none), level, JSON text. */
  log: 'L',
  /** When the earliest timer is due, in ms of the monotonic clock, or -1. */
  wake: 'T',
  /**
   * invocation id (0 = unattributed code), total CPU ms, and the part of it that was not reported yet; only if it
   * differs from this entry's share.
   */
  charge: 'Z',
  /**
   * invocation id over its CPU budget (0 = unattributed code), CPU ms used, then the ids whose continuations were
   * lost with it, comma-separated.
   */
  breach: 'B',
  /** `ready`, `pending` (a top-level `await`), `no-handler` or `failed`, JSON reason. */
  started: 'S',
  /** `answer`: the records of an entry could not be sent and are lost; `memory`: it held too much outside its heap. */
  fault: '!',
  /** comma-separated invocation ids that can never be answered: no pending operation could complete them. */
  hung: 'H',
} as const;

/** Collects the content of one entry or one result. */
export class RecordWriter {
  meta = '';
  text = '';
  bytes: Uint8Array[] = [];
  /** Characters and bytes of all parts; reset by the code that takes them. */
  size = 0;
  /** Requests and other events among the records. */
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
   * The next field as a number. Integers, such as every id, are read digit by digit: half the cost of `Number` of a
   * slice.
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

  /** The part that a field refers to; null for none. Not for `s`. */
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

/** Encoding of an error on the bridge: never a stack of the host, never a cause. */
export interface Failure {
  readonly code: string;
  readonly name: string;
  readonly message: string;
  /** Guest to host only: the worker's own stack, to be mapped to the sources. */
  readonly stack?: string;
  /** Guest to host only: the handler called `passThroughOnException`. */
  readonly passThrough?: boolean;
}

export type { HostCallName } from './call-names.ts';
