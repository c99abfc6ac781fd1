// Rows of sandboxes in memory, for `platform dev` and tests, with a single replica.
import { randomBytes } from 'node:crypto';
import { BUILD_RESOURCE, type SandboxPlace } from '#core/sandbox/operations.ts';
import { NO_OPTIONS } from '#core/sandbox/options.ts';
import { dueFor, type IdleTimes, type SandboxRow, type SandboxRows } from './rows.ts';

/** Generates a unique key. */
export function newKey(): string {
  return randomBytes(10).toString('hex');
}

export function createMemoryRows(given: {
  readonly provider: string;
  readonly perProjectMax: number;
  readonly times: IdleTimes;
  readonly now?: () => number;
  /** Rows of an earlier process. */
  readonly initial?: readonly SandboxRow[];
  /** Called with all rows after each change. */
  readonly onChange?: (rows: readonly SandboxRow[]) => void;
}): SandboxRows {
  const { provider, perProjectMax, times, now = Date.now, initial = [], onChange } = given;
  const rows = new Map<string, SandboxRow>(initial.map((row) => [row.key, row]));
  const changed = (): void => onChange?.([...rows.values()]);
  const at = ({ project, resource, id }: SandboxPlace): SandboxRow | null =>
    [...rows.values()].find(
      ({ place }) => place.project === project && place.resource === resource && place.id === id,
    ) ?? null;
  const placesOf = (project: string): SandboxPlace[] =>
    [...rows.values()].flatMap(({ place }) => (place.project === project ? [place] : []));
  return {
    async claim(place) {
      const found = at(place);
      if (found !== null) return { is: 'ours', row: found };
      const isOfBuild = ({ resource }: SandboxPlace): boolean => resource === BUILD_RESOURCE;
      const alike = placesOf(place.project).filter((other) => isOfBuild(other) === isOfBuild(place));
      if (alike.length >= perProjectMax) return { is: 'full' };
      const key = newKey();
      const row: SandboxRow = {
        key,
        place,
        provider,
        state: 'creating',
        options: NO_OPTIONS,
        createdAt: now(),
        lastActiveAt: now(),
      };
      rows.set(key, row);
      changed();
      return { is: 'ours', row };
    },
    claimKey: async (key) => rows.get(key) ?? null,
    async save(key, state, lastActiveAt) {
      const row = rows.get(key);
      if (row === undefined) return false;
      rows.set(key, { ...row, state, lastActiveAt });
      if (row.state !== state || row.lastActiveAt !== lastActiveAt) changed();
      return true;
    },
    // Storage is not counted here.
    saveSizes: async () => {},
    async saveOptions(key, options) {
      const row = rows.get(key);
      if (row === undefined) return false;
      rows.set(key, { ...row, options });
      changed();
      return true;
    },
    renew: async (keys) => keys.filter((key) => rows.has(key)),
    release: async () => {},
    async remove(key) {
      if (rows.delete(key)) changed();
    },
    find: async (place) => at(place),
    async list({ project, resource }, { prefix, cursor, limit }) {
      return [...rows.values()]
        .filter(({ place }) => place.project === project && place.resource === resource)
        .filter(({ place: { id } }) => id.startsWith(prefix) && id > cursor)
        .toSorted((a, b) => (a.place.id < b.place.id ? -1 : 1))
        .slice(0, limit);
    },
    placesOf: async (project) => placesOf(project),
    due: async () =>
      [...rows.values()].flatMap((row) => {
        const what = dueFor(row, times, now());
        return what === null ? [] : [{ key: row.key, what }];
      }),
    known: async (keys) => new Set(keys.filter((key) => rows.has(key))),
    close: async () => {},
  };
}
