// Key-value state: `state` in platform.yaml.

/** Formats of a value. */
export type StateValueType = 'text' | 'json' | 'arrayBuffer' | 'stream';

/** Options of reading a value. */
export interface StateGetOptions<Type extends StateValueType | undefined> {
  type?: Type;
  /** Accepted for compatibility, without effect: reads are never stale. */
  cacheTtl?: number;
}

/** Expiry and metadata of a value. `expiration` and `expirationTtl` exclude each other. */
export interface StatePutOptions {
  /** Seconds since 1970. */
  expiration?: number;
  /** Seconds from now. */
  expirationTtl?: number;
  /** JSON of at most 1,024 bytes, returned by `list` and `getWithMetadata`. */
  metadata?: unknown;
}

/** A value with its metadata; both null if the key does not exist. */
export interface StateEntry<Value, Metadata> {
  readonly value: Value | null;
  readonly metadata: Metadata | null;
  /** Changes with every write; for `compareAndSet`. */
  readonly version: string | null;
  readonly cacheStatus: string | null;
}

/** A key in a page of a list. */
export interface StateListKey<Metadata = unknown> {
  name: string;
  /** Seconds since 1970. */
  expiration?: number;
  metadata?: Metadata;
}

/** A page of keys. */
export type StateList<Metadata = unknown> =
  | { list_complete: true; keys: StateListKey<Metadata>[]; cacheStatus: string | null }
  | { list_complete: false; keys: StateListKey<Metadata>[]; cursor: string; cacheStatus: string | null };

/** A change of a JSON value, field by field. Field names may be paths such as `address.city`. */
export interface UpdateDocument {
  /** Sets fields. */
  $set?: Record<string, unknown>;
  /** Removes fields; the values do not matter. */
  $unset?: Record<string, unknown>;
  /** Adds numbers to fields; a missing field counts as 0. */
  $inc?: Record<string, number>;
  /** Appends to arrays; a missing field counts as empty. */
  $push?: Record<string, unknown>;
  /** Removes the last (1) or first (-1) element of arrays. */
  $pop?: Record<string, 1 | -1>;
}

/**
 * Key-value state (`state` in platform.yaml), strongly consistent. Keys have at most 512 bytes, values 25 MiB. The API
 * is the same as that of a KV namespace.
 */
export interface StateBinding {
  /** The value of a key; null if it does not exist. @example const theme = await env.KV.get('theme'); */
  get(key: string, options?: StateGetOptions<'text' | undefined>): Promise<string | null>;
  get(key: string, type: 'text'): Promise<string | null>;
  get<Value = unknown>(key: string, type: 'json'): Promise<Value | null>;
  get(key: string, type: 'arrayBuffer'): Promise<ArrayBuffer | null>;
  get(key: string, type: 'stream'): Promise<ReadableStream<Uint8Array> | null>;
  get<Value = unknown>(key: string, options: StateGetOptions<'json'> & { type: 'json' }): Promise<Value | null>;
  get(key: string, options: StateGetOptions<'arrayBuffer'> & { type: 'arrayBuffer' }): Promise<ArrayBuffer | null>;
  get(key: string, options: StateGetOptions<'stream'> & { type: 'stream' }): Promise<ReadableStream<Uint8Array> | null>;
  /** The values of up to 100 keys. */
  get(keys: readonly string[], options?: StateGetOptions<'text' | undefined>): Promise<Map<string, string | null>>;
  get(keys: readonly string[], type: 'text'): Promise<Map<string, string | null>>;
  get<Value = unknown>(keys: readonly string[], type: 'json'): Promise<Map<string, Value | null>>;
  get<Value = unknown>(
    keys: readonly string[],
    options: StateGetOptions<'json'> & { type: 'json' },
  ): Promise<Map<string, Value | null>>;
  /** The value of a key with its metadata. */
  getWithMetadata<Metadata = unknown>(
    key: string,
    options?: StateGetOptions<'text' | undefined>,
  ): Promise<StateEntry<string, Metadata>>;
  getWithMetadata<Metadata = unknown>(key: string, type: 'text'): Promise<StateEntry<string, Metadata>>;
  getWithMetadata<Value = unknown, Metadata = unknown>(key: string, type: 'json'): Promise<StateEntry<Value, Metadata>>;
  getWithMetadata<Metadata = unknown>(key: string, type: 'arrayBuffer'): Promise<StateEntry<ArrayBuffer, Metadata>>;
  getWithMetadata<Metadata = unknown>(
    key: string,
    type: 'stream',
  ): Promise<StateEntry<ReadableStream<Uint8Array>, Metadata>>;
  getWithMetadata<Value = unknown, Metadata = unknown>(
    key: string,
    options: StateGetOptions<'json'> & { type: 'json' },
  ): Promise<StateEntry<Value, Metadata>>;
  getWithMetadata<Metadata = unknown>(
    key: string,
    options: StateGetOptions<'arrayBuffer'> & { type: 'arrayBuffer' },
  ): Promise<StateEntry<ArrayBuffer, Metadata>>;
  getWithMetadata<Metadata = unknown>(
    key: string,
    options: StateGetOptions<'stream'> & { type: 'stream' },
  ): Promise<StateEntry<ReadableStream<Uint8Array>, Metadata>>;
  /** The values of up to 100 keys with their metadata. */
  getWithMetadata<Metadata = unknown>(
    keys: readonly string[],
    options?: StateGetOptions<'text' | undefined>,
  ): Promise<Map<string, StateEntry<string, Metadata>>>;
  getWithMetadata<Metadata = unknown>(
    keys: readonly string[],
    type: 'text',
  ): Promise<Map<string, StateEntry<string, Metadata>>>;
  getWithMetadata<Value = unknown, Metadata = unknown>(
    keys: readonly string[],
    type: 'json',
  ): Promise<Map<string, StateEntry<Value, Metadata>>>;
  getWithMetadata<Value = unknown, Metadata = unknown>(
    keys: readonly string[],
    options: StateGetOptions<'json'> & { type: 'json' },
  ): Promise<Map<string, StateEntry<Value, Metadata>>>;
  /** Stores a value. */
  put(
    key: string,
    value: string | ArrayBuffer | ArrayBufferView | ReadableStream,
    options?: StatePutOptions,
  ): Promise<void>;
  /** The same as `put`. */
  set(
    key: string,
    value: string | ArrayBuffer | ArrayBufferView | ReadableStream,
    options?: StatePutOptions,
  ): Promise<void>;
  /**
   * Writes only if the version is still the one from `getWithMetadata`; null means only if the key does not exist.
   *
   * @returns whether the value was written.
   */
  compareAndSet(
    key: string,
    version: string | null,
    value: string | ArrayBuffer | ArrayBufferView | ReadableStream,
    options?: StatePutOptions,
  ): Promise<boolean>;
  /** The value of a key as JSON; null if it does not exist. */
  getJSON<Value = unknown>(key: string): Promise<Value | null>;
  setJSON(key: string, value: unknown, options?: StatePutOptions): Promise<void>;
  /** Deletes a key; deleting a missing key is not an error. */
  delete(key: string): Promise<void>;
  /** Keys in byte order, at most 1,000 per page. */
  list<Metadata = unknown>(options?: {
    prefix?: string | null;
    limit?: number;
    cursor?: string | null;
  }): Promise<StateList<Metadata>>;
  /**
   * Changes a JSON value atomically, and creates it if it does not exist.
   *
   * @returns the value afterwards.
   * @example const { visits } = await env.KV.update<{ visits: number }>('stats', { $inc: { visits: 1 } });
   */
  update<Value = unknown>(key: string, updateDoc: UpdateDocument): Promise<Value>;
}

/** State with JSON values: passed by the agent library to `handle`, hooks and tools. */
export interface StateManager {
  /** The value of a key; null if it does not exist. */
  get(key: string): Promise<string | null>;
  set(key: string, value: string): Promise<void>;
  delete(key: string): Promise<void>;
  /** The value of a key as JSON; null if it does not exist. @throws SyntaxError when it is not JSON. */
  getJSON<Value = unknown>(key: string): Promise<Value | null>;
  setJSON(key: string, value: unknown): Promise<void>;
  /** Changes a JSON value atomically. @returns the value afterwards. */
  update<Value = unknown>(key: string, updateDoc: UpdateDocument): Promise<Value>;
}
