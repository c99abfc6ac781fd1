// The Cache API (Service Workers 5.4): `caches.default`, `caches.open(name)`, and of a cache `match`, `put`,
// `delete`, `add`, `addAll`. The host decides what is stored and for how long (bindings/cache.ts). lazy.ts loads this
// module when it is first used.
import type { HostBody } from '../host.ts';
import type { LazyDeps } from '../lazy.ts';
import type { Part } from '../../bridge/protocol.ts';

interface Head {
  readonly status: number;
  readonly statusText: string;
  readonly headers: string;
  readonly stream: number | null;
  readonly part: boolean;
}

export default function createCaches(deps: LazyDeps): Record<string, unknown> {
  const { Request, Response, isRequest, takeRequest, takeResponse, createIncomingResponse } = deps;
  const { cancelPump, fetch, bodyToGuest, newStreamId, openPump, startCall } = deps;
  const { finishInterface, internal, requireArguments, toDictionary, toDomString } = deps.webidl;

  function toRequest(input: unknown): { method: string; url: string; headers: string } {
    const request = isRequest(input) ? input.clone() : new Request(input);
    const { method, url, headerBlock } = takeRequest(request);
    return { method, url, headers: headerBlock };
  }

  /** The request whose response may be cached; null if its method forbids that. */
  function lookup(input: unknown, options: unknown): { url: string; headers: string } | null {
    const { ignoreMethod } = toDictionary(options, 'Cache query options');
    const { method, url, headers } = toRequest(input);
    return method === 'GET' || Boolean(ignoreMethod) ? { url, headers } : null;
  }

  class Cache {
    /** Null means the default cache. */
    readonly #name: string | null;

    constructor(key: unknown = undefined, name: string | null = null) {
      if (key !== internal) throw new TypeError('Illegal constructor');
      this.#name = name;
    }

    async match(request: unknown, options: unknown = undefined): Promise<unknown> {
      requireArguments(arguments.length, 1, 'Cache.match');
      const asked = lookup(request, options);
      if (asked === null || !/^https?:/.test(asked.url)) return undefined;
      // The stream is opened before the entry reads further records, because the first chunks may come in the same
      // entry.
      let incoming: HostBody | null = null;
      const call = startCall('cache.match', { cache: this.#name, ...asked }, [], (reply, owner) => {
        const head = reply.value as Head | null;
        if (head !== null && head.stream !== null) incoming = bodyToGuest(head.stream, owner, true);
      });
      const { value, parts: replyParts } = await call.reply;
      const head = value as Head | null;
      if (head === null) return undefined;
      const body = incoming ?? (head.part ? (replyParts[0] as Part) : null);
      return createIncomingResponse(head.status, head.statusText, head.headers, body, '', false);
    }

    async put(request: unknown, response: unknown): Promise<void> {
      requireArguments(arguments.length, 2, 'Cache.put');
      const { method, url, headers } = toRequest(request);
      if (!/^https?:/.test(url)) throw new TypeError('Only requests of http(s) URLs can be cached');
      if (method !== 'GET') throw new TypeError(`Only GET requests can be cached, not ${method}`);
      if (!(response instanceof Response)) throw new TypeError('The second argument of Cache.put must be a Response');
      if (response.status === 206) throw new TypeError('A partial response (206) cannot be cached');
      if (/(?:^|,)\s*\*\s*(?:,|$)/.test(response.headers.get('vary') ?? ''))
        throw new TypeError('A response that varies by * cannot be cached');
      const { status, statusText, headerBlock, body } = takeResponse(response)!;
      const bodyParts: Part[] = [];
      let stream: number | null = null;
      if (typeof body === 'string' || body instanceof Uint8Array) bodyParts.push(body);
      else if (body !== null) {
        stream = newStreamId();
        openPump(stream, body, () => {});
      }
      const args = { cache: this.#name, url, headers, status, statusText, response: headerBlock, stream };
      try {
        await startCall('cache.put', args, bodyParts).reply;
      } finally {
        // If the body is not stored, it is not read to its end.
        if (stream !== null) cancelPump(stream);
      }
    }

    async delete(request: unknown, options: unknown = undefined): Promise<boolean> {
      requireArguments(arguments.length, 1, 'Cache.delete');
      const asked = lookup(request, options);
      if (asked === null || !/^https?:/.test(asked.url)) return false;
      return (await startCall('cache.delete', { cache: this.#name, ...asked }).reply).value as boolean;
    }

    async add(request: unknown): Promise<void> {
      requireArguments(arguments.length, 1, 'Cache.add');
      await this.addAll([request]);
    }

    async addAll(requests: Iterable<unknown>): Promise<void> {
      requireArguments(arguments.length, 1, 'Cache.addAll');
      const asked = Array.from(requests, (request) => (isRequest(request) ? request : new Request(request)));
      for (const request of asked) {
        if (request.method !== 'GET' || !/^https?:/.test(request.url))
          throw new TypeError('Only GET requests of http(s) URLs can be cached');
      }
      const responses = await Promise.all(asked.map((request) => fetch(request)));
      for (const response of responses)
        if (!response.ok) throw new TypeError(`${response.url} answered with status ${response.status}`);
      await Promise.all(asked.map((request, index) => this.put(request, responses[index])));
    }
  }
  finishInterface(Cache);

  class CacheStorage {
    readonly #default = new Cache(internal);

    constructor(key: unknown = undefined) {
      if (key !== internal) throw new TypeError('Illegal constructor');
    }

    get default(): Cache {
      return this.#default;
    }

    async open(name: string): Promise<Cache> {
      requireArguments(arguments.length, 1, 'CacheStorage.open');
      return new Cache(internal, toDomString(name));
    }
  }
  finishInterface(CacheStorage);

  return { Cache, CacheStorage, caches: new CacheStorage(internal) };
}
