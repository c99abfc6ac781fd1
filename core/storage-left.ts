// What organizations may still keep: the control plane counts and writes it into the folder of the route records, which
// every machine has; engines and database processes read it and subtract what they write, until the next count.
import { randomUUID } from 'node:crypto';
import { mkdirSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PlatformError } from './errors.ts';
import { withoutPreview } from './preview.ts';

/** What an organization may still keep. */
export interface OrganizationLeft {
  readonly id: string;
  /** Bytes of its plan; null: what it may take is bounded by the disk, whose size is nobody's business. */
  readonly limit: number | null;
  readonly left: number;
  /** Names of its projects. */
  readonly projects: readonly string[];
}

/** The file; organizations that are not in it have no bound. */
export interface StorageLeft {
  readonly version: 1;
  /** ISO 8601: when the count began. What is written again without a new count forgets nothing that was subtracted. */
  readonly countedAt: string;
  /** ISO 8601. After it nothing is refused: nobody counts any more. */
  readonly until: string;
  readonly organizations: readonly OrganizationLeft[];
}

/** Bytes by namespace, as an engine answers `POST /_platform/storage`; null: nobody there knows. */
export interface KeptBytes {
  readonly files: Readonly<Record<string, number>> | null;
  readonly databases: Readonly<Record<string, number>> | null;
  /** Whether they lie on the disk of the data folder. */
  readonly areLocal: { readonly files: boolean; readonly databases: boolean };
}

interface Account {
  readonly id: string;
  readonly limit: number | null;
  left: number;
  /** Bytes that were written here since the count. */
  written: number;
}

const LOOK_MS = 1000;
/** Of the file: a million projects. */
const BYTES_MAX = 64 * 1024 * 1024;

/** Not `.json`: it is no route record. */
function fileOf(dataFolder: string): string {
  return join(dataFolder, 'routes', 'storage');
}

/** Replaces the file. */
export function writeStorageLeft(dataFolder: string, left: StorageLeft): void {
  const folder = join(dataFolder, 'routes');
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const incoming = join(folder, `.storage-${randomUUID()}`);
  writeFileSync(incoming, JSON.stringify(left), { mode: 0o600 });
  renameSync(incoming, fileOf(dataFolder));
}

/** The accounts of organizations in one process. Looks at the file no more than once a second. */
export class StorageBounds {
  readonly #file: string | null;
  readonly #now: () => number;
  readonly #clock: () => number;
  #lookedAt = -Infinity;
  #stamp = '';
  #until = 0;
  #countedAt = '';
  #accounts = new Map<string, Account>();

  /** @param dataFolder null: nothing is bounded, as in `platform dev`. */
  constructor(dataFolder: string | null, now: () => number = () => performance.now(), clock: () => number = Date.now) {
    this.#file = dataFolder === null ? null : fileOf(dataFolder);
    this.#now = now;
    this.#clock = clock;
  }

  /** Bytes that the organization of a namespace may still keep; Infinity: it has no bound. */
  left(namespace: string): number {
    return this.#of(namespace)?.left ?? Infinity;
  }

  /** Notes bytes that are about to be written. @throws {PlatformError} `quota_exceeded`. */
  take(namespace: string, bytes: number): void {
    const account = this.#of(namespace);
    if (account === undefined) return;
    if (bytes > 0 && account.left < bytes) throw refusalOf(account);
    add(account, bytes);
  }

  /** Whether there is room for anything. @throws {PlatformError} `quota_exceeded`. */
  check(namespace: string): void {
    const account = this.#of(namespace);
    if (account !== undefined && account.left <= 0) throw refusalOf(account);
  }

  /** Notes bytes that were written, or are gone (below 0), where nothing can be refused. */
  note(namespace: string, bytes: number): void {
    const account = this.#of(namespace);
    if (account !== undefined) add(account, bytes);
  }

  /** What says that the organization of a namespace is full; null: it has no bound. */
  refusal(namespace: string): PlatformError | null {
    const account = this.#of(namespace);
    return account === undefined ? null : refusalOf(account);
  }

  #of(namespace: string): Account | undefined {
    if (this.#file === null) return undefined;
    const now = this.#now();
    if (now - this.#lookedAt >= LOOK_MS) {
      this.#lookedAt = now;
      this.#look(this.#file);
    }
    return this.#accounts.get(withoutPreview(namespace));
  }

  #look(file: string): void {
    try {
      const found = statSync(file, { throwIfNoEntry: false });
      const stamp = found === undefined ? '' : `${found.mtimeMs} ${found.size} ${found.ino}`;
      if (stamp !== this.#stamp) {
        this.#accounts = found === undefined || found.size > BYTES_MAX ? new Map() : this.#read(file);
        this.#stamp = stamp;
      }
    } catch {
      // The folder of another machine is away for a moment, or the file is no JSON: what was known holds on.
    }
    if (this.#accounts.size > 0 && this.#clock() > this.#until) this.#accounts = new Map();
  }

  #read(file: string): Map<string, Account> {
    const { version, countedAt, until, organizations } = JSON.parse(readFileSync(file, 'utf8')) as StorageLeft;
    const accounts = new Map<string, Account>();
    if (version !== 1) return accounts;
    const before = new Map<string, number>();
    if (countedAt === this.#countedAt) for (const { id, written } of this.#accounts.values()) before.set(id, written);
    this.#countedAt = countedAt;
    this.#until = Date.parse(until);
    for (const { id, limit, left, projects } of organizations) {
      const written = before.get(id) ?? 0;
      const account = { id, limit, left: left - written, written };
      for (const project of projects) accounts.set(project, account);
    }
    return accounts;
  }
}

/** Nothing is bounded. */
export const unboundedStorage = new StorageBounds(null);

function add(account: Account, bytes: number): void {
  account.left -= bytes;
  account.written += bytes;
}

function refusalOf({ limit }: Account): PlatformError {
  return new PlatformError('quota_exceeded', {
    what: 'The storage of this organization',
    limit: limit === null ? "its part of the platform's disk" : `${limit} bytes`,
  });
}
