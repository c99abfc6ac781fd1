// The line between host and guest: the only file both sides import. Records, host calls and their codec. No I/O, no
// Node types: it is bundled into the guest's snapshot as well.
//
// One entry into an isolate carries `meta`, `text` and any number of byte arrays, and one answer leaves it the same
// way. `meta` is a list of records, each ended by RECORD, its fields ended by FIELD. No field may hold either
// character: they are numbers, names of ours, or JSON, which escapes them. All that a client or a tenant chose freely
// (URLs, header blocks, bodies) is a part: it lies outside the records, in the order of the fields that name it: text
// one after the other in `text` (field `t<length>`), bytes as arguments of their own (field `b`), nothing as `-`.

// Taken before any tenant code can replace it.
const { parse } = JSON;

export const FIELD = '\u0001';
export const RECORD = '\u0002';

/** Text or bytes that travel beside the records, never inside them. */
export type Part = string | Uint8Array;

/** Field of a body that comes as a stream with the id of its message, from the side that sends the message. */
export const STREAM = 's';
export const NOTHING = '-';
/** Field of bytes. */
export const BYTES = 'b';

/** Records from the host into the guest. The letter is the first field. */
export const toGuest = {
  /** id, method, url part, header block part, body part | `s` | `-`. */
  request: 'R',
  /**
   * id, kind of the event, CPU limit in ms, JSON of its head as a part, its bodies as parts: an event that is no
   * request.
   */
  event: 'E',
  /** stream id, part. */
  chunk: 'c',
  /** stream id. */
  end: 'e',
  /** stream id, JSON failure. */
  broken: 'x',
  /** stream id, bytes that may be sent in addition. */
  credit: 'k',
  /** stream id: nobody reads it any more. */
  cancel: 'q',
  /**
   * stream id: no more chunks of it come (its end does); the guest answers with `handOver` when it has sent on those
   * that have come.
   */
  spliced: 'p',
  /** call id, JSON value, parts. */
  result: 'r',
  /** call id, JSON failure. */
  failure: 'f',
  /** no field: the worker's top level is through; answered by `started`. */
  start: 'S',
  /** no field: timers are due. */
  timers: 't',
  /** invocation id, JSON failure: nobody waits for the answer any more. */
  abort: 'a',
  /** invocation id, JSON failure: its client is gone. It runs on, and its answer goes nowhere. */
  clientGone: 'g',
  /** invocation id, CPU ms that the host has spent for it: its own code has so much less of its budget. */
  hostCpu: 'z',
  /** socket id, part: text is a text message, bytes a binary one. */
  socketMessage: 'm',
  /** socket id, close code, JSON reason, `1` after a closing handshake. */
  socketClosed: 'w',
  /** socket id, JSON message; `socketClosed` follows. */
  socketFailed: 'y',
} as const;

/** Records from the guest to the host. */
export const toHost = {
  /** invocation id, status, header block part, body part | `s` | `-`, `1` when the invocation is over with it. */
  response: 'R',
  /** invocation id, JSON of an event's result as a part, `1` when the invocation is over with it. */
  eventResult: 'V',
  /** invocation id, header block part: status 101, and from here on a socket with the invocation's id. */
  upgrade: 'U',
  /** socket id, part. */
  socketMessage: 'm',
  /** socket id, close code (1005: none), JSON reason. */
  socketClose: 'w',
  /** socket id, bytes of messages that were delivered. */
  socketCredit: 'j',
  /** invocation id, JSON failure, `1` when the invocation is over with it: there is no response. */
  failed: 'F',
  /** invocation id: a request that came to an isolate after a breach, and has not run in it. */
  unstarted: 'u',
  /** invocation id: its response is out, and all that `waitUntil` was given has settled. */
  done: 'D',
  /** stream id, part. */
  chunk: 'c',
  /** stream id. */
  end: 'e',
  /** stream id, JSON failure. */
  broken: 'x',
  /** stream id, bytes read. */
  credit: 'k',
  /** stream id: the reader wants no more. */
  cancel: 'q',
  /**
   * stream id into the guest, stream id out of it: the one only passes on what the other brings, and need not come in.
   */
  splice: 'p',
  /** The same ids: all chunks that came are sent on, so that the host may go on by itself. */
  handOver: 'h',
  /** call id, invocation id, name, JSON arguments, parts. */
  call: 'C',
  /** call id: nobody waits for the result any more. */
  drop: 'Y',
  /** invocation id (0 = none), level, JSON text. */
  log: 'L',
  /** When the earliest timer is due, in ms of the monotonic clock, or -1. */
  wake: 'T',
  /**
   * invocation id (0 = code that belongs to none), CPU ms so far, and of that what was not told yet; only where it
   * differs from this entry's share.
   */
  charge: 'Z',
  /**
   * invocation id over its CPU budget (0 = code that belongs to none), CPU ms used, then the ids whose continuations
   * were lost with it, comma-separated.
   */
  breach: 'B',
  /** `ready`, `pending` (a top-level `await`), `no-handler` or `failed`, JSON reason. */
  started: 'S',
  /** `answer`: what an entry had to say could not be sent, and is lost; `memory`: it held too much outside its heap. */
  fault: '!',
  /** comma-separated invocation ids that can never answer: nothing they could wait for is pending. */
  hung: 'H',
} as const;

/** Collects what one entry or one answer carries. */
export class RecordWriter {
  meta = '';
  text = '';
  bytes: Uint8Array[] = [];
  /** Characters and bytes of all parts; whoever takes them sets it back. */
  size = 0;
  /** Requests and other events among the records. */
  requests = 0;

  /** Adds a record of ready-made fields. */
  record(letter: string, ...fields: readonly (string | number)[]): void {
    this.meta += letter + FIELD;
    // No iterator and no `push`, here and below: in the guest they may be a tenant's.
    for (let at = 0; at < fields.length; at++) this.meta += fields[at]! + FIELD;
    this.meta += RECORD;
  }

  /** Puts a part beside the records and returns the field that names it. */
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
 * Reads what an {@link RecordWriter} carried, in the order in which it was written. It throws where records are not
 * formed as they have to be: what comes from a guest may be anything.
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
   * The next field as a number. Whole ones, such as every id, are read digit by digit: half the cost of `Number` of a
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

  /** The part that a field names; null for none. Not for `s`. */
  part(field: string): Part | null {
    if (field === NOTHING) return null;
    if (field === BYTES) {
      const bytes = this.#bytes[this.#bytesAt++];
      if (bytes === undefined) throw new Error('part missing');
      return bytes;
    }
    const from = this.#textAt;
    const to = from + Number(field.slice(1));
    // Also where the field is no number.
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

  /** Leaves this record; every record ends with it or with {@link parts}. */
  close(): void {
    if (this.#meta[this.#at] !== RECORD) throw new Error('record has more fields than its kind');
    this.#at++;
  }
}

/** Kind of a binding in platform.yaml -> the name of its modules and of its calls on both sides. */
export const bindingNames = {
  ai: 'ai',
  auth: 'auth',
  cache: 'cache',
  db: 'database',
  fs: 'files',
  queue: 'queue',
  sandbox: 'sandbox',
  state: 'state',
  timer: 'timer',
  workflow: 'workflow',
} as const;

/** How an error crosses the border: never a stack of the host, never a cause. */
export interface Failure {
  readonly code: string;
  readonly name: string;
  readonly message: string;
  /** Guest to host only: the worker's own stack, to be source-mapped. */
  readonly stack?: string;
  /** Guest to host only: the handler called `passThroughOnException`. */
  readonly passThrough?: boolean;
}

/**
 * Host calls by name. Asynchronous ones are batched with everything else an entry sends; synchronous ones cost about
 * 14 us each from an off-thread entry and are for rare answers that cannot wait. For `waiting` ones the guest's
 * thread stands still until the answer is there, and the host does not; `both` are those where the guest chooses.
 */
export const hostCalls = {
  /**
   * `{method, url, headers, redirect, stream}` and the body as a part or under the stream's id ->
   * `{status, statusText, headers, url, redirected, stream, part}` and the body likewise.
   */
  fetch: 'async',
  /**
   * A WebSocket handshake: as fetch without a body, and the id (negative) that the guest gave the socket -> as fetch,
   * and `upgraded`, whether it is open.
   */
  'socket.connect': 'async',
  /** `{id}` -> `{received, buffered}`: length of what the guest sent, bytes that wait; null for a closed socket. */
  'socket.buffered': 'sync',
  /** Rarely used APIs (guest/lazy.ts): `{module}` -> the text of its script. */
  'lazy.source': 'sync',
  /** lazy: `{module}` -> V8's compiled form of its script, one character a byte. */
  'lazy.cache': 'sync',
  /** The Cache API: `{cache, url, headers}` -> null, or as fetch. */
  'cache.match': 'async',
  /**
   * `{cache, url, headers, status, statusText, response, stream}` and the body as a part or under the stream's id ->
   * nothing.
   */
  'cache.put': 'async',
  /** `{cache, url}` -> whether something was there. */
  'cache.delete': 'async',
  /** The cache binding (bindings/cache-values.ts). */
  'cache.get': 'async',
  'cache.set': 'async',
  'cache.remove': 'async',
  /** The AI binding: `{model, method, url, headers}` and the body as a part -> as fetch. */
  'ai.fetch': 'async',
  /**
   * Sandboxes: `{binding, method, url, headers, stream}` and the body as for fetch -> as fetch; the path of the url is
   * the service's, from the sandbox's id on.
   */
  'sandbox.call': 'async',
  /** Bindings (bindings/<kind>.ts has the shapes); every one takes `{binding, ...}`. */
  /** `{op, transaction}` and the request as a part -> the answer as a part (core/database-request.ts). */
  'database.run': 'async',
  /**
   * `{transaction, queue, message}`, the message as of queue.send -> `{messageId}` and the database's answer as a part.
   */
  'database.send': 'async',
  'state.get': 'async',
  'state.put': 'async',
  'state.delete': 'async',
  'state.list': 'async',
  'state.update': 'async',
  /** Bodies as for fetch: a part, or the id under `stream`. */
  'files.put': 'async',
  'files.head': 'async',
  'files.get': 'async',
  'files.delete': 'async',
  'files.list': 'async',
  'files.createUpload': 'async',
  'files.putPart': 'async',
  'files.completeUpload': 'async',
  'files.abortUpload': 'async',
  'files.sign': 'async',
  'auth.getUser': 'async',
  'auth.getSession': 'async',
  'auth.createUser': 'async',
  'auth.listUsers': 'async',
  'auth.revoke': 'async',
  'auth.deleteUser': 'async',
  /** `{messages: {delaySeconds?, dedupeId?, orderingKey?}[]}`, their bodies as parts -> `{messageIds}`. */
  'queue.send': 'async',
  'queue.metrics': 'async',
  /**
   * `{id, at | afterMs, payload?, intervalMs?, cron?, timezone?}`; `get` -> `{id, scheduledTime, payload, intervalMs}`
   * or null.
   */
  'timer.set': 'async',
  'timer.get': 'async',
  'timer.delete': 'async',
  'timer.list': 'async',
  /** `{input, id?}` -> `{executionId}`; the others `{id, ...}`. */
  'workflow.trigger': 'async',
  'workflow.get': 'async',
  'workflow.list': 'async',
  'workflow.cancel': 'async',
  'workflow.pause': 'async',
  'workflow.resume': 'async',
  'workflow.restart': 'async',
  'workflow.sendEvent': 'async',
  /**
   * From a run (guest/events/workflow.ts), durable before they answer; no binding, but `{lease, name, ...}`:
   * `{result}`, `{error, attempts, wakeAt | null}`, `{wakeAt}`, `{type, timeoutAt | null}` -> `{ended?, step?}`:
   * `ended` when the run is cancelled or paused, `step` an event's that had come before. `log`: `{message, data}`.
   */
  'workflow.stepDone': 'async',
  'workflow.stepFailed': 'async',
  'workflow.sleep': 'async',
  'workflow.waitForEvent': 'async',
  'workflow.log': 'async',
  /** The assets binding: as fetch. */
  'assets.fetch': 'async',
  /** text: `{label, fatal}` and at most 4 KB -> string. */
  'text.decode': 'sync',
  /** text: `{handle, label, fatal, last}` and at most 256 KB -> `{handle}` and UTF-8; handle 0 opens, `last` closes. */
  'text.convert': 'waiting',
  /** `{text}`, at most 4 KB -> the text with places of the sources; null: the bundle has no source map. */
  'stack.map': 'sync',
  /** url: `{domain}` -> its ASCII form, '' when it has none. */
  'url.domainToAscii': 'sync',
  /**
   * crypto.subtle (bindings/crypto.ts): `{algorithm, keys, ...}` and parts -> a part, a value or a key's description.
   */
  'crypto.digest': 'async',
  /** `{handle, algorithm, last}` and a part -> `{handle}`, and with `last` the digest as a part; handle 0 opens. */
  'crypto.digestPush': 'async',
  'crypto.encrypt': 'async',
  'crypto.decrypt': 'async',
  'crypto.sign': 'async',
  'crypto.verify': 'async',
  'crypto.deriveBits': 'async',
  'crypto.deriveKey': 'async',
  'crypto.generateKey': 'async',
  'crypto.importKey': 'async',
  'crypto.exportKey': 'async',
  'crypto.wrapKey': 'async',
  'crypto.unwrapKey': 'async',
  'crypto.release': 'async',
  /** compression: `{handle, format, direction, last}` and a part -> `{handle, more}` and parts; handle 0 opens. */
  'compression.push': 'async',
  /** compression: `{handle}` -> as push. */
  'compression.pull': 'async',
  'compression.close': 'async',
  /** node:crypto and node:zlib (bindings/node-crypto.ts, node-zlib.ts): `{op, ...}` and parts -> a value and parts. */
  'node.crypto': 'both',
  'node.zlib': 'both',
} as const satisfies Record<string, 'async' | 'sync' | 'both' | 'waiting'>;

export type HostCallName = keyof typeof hostCalls;
