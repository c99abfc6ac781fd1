// Parses the names of a replica's objects: which moments of a database can be restored, from which objects, and which
// objects are no longer needed. Pure.
//
// Below `databases/<namespace>/<resource>/` each name is `<fence>-<sequence>-<time>-<kind>`. `s<part>of<parts>` is a
// snapshot, `c` a change, `p<last>` a pack of changes up to that sequence, and `d` records that the database was
// deleted.

/** An object. */
export interface ReplicaObject {
  readonly name: string;
  /** Number of the home that wrote the object: a higher number is newer. */
  readonly fence: number;
  readonly sequence: number;
  /** Milliseconds since 1970. */
  readonly time: number;
  readonly kind: 'snapshot' | 'change' | 'pack' | 'deleted';
  /** The number of this part of a snapshot, and the number of all parts. */
  readonly part: number;
  readonly parts: number;
  /** The last sequence of a pack. */
  readonly last: number;
}

/** The objects from which a moment is restored, in order; null if there was no database. */
type Plan = { readonly snapshot: readonly ReplicaObject[]; readonly changes: readonly ReplicaObject[] } | null;

const NAME = /^(\d{8})-(\d{8})-(\d{13})-(?:(c)|(d)|s(\d{1,7})of(\d{1,7})|p(\d{8}))$/;

export function objectName(fence: number, sequence: number, time: number, kind: string): string {
  return `${digits(fence, 8)}-${digits(sequence, 8)}-${digits(time, 13)}-${kind}`;
}

export function packKind(last: number): string {
  return `p${digits(last, 8)}`;
}

function digits(value: number, count: number): string {
  return String(value).padStart(count, '0');
}

/** @returns null for a name that does not belong to a replica. */
export function readName(name: string): ReplicaObject | null {
  const match = NAME.exec(name);
  if (match === null) return null;
  const [fence, sequence, time] = match.slice(1, 4).map(Number) as [number, number, number];
  const [, , , , change, deleted, part, parts, last] = match;
  return {
    name,
    fence,
    sequence,
    time,
    kind:
      change !== undefined ? 'change' : deleted !== undefined ? 'deleted' : last !== undefined ? 'pack' : 'snapshot',
    part: Number(part ?? 0),
    parts: Number(parts ?? 0),
    last: Number(last ?? sequence),
  };
}

/** A moment that needs no earlier objects: a complete snapshot, or the deletion of the database. */
interface Base {
  readonly fence: number;
  readonly sequence: number;
  readonly time: number;
  readonly objects: readonly ReplicaObject[];
  readonly isDeleted: boolean;
}

/** Snapshots in order, without incomplete ones. */
function basesOf(objects: readonly ReplicaObject[]): Base[] {
  const found = new Map<string, ReplicaObject[]>();
  for (const object of objects) {
    if (object.kind !== 'snapshot' && object.kind !== 'deleted') continue;
    const key = `${object.fence}-${object.sequence}`;
    found.set(key, [...(found.get(key) ?? []), object]);
  }
  return [...found.values()]
    .filter((of) => of[0]!.kind === 'deleted' || new Set(of.map(({ part }) => part)).size === of[0]!.parts)
    .map((of) => ({
      fence: of[0]!.fence,
      sequence: of[0]!.sequence,
      time: of[0]!.time,
      objects: of.toSorted((one, other) => one.part - other.part),
      isDeleted: of[0]!.kind === 'deleted',
    }))
    .toSorted((one, other) => one.fence - other.fence || one.sequence - other.sequence);
}

/**
 * The base of a moment, from the newest home that had started by then. Ignores later objects of an older home, which
 * did not know that it was replaced.
 */
function baseAt(bases: readonly Base[], at: number): Base | null {
  return bases.findLast(({ time }) => time <= at) ?? null;
}

/** @returns undefined if the replica does not include that moment. @throws {Error} when changes are missing. */
export function planOf(objects: readonly ReplicaObject[], at: number): Plan | undefined {
  const base = baseAt(basesOf(objects), at);
  if (base === null) return undefined;
  if (base.isDeleted) return null;
  const changes: ReplicaObject[] = [];
  const behind = objects
    .filter(({ kind, fence, sequence, time }) => {
      return (kind === 'change' || kind === 'pack') && fence === base.fence && sequence > base.sequence && time <= at;
    })
    // A pack sorts before the changes that it contains, because these may still exist.
    .toSorted((one, other) => one.sequence - other.sequence || other.last - one.last);
  let { sequence } = base;
  for (const object of behind) {
    if (object.last <= sequence) continue;
    if (object.sequence > sequence + 1) throw new Error(`the replica lacks change ${sequence + 1}`);
    changes.push(object);
    sequence = object.last;
  }
  return { snapshot: base.objects, changes };
}

/** The moments that can be restored: the oldest, and the time of the newest change, or null. */
export function rangeOf(
  objects: readonly ReplicaObject[],
): { readonly oldest: number; readonly newest: number } | null {
  const bases = basesOf(objects);
  const oldest = bases.find(({ isDeleted }) => !isDeleted);
  if (oldest === undefined) return null;
  return { oldest: Math.min(...bases.map(({ time }) => time)), newest: Math.max(...objects.map(({ time }) => time)) };
}

/**
 * Objects that no moment since `since` needs: all before the base of that moment, and all of a database that was
 * deleted by then.
 */
export function unneeded(objects: readonly ReplicaObject[], since: number): ReplicaObject[] {
  const bases = basesOf(objects);
  const base = baseAt(bases, since);
  if (base === null) return [];
  const isOver = base.isDeleted && base === bases.at(-1);
  const isBefore = ({ fence, sequence }: ReplicaObject): boolean =>
    fence < base.fence || (fence === base.fence && sequence < base.sequence);
  return objects.filter(
    (object) => isBefore(object) || (isOver && object.sequence === base.sequence && object.fence === base.fence),
  );
}
