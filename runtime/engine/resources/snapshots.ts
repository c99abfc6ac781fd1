// Named copies of a project's production databases, which are made when a deployment is released, so that a rollback
// can restore them. Snapshots are databases that no platform.yaml can declare. The file system shares their blocks if
// it supports this. Their number is limited per project: the oldest are dropped first.
import type { DatabaseOwner } from '../../stores/database-service.ts';

/** The database operations for snapshots. */
type SnapshotDatabases = Pick<DatabaseOwner, 'branch' | 'list' | 'remove' | 'restoreFrom' | 'restoreAt'>;

/** A database in a snapshot. */
interface SnapshotDatabase {
  readonly resource: string;
  readonly bytes: number;
}

/** Copies from the same moment, under one name. */
interface Snapshot {
  readonly name: string;
  /** Milliseconds since 1970. */
  readonly madeAt: number;
  readonly databases: readonly SnapshotDatabase[];
}

const SEPARATOR = '~at~';

/** The name has at most 40 lower-case letters, digits and single hyphens, such as a deployment id. */
export function isSnapshotName(value: unknown): value is string {
  return typeof value === 'string' && value.length <= 40 && /^[a-z0-9](?:-?[a-z0-9])*$/.test(value);
}

/** The snapshots of a project, oldest first. */
export async function listSnapshots(databases: SnapshotDatabases, namespace: string): Promise<Snapshot[]> {
  const found = new Map<string, { name: string; madeAt: number; databases: SnapshotDatabase[] }>();
  for (const { resource: full, bytes, changedAt } of await databases.list(namespace)) {
    const [resource = '', name] = full.split(SEPARATOR);
    if (name === undefined) continue;
    const snapshot = found.get(name) ?? { name, madeAt: changedAt, databases: [] };
    snapshot.madeAt = Math.max(snapshot.madeAt, changedAt);
    snapshot.databases.push({ resource, bytes });
    found.set(name, snapshot);
  }
  return [...found.values()].toSorted((one, other) => one.madeAt - other.madeAt || (one.name < other.name ? -1 : 1));
}

/**
 * Makes a snapshot; databases that it already contains are skipped.
 *
 * @param resources existing databases; a database that was never opened has no data to copy.
 * @param most maximum number of snapshots of the project, including this one.
 * @param keep a snapshot that is not dropped, even if it is old. @returns the databases of the project, and the names
 * of the snapshots that were dropped for it.
 */
export async function makeSnapshot(
  databases: SnapshotDatabases,
  namespace: string,
  name: string,
  resources: readonly string[],
  most: number,
  keep: string | null = null,
): Promise<{ databases: SnapshotDatabase[]; dropped: string[] }> {
  const there = new Set((await databases.list(namespace)).map(({ resource }) => resource));
  const made: SnapshotDatabase[] = [];
  for (const resource of resources) {
    if (!there.has(resource)) continue;
    const copy = `${resource}${SEPARATOR}${name}`;
    const { bytes } = await databases.branch({ namespace, resource }, copy, { unlessThere: true });
    made.push({ resource, bytes });
  }
  const dropped = await dropOldest(databases, namespace, [name, ...(keep === null ? [] : [keep])], most);
  return { databases: made, dropped };
}

/**
 * Creates a snapshot of one database at a moment, from its replica, and deletes the oldest snapshots if there are too
 * many.
 *
 * @returns the size of the snapshot, the time of the latest change in it, and the names of the snapshots that were
 * dropped.
 */
export async function snapshotAt(
  databases: SnapshotDatabases,
  { namespace, resource }: { readonly namespace: string; readonly resource: string },
  name: string,
  at: number,
  most: number,
): Promise<{ bytes: number; changedAt: number; dropped: string[] }> {
  const { bytes, time } = await databases.restoreAt({ namespace, resource }, at, `${resource}${SEPARATOR}${name}`);
  return { bytes, changedAt: time, dropped: await dropOldest(databases, namespace, [name], most) };
}

/** Drops the oldest snapshots if there are more than `most`, but none in `keep`. @returns their names. */
export async function dropOldest(
  databases: SnapshotDatabases,
  namespace: string,
  keep: readonly string[],
  most: number,
): Promise<string[]> {
  const found = await listSnapshots(databases, namespace);
  const dropped = found
    .filter(({ name }) => name !== keep[0])
    .slice(0, Math.max(0, found.length - most))
    .map(({ name }) => name)
    .filter((name) => !keep.includes(name));
  for (const old of dropped) await dropSnapshot(databases, namespace, old);
  return dropped;
}

/**
 * Replaces production's databases, or one of them, with those of a snapshot.
 *
 * @param keepAs snapshot that stores the replaced databases with all commits; null discards them.
 * @returns the resources; none if the snapshot does not exist.
 */
export async function restoreSnapshot(
  databases: SnapshotDatabases,
  namespace: string,
  name: string,
  resource: string | null,
  keepAs: string | null = null,
): Promise<string[]> {
  const snapshot = (await listSnapshots(databases, namespace)).find((other) => other.name === name);
  const resources = (snapshot?.databases ?? []).map((database) => database.resource);
  const wanted = resource === null ? resources : resources.filter((other) => other === resource);
  for (const each of wanted) {
    const kept = keepAs === null ? [] : [`${each}${SEPARATOR}${keepAs}`];
    await databases.restoreFrom({ namespace, resource: each }, `${each}${SEPARATOR}${name}`, ...kept);
  }
  return wanted;
}

/**
 * @param only the only database whose snapshot is dropped; null means all databases. @returns how many databases were
 * dropped; 0 if the snapshot does not exist.
 */
export async function dropSnapshot(
  databases: SnapshotDatabases,
  namespace: string,
  name: string,
  only: string | null = null,
): Promise<number> {
  const snapshot = (await listSnapshots(databases, namespace)).find((other) => other.name === name);
  const going = (snapshot?.databases ?? []).filter(({ resource }) => only === null || resource === only);
  for (const { resource } of going) await databases.remove({ namespace, resource: `${resource}${SEPARATOR}${name}` });
  return going.length;
}
