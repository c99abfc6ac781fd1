// The line between host and guest: the only file both sides import. Records, host calls and their codec. No I/O, no Node
// types: it is bundled into the guest's snapshot as well.
//
// One entry into an isolate carries one `meta` string and any number of `parts` (bodies, binary arguments); one answer
// leaves it the same way. `meta` is a list of records separated by RECORD, fields by FIELD. No field may hold either:
// URLs, methods and header blocks cannot (the listener refuses control characters), everything else travels as JSON,
// which escapes them. A record that has a part takes the next one of the list.

export const FIELD = '\u0001';
export const RECORD = '\u0002';

/** Text or bytes that travel beside the records, never inside them. */
export type Part = string | Uint8Array;

/** Records from the host into the guest; the letter is the first field. */
export const toGuest = {
  /** id, method, url, header block, body (`-` none, `p` part, `s` stream of the same id, from the host). */ request: 'R',
  /** stream id; part = chunk. */ chunk: 'c',
  /** stream id. */ end: 'e',
  /** stream id, JSON failure. */ broken: 'x',
  /** stream id, bytes that may be sent in addition. */ credit: 'k',
  /** call id, JSON value, number of parts. */ result: 'r',
  /** call id, JSON failure. */ failure: 'f',
  /** Timers are due. */ timers: 't',
  /** invocation id, JSON failure: stop, nobody waits for the answer. */ abort: 'a',
} as const;

/** Records from the guest to the host. */
export const toHost = {
  /** invocation id, status, header block, body (`-`, `p`, `s` stream of the same id, from the guest), `1` when the invocation is over with it. */ response: 'R',
  /** invocation id, JSON failure: it ends without a response. */ failed: 'F',
  /** invocation id: answered earlier, and what `waitUntil` was given has settled too. */ done: 'D',
  /** stream id; part = chunk. */ chunk: 'c',
  /** stream id. */ end: 'e',
  /** stream id, JSON failure. */ broken: 'x',
  /** stream id, bytes read. */ credit: 'k',
  /** stream id: the reader wants no more. */ cancel: 'q',
  /** call id, invocation id, op, JSON arguments, number of parts. */ call: 'C',
  /** call id: nobody waits for the result. */ drop: 'Y',
  /** invocation id, level, JSON text. */ log: 'L',
  /** milliseconds until the earliest timer; -1 for none. */ wake: 'T',
  /** invocation id, CPU milliseconds used so far: charged when it ends or grows by much. */ charge: 'Z',
  /** invocation id that used up its CPU budget, JSON list of the ids whose continuations were lost with it. */ breach: 'B',
} as const;

/** How an error crosses the border: never a stack of the host, never a cause. */
export interface Failure {
  readonly code: string;
  readonly name: string;
  readonly message: string;
  /** Guest to host only: the worker's own stack, to be source-mapped. */
  readonly stack?: string;
}

/**
 * Host calls by name. Asynchronous ones are batched with everything else an entry sends; synchronous ones cost about
 * 14 us each from an off-thread entry and are for rare answers that cannot wait.
 */
export const hostCalls = {
  /** fetch: `{method, url, headers, redirect, body: 'none'|'part'|'stream', stream}` -> `{status, statusText, headers, url, redirected, body, stream}`. */
  'fetch': 'async',
  /** assets binding: `{method, url, headers}` -> as fetch. */
  'assets.fetch': 'async',
} as const satisfies Record<string, 'async' | 'sync'>;

export type HostCallName = keyof typeof hostCalls;
