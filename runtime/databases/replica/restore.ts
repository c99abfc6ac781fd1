// Writes a database as it was at a moment, from its replica. Called by replicator.ts; the file appears only when it is
// complete.
import { closeSync, fsyncSync, ftruncateSync, mkdirSync, openSync, renameSync, rmSync, writeSync } from 'node:fs';
import path from 'node:path';
import { SqlRefusal } from '#core/database-request.ts';
import { emptyOutbox, firstProblem } from '../sqlite/copies.ts';
import { decodePages, type Pages } from './page-file.ts';
import { planOf, rangeOf, readName, type ReplicaObject } from './series.ts';
import type { ReplicaStorage } from './storage.ts';

/** Objects requested at the same time. */
const AHEAD = 8;

/** The objects of a database. */
export async function objectsOf(storage: ReplicaStorage, name: string): Promise<ReplicaObject[]> {
  const below = `databases/${name}/`;
  return (await storage.list(below)).flatMap((key) => readName(key.slice(below.length)) ?? []);
}

/**
 * Restores a moment into a new file.
 *
 * @param check called once with the size, before most of the data is read; throws if there is no room. @returns the
 * size of the database, and the time of the latest change in it.
 * @throws {SqlRefusal} if the replica does not include that moment; {Error} if the storage fails or an object is
 * damaged.
 */
export async function restoreAt(
  storage: ReplicaStorage,
  name: string,
  at: number,
  target: string,
  check: (bytes: number) => void = () => {},
): Promise<{ bytes: number; time: number }> {
  const objects = await objectsOf(storage, name);
  const plan = planOf(objects, at);
  if (plan === null) throw new SqlRefusal('SQLITE_CANTOPEN', `the database did not exist at ${iso(at)}`);
  if (plan === undefined) throw new SqlRefusal('SQLITE_CANTOPEN', outside(objects, at));
  mkdirSync(path.dirname(target), { recursive: true, mode: 0o700 });
  const unfinished = `${target}.restoring`;
  rmSync(unfinished, { force: true });
  const file = openSync(unfinished, 'wx', 0o600);
  try {
    let last: Pages | null = null;
    let sequence = 0;
    for await (const { object, body } of ahead(storage, name, [...plan.snapshot, ...plan.changes]))
      for (const pages of decoded(object, body)) {
        if (last === null) check(pages.databasePages * pages.pageBytes);
        if (object.kind !== 'snapshot' && (pages.time > at || pages.sequence <= sequence)) continue;
        for (const [index, page] of pages.numbers.entries()) {
          const from = index * pages.pageBytes;
          writeSync(file, pages.content, from, pages.pageBytes, (page - 1) * pages.pageBytes);
        }
        // A change may shrink the file, and the next one may grow it again.
        ftruncateSync(file, pages.databasePages * pages.pageBytes);
        ({ sequence } = pages);
        last = pages;
      }
    fsyncSync(file);
    const bytes = (last?.databasePages ?? 0) * (last?.pageBytes ?? 0);
    const problem = firstProblem(unfinished);
    if (problem !== 'ok') throw new Error(`the replica of ${name} is damaged: ${problem}`);
    emptyOutbox(unfinished);
    for (const part of ['-wal', '-shm']) rmSync(unfinished + part, { force: true });
    renameSync(unfinished, target);
    return { bytes, time: last?.time ?? at };
  } finally {
    closeSync(file);
    for (const part of ['', '-wal', '-shm']) rmSync(unfinished + part, { force: true });
  }
}

function decoded(object: ReplicaObject, body: Buffer): Pages[] {
  try {
    return [...decodePages(body)];
  } catch (error) {
    throw new Error(`${object.name} of the replica cannot be read: ${(error as Error).message}`, { cause: error });
  }
}

/** Requests the next objects while the current one is written. */
async function* ahead(
  storage: ReplicaStorage,
  name: string,
  objects: readonly ReplicaObject[],
): AsyncGenerator<{ object: ReplicaObject; body: Buffer }> {
  const ask = (object: ReplicaObject): { object: ReplicaObject; body: Promise<Buffer | null> } => {
    const body = storage.get(`databases/${name}/${object.name}`);
    body.catch(() => {});
    return { object, body };
  };
  const asked = objects.slice(0, AHEAD).map(ask);
  for (let index = AHEAD; asked.length > 0; index++) {
    const { object, body: answer } = asked.shift()!;
    const body = await answer;
    const next = objects[index];
    if (next !== undefined) asked.push(ask(next));
    if (body === null) throw new Error(`the replica lacks ${object.name}`);
    yield { object, body };
  }
}

function outside(objects: readonly ReplicaObject[], at: number): string {
  const range = rangeOf(objects);
  if (range === null) return 'the database has no replica';
  return `the replica does not reach back to ${iso(at)}: its oldest moment is ${iso(range.oldest)}, its newest change of ${iso(range.newest)}`;
}

function iso(time: number): string {
  return new Date(time).toISOString();
}
