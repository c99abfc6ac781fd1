// Management operations on durable objects. Lists are read from the databases without a lease. All other operations go
// to the engine that has the object (serving/object-operator.ts).
import { isClassName, ownClasses } from '#core/bindings/object.ts';
import { keptClasses } from '#core/bindings/object-classes.ts';
import { objectClassKey, objectPlace, objectsNamespace } from '#core/object-address.ts';
import { objectOps } from '#core/object-storage.ts';
import { PlatformError } from '#core/errors.ts';
import type { DescribedObject } from '#core/resource-call/objects.ts';
import { SqlRefusal, type WireValue } from '#core/database-request.ts';
import { fromCursor, invalid, toCursor, toWhole } from '../bindings/arguments.ts';
import { isObjectId, objectIdOf } from '../bindings/object-ids.ts';
import type { LiveState } from '../serving/objects/live-object.ts';
import type { OperatedObject } from '../serving/object-operator.ts';
import { namespaceOf, opened, type OperationsOf, type RequestScope } from './request-scope.ts';

const NAME_CHARS_MAX = 1024;
const SQL_CHARS_MAX = 100_000;
const ROWS_MAX = 1000;
/** Maximum number of characters of a value in a list. */
const VALUE_CHARS_MAX = 4000;
/** Maximum length of a key in a list. */
const KEY_BYTES_MAX = 2000;
/** Maximum length of a key in a cursor, as JSON. */
const CURSOR_KEY_BYTES_MAX = 1900;
/** Maximum number of objects that one request examines. */
const LOOKED_MAX = 500;

/** The result of the operation `look` for an object. */
interface Looked {
  readonly name: string | null;
  readonly alarm: number | null;
  readonly bytes: number;
  readonly isEmpty: boolean;
}

export const objectOperations: OperationsOf<'object'> = {
  async 'object.list'(scope) {
    const { className, key, stored } = classOf(scope);
    const limit = toWhole(scope.args['limit'], 'limit', { least: 1, most: 200, otherwise: 50 });
    const databases = opened(scope.deps.databases, 'db');
    const namespace = objectsNamespace(namespaceOf(stored), stored.route.preview);
    const live = await scope.deps.objects.live(stored.route);
    const objects: DescribedObject[] = [];
    let after = fromCursor(scope.args['cursor']) ?? '';
    let looked = 0;
    for (;;) {
      const page = await databases.list(namespace, after);
      for (const { resource: id, changedAt } of page) {
        if (objects.length === limit || looked === LOOKED_MAX)
          return { class: className, objects, cursor: toCursor(after) };
        after = id;
        if (!isObjectId(key, id)) continue;
        looked++;
        const found = await describe(stored, id, changedAt, live[id]);
        if (found !== null) objects.push(found);
      }
      if (page.length === 0) return { class: className, objects, cursor: null };
    }
  },
  async 'object.get'(scope) {
    const { object, stored } = objectOf(scope);
    const { id } = object;
    const live = (await scope.deps.objects.act(stored.route, object, { do: 'state' })) as LiveState;
    return { object: await describe(stored, id, await changedAt(stored, id), live, object.name) };
  },
  async 'object.values'(scope) {
    const { prefix, cursor } = scope.args;
    const limit = toWhole(scope.args['limit'], 'limit', { least: 1, most: 200, otherwise: 50 });
    if (prefix !== undefined && typeof prefix !== 'string') throw invalid('prefix must be a text');
    const position = fromKeyCursor(fromCursor(cursor));
    const cuts = { keyBytes: KEY_BYTES_MAX, chars: VALUE_CHARS_MAX };
    const range = { prefix: prefix ?? '', ...position, limit: limit + 1, ...cuts };
    const [found] = (await steps(scope, [['v', range]])) as [[string, number, number, string][]];
    const values = found.slice(0, limit).map(([key, bytes, size, value]) => {
      const isKeyCut = bytes > KEY_BYTES_MAX;
      // The key was truncated inside a character.
      const shown = isKeyCut ? key.replace(/\ufffd+$/, '') : key;
      return { key: shown, isKeyCut, size, value, isCut: value.length < size };
    });
    const isLast = found.length <= limit;
    return { values, cursor: isLast ? null : toCursor(toKeyCursor(position, values)) };
  },
  async 'object.held'(scope) {
    const { key } = namedClass(scope);
    const { ids, cursor } = await pageOf(scope, key);
    for (const id of ids) {
      const found = await look(scope, id);
      if (found !== null && !found.isEmpty) return { object: found.name ?? id, cursor: null };
    }
    return { object: null, cursor };
  },
  async 'object.clear'(scope) {
    const { deps, route, artifact } = scope;
    const { key, firstName } = namedClass(scope);
    if (keptClasses(artifact.manifest).has(firstName))
      throw new PlatformError('conflict', { reason: `The deployment has the class ${firstName}` });
    const { ids, cursor } = await pageOf(scope, key);
    const live = await deps.objects.live(route);
    // An object without stored data can only have WebSockets.
    const others = cursor === null ? Object.keys(live).filter((id) => isObjectId(key, id)) : [];
    let removed = 0;
    for (const id of [...ids, ...others]) {
      const found = await look(scope, id);
      if (found?.isEmpty !== false && live[id] === undefined) continue;
      await deps.objects.act(route, { id, class: firstName }, { do: 'remove' });
      if (found?.isEmpty === false) removed++;
    }
    return { removed, cursor };
  },
  'object.query': (scope) => runSql(scope, 'Q'),
  'object.sql': (scope) => runSql(scope, 'q'),
  async 'object.delete'(scope) {
    const { object, stored } = objectOf(scope);
    const live = (await scope.deps.objects.act(stored.route, object, { do: 'state' })) as LiveState;
    const found = await describe(stored, object.id, 0, live);
    if (found === null) return { removed: false };
    await scope.deps.objects.act(stored.route, object, { do: 'empty' });
    return { removed: true };
  },
  async 'object.reset'(scope) {
    const { object, stored } = objectOf(scope);
    return { removed: (await scope.deps.objects.act(stored.route, object, { do: 'reset' })) === true };
  },
};

/** The project in which the objects are stored, which is another one for a class that was received. */
type Stored = Pick<RequestScope, 'deps' | 'route'>;

/** @throws {PlatformError} `binding_not_found`. */
function classOf({ artifact, binding, route, deps }: RequestScope): {
  className: string;
  firstName: string;
  key: string;
  stored: Stored;
} {
  const { objects, objectClasses = {} } = artifact.manifest;
  const declared = ownClasses(objects);
  const name = String(binding);
  const className = Object.hasOwn(declared, name)
    ? declared[name]!
    : Object.values(declared).find((one) => one === binding);
  if (className === undefined)
    throw new PlatformError('binding_not_found', { kind: 'object', binding: name.slice(0, 100) });
  const { route: home, firstName } = deps.objects.home(route, objectClasses, className);
  const key = objectClassKey(home.project, home.preview, firstName);
  return { className, firstName, key, stored: { deps, route: home } };
}

/** Where a page of keys starts: after a key, or after a number of keys with a prefix. */
interface KeyPosition {
  readonly after: string;
  readonly skip: number;
}

/** @throws {PlatformError} `invalid_argument` */
function fromKeyCursor(text: string | null): KeyPosition {
  if (text === null) return { after: '', skip: 0 };
  const [, skip, json = ''] = /^(\d{1,15}) (".*")$/.exec(text) ?? [];
  try {
    const after: unknown = JSON.parse(json);
    if (typeof after === 'string') return { after, skip: Number(skip) };
  } catch {
    // Refused below.
  }
  throw invalid('The cursor is not valid');
}

/**
 * A long key does not fit into a URL, so the cursor has its beginning, and how many keys with that beginning were
 * listed.
 */
function toKeyCursor(
  before: KeyPosition,
  values: readonly { readonly key: string; readonly isKeyCut: boolean }[],
): string {
  const { key, isKeyCut } = values.at(-1)!;
  let after = key;
  while (Buffer.byteLength(JSON.stringify(after)) > CURSOR_KEY_BYTES_MAX)
    // Does not split a surrogate pair.
    after = after.slice(0, Math.floor(after.length * 0.8)).replace(/[\ud800-\udbff]$/, '');
  if (after === key && !isKeyCut) return `0 ${JSON.stringify(key)}`;
  const listed = values.filter((one) => one.key.startsWith(after)).length;
  return `${listed + (before.skip > 0 && before.after === after ? before.skip : 0)} ${JSON.stringify(after)}`;
}

/** The class in the arguments, by its first name. */
function namedClass({ args, route }: RequestScope): { firstName: string; key: string } {
  const { class: firstName } = args;
  if (typeof firstName !== 'string' || !isClassName(firstName)) throw invalid('class must be the name of a class');
  return { firstName, key: objectClassKey(route.project, route.preview, firstName) };
}

/** The objects of a class in the next page of databases. */
async function pageOf(scope: RequestScope, key: string): Promise<{ ids: string[]; cursor: string | null }> {
  const namespace = objectsNamespace(namespaceOf(scope), scope.route.preview);
  const { databases } = scope.deps;
  const after = fromCursor(scope.args['cursor']) ?? '';
  // A managed cloud cannot list databases, but objects store nothing in it.
  const all = await databases?.list(namespace, after).catch((error: unknown) => {
    if (error instanceof SqlRefusal) return [];
    throw error;
  });
  if (all === undefined) return { ids: [], cursor: null };
  const page = all.slice(0, LOOKED_MAX);
  const ids = page.map(({ resource: id }) => id).filter((id) => isObjectId(key, id));
  return { ids, cursor: page.length === 0 ? null : toCursor(page.at(-1)!.resource) };
}

/** The object that a request names by its id or its name. */
function objectOf(scope: RequestScope): { object: OperatedObject; stored: Stored } {
  const { firstName, key, stored } = classOf(scope);
  const { object } = scope.args;
  if (typeof object !== 'string' || object === '' || object.length > NAME_CHARS_MAX)
    throw invalid('object must be the id or the name of an object');
  if (isObjectId(key, object)) return { object: { id: object, class: firstName }, stored };
  return { object: { id: objectIdOf(key, object), class: firstName, name: object }, stored };
}

/** Null if the object has stored nothing and is not in memory. */
async function describe(
  scope: Stored,
  id: string,
  writtenAt: number,
  live: LiveState | undefined,
  knownName?: string,
): Promise<DescribedObject | null> {
  const looked = await look(scope, id);
  const isLive = live?.isLive === true;
  if (!isLive && (looked === null || looked.isEmpty !== false)) return null;
  return {
    id,
    name: knownName ?? looked?.name ?? null,
    bytes: looked?.bytes ?? 0,
    activeAt: Math.max(live?.activeAt ?? 0, writtenAt),
    alarm: looked?.alarm ?? null,
    isLive,
    sockets: live?.sockets ?? 0,
  };
}

/** Null if the object has no database. */
async function look(scope: Stored, id: string): Promise<Looked | null> {
  const place = objectPlace(namespaceOf(scope), scope.route.preview, id);
  const reply = (await opened(scope.deps.databases, 'db').run(place, objectOps.look, 0, '[]')) as string;
  return JSON.parse(reply) as Looked | null;
}

/** When an object was last written; 0 if it has no database. */
async function changedAt(scope: Stored, id: string): Promise<number> {
  const namespace = objectsNamespace(namespaceOf(scope), scope.route.preview);
  // Returns the id before this one.
  const before = `${id.slice(0, -1)}${String.fromCharCode(id.charCodeAt(id.length - 1) - 1)}`;
  const [next] = await opened(scope.deps.databases, 'db').list(namespace, before);
  return next?.resource === id ? next.changedAt : 0;
}

async function steps(scope: RequestScope, list: readonly unknown[]): Promise<unknown> {
  const { object, stored } = objectOf(scope);
  return scope.deps.objects.act(stored.route, object, { do: 'steps', steps: JSON.stringify(list) });
}

async function runSql(
  scope: RequestScope,
  step: 'q' | 'Q',
): Promise<{ columns: string[]; rows: WireValue[][]; truncated: boolean; rowsWritten: number }> {
  const { sql } = scope.args;
  if (typeof sql !== 'string' || sql.trim() === '' || sql.length > SQL_CHARS_MAX)
    throw invalid(`sql must be a text of at most ${SQL_CHARS_MAX} characters`);
  const [result] = (await steps(scope, [[step, sql, []]])) as [
    { c: string[]; r: WireValue[][]; w: number } | { e: [code: string, message: string] },
  ];
  if ('e' in result) {
    const [code, message] = result.e;
    const advice = code === 'SQLITE_READONLY' ? 'The statement writes, which needs a permission to write' : message;
    throw invalid(code === 'SQLITE_READONLY' ? advice : `${message}: ${code}`);
  }
  const { c: columns, r: rows, w: rowsWritten } = result;
  return { columns, rows: rows.slice(0, ROWS_MAX), truncated: rows.length > ROWS_MAX, rowsWritten };
}
