// V8's compiled forms of workers, so that starting one does not compile it again: in memory, and in files below the
// cache folder for the engines that come after. A form is machine-made and believed by V8: it is only ever made by an
// isolate of our own, kept where nobody else can write, found by the hash of exactly the code it was made of, and
// checked before it is used. It belongs to one project: what a broken-into isolate made of its own code is never given
// to anybody else.
import { createHash, randomBytes } from 'node:crypto';
import { closeSync, existsSync, fstatSync, mkdirSync, openSync, readSync } from 'node:fs';
import { readdir, rename, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/** What forms are taken from: an isolate that runs the worker. */
export interface FormSource {
  /** Null when it is gone. */
  compiledForm(): Promise<ArrayBuffer | null>;
}

/** How much a worker had served when its form was taken: the later, the more of what it needs is in it. */
export type FormStage = 'ahead' | 'first' | 'later';

/** `mark`: in a form's file; `next`, from how many requests on. Two are taken of each code, so that this ends. */
export const formStages: Readonly<
  Record<FormStage, { readonly mark: number; readonly requestsMin: number; readonly next?: FormStage }>
> = {
  ahead: { mark: 0, requestsMin: 0, next: 'first' },
  first: { mark: 1, requestsMin: 1, next: 'later' },
  later: { mark: 2, requestsMin: 100 },
};
const STAGES = Object.keys(formStages) as FormStage[];

/** A compiled form. */
export interface CompiledForm {
  readonly bytes: SharedArrayBuffer;
  readonly stage: FormStage;
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
/** Of the files. */
const FORMAT = 2;

interface Waiting {
  readonly name: string;
  stage: FormStage;
  source: FormSource;
}

/** The forms of one engine. */
export class CompiledForms {
  #options: CompiledFormsOptions;
  #folder: string;
  /** In the order of their last use. */
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
   * The form of this code; null where there is none. @param owner `<project>/<deployment id>`. @param hash of the code.
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
    // Its last use decides how long it stays.
    utimes(join(this.#folder, name), now, now).catch(() => {});
    return read;
  }

  /** An isolate that has served enough for a stage: its form is taken when the engine has nothing to start. */
  offer(owner: string, hash: string, length: number, stage: FormStage, source: FormSource): void {
    if (this.#closed || length < CODE_MIN) return;
    const name = this.#nameOf(owner, hash);
    const waiting = this.#waiting.find((other) => other.name === name);
    if (waiting !== undefined) Object.assign(waiting, { stage, source });
    else this.#waiting.push({ name, stage, source });
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
    await this.#store(this.#nameOf(owner, hash), 'ahead', form).catch(() => {});
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
    // A form that cannot be had or kept costs the time to compile, later.
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
    // V8 forgets what was not used for long.
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

/**
 * A file's form; null where there is none, or it is not what it was. It is read to where V8 takes it from: a megabyte
 * is not copied once more.
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
