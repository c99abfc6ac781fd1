// Moves a project from one service to another: requests are held, its files are closed, the other service fetches them,
// and the row in Postgres decides which service is the home. Until the row has changed, the project stays where it is.
// Called by homes.ts; service/service.ts sends the requests to the other service.
import { randomBytes } from 'node:crypto';
import { closeSync, fsyncSync, openSync, readSync, statfsSync, writeSync } from 'node:fs';
import { SqlRefusal } from '#core/database-request.ts';
import { DatabaseEndpoint, parseServiceAddress } from '../../stores/database-endpoint.ts';
import { ops } from '../protocol/frames.ts';
import type { ProjectFile, ProjectFolders } from './folders.ts';
import type { ReplicationOfHomes, ShardsOfHomes } from './homes-options.ts';

interface MovesDeps {
  /** Whether this service is the home of a project. */
  isHere(project: string): boolean;
  readonly token: string;
  readonly folders: ProjectFolders;
  readonly shards: ShardsOfHomes;
  readonly transactionMs: number;
  readonly diskFreeBytesMin: number;
  readonly directory: string;
  readonly replication: ReplicationOfHomes | null;
}

/** Files of a project that its next home may read. */
interface Offer {
  readonly project: string;
  readonly files: readonly ProjectFile[];
}

/**
 * The result of a move according to Postgres. `unknown`: Postgres did not answer before the lease ended, and this
 * service no longer serves.
 */
export type Decided = 'moved' | 'stays' | 'unknown';

const PART_BYTES = 1024 * 1024;
const CONNECT_MS = 2000;
/** A move may hold requests for this many transaction times, because it waits for requests and copies files. */
const HOLD_FACTOR = 2;

export class Moves {
  readonly #deps: MovesDeps;
  readonly #offers = new Map<string, Offer>();
  readonly #moving = new Map<string, Promise<unknown>>();
  readonly #endpoints = new Set<DatabaseEndpoint>();

  constructor(deps: MovesDeps) {
    this.#deps = deps;
  }

  get isBusy(): boolean {
    return this.#moving.size > 0;
  }

  has(project: string): boolean {
    return this.#moving.has(project);
  }

  /** Waits until the current move of a project ends. */
  async under(project: string): Promise<void> {
    await this.#moving.get(project)?.catch(() => {});
  }

  noMachine(to: string, machines: readonly string[]): SqlRefusal {
    const known = machines.length === 0 ? 'there is no other one' : `there are ${machines.toSorted().join(', ')}`;
    return new SqlRefusal('SQLITE_MISUSE', `no machine ${to} takes project databases: ${known}`);
  }

  /** @param decide changes the home. @throws {SqlRefusal} if the project is still here. */
  async move(
    { project, fence }: { readonly project: string; readonly fence: number },
    way: { readonly from: string; readonly to: string },
    decide: () => Promise<Decided>,
  ): Promise<void> {
    if (this.#moving.has(project)) throw new SqlRefusal('SQLITE_BUSY', 'it is being moved already');
    if (this.#deps.shards.isImporting(project))
      throw new SqlRefusal('SQLITE_BUSY', 'an import runs: move it when that has ended');
    const moving = this.#moveHeld(project, fence, way, decide);
    this.#moving.set(project, moving);
    await moving.finally(() => this.#moving.delete(project));
  }

  async #moveHeld(
    project: string,
    fence: number,
    { from, to }: { readonly from: string; readonly to: string },
    decide: () => Promise<Decided>,
  ): Promise<void> {
    const { shards, replication, transactionMs, folders } = this.#deps;
    const key = randomBytes(16).toString('base64url');
    let decided: Decided = 'stays';
    try {
      const problem = await shards.hold(project, HOLD_FACTOR * transactionMs);
      if (problem !== null) throw new SqlRefusal('SQLITE_BUSY', problem);
      await replication?.leave(project);
      replication?.setHome(project, null);
      this.#offers.set(key, { project, files: folders.files(project) });
      await this.#ask(to, ops.adopt, project, { from, key });
      decided = await decide();
      if (decided === 'moved') folders.remove(project);
      else throw new SqlRefusal('SQLITE_BUSY', 'its home could not be changed: try again');
    } finally {
      this.#offers.delete(key);
      if (decided === 'stays') replication?.setHome(project, fence);
      shards.tell({ type: 'release', project, isHome: decided === 'stays' });
    }
  }

  async #ask(address: string, op: number, project: string, args: unknown): Promise<string | Uint8Array> {
    return this.#with(address, (endpoint) => endpoint.ask(op, `${project}/any`, args));
  }

  async #with<Result>(address: string, work: (endpoint: DatabaseEndpoint) => Promise<Result>): Promise<Result> {
    const parsed = parseServiceAddress(address, this.#deps.token);
    if (parsed === null) throw new RangeError(`${address} is no address of a service`);
    const linkLimits = { inFlightMax: 4, answerBytesMax: 64 * PART_BYTES };
    const endpoint = new DatabaseEndpoint({ address: parsed, connectMs: CONNECT_MS, linkLimits });
    this.#endpoints.add(endpoint);
    try {
      return await work(endpoint);
    } finally {
      this.#endpoints.delete(endpoint);
      endpoint.close();
    }
  }

  /** The receiving side: fetches the files and moves them to their final location. */
  async adopt(project: string, { from, key }: Readonly<Record<string, unknown>>): Promise<object> {
    const { folders, directory, diskFreeBytesMin, isHere } = this.#deps;
    // Files that are being served are never replaced, regardless of the request.
    if (isHere(project)) throw new RangeError('this is its home');
    await this.#with(String(from), async (endpoint) => {
      const answer = await endpoint.ask(ops.files, `${project}/any`, { key });
      const { files } = JSON.parse(answer as string) as { files: ProjectFile[] };
      const { bavail, bsize } = statfsSync(directory);
      if (files.reduce((sum, { bytes }) => sum + bytes, diskFreeBytesMin) > bavail * bsize)
        throw new SqlRefusal('SQLITE_FULL', 'the disk of the other machine has no room for it');
      const arriving = folders.arriving(project, files);
      try {
        for (const file of files)
          await fetchFile(arriving.pathOf(file.path), file.bytes, async (offset) => {
            const part = await endpoint.ask(ops.part, `${project}/any`, { key, path: file.path, offset });
            return part as Uint8Array;
          });
        arriving.keep();
      } catch (error) {
        arriving.drop();
        throw error;
      }
    });
    return {};
  }

  /** @throws {RangeError} for an unknown key. */
  files(project: string, key: unknown): { files: readonly ProjectFile[] } {
    return { files: this.#offer(project, key).files };
  }

  /** A part of an offered file. */
  part(project: string, { key, path, offset }: Readonly<Record<string, unknown>>): Uint8Array {
    const file = this.#offer(project, key).files.find((one) => one.path === path);
    if (file === undefined || typeof offset !== 'number' || !Number.isSafeInteger(offset) || offset < 0)
      throw new RangeError('this file is not offered');
    const part = Buffer.alloc(Math.max(0, Math.min(PART_BYTES, file.bytes - offset)));
    const descriptor = openSync(this.#deps.folders.pathOf(file.path), 'r');
    try {
      if (readSync(descriptor, part, 0, part.length, offset) !== part.length) throw new Error('the file has changed');
    } finally {
      closeSync(descriptor);
    }
    return part;
  }

  #offer(project: string, key: unknown): Offer {
    const offer = typeof key === 'string' ? this.#offers.get(key) : undefined;
    if (offer?.project !== project) throw new RangeError('this project is not being moved');
    return offer;
  }

  close(): void {
    for (const endpoint of this.#endpoints) endpoint.close();
  }
}

async function fetchFile(
  target: string,
  bytes: number,
  fetchPart: (offset: number) => Promise<Uint8Array>,
): Promise<void> {
  const descriptor = openSync(target, 'wx', 0o600);
  try {
    for (let offset = 0; offset < bytes;) {
      const part = await fetchPart(offset);
      if (part.length === 0) throw new Error('a file of the project ended early');
      writeSync(descriptor, part);
      offset += part.length;
    }
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}
