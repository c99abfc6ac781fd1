// The counted size of a stored file: its bytes, its texts, and a fixed overhead, so that many empty files are not free.
// Used by files-disk.ts, files-s3.ts and files-s3-uploads.ts.
import type { FileWrite } from '../engine/bindings/files.ts';
import type { Content } from './files-disk-contents.ts';

/** Overhead of a file, a part or an upload: entries of the index and of a folder, an inode. */
export const FILE_BYTES = 1000;

/** Texts of a file or an upload: headers and metadata as JSON. */
export interface FileTexts {
  readonly key: string;
  readonly headers: string;
  readonly metadata: string;
}

/** Counted size of contents. */
export function contentBytes(contents: readonly Pick<Content, 'size'>[]): number {
  return contents.reduce((sum, { size }) => sum + size + FILE_BYTES, 0);
}

/** Counted size of the texts of a file or an upload. */
export function textBytes({ key, headers, metadata }: FileTexts): number {
  return Buffer.byteLength(key) + Buffer.byteLength(headers) + Buffer.byteLength(metadata);
}

/** Texts of a file that is about to be written. */
export function textsOf(key: string, { headers, metadata }: Pick<FileWrite, 'headers' | 'metadata'>): FileTexts {
  return { key, headers: JSON.stringify(headers), metadata: JSON.stringify(metadata) };
}
