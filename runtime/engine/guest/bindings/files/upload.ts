// A multipart upload of a file.
import type { HostReply } from '../../host.ts';
import type { HostCallName, Part } from '../../../bridge/protocol.ts';
import { callHost, invalidArgument } from '../../calls.ts';
import { refuseOthers, type Fields } from './options.ts';
import { withBody } from './sent-body.ts';
import { StoredObject, type Head } from './stored-file.ts';

export class Upload {
  readonly #binding: string;
  readonly key: string;
  readonly uploadId: string;

  constructor(binding: string, key: string, uploadId: string) {
    this.#binding = binding;
    this.key = key;
    this.uploadId = uploadId;
  }

  async #call(name: HostCallName, args: Fields, sent: readonly Part[] = []): Promise<HostReply> {
    return callHost(name, { binding: this.#binding, key: this.key, upload: this.uploadId, ...args }, sent);
  }

  async uploadPart(
    partNumber: number,
    value: unknown,
    options?: Fields | null,
  ): Promise<{ partNumber: number; etag: string }> {
    refuseOthers('uploadPart', options);
    const reply = await withBody(value, (stream, sent) =>
      this.#call('files.putPart', { part: partNumber, stream }, sent),
    );
    return { partNumber, ...(reply.value as { etag: string }) };
  }

  async complete(uploaded: readonly { partNumber: number; etag: string }[]): Promise<object> {
    if (!Array.isArray(uploaded) || uploaded.some((part) => typeof part !== 'object' || part === null))
      throw invalidArgument('complete takes the list of parts that uploadPart gave: [{ partNumber, etag }, ...]');
    const named = Array.from(uploaded, ({ partNumber, etag }) => ({ part: partNumber, etag }));
    return new StoredObject((await this.#call('files.completeUpload', { parts: named })).value as Head);
  }

  async abort(): Promise<void> {
    await this.#call('files.abortUpload', {});
  }
}
