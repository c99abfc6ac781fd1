// FormData with its two encodings, used by bodies. The parts of a multipart body are found by byte search. Names and
// values are decoded one by one, and files are slices of the body. lazy.ts loads this module when it is first used.
import { provideModule } from '../modules.ts';
import { Blob, blobBytes, createBlob, File, isBlob, isFile } from '../web/blob.ts';
import { parseUrlencoded } from '../web/url-search-params.ts';
import { decodeWhole } from '../web/text.ts';
import { decodeUtf8, encodeUtf8, fromUnits } from '../web/utf8.ts';
import { finishInterface, finishIterator, requireArguments, toUsvString } from '../web/webidl.ts';

type Entry = string | File;

let listOf: (form: FormData) => (readonly [string, Entry])[];
export let isFormData: (value: unknown) => value is FormData;

function toEntry(value: unknown, filename: unknown, given: number): Entry {
  if (!isBlob(value)) {
    if (given > 2) throw new TypeError('A file name is only allowed with a Blob');
    return toUsvString(value);
  }
  if (isFile(value) && filename === undefined) return value;
  const name = filename === undefined ? 'blob' : toUsvString(filename);
  return new File([value], name, { type: value.type, ...(isFile(value) ? { lastModified: value.lastModified } : {}) });
}

export class FormData {
  #list: (readonly [string, Entry])[] = [];

  constructor(form: unknown = undefined) {
    if (form !== undefined) throw new TypeError('FormData cannot be made from a form element here');
  }

  append(name: string, value: unknown, filename: unknown = undefined): void {
    requireArguments(arguments.length, 2, 'FormData.append');
    this.#list.push([toUsvString(name), toEntry(value, filename, arguments.length)]);
  }
  delete(name: string): void {
    requireArguments(arguments.length, 1, 'FormData.delete');
    const key = toUsvString(name);
    this.#list = this.#list.filter(([one]) => one !== key);
  }
  get(name: string): Entry | null {
    requireArguments(arguments.length, 1, 'FormData.get');
    const key = toUsvString(name);
    return this.#list.find(([one]) => one === key)?.[1] ?? null;
  }
  getAll(name: string): Entry[] {
    requireArguments(arguments.length, 1, 'FormData.getAll');
    const key = toUsvString(name);
    return this.#list.filter(([one]) => one === key).map(([, value]) => value);
  }
  has(name: string): boolean {
    requireArguments(arguments.length, 1, 'FormData.has');
    const key = toUsvString(name);
    return this.#list.some(([one]) => one === key);
  }
  set(name: string, value: unknown, filename: unknown = undefined): void {
    requireArguments(arguments.length, 2, 'FormData.set');
    const key = toUsvString(name);
    const entry: readonly [string, Entry] = [key, toEntry(value, filename, arguments.length)];
    const first = this.#list.findIndex(([one]) => one === key);
    if (first < 0) this.#list.push(entry);
    else this.#list = this.#list.flatMap((one, index) => (index === first ? [entry] : one[0] === key ? [] : [one]));
  }
  entries(): IterableIterator<[string, Entry]> {
    return new FormDataIterator(this, 'entries') as unknown as IterableIterator<[string, Entry]>;
  }
  forEach(callback: (value: Entry, name: string, form: FormData) => void, thisArgument: unknown = undefined): void {
    requireArguments(arguments.length, 1, 'FormData.forEach');
    if (typeof callback !== 'function') throw new TypeError('FormData.forEach needs a function');
    for (let at = 0; at < this.#list.length; at++)
      callback.call(thisArgument, this.#list[at]![1], this.#list[at]![0], this);
  }
  keys(): IterableIterator<string> {
    return new FormDataIterator(this, 'keys') as unknown as IterableIterator<string>;
  }
  values(): IterableIterator<Entry> {
    return new FormDataIterator(this, 'values') as unknown as IterableIterator<Entry>;
  }
  declare [Symbol.iterator]: () => IterableIterator<[string, Entry]>;

  static {
    listOf = (form) => form.#list;
    isFormData = (value): value is FormData => typeof value === 'object' && value !== null && #list in value;
  }
}
finishInterface(FormData);
Object.defineProperty(FormData.prototype, Symbol.iterator, {
  value: FormData.prototype.entries,
  writable: true,
  configurable: true,
});

class FormDataIterator {
  readonly #form: FormData;
  readonly #kind: 'entries' | 'keys' | 'values';
  #at = 0;
  constructor(form: FormData, kind: 'entries' | 'keys' | 'values') {
    listOf(form);
    this.#form = form;
    this.#kind = kind;
  }
  next(): IteratorResult<unknown> {
    const entry = listOf(this.#form)[this.#at];
    if (entry === undefined) return { value: undefined, done: true };
    this.#at++;
    return {
      value: this.#kind === 'keys' ? entry[0] : this.#kind === 'values' ? entry[1] : [entry[0], entry[1]],
      done: false,
    };
  }
}
finishIterator(FormDataIterator, 'FormData');

function escapeName(name: string): string {
  return name.replace(/\r\n|\r|\n/g, '%0D%0A').replaceAll('"', '%22');
}

/** Encodes multipart/form-data: a string if there are no files, otherwise bytes. */
export function toMultipart(form: FormData): { content: string | Uint8Array; type: string } {
  const boundary = `----formdata-${Array.from({ length: 3 }, () => Math.random().toString(36).slice(2, 10).padEnd(8, '0')).join('')}`;
  const chunks: (string | Uint8Array)[] = [];
  let text = '';
  for (const [name, value] of listOf(form)) {
    const head = `--${boundary}\r\nContent-Disposition: form-data; name="${escapeName(name)}"`;
    if (typeof value === 'string') text += `${head}\r\n\r\n${value.replace(/\r\n|\r|\n/g, '\r\n')}\r\n`;
    else {
      const filename = value.name.replace(/\r/g, '%0D').replace(/\n/g, '%0A').replaceAll('"', '%22');
      chunks.push(
        `${text}${head}; filename="${filename}"\r\nContent-Type: ${value.type === '' ? 'application/octet-stream' : value.type}\r\n\r\n`,
        blobBytes(value),
      );
      text = '\r\n';
    }
  }
  text += `--${boundary}--\r\n`;
  const type = `multipart/form-data; boundary=${boundary}`;
  if (chunks.length === 0) return { content: text, type };
  return { content: blobBytes(new Blob([...chunks, text])), type };
}

/**
 * Parses the form in a body.
 *
 * @throws {TypeError} when the content type is not a form's, or the body is malformed.
 */
export function parseFormBody(bytes: Uint8Array, contentType: string | null): FormData {
  const essence = (contentType ?? '').split(';', 1)[0]!.trim().toLowerCase();
  if (essence === 'application/x-www-form-urlencoded') {
    const form = new FormData();
    // A byte order mark is not removed: it is part of the first name.
    const list = parseUrlencoded(decodeWhole(bytes, false));
    for (let at = 0; at < list.length; at += 2) listOf(form).push([list[at]!, list[at + 1]!]);
    return form;
  }
  if (essence !== 'multipart/form-data') throw new TypeError(`A body of type "${contentType ?? ''}" is not a form`);
  const boundary = /;\s*boundary=(?:"((?:[^"\\]|\\.)*)"|([^;\s]*))/i.exec(contentType!);
  const text = boundary === null ? '' : (boundary[1]?.replace(/\\(.)/g, '$1') ?? boundary[2] ?? '');
  if (text === '' || text.length > 70) throw new TypeError('The form has no usable boundary');
  return parseMultipart(bytes, encodeUtf8(`--${text}`));
}

function malformed(): never {
  throw new TypeError('The multipart body is not well-formed');
}

function indexOfBytes(bytes: Uint8Array, wanted: Uint8Array, from: number): number {
  const first = wanted[0]!;
  const last = bytes.length - wanted.length;
  for (let at = bytes.indexOf(first, from); at >= 0 && at <= last; at = bytes.indexOf(first, at + 1)) {
    let same = 1;
    while (same < wanted.length && bytes[at + same] === wanted[same]) same++;
    if (same === wanted.length) return at;
  }
  return -1;
}

function parseMultipart(bytes: Uint8Array, delimiter: Uint8Array): FormData {
  const form = new FormData();
  const separator = new Uint8Array(delimiter.length + 2);
  separator.set([13, 10]);
  separator.set(delimiter, 2);
  let at = 0;
  // A preamble before the first boundary is skipped.
  if (indexOfBytes(bytes.subarray(0, delimiter.length), delimiter, 0) !== 0) {
    at = indexOfBytes(bytes, separator, 0) + 2;
    if (at < 2) malformed();
  }
  for (;;) {
    at += delimiter.length;
    if (bytes[at] === 45 && bytes[at + 1] === 45) return form;
    while (bytes[at] === 32 || bytes[at] === 9) at++;
    if (bytes[at] !== 13 || bytes[at + 1] !== 10) malformed();
    at += 2;
    const { disposition, type, end } = parsePartHead(bytes, at);
    const next = indexOfBytes(bytes, separator, end - 2);
    if (next < 0) malformed();
    const content = bytes.subarray(end, Math.max(end, next));
    const name = dispositionValue(disposition, 'name');
    if (!/^form-data\s*;/i.test(disposition) || name === null) malformed();
    const filename = dispositionValue(disposition, 'filename');
    const entry =
      filename === null
        ? decodeUtf8(content)
        : new File([createBlob(content, '')], filename, { type: type ?? 'text/plain' });
    listOf(form).push([name, entry]);
    at = next + 2;
  }
}

/** The two relevant headers of a part, and where its content starts. */
function parsePartHead(bytes: Uint8Array, from: number): { disposition: string; type: string | null; end: number } {
  let disposition = '';
  let type: string | null = null;
  for (let at = from; ;) {
    const end = bytes.indexOf(13, at);
    if (end < 0 || bytes[end + 1] !== 10) malformed();
    if (end === at) return { disposition, type, end: end + 2 };
    const line = bytes.subarray(at, end);
    const colon = line.indexOf(58);
    if (colon <= 0) malformed();
    const name = fromUnits(line, colon).toLowerCase();
    if (name === 'content-disposition') disposition = decodeUtf8(line.subarray(colon + 1)).trim();
    else if (name === 'content-type') type = fromUnits(line.subarray(colon + 1), line.length - colon - 1).trim();
    at = end + 2;
  }
}

function dispositionValue(disposition: string, key: string): string | null {
  const match = new RegExp(`;\\s*${key}=(?:"([^"]*)"|([^;\\s]+))`, 'i').exec(disposition);
  const raw = match?.[1] ?? match?.[2];
  return raw === undefined
    ? null
    : raw
        .replace(/%0[Aa]/g, '\n')
        .replace(/%0[Dd]/g, '\r')
        .replaceAll('%22', '"');
}

declare module '../modules.ts' {
  interface Modules {
    'form-data': {
      readonly isFormData: typeof isFormData;
      readonly parseFormBody: typeof parseFormBody;
      readonly toMultipart: typeof toMultipart;
    };
  }
}

provideModule('form-data', { isFormData, parseFormBody, toMultipart });
