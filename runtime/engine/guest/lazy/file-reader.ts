// FileReader and ProgressEvent (File API 6): reads a blob of this isolate with events, for code written for browsers.
// lazy.ts loads this module when it is first used.
import type { LazyDeps } from '../lazy.ts';
import type { Blob } from '../web/blob.ts';

const EMPTY = 0;
const LOADING = 1;
const DONE = 2;

type Pack = (blob: Blob, bytes: Uint8Array) => unknown;

export default function createFileReader(deps: LazyDeps): Record<string, unknown> {
  const {
    Event,
    EventTarget,
    DOMException,
    TextDecoder,
    blobBytes,
    btoa,
    defineEventHandler,
    dispatchTrusted,
    isBlob,
    setTimeout,
  } = deps;
  const { defineConstants, finishInterface, requireArguments, toDictionary, toDomString } = deps.webidl;

  class ProgressEvent extends Event {
    readonly #lengthComputable: boolean;
    readonly #loaded: number;
    readonly #total: number;

    constructor(type: string, init: unknown = undefined) {
      requireArguments(arguments.length, 1, 'ProgressEvent');
      super(type, init);
      const { lengthComputable = false, loaded = 0, total = 0 } = toDictionary(init, 'ProgressEvent options');
      this.#lengthComputable = Boolean(lengthComputable);
      this.#loaded = Number(loaded) || 0;
      this.#total = Number(total) || 0;
    }
    get lengthComputable(): boolean {
      return this.#lengthComputable;
    }
    get loaded(): number {
      return this.#loaded;
    }
    get total(): number {
      return this.#total;
    }
  }
  finishInterface(ProgressEvent);

  class FileReader extends EventTarget {
    #state = EMPTY;
    #result: unknown = null;
    #error: unknown = null;
    /** Number of the current read; tasks with another number belong to aborted reads. */
    #reading = 0;

    get readyState(): number {
      return this.#state;
    }
    get result(): unknown {
      return this.#result;
    }
    get error(): unknown {
      return this.#error;
    }

    readAsArrayBuffer(blob: unknown): void {
      this.#read(arguments.length, blob, (_, bytes) => bytes.slice().buffer);
    }
    readAsBinaryString(blob: unknown): void {
      this.#read(arguments.length, blob, (_, bytes) => toBinary(bytes));
    }
    readAsText(blob: unknown, encoding: unknown = undefined): void {
      const label = encoding === undefined ? null : toDomString(encoding);
      this.#read(arguments.length, blob, ({ type }, bytes) => decode(bytes, label, type));
    }
    readAsDataURL(blob: unknown): void {
      const pack: Pack = ({ type }, bytes) =>
        `data:${type || 'application/octet-stream'};base64,${btoa(toBinary(bytes))}`;
      this.#read(arguments.length, blob, pack);
    }

    abort(): void {
      this.#result = null;
      if (this.#state !== LOADING) return;
      this.#state = DONE;
      this.#reading++;
      this.#error = new DOMException('The read was aborted', 'AbortError');
      this.#fire('abort', 0, 0);
      if (this.#notRestarted()) this.#fire('loadend', 0, 0);
    }

    #notRestarted(): boolean {
      return this.#state !== LOADING;
    }

    #read(given: number, blob: unknown, pack: Pack): void {
      requireArguments(given, 1, 'A read of FileReader');
      if (!isBlob(blob)) throw new TypeError('FileReader can only read a Blob');
      if (this.#state === LOADING) throw new DOMException('This FileReader is still reading', 'InvalidStateError');
      this.#state = LOADING;
      this.#result = null;
      this.#error = null;
      const reading = ++this.#reading;
      const bytes = blobBytes(blob);
      const total = bytes.byteLength;
      const task = (run: () => void): void => void setTimeout(() => reading === this.#reading && run());
      // Each event has its own task, so that promises of listeners are handled in between, as in a browser.
      task(() => {
        task(() => (total > 0 ? progress() : load()));
        this.#fire('loadstart', 0, total);
      });
      const progress = (): void => {
        task(load);
        this.#fire('progress', total, total);
      };
      const load = (): void => {
        this.#state = DONE;
        try {
          this.#result = pack(blob, bytes);
        } catch (error) {
          this.#error = error;
        }
        task(() => this.#fire('loadend', total, total));
        this.#fire(this.#error === null ? 'load' : 'error', total, total);
      };
    }

    #fire(type: string, loaded: number, total: number): void {
      dispatchTrusted(this, new ProgressEvent(type, { lengthComputable: true, loaded, total }));
    }
  }
  for (const type of ['loadstart', 'progress', 'load', 'abort', 'error', 'loadend'])
    defineEventHandler(FileReader.prototype, type);
  finishInterface(FileReader);
  defineConstants(FileReader, { EMPTY, LOADING, DONE });

  /** Decodes with the requested encoding, or that of the type, or UTF-8. A byte order mark overrides all of them. */
  function decode(bytes: Uint8Array, label: string | null, type: string): string {
    if (bytes[0] === 0xfe && bytes[1] === 0xff) return new TextDecoder('utf-16be').decode(bytes);
    if (bytes[0] === 0xff && bytes[1] === 0xfe) return new TextDecoder('utf-16le').decode(bytes);
    if (bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf) return new TextDecoder().decode(bytes);
    const charset = /;\s*charset="?([^";]+)/i.exec(type)?.[1] ?? null;
    return (decoderOf(label) ?? decoderOf(charset) ?? new TextDecoder()).decode(bytes);
  }

  function decoderOf(label: string | null): InstanceType<LazyDeps['TextDecoder']> | null {
    try {
      return label === null ? null : new TextDecoder(label);
    } catch {
      return null;
    }
  }

  function toBinary(bytes: Uint8Array): string {
    let text = '';
    for (let at = 0; at < bytes.length; at += 8192) text += String.fromCharCode(...bytes.subarray(at, at + 8192));
    return text;
  }

  return { FileReader, ProgressEvent };
}
