// What a deployment's bindings hold, asked from outside (`POST /_platform/data`, core/resource-call.ts): by the command
// line and the dashboard, through the control plane. The names that a worker of this deployment would reach are the
// only ones there are.
import { existsSync } from 'node:fs';
import path from 'node:path';
import { databaseOps, type WireRefusal, type WireResult } from '#core/database-request.ts';
import { PlatformError } from '#core/errors.ts';
import { fixedLimits } from '#core/limits.ts';
import type { DatabaseMigrations } from '#core/manifest.ts';
import { ofPreview } from '#core/preview.ts';
import { copiesDatabases } from '#core/preview-settings.ts';
import { deadLettersOf } from '#core/queue-settings.ts';
import type { ResourceKind, ResourceOperations, StoredFile } from '#core/resource-call.ts';
import type { OpenArtifact } from '#deployments/artifact-source.ts';
import { invalid, toJsonText, toName, toRecord, toWhole } from '../bindings/arguments.ts';
import type { BindingStores } from '../bindings/bindings.ts';
import type { FileHead } from '../bindings/files.ts';
import type { DatabasePlace } from '../bindings/scope.ts';
import type { Route } from '../router/route-table.ts';
import type { DatabaseClient } from '../../stores/database-service.ts';

/** Where it looks. */
export interface ResourceParts {
  readonly databases: DatabaseClient | null;
  readonly bindings: Pick<BindingStores, 'state' | 'files' | 'events'>;
  /** Data folder: copies of databases are written nowhere else. */
  readonly folder: string;
}

/** One question about a binding. */
interface Asked {
  readonly parts: ResourceParts;
  readonly route: Route;
  readonly artifact: OpenArtifact;
  readonly binding: unknown;
  readonly args: Readonly<Record<string, unknown>>;
}

type Operation = keyof ResourceOperations;
type Gives<Name extends Operation> = ResourceOperations[Name]['gives'];

const KINDS: readonly ResourceKind[] = ['db', 'state', 'fs', 'queue'];
const ROWS_MAX = 1000;
const PART_BYTES_MAX = 8 * 1024 * 1024;
const { state: ofState, files: ofFiles } = fixedLimits;
const TABLES = `SELECT name, type, sql FROM sqlite_master WHERE type IN ('table', 'view')
  AND name NOT LIKE 'sqlite@_%' ESCAPE '@' AND name NOT LIKE 'platform@_internal@_%' ESCAPE '@' ORDER BY name`;

/** By their names. */
const operations: { readonly [Name in Operation]: (asked: Asked) => Promise<Gives<Name>> } = {
  async 'resources.list'({ artifact }) {
    return {
      resources: KINDS.flatMap((kind) =>
        Object.entries(artifact.manifest.bindings[kind] ?? {}).map(([binding, resource]) => ({
          kind,
          binding,
          resource,
        })),
      ),
    };
  },
  async 'db.tables'(asked) {
    const { r } = await query(asked, TABLES);
    return { tables: r.map(([name, type, sql]) => ({ name, type, sql })) as unknown as Gives<'db.tables'>['tables'] };
  },
  async 'db.query'(asked) {
    const { sql, params = [] } = asked.args;
    if (!Array.isArray(params)) throw invalid('params must be a list');
    const { c, r, m } = await query(asked, toText(sql, 'sql'), params);
    const [durationMs, rowsRead, rowsWritten, changes] = m;
    return {
      columns: c,
      rows: r.slice(0, ROWS_MAX),
      truncated: r.length > ROWS_MAX,
      meta: { durationMs, rowsRead, rowsWritten, changes },
    };
  },
  async 'db.script'(asked) {
    const { databases, place } = await database(asked);
    const sql = toText(asked.args['sql'], 'sql');
    const { t } = await request<{ t: number }>(databases, place, databaseOps.begin, [], 0);
    try {
      const { n, d } = await request<{ n: number; d: number }>(databases, place, databaseOps.exec, [sql], t);
      await request(databases, place, databaseOps.commit, [], t);
      return { count: n, durationMs: d };
    } catch (error) {
      await databases.run(place, databaseOps.rollback, t, '[]').catch(() => {});
      throw error;
    }
  },
  async 'db.migrations'(asked) {
    const { databases, place, files } = await database(asked);
    const { applied, pending } = await databases.migrations(place, files);
    return { applied, pending };
  },
  async 'db.migrate'(asked) {
    const { databases, place, files } = await database(asked);
    return { applied: await databases.migrate(place, files) };
  },
  async 'db.copy'(asked) {
    const { databases, place } = await database(asked);
    const file = toText(asked.args['file'], 'file');
    const { folder } = asked.parts;
    if (path.resolve(file) !== file || !file.startsWith(`${folder}${path.sep}`) || existsSync(file))
      throw invalid('file must be a path in the data folder where nothing is yet');
    return databases.backup(place, file);
  },
  async 'state.list'(asked) {
    const { store, place } = state(asked);
    const { prefix, cursor, limit } = asked.args;
    const page = {
      prefix: prefix === undefined || prefix === '' ? '' : toName(prefix, 'prefix', ofState.keyBytesMax),
      after: cursor === undefined ? null : toName(cursor, 'cursor', ofState.keyBytesMax),
      limit: toWhole(limit, 'limit', { least: 1, most: ofState.pageMax, otherwise: 100 }),
    };
    const { keys, more } = await store.list(place, page, Date.now());
    return { keys, cursor: more ? keys.at(-1)!.name : null };
  },
  async 'state.get'(asked) {
    const { store, place, key } = keyed(asked);
    const [record] = await store.get(place, [key], Date.now());
    if (record == null) return { entry: null };
    const { value, metadata, expiresAt } = record;
    return {
      entry: {
        key,
        ...(typeof value === 'string' ? { value } : { base64: Buffer.from(value).toString('base64') }),
        metadata: metadata === null ? null : (JSON.parse(metadata) as unknown),
        expiresAt,
      },
    };
  },
  async 'state.put'(asked) {
    const { store, place, key } = keyed(asked);
    const { value, base64, metadata, expirationTtl } = asked.args;
    const bytes = typeof value === 'string' ? value : toBytes(base64);
    if (Buffer.byteLength(bytes) > ofState.valueBytesMax)
      throw invalid(`The value has more than ${ofState.valueBytesMax} bytes`);
    const ttl =
      expirationTtl === undefined
        ? null
        : toWhole(expirationTtl, 'expirationTtl', { least: 1, most: 10 * 365 * 86_400 });
    const now = Date.now();
    await store.put(
      place,
      key,
      {
        value: bytes,
        metadata: metadata == null ? null : toJsonText(metadata, 'metadata', ofState.metadataBytesMax),
        expiresAt: ttl === null ? null : now + ttl * 1000,
      },
      now,
    );
    return {};
  },
  async 'state.delete'(asked) {
    const { store, place, key } = keyed(asked);
    await store.delete(place, key);
    return {};
  },
  async 'fs.list'(asked) {
    const { store, place } = files(asked);
    const { prefix, delimiter, cursor, limit } = asked.args;
    const page = await store.list(place, {
      prefix: prefix === undefined || prefix === '' ? '' : toName(prefix, 'prefix', ofFiles.keyBytesMax),
      delimiter: delimiter === undefined || delimiter === '' ? '' : toName(delimiter, 'delimiter', 64),
      cursor: cursor === undefined ? null : toName(cursor, 'cursor', 2 * ofFiles.keyBytesMax),
      limit: toWhole(limit, 'limit', { least: 1, most: ofFiles.pageMax, otherwise: 100 }),
    });
    return { ...page, files: page.files.map(toStored) };
  },
  async 'fs.get'(asked) {
    const { store, place } = files(asked);
    const key = toName(asked.args['key'], 'key', ofFiles.keyBytesMax);
    const offset = toWhole(asked.args['offset'], 'offset', { least: 0, most: Number.MAX_SAFE_INTEGER });
    const length = toWhole(asked.args['length'], 'length', { least: 1, most: PART_BYTES_MAX });
    const head = await store.head(place, key);
    if (head === null) return { file: null };
    // Of nothing there is no range.
    if (offset >= head.size) return { file: { ...toStored(head), base64: '' } };
    const found = await store.get(place, key, { range: { offset, length }, onlyIf: null });
    if (found === null || found.body === null) return { file: null };
    const chunks: Buffer[] = [];
    for await (const chunk of found.body) chunks.push(chunk as Buffer);
    return { file: { ...toStored(found.head), base64: Buffer.concat(chunks).toString('base64') } };
  },
  async 'fs.put'(asked) {
    const { store, place } = files(asked);
    const { contentType } = asked.args;
    const key = toName(asked.args['key'], 'key', ofFiles.keyBytesMax);
    const head = await store.put(place, key, toBytes(asked.args['base64']), {
      headers: contentType === undefined ? {} : { contentType: toHeader(contentType) },
      metadata: {},
      onlyIf: null,
      digests: {},
      bytesMax: ofFiles.putBytesMax,
    });
    return { file: toStored(head!) };
  },
  async 'fs.delete'(asked) {
    const { store, place } = files(asked);
    const { keys } = asked.args;
    if (!Array.isArray(keys) || keys.length === 0 || keys.length > ofFiles.deleteMax)
      throw invalid(`keys must be a list of 1 to ${ofFiles.deleteMax} keys`);
    await store.delete(
      place,
      keys.map((key) => toName(key, 'A key', ofFiles.keyBytesMax)),
    );
    return {};
  },
  async 'queue.stats'(asked) {
    const { store, place } = queue(asked);
    return store.metrics(place, Date.now());
  },
  async 'queue.dead'(asked) {
    const { store, place } = queue(asked);
    const { messages, next } = await store.list(
      { namespace: place.namespace, resource: place.deadLetter ?? `${place.resource}_dlq` },
      {
        limit: toWhole(asked.args['limit'], 'limit', { least: 1, most: 200, otherwise: 50 }),
        after: toWhole(asked.args['after'], 'after', { least: 0, most: Number.MAX_SAFE_INTEGER, otherwise: 0 }),
      },
    );
    return {
      messages: messages.map(({ id, payload, attempt, timestamp, deadReason }) => ({
        id,
        payload: fromJson(payload),
        attempt,
        timestamp,
        deadReason,
      })),
      next,
    };
  },
  async 'queue.redrive'(asked) {
    const { store, place } = queue(asked);
    return { count: await store.redrive(place, Date.now()) };
  },
};

/**
 * Answers a question about the bindings of a deployment.
 *
 * @throws {PlatformError} `bad_request`, `binding_not_found`, `binding_unavailable`, `invalid_argument`, and what
 *   stores throw.
 */
export async function askResource(
  parts: ResourceParts,
  route: Route,
  artifact: OpenArtifact,
  { operation, binding, args = {} }: Readonly<Record<string, unknown>>,
): Promise<{ readonly result: unknown }> {
  if (typeof operation !== 'string' || !Object.hasOwn(operations, operation))
    throw new PlatformError('bad_request', { reason: 'operation is one of core/resource-call.ts' });
  const run = operations[operation as Operation];
  return { result: await run({ parts, route, artifact, binding, args: toRecord(args) }) };
}

/** The resource that a binding's name in platform.yaml leads to, or that is called so. */
function resourceOf({ artifact, binding }: Asked, kind: ResourceKind): string {
  const declared = artifact.manifest.bindings[kind] ?? {};
  const found =
    typeof binding === 'string'
      ? Object.hasOwn(declared, binding)
        ? declared[binding]
        : Object.values(declared).find((resource) => resource === binding)
      : undefined;
  if (found === undefined)
    throw new PlatformError('binding_not_found', { kind, binding: String(binding).slice(0, 100) });
  return found;
}

function opened<Store>(store: Store | null | undefined, kind: ResourceKind): Store {
  if (store == null)
    throw new PlatformError('binding_unavailable', {
      kind,
      reason: 'this handler was started without a store for them',
    });
  return store;
}

/** A preview's own, as bindings.ts names it. */
function placeOf(asked: Asked, kind: ResourceKind): DatabasePlace {
  const { project, preview } = asked.route;
  return { namespace: project, resource: ofPreview(resourceOf(asked, kind), preview) };
}

async function database(asked: Asked): Promise<{
  readonly databases: DatabaseClient;
  readonly place: DatabasePlace;
  readonly files: DatabaseMigrations['files'];
}> {
  const { artifact, parts, route } = asked;
  const databases = opened(parts.databases, 'db');
  const resource = resourceOf(asked, 'db');
  const place = placeOf(asked, 'db');
  // Looked into before its copy is made, it would begin empty.
  if (route.preview !== null && copiesDatabases(artifact.manifest, route.branch))
    await databases.branch({ namespace: route.project, resource }, place.resource, { unlessThere: true });
  const own = artifact.manifest.migrations === undefined ? [] : artifact.migrations();
  return { databases, place, files: own.find((one) => one.resource === resource)?.files ?? [] };
}

async function query(asked: Asked, sql: string, params: readonly unknown[] = []): Promise<WireResult> {
  const { databases, place } = await database(asked);
  return request<WireResult>(databases, place, databaseOps.query, [sql, params, ROWS_MAX + 1], 0);
}

async function request<Result>(
  databases: DatabaseClient,
  place: DatabasePlace,
  op: number,
  payload: readonly unknown[],
  transaction: number,
): Promise<Result> {
  const text = (await databases.run(place, op, transaction, JSON.stringify(payload))) as string;
  const answer = JSON.parse(text) as Result | WireRefusal;
  const refusal = (answer as WireRefusal).e;
  if (refusal !== undefined) {
    const [code, message, line] = refusal;
    throw invalid(`${message} (${code}${line === undefined ? '' : `, line ${line}`})`);
  }
  return answer as Result;
}

function state(asked: Asked): { store: NonNullable<BindingStores['state']>; place: DatabasePlace } {
  return { store: opened(asked.parts.bindings.state, 'state'), place: placeOf(asked, 'state') };
}

function keyed(asked: Asked): ReturnType<typeof state> & { key: string } {
  return { ...state(asked), key: toName(asked.args['key'], 'key', ofState.keyBytesMax) };
}

function files(asked: Asked): { store: NonNullable<BindingStores['files']>; place: DatabasePlace } {
  return { store: opened(asked.parts.bindings.files, 'fs'), place: placeOf(asked, 'fs') };
}

/** What waits for a moment is in a namespace of the branch's own. */
function queue(asked: Asked): {
  store: NonNullable<BindingStores['events']>['queue'];
  place: { readonly namespace: string; readonly resource: string; readonly deadLetter: string | null };
} {
  const { artifact, parts, route } = asked;
  const resource = resourceOf(asked, 'queue');
  const deadLetter = deadLettersOf(artifact.manifest.queues ?? {}, resource);
  return {
    store: opened(parts.bindings.events, 'queue').queue,
    place: { namespace: ofPreview(route.project, route.preview), resource, deadLetter },
  };
}

function toStored({ key, size, etag, uploadedAt, headers }: FileHead): StoredFile {
  const { contentType } = headers;
  return { key, size, etag, uploadedAt, ...(contentType !== undefined && { contentType }) };
}

function toText(value: unknown, what: string): string {
  if (typeof value !== 'string' || value.trim() === '') throw invalid(`${what} must be a text that is not empty`);
  return value;
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

function fromJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}
