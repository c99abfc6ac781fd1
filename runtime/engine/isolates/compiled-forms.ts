// V8's compiled forms of workers, so that starting one does not compile it again: in memory, and in files below the
// cache folder for the engines that come after. A form is machine-made and believed by V8: it is only ever made by an
// isolate of our own, kept where nobody else can write, found by the hash of exactly the code it was made of, and
// checked before it is used. It belongs to one project: what a broken-into isolate made of its own code is never given
// to anybody else.
import { createHash, randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { readdir, rename, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/** What forms are taken from: an isolate that runs the worker. */
export interface FormSource {
  /** Null when it is gone, or was started from a form itself. */
  compiledForm(): Promise<ArrayBuffer | null>;
}

/** What forms are kept with. */
interface CompiledFormsOptions {
  /** Private folder of the engine; `loadSnapshot` has seen to that. */
  readonly folder: string;
  /** Of the guest's snapshot: V8, its flags, and the guest that forms are made beside. */
  readonly key: string;
  readonly limits: { readonly compiledFormsMemoryBytesMax: number; readonly compiledFormsDiskBytesMax: number };
  /** How long no isolate must have started before forms are made: milliseconds. */
  readonly quietMs?: number;
}

/** Compiling less takes no longer than reading a form. */
const CODE_MIN = 8 * 1024;
const QUIET_MS = 1000;
/** Isolates whose form is still to be taken. Those that started first are forgotten first. */
const WAITING_MAX = 128;
const HASH_BYTES = 32;

interface Waiting {
  readonly name: string;
  readonly source: FormSource;
}

/** The forms of one engine. */
export class CompiledForms {
  #options: CompiledFormsOptions;
  #folder: string;
  /** In the order of their last use. */
  #forms = new Map<string, SharedArrayBuffer>();
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
   * The form of this code; null where there is none. @param owner `<project>/<deployment id>`. @param hash of the code.
   */
  find(owner: string, hash: string, length: number): SharedArrayBuffer | null {
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
    // Its last use decides how long it stays.
    utimes(join(this.#folder, name), now, now).catch(() => {});
    return read;
  }

  /** An isolate that starts without a form: its own is taken when the engine has nothing to start for a while. */
  offer(owner: string, hash: string, length: number, source: FormSource): void {
    if (this.#closed || length < CODE_MIN) return;
    const name = this.#nameOf(owner, hash);
    if (this.#waiting.some((other) => other.name === name)) return;
    this.#waiting.push({ name, source });
    if (this.#waiting.length > WAITING_MAX) this.#waiting.shift();
    this.#wait();
  }

  /** Whether there is a form of this code, or it is too short for one. */
  has(owner: string, hash: string, length: number): boolean {
    const name = this.#nameOf(owner, hash);
    return length < CODE_MIN || this.#forms.has(name) || existsSync(join(this.#folder, name));
  }

  /** Milliseconds until no isolate has started for a while; 0 when none has. */
  get quietInMs(): number {
    return Math.max(0, this.#startedAt + (this.#options.quietMs ?? QUIET_MS) - performance.now());
  }

  /** A form that was made by compiling alone (compile-ahead.ts). Settles when it is kept, or cannot be. */
  async keep(owner: string, hash: string, form: ArrayBuffer): Promise<void> {
    await this.#store(this.#nameOf(owner, hash), form).catch(() => {});
  }

  /** Ends after what is being written. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#waiting = [];
    if (this.#timer !== null) clearTimeout(this.#timer);
    await this.#working;
  }

  #nameOf(owner: string, hash: string): string {
    return createHash('sha256')
      .update(`${this.#options.key}\0${owner.slice(0, owner.indexOf('/'))}\0${hash}`)
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
    // A form that cannot be had or kept costs the time to compile, later.
    this.#working = this.#working
      .then(task)
      .catch(() => {})
      .then(() => this.#wait());
  }

  async #takeNext(): Promise<void> {
    const next = this.#waiting.shift();
    const form = await next?.source.compiledForm();
    if (next !== undefined && form !== null && form !== undefined) await this.#store(next.name, form);
  }

  async #store(name: string, form: ArrayBuffer): Promise<void> {
    if (this.#closed) return;
    const shared = new SharedArrayBuffer(form.byteLength);
    const bytes = new Uint8Array(shared);
    bytes.set(new Uint8Array(form));
    this.#keep(name, shared);
    const file = join(this.#folder, name);
    const partial = `${file}.${randomBytes(4).toString('hex')}`;
    const hash = createHash('sha256').update(bytes).digest();
    await writeFile(partial, Buffer.concat([hash, bytes]), { mode: 0o600 });
    await rename(partial, file);
    this.#writtenBytes += bytes.byteLength;
    if (this.#writtenBytes > this.#options.limits.compiledFormsDiskBytesMax / 10) await this.#prune();
  }

  #keep(name: string, form: SharedArrayBuffer): void {
    this.#formsBytes -= this.#forms.get(name)?.byteLength ?? 0;
    this.#forms.set(name, form);
    this.#formsBytes += form.byteLength;
    for (const [oldest, { byteLength }] of this.#forms) {
      if (this.#formsBytes <= this.#options.limits.compiledFormsMemoryBytesMax) break;
      this.#forms.delete(oldest);
      this.#formsBytes -= byteLength;
    }
  }

  /** The files that were used last stay. */
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

/** A file's form; null where there is none, or it is not what it was. */
function readForm(file: string): SharedArrayBuffer | null {
  let content: Buffer;
  try {
    content = readFileSync(file);
  } catch {
    return null;
  }
  const form = content.subarray(HASH_BYTES);
  if (form.byteLength === 0 || !createHash('sha256').update(form).digest().equals(content.subarray(0, HASH_BYTES)))
    return null;
  const shared = new SharedArrayBuffer(form.byteLength);
  new Uint8Array(shared).set(form);
  return shared;
}
