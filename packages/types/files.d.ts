// File storage: `fs` in platform.yaml.

/** What is known of a stored file. */
export interface FileHead {
  readonly key: string;
  /** Bytes. */
  readonly size: number;
  readonly contentType: string;
  /** Strong entity tag, without quotes. */
  readonly etag: string;
  readonly uploadedAt: Date;
  readonly metadata: Record<string, string>;
}

/** A stored file with its content. Read it once, in the form you need. */
export interface StoredFile extends FileHead {
  /** The content as text. */
  readonly body: string;
  /** The content as a stream. */
  readonly stream: ReadableStream<Uint8Array>;
  text(): Promise<string>;
  json<Value = unknown>(): Promise<Value>;
  bytes(): Promise<Uint8Array>;
  arrayBuffer(): Promise<ArrayBuffer>;
}

/** A condition on the entity tag of the file that is there. */
export interface FileCondition {
  /** Only if the tag is this one. */
  etagMatches?: string;
  /** Only if the tag is another one. */
  etagDoesNotMatch?: string;
}

/** How a file is stored. */
export interface FilePutOptions {
  /** `application/octet-stream` by default, `text/plain; charset=utf-8` for a string. */
  contentType?: string;
  /** Short texts stored beside the file. */
  metadata?: Record<string, string>;
  onlyIf?: FileCondition;
}

/** A page of files. */
export interface FileList {
  readonly keys: Omit<FileHead, 'metadata'>[];
  /** Whether there are more; then `cursor` continues. */
  readonly truncated: boolean;
  readonly cursor: string | null;
  /** With `delimiter`: the common beginnings that were folded. */
  readonly delimitedPrefixes: string[];
}

/** File storage (`fs` in platform.yaml). */
export interface FileStorageBinding {
  /**
   * Stores a file under a key; a stream need not say how long it is.
   *
   * @returns null when `onlyIf` did not hold.
   * @example await env.FILES.put('avatars/7', request.body!, { contentType: 'image/png' });
   */
  put(
    key: string,
    value: string | ArrayBuffer | ArrayBufferView | Blob | ReadableStream,
    options: FilePutOptions & { onlyIf: FileCondition },
  ): Promise<{ key: string; size: number; etag: string } | null>;
  put(
    key: string,
    value: string | ArrayBuffer | ArrayBufferView | Blob | ReadableStream,
    options?: FilePutOptions,
  ): Promise<{ key: string; size: number; etag: string }>;
  /** A file; null when it is not there, or `onlyIf` does not hold. */
  get(key: string, options?: { range?: { offset?: number; length?: number }; onlyIf?: FileCondition }): Promise<StoredFile | null>;
  /** What is known of a file; null when it is not there. */
  head(key: string): Promise<FileHead | null>;
  /** Removes files; removing one that is not there is no error. */
  delete(key: string | readonly string[]): Promise<void>;
  /** Files in the byte order of their keys, at most 1,000 a page. */
  list(options?: { prefix?: string; limit?: number; cursor?: string; delimiter?: string }): Promise<FileList>;
  /** An address that lets anyone read (or write) one file for some seconds. */
  createSignedUrl(key: string, options?: { method?: 'GET' | 'PUT'; expiresInSeconds?: number; sizeMax?: number }): Promise<string>;
}
