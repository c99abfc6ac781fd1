// The host half of the state binding: key-value pairs with expiry, metadata and atomic JSON updates, strongly
// consistent. Arguments are validated here; the stores are runtime/stores/state-*.
import { PlatformError } from '#core/errors.ts';
import { Failure, isFailure } from '#core/failure.ts';
import { fixedLimits } from '#core/limits.ts';
import type { HostCall, HostFunction, HostReply } from '../bridge/host-calls.ts';
import type { HostWork } from '../work/host-work.ts';
import { fromCursor, invalid, toCursor, toJsonText, toName, toRecord, toWhole } from './arguments.ts';
import type { BindingScope } from './scope.ts';
import { applyUpdate, fromJson, parseUpdate } from '../work/update-document.ts';

/** One state resource, isolated from all other resources. */
export interface StatePlace {
  readonly namespace: string;
  readonly resource: string;
}

/** The value of a key. */
interface StateRecord {
  /** The value: a text stays a text, bytes stay bytes. */
  readonly value: string | Uint8Array;
  /** JSON, or null. */
  readonly metadata: string | null;
  /** ms since 1970, or null. */
  readonly expiresAt: number | null;
}

/** A record that was read. `version` changes with every write. */
export interface StoredState extends StateRecord {
  readonly version: string;
}

/** A key in a page of a list. */
interface StateKey {
  readonly name: string;
  readonly expiresAt: number | null;
  readonly metadata: string | null;
}

type Eventually<Value> = Value | Promise<Value>;

/**
 * Stores state. `now` is in ms since 1970; keys that have expired by then are treated as absent. Writes are durable
 * when their method returns.
 */
export interface StateStore {
  /**
   * Returns records in the order of the keys; null for a missing key. @throws {PlatformError} when several values
   * together are too large.
   */
  get(place: StatePlace, keys: readonly string[], now: number): Eventually<(StoredState | null)[]>;
  /**
   * @param version if set, writes only if this is the current version (null: only if the key does not exist). @returns
   * whether the value was written.
   */
  put(place: StatePlace, key: string, record: StateRecord, now: number, version?: string | null): Eventually<boolean>;
  delete(place: StatePlace, key: string): Eventually<void>;
  /** Lists at most `limit` keys after `after`, sorted by bytes, and whether there are more. */
  list(
    place: StatePlace,
    page: { prefix: string; after: string | null; limit: number },
    now: number,
  ): Eventually<{ keys: StateKey[]; more: boolean }>;
  /**
   * Atomically replaces a text by the result of `change`, which gets undefined if the key does not exist. If `change`
   * throws, the text does not change.
   */
  update(
    place: StatePlace,
    key: string,
    change: (before: string | undefined) => string,
    now: number,
  ): Eventually<string>;
  /** Deletes all keys of a namespace, including those of previews. @returns the number of deleted keys. */
  clear(namespace: string): Eventually<number>;
}

/** Larger values are changed on a separate thread, because parsing this much takes up to 2 ms. */
const UPDATED_CHARS_MAX = 32 * 1024;
const UPDATE_ATTEMPTS_MAX = 20;
/** Number of bytes that are parsed, changed and written per millisecond. */
const BYTES_PER_MS = 50_000;

/** The calls of a deployment's state bindings. Arguments: `{binding, ...}`. */
export function createStateCalls(
  scope: BindingScope,
  store: StateStore,
  now: () => number = Date.now,
  work: HostWork | null = null,
): Readonly<Record<string, HostFunction>> {
  /** Reads a large value, changes it on a thread, and writes it if it is unchanged; otherwise starts over. */
  async function updateLarge(
    work: HostWork,
    call: HostCall,
    place: StatePlace,
    key: string,
    update: unknown,
  ): Promise<HostReply> {
    for (let attempt = 1; attempt <= UPDATE_ATTEMPTS_MAX; attempt++) {
      const [found] = await store.get(place, [key], now());
      const before = found === null || found === undefined ? null : Buffer.from(found.value as Uint8Array);
      const parts = before === null ? [] : [new Uint8Array(before)];
      const { parts: [after] = [] } = await work.onThread(
        call,
        'state.update',
        { update },
        parts,
        (before?.length ?? 0) / BYTES_PER_MS,
      );
      const text = Buffer.from((after as Uint8Array).buffer).toString();
      if (after!.length > fixedLimits.state.valueBytesMax)
        throw invalid(`The value has ${after!.length} bytes as JSON, and may have ${fixedLimits.state.valueBytesMax}`);
      const record = { value: text, metadata: found?.metadata ?? null, expiresAt: found?.expiresAt ?? null };
      if (await store.put(place, key, record, now(), found?.version ?? null)) return { parts: [text] };
    }
    throw new PlatformError('conflict', { reason: 'Too many concurrent changes of this value' });
  }

  const parse = (call: HostCall): { place: StatePlace; args: Readonly<Record<string, unknown>> } => {
    const args = toRecord(call.args);
    const place = { namespace: scope.namespace, resource: scope.resource(args['binding']) };
    call.owner.countSubrequest();
    return { place, args };
  };
  const toKey = (value: unknown): string => toName(value, 'The key', fixedLimits.state.keyBytesMax);

  return {
    /**
     * Takes `{keys}`; returns `{records: ({metadata, version, text} | null)[]}`, with the values that were found as
     * parts.
     */
    'state.get': (call) => {
      const { place, args } = parse(call);
      const { keys } = args;
      if (!Array.isArray(keys) || keys.length === 0 || keys.length > fixedLimits.state.keysMax)
        throw invalid(`get takes 1 to ${fixedLimits.state.keysMax} keys`);
      const found = store.get(place, keys.map(toKey), now());
      return found instanceof Promise ? found.then(toReply) : toReply(found);
    },
    /**
     * Takes `{key, expiresAt, expiresInMs, metadata, version?}`, with the value as a part; returns whether it was
     * written.
     */
    'state.put': (call) => {
      const { place, args } = parse(call);
      const time = now();
      const [value] = call.parts;
      if (value === undefined) throw invalid('put takes a value');
      const bytes = typeof value === 'string' ? Buffer.byteLength(value) : value.byteLength;
      if (bytes > fixedLimits.state.valueBytesMax)
        throw invalid(`The value has ${bytes} bytes, and may have ${fixedLimits.state.valueBytesMax}`);
      const metadata =
        args['metadata'] === undefined || args['metadata'] === null
          ? null
          : toJsonText(args['metadata'], 'The metadata', fixedLimits.state.metadataBytesMax);
      const record = { value, metadata, expiresAt: toExpiry(args, time) };
      const written = store.put(place, toKey(args['key']), record, time, toVersion(args['version']));
      return written instanceof Promise ? written.then((value) => ({ value })) : { value: written };
    },
    'state.delete': (call) => {
      const { place, args } = parse(call);
      const deleted = store.delete(place, toKey(args['key']));
      return deleted instanceof Promise ? deleted.then(() => ({})) : {};
    },
    /** Takes `{prefix, limit, cursor}`; returns `{keys: {name, expiresAt, metadata}[], cursor}`. */
    async 'state.list'(call) {
      const { place, args } = parse(call);
      const prefix =
        args['prefix'] === undefined || args['prefix'] === null || args['prefix'] === '' ? '' : toKey(args['prefix']);
      const limit = toWhole(args['limit'], 'limit', {
        least: 1,
        most: fixedLimits.state.pageMax,
        otherwise: fixedLimits.state.pageMax,
      });
      const { keys, more } = await store.list(place, { prefix, after: fromCursor(args['cursor']), limit }, now());
      const last = keys.at(-1);
      return {
        value: { keys, cursor: more && last !== undefined ? toCursor(last.name) : null },
      };
    },
    /** Takes `{key, update}`; the only part of the reply is the JSON of the new value. */
    'state.update': (call) => {
      const { place, args } = parse(call);
      const update = parseUpdate(args['update']);
      const key = toKey(args['key']);
      const change = (before: string | undefined): string => {
        if (work !== null && before !== undefined && before.length > UPDATED_CHARS_MAX)
          throw new Failure('state_value_large', 'Large values are updated on a separate thread');
        return toJsonText(
          applyUpdate(before === undefined ? undefined : fromJson(before), update),
          'The value',
          fixedLimits.state.valueBytesMax,
        );
      };
      const onError = (error: unknown): Promise<HostReply> => {
        if (work === null || !isFailure(error, 'state_value_large')) throw error;
        return updateLarge(work, call, place, key, args['update']);
      };
      try {
        const after = store.update(place, key, change, now());
        return after instanceof Promise ? after.then((text) => ({ parts: [text] }), onError) : { parts: [after] };
      } catch (error) {
        return onError(error);
      }
    },
  };
}

function toReply(found: readonly (StoredState | null)[]): HostReply {
  const parts: (string | Uint8Array)[] = [];
  const records = found.map((record) => {
    if (record === null) return null;
    parts.push(record.value);
    return { metadata: record.metadata, version: record.version };
  });
  return { value: records, parts };
}

function toExpiry({ expiresAt, expiresInMs }: Readonly<Record<string, unknown>>, now: number): number | null {
  if (expiresAt === undefined && expiresInMs === undefined) return null;
  if (expiresAt !== undefined && expiresInMs !== undefined)
    throw invalid('expiration and expirationTtl exclude each other');
  const at =
    expiresAt === undefined ? now + toWhole(expiresInMs, 'expirationTtl', { least: 1, most: 2 ** 52 }) : expiresAt;
  if (typeof at !== 'number' || !Number.isSafeInteger(at)) throw invalid('expiration must be whole seconds since 1970');
  if (at <= now) throw invalid('expiration is in the past');
  return at;
}

function toVersion(version: unknown): string | null | undefined {
  if (version === undefined || version === null || typeof version === 'string') return version;
  throw invalid('The version must come from getWithMetadata, or be null');
}

const KEYS_TOGETHER = 1000;

/** Deletes all entries of a state. @returns the number of deleted entries. */
export async function clearState(state: Pick<StateStore, 'list' | 'delete'>, place: StatePlace): Promise<number> {
  let count = 0;
  for (let after: string | null = null; ;) {
    // At time 0, no key has expired, so all keys are listed.
    const { keys, more } = await state.list(place, { prefix: '', after, limit: KEYS_TOGETHER }, 0);
    await Promise.all(keys.map(({ name }) => state.delete(place, name)));
    count += keys.length;
    if (!more) return count;
    after = keys.at(-1)!.name;
  }
}
