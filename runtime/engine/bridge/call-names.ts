// Names of host calls and how they are made. The host reads this table; the guest uses only its type.
import { bindings, type Kind } from '#core/bindings/kinds.ts';

/** How a call is made: {@link hostCalls}. */
type CallKind = 'async' | 'sync' | 'both' | 'waiting';

/** Host calls that belong to no kind of binding. Comments give the arguments and the result. */
const ownCalls = {
  /**
   * Sends a request: `{method, url, headers, redirect, stream}` -> `{status, statusText, headers, url, redirected,
   * stream, part}`. In both directions, the body is a part, or a stream under its id.
   */
  fetch: 'async',
  /**
   * Opens a WebSocket. Takes the arguments of `fetch` without a body, and the negative id that the guest gave the
   * socket. Returns the result of `fetch`, and `upgraded`, which says whether the socket is open.
   */
  'socket.connect': 'async',
  /**
   * Asks how much data of a socket was received from the guest, and how much is still buffered: `{id}` -> `{received,
   * buffered}`; null for a closed socket.
   */
  'socket.buffered': 'sync',
  /**
   * Opens a TCP socket (bindings/tcp.ts): `{hostname, port, stream, secure, tls}`, with the stream of bytes to send ->
   * `{handle, stream, ...}`, or `{failure}` with a code of Node.
   */
  'tcp.connect': 'async',
  /**
   * Starts TLS on a socket after the bytes sent so far: `{handle, sent, tls}`. Returns the same as `tcp.connect`, with
   * a new stream.
   */
  'tcp.startTls': 'async',
  /** Waits until a socket is closed: `{handle}` -> `{failure}`, which is null after a normal end. */
  'tcp.closed': 'async',
  /** Resolves a name: `{hostname}` -> `{addresses}`, as in dns.lookup, or `{failure}`. */
  'tcp.lookup': 'async',
  /** Closes a socket immediately: `{handle}`. */
  'tcp.destroy': 'async',
  /** Loads a rarely used API (guest/lazy.ts): `{module}` -> the text of its script. */
  'lazy.source': 'sync',
  /** Loads V8's code cache for such a script: `{module}` -> one character per byte. */
  'lazy.cache': 'sync',
  /** Finds a response in the Cache API: `{cache, url, headers}` -> null, or the same as `fetch`. */
  'cache.match': 'async',
  /**
   * Stores a response: `{cache, url, headers, status, statusText, response, stream}`. The body is a part, or a stream
   * under its id.
   */
  'cache.put': 'async',
  /** Deletes an entry: `{cache, url}` -> whether there was an entry. */
  'cache.delete': 'async',
  /**
   * Opens a session with an entrypoint of `ctx.exports`, like the calls of service bindings (bindings/service.ts).
   * Takes `{entrypoint, props?, socket, method}` and a frame as a part; returns nothing when the session is over.
   */
  'exports.connect': 'async',
  /**
   * Sends a request to an entrypoint. Takes `{entrypoint, props?}` and the arguments of `fetch`; returns the same as
   * `fetch`.
   */
  'exports.fetch': 'async',
  /**
   * Sends a request to the AI gateway. Takes `{model, method, url, headers}`, with the body as a part; returns the same
   * as `fetch`.
   */
  'ai.fetch': 'async',
  /**
   * Sends a request to a durable object. Takes `{binding, id, name?}` and the arguments of `fetch`; returns the same as
   * `fetch`.
   */
  'object.fetch': 'async',
  /**
   * Opens a session with a durable object. Takes `{binding, id, name?, socket, method}` and a frame as a part; returns
   * nothing when the session is over.
   */
  'object.connect': 'async',
  /** Returns what the guest needs to make ids of a class: `{binding}` -> `{key, class, isForeign}`, or `{failure}`. */
  'object.class': 'sync',
  /**
   * Lists a page of the WebSockets that the engine keeps for an object, or one of them: `{object, after, socket?}` ->
   * `{sockets, next, auto, eventMs}`. `next` is -1 on the last page.
   */
  'object.sockets': 'sync',
  /**
   * Asks when the engine last answered a message of a kept WebSocket itself: `{object, socket}` -> the time, or null.
   */
  'object.answered': 'sync',
  /** Runs steps on the storage of an object: `{object, end, alarm?}`, with the steps as bytes -> the reply as bytes. */
  'object.storage': 'waiting',
  /** Fetches a static file; takes and returns the same as `fetch`. */
  'assets.fetch': 'async',
  /** Decodes a short text: `{label, fatal}` and at most 4 KB -> a string. */
  'text.decode': 'sync',
  /**
   * Decodes a piece of a text: `{handle, label, fatal, last}` and at most 256 KB -> `{handle}` and UTF-8. Handle 0
   * opens a decoder, `last` closes it.
   */
  'text.convert': 'waiting',
  /**
   * Maps a stack to the sources: `{text}` of at most 4 KB -> the text with positions in the sources, or null if the
   * bundle has no source map.
   */
  'stack.map': 'sync',
  /** Converts a domain to ASCII: `{domain}` -> the ASCII form, or '' if there is none. */
  'url.domainToAscii': 'sync',
  /**
   * Like the following calls, an operation of crypto.subtle (bindings/crypto.ts): `{algorithm, keys, ...}` and parts ->
   * a part, a value or a key's description.
   */
  'crypto.digest': 'async',
  /**
   * Adds a piece to a digest: `{handle, algorithm, last}` and a part -> `{handle}`, and with `last` the digest as a
   * part. Handle 0 opens a digest.
   */
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
  /**
   * Compresses or decompresses a piece: `{handle, format, direction, last}` and a part -> `{handle, more}` and parts.
   * Handle 0 opens a codec.
   */
  'compression.push': 'async',
  /** Asks for more output of a codec: `{handle}`; returns the same as `compression.push`. */
  'compression.pull': 'async',
  'compression.close': 'async',
  /**
   * An operation of node:crypto or node:zlib (bindings/node-crypto.ts, node-zlib.ts): `{op, ...}` and parts -> a value
   * and parts.
   */
  'node.crypto': 'both',
  'node.zlib': 'both',
} as const satisfies Record<string, CallKind>;

type BindingCall = {
  [Name in Kind]: `${(typeof bindings)[Name]['module']}.${(typeof bindings)[Name]['calls'][number]}`;
}[Kind];

/** The names of a kind's calls, each of which takes `{binding, ...}`. */
export function callsOf({ module, calls }: { readonly module: string; readonly calls: readonly string[] }): string[] {
  return calls.map((call) => `${module}.${call}`);
}

/**
 * Host calls by name. Asynchronous calls are batched with the other records of an entry. A synchronous call costs about
 * 14 us from an off-thread entry, and is meant for rare calls whose result is needed immediately. For `waiting` calls,
 * the guest's thread blocks until the reply arrives, but the host does not block. For `both`, the guest chooses.
 */
export const hostCalls: typeof ownCalls & Readonly<Record<BindingCall, 'async'>> = {
  ...ownCalls,
  ...(Object.fromEntries(
    Object.values(bindings).flatMap((one) => callsOf(one).map((name) => [name, 'async'] as const)),
  ) as Record<BindingCall, 'async'>),
};

export type HostCallName = keyof typeof hostCalls;
