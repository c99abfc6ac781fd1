// What organizations may still keep: the control plane counts and writes it into the folder of the route records, which
// every machine has; engines and database processes read it and subtract what they write, until the next count.
import { randomUUID } from 'node:crypto';
import { closeSync, fstatSync, mkdirSync, openSync, readSync, renameSync, statSync, writeFileSync } from 'node:fs';
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
const NEWLINE = 10;
const NOTHING = Buffer.alloc(0);
/** Of the file: a million projects. */
const BYTES_MAX = 64 * 1024 * 1024;

/** Not `.json`: it is no route record. */
function fileOf(dataFolder: string): string {
  return join(dataFolder, 'routes', 'storage');
}

/** Replaces the file: a line of JSON, then a line a project, by name. An engine reads those of who writes there. */
export function writeStorageLeft(dataFolder: string, left: StorageLeft): void {
  const folder = join(dataFolder, 'routes');
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const incoming = join(folder, `.storage-${randomUUID()}`);
  const { organizations, ...head } = left;
  const lines = organizations.flatMap(({ id, limit, left: bytes, projects }) =>
    projects.map((project) => [project, `${project}\t${id}\t${limit ?? ''}\t${bytes}\n`] as const),
  );
  lines.sort(([a], [b]) => (a < b ? -1 : 1));
  writeFileSync(incoming, `${JSON.stringify(head)}\n${lines.map(([, line]) => line).join('')}`, { mode: 0o600 });
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
  /** The file. Bytes, in memory that is used again: a text of them takes a hundred times as long. */
  #bytes: Buffer = NOTHING;
  /** Lines of projects, by name. */
  #lines: Buffer = NOTHING;
  /** By organization; those of projects that have written since the file was read. */
  #accounts = new Map<string, Account>();
  /** Bytes that were written here since the count, by organization: of before the file was read. */
  #written = new Map<string, number>();
  /** Null: it has no bound. */
  #byProject = new Map<string, Account | null>();

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
      // The folder of another machine is away for a moment, or the file is broken: what was known holds on.
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

  /** Of the sorted lines. */
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

/** Nothing is bounded. */
export const unboundedStorage = new StorageBounds(null);

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
