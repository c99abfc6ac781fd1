// The guest half of the state binding (docs/state.md): the API of a KV namespace, and more. lazy.ts loads this module
// when it is first used.
import type { LazyDeps } from '../lazy.ts';
import type { Part } from '../../bridge/protocol.ts';

interface Found {
  /** JSON. */
  readonly metadata: string | null;
  readonly version: string;
}

interface PutOptions {
  readonly expiration?: number;
  readonly expirationTtl?: number;
  readonly metadata?: unknown;
}

const types = ['text', 'json', 'arrayBuffer', 'stream'];

export default function createState(deps: LazyDeps): { create(name: string): object } {
  const { callHost, fromJson, invalidArgument, Response, TextDecoder, isAnyArrayBuffer, toOptions } = deps;
  const decoder = new TextDecoder();
  const toText = (part: Part): string => (typeof part === 'string' ? part : decoder.decode(part));

  function toType(options: unknown): string {
    const type =
      typeof options === 'string'
        ? options
        : (toOptions('The options of get', options as { type?: string | null }).type ?? 'text');
    if (!types.includes(type)) throw new TypeError(`The type of a value is one of ${types.join(', ')}, not ${type}`);
    return type;
  }

  function read(part: Part, type: string): unknown {
    if (type === 'text') return toText(part);
    if (type === 'json') return fromJson(toText(part));
    const response = new Response(part as never);
    return type === 'stream' ? response.body : response.arrayBuffer();
  }

  class State {
    readonly #binding: string;

    constructor(binding: string) {
      this.#binding = binding;
    }

    async #read(keys: readonly unknown[]): Promise<{ records: (Found | null)[]; values: (Part | null)[] }> {
      const { value, parts } = await callHost('state.get', { binding: this.#binding, keys });
      const records = value as (Found | null)[];
      let at = 0;
      return { records, values: records.map((record) => (record === null ? null : (parts[at++] as Part))) };
    }

    async get(key: unknown, options?: unknown): Promise<unknown> {
      const type = toType(options);
      if (!Array.isArray(key)) {
        const part = (await this.#read([key])).values[0] as Part | null;
        return part === null ? null : read(part, type);
      }
      if (type !== 'text' && type !== 'json')
        throw new TypeError(`Several keys can be read as text or json, not as ${type}`);
      const { values } = await this.#read(key);
      return new Map(key.map((name, index) => [name, values[index] == null ? null : read(values[index], type)]));
    }

    async getWithMetadata(key: unknown, options?: unknown): Promise<unknown> {
      const type = toType(options);
      const many = Array.isArray(key);
      const { records, values } = await this.#read(many ? key : [key]);
      const entries = await Promise.all(
        records.map(async (record, index) =>
          record === null
            ? { value: null, metadata: null, version: null, cacheStatus: null }
            : {
                value: await read(values[index] as Part, type),
                metadata: record.metadata === null ? null : fromJson(record.metadata),
                version: record.version,
                cacheStatus: null,
              },
        ),
      );
      return many ? new Map(key.map((name, index) => [name, entries[index]])) : entries[0];
    }

    async #put(
      key: unknown,
      value: unknown,
      options: PutOptions | undefined,
      version?: string | null,
    ): Promise<boolean> {
      const { expiration, expirationTtl, metadata } = toOptions('The options of put', options);
      if (typeof metadata === 'function' || typeof metadata === 'symbol')
        throw invalidArgument('The metadata must be JSON');
      const part =
        typeof value === 'string'
          ? value
          : value !== null &&
              typeof value === 'object' &&
              (isAnyArrayBuffer(value) || ArrayBuffer.isView(value) || 'getReader' in value)
            ? new Uint8Array(await new Response(value as never).arrayBuffer())
            : null;
      if (part === null)
        throw new TypeError('A value must be a string, an ArrayBuffer, a view of one, or a ReadableStream');
      const life = expiration !== undefined ? { expiresAt: seconds(expiration, 'expiration') } : {};
      const ttl = expirationTtl !== undefined ? { expiresInMs: seconds(expirationTtl, 'expirationTtl') } : {};
      const args = {
        binding: this.#binding,
        key,
        ...life,
        ...ttl,
        metadata,
        ...(version === undefined ? {} : { version }),
      };
      return (await callHost('state.put', args, [part])).value as boolean;
    }

    async put(key: unknown, value: unknown, options?: PutOptions): Promise<void> {
      await this.#put(key, value, options);
    }

    async set(key: unknown, value: unknown, options?: PutOptions): Promise<void> {
      await this.#put(key, value, options);
    }

    /**
     * Writes only if the version is still that of `getWithMetadata`; with null, writes only if the key does not exist.
     */
    async compareAndSet(key: unknown, version: string | null, value: unknown, options?: PutOptions): Promise<boolean> {
      if (version !== null && typeof version !== 'string')
        throw new TypeError('The version must come from getWithMetadata, or be null');
      return this.#put(key, value, options, version);
    }

    async getJSON(key: unknown): Promise<unknown> {
      return this.get(key, 'json');
    }

    async setJSON(key: unknown, value: unknown, options?: PutOptions): Promise<void> {
      const text = JSON.stringify(value) as string | undefined;
      if (text === undefined) throw new TypeError('The value cannot be converted to JSON');
      await this.#put(key, text, options);
    }

    async delete(key: unknown): Promise<void> {
      await callHost('state.delete', { binding: this.#binding, key });
    }

    async list(options?: { prefix?: string | null; limit?: number; cursor?: string | null } | null): Promise<unknown> {
      const { prefix, limit, cursor } = toOptions('The options of list', options);
      const { value } = await callHost('state.list', { binding: this.#binding, prefix, limit, cursor });
      const page = value as {
        keys: { name: string; expiresAt: number | null; metadata: string | null }[];
        cursor: string | null;
      };
      const keys = page.keys.map(({ name, expiresAt, metadata }) => ({
        name,
        ...(expiresAt === null ? {} : { expiration: Math.floor(expiresAt / 1000) }),
        ...(metadata === null ? {} : { metadata: fromJson(metadata) as unknown }),
      }));
      return page.cursor === null
        ? { keys, list_complete: true, cacheStatus: null }
        : { keys, list_complete: false, cursor: page.cursor, cacheStatus: null };
    }

    async update(key: unknown, update: unknown): Promise<unknown> {
      const { parts } = await callHost('state.update', { binding: this.#binding, key, update });
      return fromJson(parts[0] as string);
    }
  }

  return { create: (name) => new State(name) };
}

function seconds(value: unknown, what: string): number {
  const number = Number(value);
  if (!Number.isFinite(number) || number < 1) throw new TypeError(`${what} must be a number of seconds of at least 1`);
  return Math.floor(number) * 1000;
}
