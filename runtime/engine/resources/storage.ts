// Management operations on state, files and cached values. Files are transferred in parts, or through a file of the
// data folder, so that memory does not limit their size.
import { createReadStream } from 'node:fs';
import { fixedLimits } from '#core/limits.ts';
import { PlatformError } from '#core/errors.ts';
import type { StoredFile } from '#core/resource-call/storage.ts';
import type { BindingStores } from '../bindings/bindings.ts';
import { fromCursor, invalid, toCursor, toJsonText, toName, toWhole } from '../bindings/arguments.ts';
import type { FileHead } from '../bindings/files.ts';
import type { DatabasePlace } from '../bindings/scope.ts';
import {
  apartNamespace,
  bindingOf,
  call,
  opened,
  placeOf,
  type RequestScope,
  type OperationsOf,
} from './request-scope.ts';
import { toFileIn } from './transit-files.ts';

const PART_BYTES_MAX = 8 * 1024 * 1024;
const { state: ofState, files: ofFiles } = fixedLimits;

export const stateOperations: OperationsOf<'state'> = {
  async 'state.list'(scope) {
    const { store, place } = state(scope);
    const { prefix, cursor, limit } = scope.args;
    const page = {
      prefix: prefix === undefined || prefix === '' ? '' : toName(prefix, 'prefix', ofState.keyBytesMax),
      after: fromCursor(cursor),
      limit: toWhole(limit, 'limit', { least: 1, most: ofState.pageMax, otherwise: 100 }),
    };
    const { keys, more } = await store.list(place, page, Date.now());
    return { keys, cursor: more ? toCursor(keys.at(-1)!.name) : null };
  },
  async 'state.get'(scope) {
    const { store, place, key } = keyed(scope);
    const [record] = await store.get(place, [key], Date.now());
    if (record == null) return { entry: null };
    const { value, metadata, version, expiresAt } = record;
    return {
      entry: {
        key,
        ...(typeof value === 'string' ? { value } : { base64: Buffer.from(value).toString('base64') }),
        metadata: metadata === null ? null : (JSON.parse(metadata) as unknown),
        version,
        expiresAt,
      },
    };
  },
  async 'state.put'(scope) {
    const { store, place, key } = keyed(scope);
    const { value, base64, metadata, expirationTtl, version } = scope.args;
    const bytes = typeof value === 'string' ? value : toBytes(base64);
    if (Buffer.byteLength(bytes) > ofState.valueBytesMax)
      throw invalid(`The value has more than ${ofState.valueBytesMax} bytes`);
    if (version !== undefined && version !== null && (typeof version !== 'string' || version === ''))
      throw invalid('version must be the one that was read, or null: only where there is nothing');
    const ttl =
      expirationTtl == null ? null : toWhole(expirationTtl, 'expirationTtl', { least: 1, most: 10 * 365 * 86_400 });
    const now = Date.now();
    const written = await store.put(
      place,
      key,
      {
        value: bytes,
        metadata: metadata == null ? null : toJsonText(metadata, 'metadata', ofState.metadataBytesMax),
        expiresAt: ttl === null ? null : now + ttl * 1000,
      },
      now,
      version,
    );
    return { written };
  },
  async 'state.delete'(scope) {
    const { store, place, key } = keyed(scope);
    await store.delete(place, key);
    return {};
  },
};

export const fileOperations: OperationsOf<'fs'> = {
  async 'fs.list'(scope) {
    const { store, place } = files(scope);
    const { prefix, delimiter, cursor, limit } = scope.args;
    const page = await store.list(place, {
      prefix: prefix === undefined || prefix === '' ? '' : toName(prefix, 'prefix', ofFiles.keyBytesMax),
      delimiter: delimiter === undefined || delimiter === '' ? '' : toName(delimiter, 'delimiter', 64),
      cursor: fromCursor(cursor),
      limit: toWhole(limit, 'limit', { least: 1, most: ofFiles.pageMax, otherwise: 100 }),
    });
    const next = page.cursor === null ? null : toCursor(page.cursor);
    return { ...page, cursor: next, files: page.files.map(toStored) };
  },
  async 'fs.get'(scope) {
    const { store, place } = files(scope);
    const key = toName(scope.args['key'], 'key', ofFiles.keyBytesMax);
    const offset = toWhole(scope.args['offset'], 'offset', { least: 0, most: Number.MAX_SAFE_INTEGER });
    const length = toWhole(scope.args['length'], 'length', { least: 1, most: PART_BYTES_MAX });
    const head = await store.head(place, key);
    if (head === null) return { file: null };
    // An empty file has no range.
    if (offset >= head.size) return { file: { ...toStored(head), base64: '' } };
    const found = await store.get(place, key, { range: { offset, length }, onlyIf: null });
    if (found === null || found.body === null) return { file: null };
    const chunks: Buffer[] = [];
    for await (const chunk of found.body) chunks.push(chunk as Buffer);
    return { file: { ...toStored(found.head), base64: Buffer.concat(chunks).toString('base64') } };
  },
  async 'fs.put'(scope) {
    const { store, place } = files(scope);
    const { base64, contentType, file } = scope.args;
    const key = toName(scope.args['key'], 'key', ofFiles.keyBytesMax);
    const write = {
      headers: contentType === undefined ? {} : { contentType: toHeader(contentType) },
      metadata: {},
      onlyIf: null,
      digests: {},
      bytesMax: ofFiles.putBytesMax,
    };
    if (file === undefined) return { file: toStored((await store.put(place, key, toBytes(base64), write))!) };
    const source = createReadStream(toFileIn(scope.deps.folder, file));
    // A store that refuses the file does not read the stream, and does not handle its errors.
    source.on('error', () => {});
    try {
      return { file: toStored((await store.put(place, key, source, write))!) };
    } finally {
      source.destroy();
    }
  },
  async 'fs.delete'(scope) {
    const { store, place } = files(scope);
    const { keys } = scope.args;
    if (!Array.isArray(keys) || keys.length === 0 || keys.length > ofFiles.deleteMax)
      throw invalid(`keys must be a list of 1 to ${ofFiles.deleteMax} keys`);
    await store.delete(
      place,
      keys.map((key) => toName(key, 'A key', ofFiles.keyBytesMax)),
    );
    return {};
  },
};

export const cacheOperations: OperationsOf<'cache'> = {
  async 'cache.list'(scope) {
    const { resource } = bindingOf(scope, 'cache');
    const { cache } = scope.deps;
    // The entries of shared caches cannot be listed: their keys are hashed, or mixed with those of other projects.
    if (!('list' in cache)) throw new PlatformError('not_supported', { what: 'Listing this cache' });
    const limit = toWhole(scope.args['limit'], 'limit', { least: 1, most: 1000, otherwise: 100 });
    // The prefix of keys, as in bindings/cache-values.ts.
    const entries = cache.list(apartNamespace(scope), `value [${JSON.stringify(resource)},`, limit);
    return {
      entries: entries.map(({ key, bytes, expiresAt }) => ({
        key: (JSON.parse(key.slice(6)) as string[])[1]!,
        bytes,
        expiresAt,
      })),
    };
  },
  async 'cache.get'(scope) {
    const { parts = [] } = await call(scope, 'cache.get', { key: scope.args['key'] });
    return { value: parts.length === 0 ? null : String(parts[0]) };
  },
  async 'cache.delete'(scope) {
    await call(scope, 'cache.remove', { key: scope.args['key'] });
    return {};
  },
};

function state(scope: RequestScope): { store: NonNullable<BindingStores['state']>; place: DatabasePlace } {
  return { store: opened(scope.deps.stores.state, 'state'), place: placeOf(scope, 'state') };
}

function keyed(scope: RequestScope): ReturnType<typeof state> & { key: string } {
  return { ...state(scope), key: toName(scope.args['key'], 'key', ofState.keyBytesMax) };
}

function files(scope: RequestScope): { store: NonNullable<BindingStores['files']>; place: DatabasePlace } {
  return { store: opened(scope.deps.stores.files, 'fs'), place: placeOf(scope, 'fs') };
}

function toStored({ key, size, etag, uploadedAt, headers }: FileHead): StoredFile {
  const { contentType } = headers;
  return { key, size, etag, uploadedAt, ...(contentType !== undefined && { contentType }) };
}

function toBytes(value: unknown): Buffer {
  if (typeof value !== 'string' || !/^[\w+/-]*={0,2}$/.test(value)) throw invalid('base64 must be bytes in base64');
  return Buffer.from(value, 'base64');
}

function toHeader(value: unknown): string {
  if (typeof value !== 'string' || value.length > 256 || !/^[\x20-\x7e]+$/.test(value))
    throw invalid('contentType must be visible ASCII of at most 256 characters');
  return value;
}
