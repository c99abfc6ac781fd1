// The replica of one database: a snapshot, then the pages that were changed after it. Called by replicator.ts, one call
// at a time. If the storage fails, changes stay in the log, up to a limit. Beyond that limit, a snapshot is stored
// later.
import { closeSync, read as readFile, readSync, statSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import type { LogPart } from './log-file.ts';
import { encodePages } from './page-file.ts';
import { PinnedFile } from './pinned-file.ts';
import { forgetRest, isSameFile, keepRest, readRest, restOf, type Position, type Rest } from './rest.ts';
import { objectName, packKind } from './series.ts';
import type { ReplicaStorage } from './storage.ts';

const readAsync = promisify(readFile);

/** Shared by the streams of a home. */
interface StreamDeps {
  readonly storage: ReplicaStorage;
  /** Number of this home; 0 if it is not known yet. */
  fence(): number;
  /** Limit of the bytes of a log that are not stored yet. */
  readonly logBytesMax: number;
  readonly snapshotEveryMs: number;
  /** Counts stored objects and bytes. */
  stored(bytes: number): void;
}

/** Pages of a part of a snapshot. */
const PART_PAGES = 4096;
/** Number of frames after which the log must be restarted. */
const FRAMES_BEFORE_RESTART = 2000;
/** With more frames, a snapshot is stored instead of a change. */
const FRAMES_MAX = 16_384;
/** Minimum bytes of changes after which a snapshot is cheaper. */
const CHANGES_BYTES_MIN = 4 * 1024 * 1024;
/** Factor by which a log may exceed its limit during a snapshot. */
const LOG_FACTOR = 4;
/** Limits of a pack: its changes, and their bytes. */
const [PACK_CHANGES, PACK_BYTES] = [64, 1024 * 1024];
/** Resolution of file times. */
const CLOCK_MS = 60;

/** Changes to store, and the position that they reach. */
interface Pending {
  readonly name: string;
  readonly body: Buffer;
}

export class DatabaseStream {
  readonly #deps: StreamDeps;
  readonly #file: string;
  readonly #key: string;
  #pinned: PinnedFile | null = null;
  /** Everything up to this position is stored or pending; null if a snapshot is needed. */
  #position: Position | null = null;
  #rest: Rest | null;
  #pending: Pending | null = null;
  /** Home number of the last snapshot; under another number, a new snapshot is needed. */
  #fence = 0;
  #sequence = 0;
  #time = 0;
  #snapshotAt = 0;
  #snapshotBytes = 0;
  #changesBytes = 0;
  #packable: Pending[] = [];
  #packableBytes = 0;
  #isDeleted = false;

  /** @param file path of the database. @param name `<namespace>/<resource>` */
  constructor(deps: StreamDeps, file: string, name: string) {
    this.#deps = deps;
    this.#file = file;
    this.#key = `databases/${name}/`;
    this.#rest = readRest(file);
  }

  /** Whether this home has stored an object and knows the next sequence number. */
  get hasSeries(): boolean {
    return this.#fence > 0;
  }

  /** Whether the database file is open. */
  get isOpen(): boolean {
    return this.#pinned !== null;
  }

  /**
   * Stores everything committed so far.
   *
   * @returns false if the file cannot be read now, because another process writes. @throws {Error} when the storage
   * fails.
   */
  async ship(): Promise<boolean> {
    if (this.#deps.fence() === 0) {
      this.#giveUpIfLong();
      throw new Error('Postgres has not given this home its number yet');
    }
    try {
      await this.#storePending();
      if (statSync(this.#file, { throwIfNoEntry: false }) === undefined) return await this.#deleted();
      if (this.#pinned?.isCurrent === false) this.#forget();
      if (!this.#pin()) return true;
      const part = this.#position === null ? null : this.#read(this.#position);
      if (part === 'none') return true;
      if (part === 'long') {
        // Probably an import, whose log can only be moved into the file while there are no readers.
        this.#forget();
        return false;
      }
      if (part === null || this.#fence !== this.#deps.fence() || this.#isTimeForSnapshot())
        return await this.#snapshot();
      await this.#storeChange(part);
      if (part.position.frames >= FRAMES_BEFORE_RESTART) await this.#restartLog();
      return true;
    } catch (error) {
      this.#giveUpIfLong();
      throw error;
    }
  }

  /** Opens the file unless it is open. @returns false if the database is still empty. */
  #pin(): boolean {
    if (this.#pinned !== null) return true;
    this.#isDeleted = false;
    this.#pinned = PinnedFile.open(this.#file);
    if (this.#pinned === null) return false;
    this.#position = this.#positionOf(this.#pinned);
    return true;
  }

  /**
   * The position from which an idle file continues. Either the log is still the same, or no log was moved into the file
   * since then, so the current log has all changes.
   */
  #positionOf(pinned: PinnedFile): Position | null {
    const rest = this.#rest;
    if (rest === null || rest.inode !== String(pinned.inode)) return null;
    const part = rest.position === 'start' ? null : pinned.read(rest.position, FRAMES_MAX);
    if (part !== null && typeof part !== 'string' && !part.restarted) return rest.position;
    return isSameFile(rest, this.#file) ? 'start' : null;
  }

  /** The changes committed after the position; null if a snapshot is needed. */
  #read(from: Position): LogPart | 'none' | 'long' | null {
    const pinned = this.#pinned as PinnedFile;
    pinned.step();
    const part = pinned.read(from === 'start' ? null : from, FRAMES_MAX);
    if (part === 'diverged') return null;
    if (part === 'long') return part;
    const isOld = part !== null && !part.restarted && from !== 'start' && part.position.frames === from.frames;
    if (part !== null && !isOld && part.position.frames > 0) return part;
    pinned.settle();
    return 'none';
  }

  async #storeChange(part: LogPart): Promise<void> {
    const pinned = this.#pinned as PinnedFile;
    const body = this.#encodeChange(pinned, part);
    this.#position = part.position;
    pinned.settle();
    if (body === null) return;
    this.#pending = body;
    await this.#storePending();
  }

  #encodeChange(pinned: PinnedFile, { pages, pageBytes, databasePages }: LogPart): Pending | null {
    if (pages.size === 0) return null;
    const log = pinned.openLog();
    if (log === null) throw new Error('its log is gone');
    try {
      // The file has shrunk, so pages behind its end are ignored.
      const numbers = Uint32Array.from(
        [...pages.keys()].filter((page) => page <= databasePages).toSorted((a, b) => a - b),
      );
      const content = Buffer.allocUnsafe(numbers.length * pageBytes);
      for (const [index, page] of numbers.entries())
        readSync(log, content, index * pageBytes, pageBytes, pages.get(page) as number);
      // Otherwise the log may belong to another file of this name.
      if (!pinned.isCurrent) throw new Error('the file was replaced');
      const sequence = this.#sequence + 1;
      const time = this.#now();
      const body = encodePages({ sequence, time, pageBytes, databasePages, numbers, content });
      return { name: objectName(this.#fence, sequence, time, 'c'), body };
    } finally {
      closeSync(log);
    }
  }

  async #storePending(): Promise<void> {
    const pending = this.#pending;
    if (pending === null) return;
    await this.#put(pending);
    this.#pending = null;
    this.#sequence++;
    this.#changesBytes += pending.body.length;
    this.#packable.push(pending);
    this.#packableBytes += pending.body.length;
    if (this.#packable.length >= PACK_CHANGES || this.#packableBytes >= PACK_BYTES) await this.#pack();
  }

  /** Many small objects are packed into one, so that a restore needs few requests. */
  async #pack(): Promise<void> {
    const changes = this.#packable;
    this.#packable = [];
    this.#packableBytes = 0;
    if (changes.length < 2) return;
    const [fence, first, time] = (changes[0] as Pending).name.split('-').map(Number) as [number, number, number];
    const name = objectName(fence, first, time, packKind(this.#sequence));
    await this.#put({ name, body: Buffer.concat(changes.map(({ body }) => body)) });
    for (const change of changes) await this.#deps.storage.remove(this.#key + change.name);
  }

  #isTimeForSnapshot(): boolean {
    if (Date.now() - this.#snapshotAt >= this.#deps.snapshotEveryMs) return true;
    return this.#changesBytes > Math.max(CHANGES_BYTES_MIN, this.#snapshotBytes);
  }

  async #snapshot(): Promise<boolean> {
    const pinned = this.#pinned as PinnedFile;
    const logBytes = statSync(`${this.#file}-wal`, { throwIfNoEntry: false })?.size ?? 0;
    const isShort = logBytes <= this.#deps.logBytesMax || pinned.emptyLog();
    const begun = !isShort
      ? null
      : pinned.whileStill((move) => {
          pinned.step();
          pinned.settle();
          const isMoved = move();
          return { part: pinned.read(null, FRAMES_MAX), isMoved, time: this.#now() };
        });
    if (begun === null || typeof begun.part === 'string') {
      // Another process writes for a long time, such as an import.
      this.#forget();
      return false;
    }
    const { part: log, isMoved, time } = begun;
    const fence = this.#deps.fence();
    const sequence = fence === this.#fence ? this.#sequence + 1 : 1;
    let bytes = 0;
    for await (const { kind, body } of this.#parts(pinned, log, isMoved, sequence, time)) {
      if (!pinned.isCurrent) throw new Error('the file was replaced during a snapshot');
      await this.#put({ name: objectName(fence, sequence, time, kind), body });
      bytes += body.length;
    }
    this.#fence = fence;
    this.#sequence = sequence;
    this.#snapshotAt = time;
    this.#snapshotBytes = bytes;
    this.#changesBytes = 0;
    this.#packable = [];
    this.#packableBytes = 0;
    this.#position = log?.position ?? 'start';
    return true;
  }

  /**
   * The database as the read transaction sees it, in parts.
   *
   * @param isMoved whether the file contains the whole log; then the log may be restarted, and is not read.
   */
  async *#parts(
    pinned: PinnedFile,
    log: LogPart | null,
    isMoved: boolean,
    sequence: number,
    time: number,
  ): AsyncGenerator<{ kind: string; body: Buffer }> {
    const header = Buffer.alloc(32);
    readSync(pinned.content, header, 0, 32, 0);
    const declared = header.readUInt16BE(16);
    const pageBytes = log?.pageBytes ?? (declared === 1 ? 65_536 : declared);
    const fileBytes = statSync(pinned.path).size;
    const databasePages =
      log === null || log.databasePages === 0 ? Math.floor(fileBytes / pageBytes) : log.databasePages;
    const parts = Math.max(1, Math.ceil(databasePages / PART_PAGES));
    const frames = log === null || isMoved ? null : pinned.openLog();
    try {
      for (let part = 1; part <= parts; part++) {
        if ((statSync(`${this.#file}-wal`, { throwIfNoEntry: false })?.size ?? 0) > LOG_FACTOR * this.#deps.logBytesMax)
          throw new Error('more was written during a snapshot than a log may hold');
        const first = (part - 1) * PART_PAGES + 1;
        const count = Math.min(PART_PAGES, databasePages - first + 1);
        const content = Buffer.alloc(count * pageBytes);
        await readAsync(pinned.content, content, 0, content.length, (first - 1) * pageBytes);
        if (log !== null && frames !== null)
          for (let index = 0; index < count; index++) {
            const at = log.pages.get(first + index);
            if (at !== undefined) readSync(frames, content, index * pageBytes, pageBytes, at);
          }
        const numbers = Uint32Array.from({ length: count }, (_, index) => first + index);
        yield {
          kind: `s${part}of${parts}`,
          body: encodePages({ sequence, time, pageBytes, databasePages, numbers, content }),
        };
      }
    } finally {
      if (frames !== null) closeSync(frames);
    }
  }

  /** The log is long: moves it into the file while no other process writes, so that the next write restarts it. */
  async #restartLog(): Promise<boolean> {
    const pinned = this.#pinned as PinnedFile;
    const found = pinned.whileStill((move) => {
      const from = this.#position === 'start' ? null : this.#position;
      const part = pinned.read(from, FRAMES_MAX);
      if (typeof part === 'string') return null;
      // Only the home that stored a snapshot can store changes after it.
      if (part !== null && part.pages.size > 0 && this.#fence !== this.#deps.fence()) return null;
      const change = part === null ? null : this.#encodeChange(pinned, part);
      pinned.step();
      pinned.settle();
      const isMoved = move();
      if (isMoved) {
        // The new read transaction reads only the file, so SQLite can overwrite the log.
        pinned.step();
        pinned.settle();
      }
      return { change, position: part?.position ?? this.#position, isMoved };
    });
    if (found === null) return false;
    this.#position = found.position;
    this.#pending = found.change;
    await this.#storePending();
    return found.isMoved;
  }

  /** Closes a file that has not changed for a while. @returns false if the file has changed, or still has readers. */
  async rest(): Promise<boolean> {
    const pinned = this.#pinned;
    if (pinned === null) return true;
    if (this.#position === null || this.#pending !== null) return false;
    if (!pinned.isCurrent || !(await this.#restartLog())) return false;
    const before = restOf(this.#file, this.#position);
    await sleep(CLOCK_MS);
    if (before === null || this.#read(this.#position) !== 'none' || !isSameFile(before, this.#file)) return false;
    await this.#pack();
    this.#rest = before;
    keepRest(this.#file, before);
    pinned.close();
    this.#pinned = null;
    return true;
  }

  async #deleted(): Promise<boolean> {
    this.#forget();
    if (this.#isDeleted) return true;
    forgetRest(this.#file);
    const isKnown = this.#fence === this.#deps.fence();
    const [fence, sequence] = [this.#deps.fence(), isKnown ? this.#sequence + 1 : 1];
    await this.#put({ name: objectName(fence, sequence, this.#now(), 'd'), body: Buffer.from('deleted\n') });
    this.#fence = fence;
    this.#sequence = sequence;
    this.#isDeleted = true;
    return true;
  }

  /** Beyond the limit, the log may be restarted before it was stored. */
  #giveUpIfLong(): void {
    const log = statSync(`${this.#file}-wal`, { throwIfNoEntry: false });
    if (this.#pinned !== null && (log?.size ?? 0) > this.#deps.logBytesMax) this.#forget();
  }

  #forget(): void {
    this.#pinned?.close();
    this.#pinned = null;
    this.#position = null;
    this.#rest = null;
    this.#pending = null;
    this.#packable = [];
    this.#packableBytes = 0;
  }

  /**
   * Closes the stream without storing anything, as a kill would: the next open checks whether everything was stored.
   */
  close(): void {
    this.#pinned?.close();
    this.#pinned = null;
  }

  async #put({ name, body }: Pending): Promise<void> {
    await this.#deps.storage.put(this.#key + name, body);
    this.#deps.stored(body.length);
  }

  #now(): number {
    return (this.#time = Math.max(Date.now(), this.#time + 1));
  }
}
