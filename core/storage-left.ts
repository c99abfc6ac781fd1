// Remaining storage of organizations. The control plane calculates the remaining storage, and writes it to the folder
// of route records, which every machine has. Engines and database processes read it, and subtract their writes until
// the next count.
import { randomUUID } from 'node:crypto';
import { closeSync, fstatSync, mkdirSync, openSync, readSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PlatformError } from './errors.ts';
import { withoutPreview } from './preview.ts';

/** Remaining storage of an organization. */
export interface OrganizationLeft {
  readonly id: string;
  /** Bytes that its plan allows; null means that only the disk limits it, whose size is not disclosed. */
  readonly limit: number | null;
  readonly left: number;
  /** Names of the organization's projects. */
  readonly projects: readonly string[];
}

/** The content of the file. Organizations that are not in it have no limit. */
export interface StorageLeft {
  readonly version: 1;
  /** ISO 8601: when the count began. Writing the file again without a new count keeps the subtracted amounts. */
  readonly countedAt: string;
  /** ISO 8601. After this time, no write is refused, because counting must have stopped. */
  readonly until: string;
  readonly organizations: readonly OrganizationLeft[];
}

/**
 * Bytes by namespace, as in an engine's response to `POST /_platform/storage`; null means that the engine does not know
 * them.
 */
export interface KeptBytes {
  readonly files: Readonly<Record<string, number>> | null;
  readonly databases: Readonly<Record<string, number>> | null;
  /** Whether files and databases are on the disk of the data folder. */
  readonly areLocal: { readonly files: boolean; readonly databases: boolean };
}

interface Account {
  readonly id: string;
  readonly limit: number | null;
  left: number;
  /** Bytes written here since the count. */
  written: number;
}

const LOOK_MS = 1000;
const NEWLINE = 10;
const NOTHING = Buffer.alloc(0);
/** Maximum size of the file, enough for a million projects. */
const BYTES_MAX = 64 * 1024 * 1024;

/**
 * Name of the file in the folder of route records. The name does not end with `.json`, because the file has several
 * lines of JSON.
 */
export const STORAGE_FILE = 'storage';

function fileOf(dataFolder: string): string {
  return join(dataFolder, 'routes', STORAGE_FILE);
}

/** Replaces the file. */
export function writeStorageLeft(dataFolder: string, left: StorageLeft): void {
  const folder = join(dataFolder, 'routes');
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const incoming = join(folder, `.storage-${randomUUID()}`);
  writeFileSync(incoming, storageLeftText(left), { mode: 0o600 });
  renameSync(incoming, fileOf(dataFolder));
}

/**
 * Text of the file: a line of JSON, then one line per project, by name. An engine parses only lines of projects that
 * write there.
 */
export function storageLeftText({ organizations, ...head }: StorageLeft): string {
  const lines = organizations.flatMap(({ id, limit, left: bytes, projects }) =>
    projects.map((project) => [project, `${project}\t${id}\t${limit ?? ''}\t${bytes}\n`] as const),
  );
  lines.sort(([a], [b]) => (a < b ? -1 : 1));
  return `${JSON.stringify(head)}\n${lines.map(([, line]) => line).join('')}`;
}

/** The accounts of organizations in one process. Checks the file at most once a second. */
export class StorageGuard {
  readonly #file: string | null;
  readonly #now: () => number;
  readonly #clock: () => number;
  #lookedAt = -Infinity;
  #stamp = '';
  #until = 0;
  #countedAt = '';
  /** The file's bytes, in reused memory: decoding them to text takes a hundred times as long. */
  #bytes: Buffer = NOTHING;
  /** Lines of projects, by name. */
  #lines: Buffer = NOTHING;
  /** The accounts by organization, only for projects that have written since the file was read. */
  #accounts = new Map<string, Account>();
  /** Bytes written here since the count, by organization, before the file was read. */
  #written = new Map<string, number>();
  /** Null: no limit. */
  #byProject = new Map<string, Account | null>();

  /** @param dataFolder null if there is no limit, as in `platform dev`. */
  constructor(dataFolder: string | null, now: () => number = () => performance.now(), clock: () => number = Date.now) {
    this.#file = dataFolder === null ? null : fileOf(dataFolder);
    this.#now = now;
    this.#clock = clock;
  }

  /** Remaining bytes of a namespace's organization; Infinity means no limit. */
  left(namespace: string): number {
    return this.#of(namespace)?.left ?? Infinity;
  }

  /** Records bytes about to be written. @throws {PlatformError} `quota_exceeded`. */
  take(namespace: string, bytes: number): void {
    const account = this.#of(namespace);
    if (account === undefined) return;
    if (bytes > 0 && account.left < bytes) throw refusalOf(account);
    add(account, bytes);
  }

  /** Whether any space remains. @throws {PlatformError} `quota_exceeded`. */
  check(namespace: string): void {
    const account = this.#of(namespace);
    if (account !== undefined && account.left <= 0) throw refusalOf(account);
  }

  /** Records bytes that were written, or deleted (below 0), when a refusal is not possible. */
  note(namespace: string, bytes: number): void {
    const account = this.#of(namespace);
    if (account !== undefined) add(account, bytes);
  }

  /** The error that the organization of a namespace is full; null means no limit. */
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
    if (this.#lines.length === 0) return undefined;
    const project = withoutPreview(namespace);
    let account = this.#byProject.get(project);
    if (account === undefined) {
      account = this.#find(project);
      this.#byProject.set(project, account);
    }
    return account ?? undefined;
  }

  #look(file: string): void {
    try {
      const found = statSync(file, { throwIfNoEntry: false });
      const stamp = found === undefined ? '' : `${found.mtimeMs} ${found.size} ${found.ino}`;
      if (stamp !== this.#stamp) {
        this.#read(found === undefined ? Buffer.from('{}\n') : this.#bytesOf(file));
        this.#stamp = stamp;
      }
    } catch {
      // The folder of another machine is temporarily unavailable, or the file is damaged: the previous values stay in
      // effect.
    }
    if (this.#clock() > this.#until) this.#lines = NOTHING;
  }

  #bytesOf(file: string): Buffer {
    const descriptor = openSync(file, 'r');
    try {
      const { size } = fstatSync(descriptor);
      if (size > BYTES_MAX) return Buffer.from('{}\n');
      if (size > this.#bytes.length) this.#bytes = Buffer.allocUnsafeSlow(2 * size);
      return this.#bytes.subarray(0, readSync(descriptor, this.#bytes, 0, size, 0));
    } finally {
      closeSync(descriptor);
    }
  }

  #read(bytes: Buffer): void {
    const end = bytes.indexOf(NEWLINE) + 1;
    const { version, countedAt = '', until = '' } = JSON.parse(bytes.toString('utf8', 0, end)) as Partial<StorageLeft>;
    const written = countedAt === this.#countedAt ? this.#written : new Map<string, number>();
    if (countedAt === this.#countedAt)
      for (const { id, written: bytes } of this.#accounts.values()) written.set(id, bytes);
    this.#written = written;
    this.#accounts = new Map();
    this.#byProject = new Map();
    this.#countedAt = countedAt;
    this.#until = Date.parse(until);
    this.#lines = version === 1 ? bytes.subarray(end) : NOTHING;
  }

  /** Finds the line of a project by binary search. */
  #find(project: string): Account | null {
    const lines = this.#lines;
    for (let [low, high] = [0, lines.length]; low < high;) {
      const middle = (low + high) >>> 1;
      const start = middle === 0 ? 0 : lines.lastIndexOf(NEWLINE, middle - 1) + 1;
      const end = lines.indexOf(NEWLINE, middle);
      const [name, id, limit, left] = lines.toString('latin1', start, end).split('\t') as [
        string,
        string,
        string,
        string,
      ];
      if (name === project) return this.#account(id, limit === '' ? null : Number(limit), Number(left));
      if (name < project) low = end + 1;
      else high = start;
    }
    return null;
  }

  #account(id: string, limit: number | null, left: number): Account {
    let account = this.#accounts.get(id);
    if (account === undefined) {
      const written = this.#written.get(id) ?? 0;
      account = { id, limit, left: left - written, written };
      this.#accounts.set(id, account);
    }
    return account;
  }
}

/** Without limits. */
export const unlimitedStorage = new StorageGuard(null);

function add(account: Account, bytes: number): void {
  account.left -= bytes;
  account.written += bytes;
}

function refusalOf({ limit }: Account): PlatformError {
  return new PlatformError('quota_exceeded', {
    what: 'The storage of this organization',
    limit: limit === null ? "its share of the platform's disk" : `${limit} bytes`,
  });
}
