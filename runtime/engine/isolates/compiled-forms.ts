// V8's code caches of workers, so that a start does not compile the worker again. Code caches are in memory, and in
// files below the cache folder for later engines. V8 trusts a code cache. Therefore, only the platform's own isolates
// create code caches, and they are stored where no other user can write, found by the hash of the exact code, and
// verified before use. A cache belongs to one project, so a cache that a compromised isolate created is never used for
// another project.
import { createHash, randomBytes } from 'node:crypto';
import { closeSync, existsSync, fstatSync, mkdirSync, openSync, readSync } from 'node:fs';
import { readdir, rename, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/** The source of a code cache, which is an isolate that runs the worker. */
export interface FormSource {
  /** Takes the code cache; null when the isolate has ended. */
  compiledForm(): Promise<ArrayBuffer | null>;
}

/**
 * How much a worker had served when its cache was created. A later cache contains more of the functions that the worker
 * needs.
 */
export type FormStage = 'ahead' | 'first' | 'later';

/**
 * `mark` is stored in the file; `next` is the number of requests after which the next cache is created. Only two caches
 * of each code are created.
 */
export const formStages: Readonly<
  Record<FormStage, { readonly mark: number; readonly requestsMin: number; readonly next?: FormStage }>
> = {
  ahead: { mark: 0, requestsMin: 0, next: 'first' },
  first: { mark: 1, requestsMin: 1, next: 'later' },
  later: { mark: 2, requestsMin: 100 },
};
const STAGES = Object.keys(formStages) as FormStage[];

/** A code cache. */
export interface CompiledForm {
  readonly bytes: SharedArrayBuffer;
  readonly stage: FormStage;
}

/** Dependencies. */
interface CompiledFormsOptions {
  /** Private folder of the engine; `loadSnapshot` has checked it. */
  readonly folder: string;
  /** Key of the guest's snapshot, which identifies V8, its flags and the guest. */
  readonly key: string;
  readonly limits: { readonly compiledFormsMemoryBytesMax: number; readonly compiledFormsDiskBytesMax: number };
  /** Code caches are only created when no isolate has started for this long, in milliseconds. */
  readonly quietMs?: number;
}

/** For less code than this, compilation takes no longer than reading a cache. */
const CODE_MIN = 8 * 1024;
const QUIET_MS = 1000;
/** Maximum number of isolates whose cache must still be taken; the oldest are dropped first. */
const WAITING_MAX = 128;
const HASH_BYTES = 32;
/** Version of the file format. */
const FORMAT = 2;

interface Waiting {
  readonly name: string;
  stage: FormStage;
  source: FormSource;
}

/** The code caches of one engine. */
export class CompiledForms {
  #options: CompiledFormsOptions;
  #folder: string;
  /** The caches, in the order of last use. */
  #forms = new Map<string, CompiledForm>();
  #formsBytes = 0;
  #writtenBytes = 0;
  #waiting: Waiting[] = [];
  #startedAt = 0;
  #timer: NodeJS.Timeout | null = null;
  #closed = false;
  #working: Promise<void> = Promise.resolve();

  constructor(options: CompiledFormsOptions) {
    this.#options = options;
    this.#folder = join(options.folder, 'compiled');
    mkdirSync(this.#folder, { recursive: true, mode: 0o700 });
    this.#work(() => this.#prune());
  }

  /**
   * The cache of this code; null if there is none. @param owner `<project>/<deployment id>`. @param hash the hash of
   * the code.
   */
  find(owner: string, hash: string, length: number): CompiledForm | null {
    this.#startedAt = performance.now();
    if (length < CODE_MIN) return null;
    const name = this.#nameOf(owner, hash);
    const form = this.#forms.get(name);
    if (form !== undefined) {
      this.#forms.delete(name);
      this.#forms.set(name, form);
      return form;
    }
    const read = readForm(join(this.#folder, name));
    if (read === null) return null;
    this.#keep(name, read);
    const now = new Date();
    // The time of the file is set to now, because files are deleted by their last use.
    utimes(join(this.#folder, name), now, now).catch(() => {});
    return read;
  }

  /**
   * Registers an isolate that has served enough for a stage. Its cache is taken when the engine is not starting
   * isolates.
   */
  offer(owner: string, hash: string, length: number, stage: FormStage, source: FormSource): void {
    if (this.#closed || length < CODE_MIN) return;
    const name = this.#nameOf(owner, hash);
    const waiting = this.#waiting.find((other) => other.name === name);
    if (waiting !== undefined) Object.assign(waiting, { stage, source });
    else this.#waiting.push({ name, stage, source });
    if (this.#waiting.length > WAITING_MAX) this.#waiting.shift();
    this.#wait();
  }

  /** Whether a cache of this code exists, or the code is too short for one. */
  has(owner: string, hash: string, length: number): boolean {
    const name = this.#nameOf(owner, hash);
    return length < CODE_MIN || this.#forms.has(name) || existsSync(join(this.#folder, name));
  }

  /** Milliseconds until caches can be taken, if no further isolate starts; 0 if they can be taken now. */
  get quietInMs(): number {
    return Math.max(0, this.#startedAt + (this.#options.quietMs ?? QUIET_MS) - performance.now());
  }

  /**
   * Stores a cache from compiling ahead (compile-ahead.ts). Settles when the cache is stored, or could not be stored.
   */
  async keep(owner: string, hash: string, form: ArrayBuffer): Promise<void> {
    await this.#store(this.#nameOf(owner, hash), 'ahead', form).catch(() => {});
  }

  /** Resolves when pending writes are done. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#waiting = [];
    if (this.#timer !== null) clearTimeout(this.#timer);
    await this.#working;
  }

  #nameOf(owner: string, hash: string): string {
    return createHash('sha256')
      .update(`${FORMAT}\0${this.#options.key}\0${owner.slice(0, owner.indexOf('/'))}\0${hash}`)
      .digest('hex');
  }

  #wait(): void {
    if (this.#timer !== null || this.#closed || this.#waiting.length === 0) return;
    this.#timer = setTimeout(
      () => {
        this.#timer = null;
        if (this.quietInMs === 0) this.#work(() => this.#takeNext());
        else this.#wait();
      },
      Math.max(1, this.quietInMs),
    ).unref();
  }

  #work(task: () => Promise<void>): void {
    // If this fails, the worker is compiled again later.
    this.#working = this.#working
      .then(task)
      .catch(() => {})
      .then(() => this.#wait());
  }

  async #takeNext(): Promise<void> {
    const next = this.#waiting.shift();
    if (next === undefined) return;
    const form = await next.source.compiledForm();
    if (form === null) return;
    const before = this.#forms.get(next.name);
    // V8 discards functions that have not run for long.
    const isLess = before?.stage === 'first' && before.bytes.byteLength > form.byteLength;
    await this.#store(next.name, next.stage, isLess ? before.bytes : form);
  }

  async #store(name: string, stage: FormStage, form: ArrayBufferLike): Promise<void> {
    if (this.#closed) return;
    const bytes = new SharedArrayBuffer(form.byteLength);
    const view = new Uint8Array(bytes);
    view.set(new Uint8Array(form));
    this.#keep(name, { bytes, stage });
    const file = join(this.#folder, name);
    const partial = `${file}.${randomBytes(4).toString('hex')}`;
    const mark = Buffer.from([formStages[stage].mark]);
    await writeFile(partial, Buffer.concat([hashOfForm(mark, view), mark, view]), { mode: 0o600 });
    await rename(partial, file);
    this.#writtenBytes += form.byteLength;
    if (this.#writtenBytes > this.#options.limits.compiledFormsDiskBytesMax / 10) await this.#prune();
  }

  #keep(name: string, form: CompiledForm): void {
    this.#formsBytes -= this.#forms.get(name)?.bytes.byteLength ?? 0;
    this.#forms.set(name, form);
    this.#formsBytes += form.bytes.byteLength;
    for (const [oldest, { bytes }] of this.#forms) {
      if (this.#formsBytes <= this.#options.limits.compiledFormsMemoryBytesMax) break;
      this.#forms.delete(oldest);
      this.#formsBytes -= bytes.byteLength;
    }
  }

  /** Keeps the most recently used files. */
  async #prune(): Promise<void> {
    this.#writtenBytes = 0;
    const files: { path: string; size: number; usedAt: number }[] = [];
    for (const name of await readdir(this.#folder)) {
      const path = join(this.#folder, name);
      const status = await stat(path).catch(() => null);
      if (status !== null) files.push({ path, size: status.size, usedAt: status.mtimeMs });
    }
    let left = this.#options.limits.compiledFormsDiskBytesMax;
    for (const { path, size } of files.toSorted((a, b) => b.usedAt - a.usedAt)) {
      left -= size;
      if (left < 0) await rm(path, { force: true });
    }
  }
}

/**
 * Reads a cache file; null if it is missing or damaged. The file is read directly into the memory that V8 uses, so that
 * megabytes are not copied again.
 */
function readForm(file: string): CompiledForm | null {
  let descriptor: number;
  try {
    descriptor = openSync(file, 'r');
  } catch {
    return null;
  }
  try {
    const head = Buffer.alloc(HASH_BYTES + 1);
    const length = fstatSync(descriptor).size - head.length;
    if (length < 1) return null;
    const bytes = new SharedArrayBuffer(length);
    const view = new Uint8Array(bytes);
    if (readSync(descriptor, head) < head.length || readSync(descriptor, view) < length) return null;
    const mark = head.subarray(HASH_BYTES);
    const stage = STAGES.find((name) => formStages[name].mark === mark[0]);
    if (stage === undefined || !hashOfForm(mark, view).equals(head.subarray(0, HASH_BYTES))) return null;
    return { bytes, stage };
  } catch {
    return null;
  } finally {
    closeSync(descriptor);
  }
}

function hashOfForm(mark: Buffer, form: Uint8Array): Buffer {
  return createHash('sha256').update(mark).update(form).digest();
}
