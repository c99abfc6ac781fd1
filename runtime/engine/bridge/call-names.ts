// Names of host calls and how they are made. The host reads them; the guest knows only the type.
import { bindings, type Kind } from '#core/bindings/kinds.ts';

/** How a call is made: {@link hostCalls}. */
type CallKind = 'async' | 'sync' | 'both' | 'waiting';

/** Calls of no kind of binding. */
const ownCalls = {
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
  /**
   * `{id}` -> `{received, buffered}`: length of the data that the guest sent, waiting bytes; null for a closed
   * socket.
   */
  'socket.buffered': 'sync',
  /**
   * A TCP socket (bindings/tcp.ts): `{hostname, port, stream, secure, tls}` and the stream of bytes to send ->
   * `{handle, stream, ...}`, or `{failure}` with a code of Node.
   */
  'tcp.connect': 'async',
  /** `{handle, sent, tls}`: TLS after the bytes sent so far -> as connect, with a new stream. */
  'tcp.startTls': 'async',
  /** `{handle}` -> `{failure}` of null, once the socket is closed. */
  'tcp.closed': 'async',
  /** `{hostname}` -> `{addresses}` as of dns.lookup, or `{failure}`. */
  'tcp.lookup': 'async',
  /** `{handle}`: closes the handle immediately. */
  'tcp.destroy': 'async',
  /** Rarely used APIs (guest/lazy.ts): `{module}` -> the text of its script. */
  'lazy.source': 'sync',
  /** lazy: `{module}` -> V8's code cache for its script, one character per byte. */
  'lazy.cache': 'sync',
  /** The Cache API: `{cache, url, headers}` -> null, or as fetch. */
  'cache.match': 'async',
  /**
   * `{cache, url, headers, status, statusText, response, stream}` and the body as a part or under the stream's id ->
   * nothing.
   */
  'cache.put': 'async',
  /** `{cache, url}` -> whether there was an entry. */
  'cache.delete': 'async',
  /**
   * `ctx.exports`, like the calls of service bindings (bindings/service.ts): `{entrypoint, props?, socket, method}` and
   * a frame as a part -> nothing, when the session is over.
   */
  'exports.connect': 'async',
  /** `{entrypoint, props?}` and as fetch -> as fetch. */
  'exports.fetch': 'async',
  /** The AI binding: `{model, method, url, headers}` and the body as a part -> as fetch. */
  'ai.fetch': 'async',
  /** The object binding: as fetch, `{binding, id, name?}`. */
  'object.fetch': 'async',
  /** `{binding, id, name?, socket, method}` and a frame as a part -> nothing, when the session is over. */
  'object.connect': 'async',
  /** `{binding}` -> `{key, class, isForeign}`, with which ids of its class are made; or `{failure}`. */
  'object.class': 'sync',
  /**
   * `{object, after, socket?}` -> `{sockets, next, auto, eventMs}`: a page of the WebSockets that the engine keeps for
   * an object, or one of them. `next` is -1 on the last page.
   */
  'object.sockets': 'sync',
  /** `{object, socket}` -> when the engine has last answered a message of a kept WebSocket by itself; null if never. */
  'object.answered': 'sync',
  /** Storage of an object: `{object, end, alarm?}` and its steps as bytes -> the reply as bytes. */
  'object.storage': 'waiting',
  /** The assets binding: as fetch. */
  'assets.fetch': 'async',
  /** text: `{label, fatal}` and at most 4 KB -> string. */
  'text.decode': 'sync',
  /** text: `{handle, label, fatal, last}` and at most 256 KB -> `{handle}` and UTF-8; handle 0 opens, `last` closes. */
  'text.convert': 'waiting',
  /** `{text}`, at most 4 KB -> the text with positions in the sources; null if the bundle has no source map. */
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
} as const satisfies Record<string, CallKind>;

type BindingCall = {
  [Name in Kind]: `${(typeof bindings)[Name]['module']}.${(typeof bindings)[Name]['calls'][number]}`;
}[Kind];

/** The calls of a module of bindings: each takes `{binding, ...}`. */
export function callsOf({ module, calls }: { readonly module: string; readonly calls: readonly string[] }): string[] {
  return calls.map((call) => `${module}.${call}`);
}

/**
 * Host calls by name. Asynchronous calls are batched with the other records of an entry. A synchronous call costs about
 * 14 us from an off-thread entry, and is meant for rare results that cannot wait. For `waiting` calls, the guest's
 * thread blocks until the reply arrives, but the host does not block. For `both`, the guest chooses.
 */
export const hostCalls: typeof ownCalls & Readonly<Record<BindingCall, 'async'>> = {
  ...ownCalls,
  ...(Object.fromEntries(
    Object.values(bindings).flatMap((one) => callsOf(one).map((name) => [name, 'async'] as const)),
  ) as Record<BindingCall, 'async'>),
};

export type HostCallName = keyof typeof hostCalls;
