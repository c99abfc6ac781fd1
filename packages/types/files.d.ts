// File storage: `fs` in platform.yaml.

/** Header fields stored with a file and returned with it. */
export interface FileHeaders {
  contentType?: string;
  contentLanguage?: string;
  contentDisposition?: string;
  contentEncoding?: string;
  cacheControl?: string;
}

/** Digests of a file's bytes; as JSON, in hex. */
export interface FileChecksums {
  readonly md5?: ArrayBuffer;
  readonly sha1?: ArrayBuffer;
  readonly sha256?: ArrayBuffer;
  readonly sha384?: ArrayBuffer;
  readonly sha512?: ArrayBuffer;
  toJSON(): { md5?: string; sha1?: string; sha256?: string; sha384?: string; sha512?: string };
}

/** Metadata of a stored file. */
export interface FileHead {
  readonly key: string;
  /** Bytes. */
  readonly size: number;
  /** Strong entity tag, without quotes. */
  readonly etag: string;
  /** The entity tag in quotes, as in the header `ETag`. */
  readonly httpEtag: string;
  /** Changes with every write. */
  readonly version: string;
  readonly contentType: string;
  readonly uploadedAt: Date;
  readonly uploaded: Date;
  readonly metadata: Record<string, string>;
  readonly customMetadata: Record<string, string>;
  readonly httpMetadata: FileHeaders;
  /** Digests given when the file was stored, and MD5 if it was stored in one piece. */
  readonly checksums: FileChecksums;
  readonly storageClass: 'Standard';
  /** Sets the header fields stored with the file. */
  writeHttpMetadata(headers: Headers): void;
}

/** A stored file with its content. Read the content once, in one of the formats. */
export interface StoredFile extends FileHead {
  /** The content as a stream. */
  readonly body: ReadableStream<Uint8Array>;
  readonly stream: ReadableStream<Uint8Array>;
  readonly bodyUsed: boolean;
  /** The returned range. */
  readonly range: { readonly offset: number; readonly length: number };
  text(): Promise<string>;
  json<Value = unknown>(): Promise<Value>;
  bytes(): Promise<Uint8Array>;
  arrayBuffer(): Promise<ArrayBuffer>;
  blob(): Promise<Blob>;
}

/** Preconditions on the existing file. */
export interface FileCondition {
  /** Fulfilled only if the tag matches. */
  etagMatches?: string;
  /** Fulfilled only if the tag differs; `*` means that there must be no file. */
  etagDoesNotMatch?: string;
  uploadedBefore?: Date;
  uploadedAfter?: Date;
}

/** A part of a file: from an offset, or its last bytes. */
export type FileRange = { offset?: number; length?: number } | { suffix: number };

/** Options of storing a file. */
export interface FilePutOptions {
  /** The content type; by default, the type of a Blob, or `text/plain; charset=utf-8` for a string. */
  contentType?: string;
  httpMetadata?: FileHeaders | Headers;
  /** Short texts stored with the file. */
  metadata?: Record<string, string>;
  /** The same as `metadata`. */
  customMetadata?: Record<string, string>;
  onlyIf?: FileCondition | Headers;
  /** The write fails if the bytes have another digest; hex or bytes. Returned in `checksums`. */
  md5?: string | ArrayBuffer | ArrayBufferView;
  sha1?: string | ArrayBuffer | ArrayBufferView;
  sha256?: string | ArrayBuffer | ArrayBufferView;
  sha384?: string | ArrayBuffer | ArrayBufferView;
  sha512?: string | ArrayBuffer | ArrayBufferView;
}

/** A page of files. Pass `cursor` to read the next page if the list is `truncated`. */
export type FileList = {
  readonly keys: FileHead[];
  /** The same as `keys`. */
  readonly objects: FileHead[];
  /** The prefixes of grouped keys, if the option `delimiter` was set. */
  readonly delimitedPrefixes: string[];
} & ({ readonly truncated: true; readonly cursor: string } | { readonly truncated: false; readonly cursor: null });

/** A value that can be stored. */
export type FileValue = string | ArrayBuffer | ArrayBufferView | Blob | ReadableStream | null;

/** A multipart upload; parts may be sent concurrently, by different invocations. */
export interface MultipartUpload {
  readonly key: string;
  readonly uploadId: string;
  /** @param partNumber 1 to 10,000. */
  uploadPart(partNumber: number, value: Exclude<FileValue, null>): Promise<UploadedPart>;
  /** Creates the file from its parts, in ascending order. */
  complete(parts: readonly UploadedPart[]): Promise<FileHead>;
  /** Discards the parts. */
  abort(): Promise<void>;
}

/** A stored part. */
export interface UploadedPart {
  partNumber: number;
  etag: string;
}

/**
 * File storage (`fs` in platform.yaml). Keys have at most 1,024 bytes, a file 5 GiB in one `put`. The API is the same
 * as that of an R2 bucket.
 */
export interface FileStorageBinding {
  /**
   * Stores a file under a key; a stream need not have a known length.
   *
   * @returns null when `onlyIf` does not hold.
   * @example await env.FILES.put('avatars/7', request.body!, { contentType: 'image/png' });
   */
  put(
    key: string,
    value: FileValue,
    options: FilePutOptions & { onlyIf: FileCondition | Headers },
  ): Promise<FileHead | null>;
  put(key: string, value: FileValue, options?: FilePutOptions): Promise<FileHead>;
  /** A file; null if it does not exist. The result has no body when `onlyIf` is not fulfilled. */
  get(
    key: string,
    options: { range?: FileRange | Headers; onlyIf: FileCondition | Headers },
  ): Promise<StoredFile | FileHead | null>;
  get(key: string, options?: { range?: FileRange | Headers }): Promise<StoredFile | null>;
  /** Metadata of a file; null if it does not exist. */
  head(key: string): Promise<FileHead | null>;
  /** Deletes files; deleting a missing file is not an error. */
  delete(key: string | readonly string[]): Promise<void>;
  /** Files in the byte order of their keys, at most 1,000 per page. */
  list(options?: { prefix?: string; limit?: number; cursor?: string; delimiter?: string }): Promise<FileList>;
  createMultipartUpload(
    key: string,
    options?: Pick<FilePutOptions, 'contentType' | 'httpMetadata' | 'metadata' | 'customMetadata'>,
  ): Promise<MultipartUpload>;
  /** The upload with an id from another invocation; makes no call to the host. */
  resumeMultipartUpload(key: string, uploadId: string): MultipartUpload;
  /** A URL that lets anyone read (or write) one file for a number of seconds: by default an hour, at most a week. */
  createSignedUrl(
    key: string,
    options?: { method?: 'GET' | 'PUT'; expiresInSeconds?: number; sizeMax?: number },
  ): Promise<string>;
}
