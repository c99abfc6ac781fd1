// Operations on the copies of a database: snapshots that are stored with it (snapshots.ts), copies in files of the data
// folder, and restores of a snapshot or a moment.
import { SqlRefusal } from '#core/database-request.ts';
import { PlatformError } from '#core/errors.ts';
import { invalid } from '../bindings/arguments.ts';
import type { DatabasePlace } from '../bindings/scope.ts';
import { database, refused, type Databases } from './database-scope.ts';
import { bindingOf, namespaceOf, opened, type OperationsOf, type RequestScope } from './request-scope.ts';
import {
  dropOldest,
  dropSnapshot,
  isSnapshotName,
  listSnapshots,
  makeSnapshot,
  restoreSnapshot,
  snapshotAt,
} from './snapshots.ts';
import { toNewFileIn } from './transit-files.ts';

export const copyOperations = {
  async 'db.copy'(scope) {
    const { databases, place } = await database(scope);
    return databases.backup(place, toNewFileIn(scope.deps.folder, scope.args['file'])).catch(refused);
  },
  async 'db.copies'(scope) {
    const { databases, namespace, resource } = production(scope);
    const { bytes } = await databases.describe({ namespace, resource });
    return { copies: await copiesOf(databases, namespace, resource), bytes, copiesMax: scope.deps.copiesMax };
  },
  async 'db.make-copy'(scope) {
    const { databases, namespace, resource } = production(scope);
    const madeAt = Date.now();
    const name = nameOfNow('copy');
    const made = await makeSnapshot(databases, namespace, name, [resource], scope.deps.copiesMax);
    const [first] = made.databases;
    if (first === undefined) throw invalid('The database is empty: it was never opened');
    return { copy: { name, bytes: first.bytes, madeAt }, dropped: made.dropped };
  },
  async 'db.restore'(scope) {
    const { databases, namespace, resource } = production(scope);
    const name = toCopyName(scope.args['name']);
    if (!(await copiesOf(databases, namespace, resource)).some((copy) => copy.name === name)) throw noCopy(name);
    return { before: await replaceBy(scope, databases, { namespace, resource }, name) };
  },
  async 'db.moments'(scope) {
    const { databases, namespace, resource } = production(scope);
    try {
      return { ...(await databases.replica({ namespace, resource })), reason: null };
    } catch (error) {
      if (error instanceof SqlRefusal) return { range: null, reason: error.message };
      throw error;
    }
  },
  async 'db.restore-at'(scope) {
    const { databases, namespace, resource } = production(scope);
    const { at, inPlace } = scope.args;
    if (typeof at !== 'number' || !Number.isSafeInteger(at) || at < 0) throw invalid('at is a moment, in milliseconds');
    const name = nameOfNow('point');
    const most = Math.max(2, scope.deps.copiesMax);
    const made = await snapshotAt(databases, { namespace, resource }, name, at, most).catch(refused);
    const copy = { name, bytes: made.bytes, madeAt: Date.now() };
    const before = inPlace === true ? await replaceBy(scope, databases, { namespace, resource }, name) : null;
    return { copy, changedAt: made.changedAt, before };
  },
  async 'db.drop-copy'(scope) {
    const { databases, namespace, resource } = production(scope);
    const name = toCopyName(scope.args['name']);
    if ((await dropSnapshot(databases, namespace, name, resource)) === 0) throw noCopy(name);
    return {};
  },
} satisfies Partial<OperationsOf<'db'>>;

/** A database that is itself a copy cannot be copied. */
function production(scope: RequestScope): { databases: Databases; namespace: string; resource: string } {
  if (scope.route.preview !== null)
    throw invalid('Only production can be copied: the database of a preview is already a copy');
  const { resource } = bindingOf(scope, 'db');
  return { databases: opened(scope.deps.databases, 'db'), namespace: namespaceOf(scope), resource };
}

async function copiesOf(
  databases: Databases,
  namespace: string,
  resource: string,
): Promise<{ name: string; bytes: number; madeAt: number }[]> {
  const found = await listSnapshots(databases, namespace);
  return found
    .flatMap(({ name, madeAt, databases: of }) =>
      of.filter((one) => one.resource === resource).map(({ bytes }) => ({ name, bytes, madeAt })),
    )
    .toReversed();
}

/**
 * Replaces the database by a snapshot. The replaced data becomes a snapshot in the same step, so that no write can
 * happen in between. @returns its name.
 */
async function replaceBy(
  { deps }: RequestScope,
  databases: Databases,
  { namespace, resource }: DatabasePlace,
  name: string,
): Promise<string> {
  const before = nameOfNow('before-restore');
  await restoreSnapshot(databases, namespace, name, resource, before);
  await dropOldest(databases, namespace, [before, name], Math.max(2, deps.copiesMax));
  return before;
}

function nameOfNow(prefix: string): string {
  return `${prefix}-${new Date().toISOString().replace(/\D/g, '').slice(0, 17)}`;
}

function toCopyName(value: unknown): string {
  if (!isSnapshotName(value)) throw invalid('name is that of a copy');
  return value;
}

function noCopy(name: string): PlatformError {
  return new PlatformError('dashboard_not_found', { reason: `This database has no snapshot ${name}` });
}
