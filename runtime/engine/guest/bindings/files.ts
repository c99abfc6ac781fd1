// The guest half of the file binding: the API of an R2 bucket, and more. lazy.ts loads this module when it is first
// used.
import type { HostBody } from '../host.ts';
import { bodyToGuest } from '../bodies-to-guest.ts';
import { callHost, startCall, toOptions } from '../calls.ts';
import { conditionOf, rangeOf, refuseOthers, writeOf, type Fields } from './files/options.ts';
import { withBody } from './files/sent-body.ts';
import { StoredFile, StoredObject, type Head, type Range } from './files/stored-file.ts';
import { Upload } from './files/upload.ts';

export default function createFiles(): { create(name: string): object } {
  return { create: (name) => new Files(name) };
}

class Files {
  readonly #binding: string;

  constructor(binding: string) {
    this.#binding = binding;
  }

  async put(key: unknown, value: unknown, options?: Fields | null): Promise<object | null> {
    const write = writeOf('put', options, value);
    const reply = await withBody(value, (stream, sent) =>
      callHost('files.put', { binding: this.#binding, key, ...write, stream }, sent),
    );
    return reply.value === null ? null : new StoredObject(reply.value as Head);
  }

  async get(key: unknown, options?: Fields | null): Promise<object | null> {
    refuseOthers('get', options);
    let incoming: HostBody | null = null;
    const args = {
      binding: this.#binding,
      key,
      range: rangeOf(options?.['range']),
      onlyIf: conditionOf(options?.['onlyIf']),
    };
    // The stream is opened before the entry reads further records, because the first chunks may come in the same entry.
    const call = startCall('files.get', args, [], (reply, owner) => {
      const stream = (reply.value as { stream: number | null } | null)?.stream ?? null;
      if (stream !== null) incoming = bodyToGuest(stream, owner, true);
    });
    const { value, parts: sent } = await call.reply;
    if (value === null) return null;
    const { head, range } = value as { head: Head; range: Range };
    const body = incoming ?? sent[0];
    if (body === undefined)
      return options?.['onlyIf'] === undefined ? new StoredFile(head, range, '') : new StoredObject(head);
    return new StoredFile(head, range, body);
  }

  async head(key: unknown): Promise<object | null> {
    const { value } = await callHost('files.head', { binding: this.#binding, key });
    return value === null ? null : new StoredObject(value as Head);
  }

  async delete(keys: unknown): Promise<void> {
    await callHost('files.delete', { binding: this.#binding, keys: Array.isArray(keys) ? keys : [keys] });
  }

  async list(options?: Fields | null): Promise<object> {
    const { prefix, delimiter, limit, cursor, startAfter } = toOptions<Fields>('The options of list', options);
    const asked = { binding: this.#binding, prefix, delimiter, limit, cursor, startAfter };
    const { value } = await callHost('files.list', asked);
    const page = value as { files: Head[]; prefixes: string[]; cursor: string | null };
    const objects = page.files.map((head) => new StoredObject(head));
    const more = page.cursor === null ? { truncated: false, cursor: null } : { truncated: true, cursor: page.cursor };
    return { keys: objects, objects, ...more, delimitedPrefixes: page.prefixes };
  }

  async createMultipartUpload(key: string, options?: Fields | null): Promise<Upload> {
    const { headers, metadata } = writeOf('createMultipartUpload', options, undefined);
    const { value } = await callHost('files.createUpload', { binding: this.#binding, key, headers, metadata });
    return new Upload(this.#binding, key, value as string);
  }

  resumeMultipartUpload(key: string, uploadId: string): Upload {
    return new Upload(this.#binding, key, uploadId);
  }

  async createSignedUrl(key: unknown, options?: Fields | null): Promise<string> {
    const { method, expiresInSeconds, sizeMax } = toOptions<Fields>('The options of createSignedUrl', options);
    return (await callHost('files.sign', { binding: this.#binding, key, method, expiresInSeconds, sizeMax }))
      .value as string;
  }
}
