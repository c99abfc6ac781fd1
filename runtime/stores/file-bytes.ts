// The counted size of a stored file: its bytes, its texts, and a fixed overhead, so that empty files also count. Used
// by files-disk.ts, files-s3.ts and files-s3-uploads.ts.
import type { FileWrite } from '../engine/bindings/files.ts';
import type { Content } from './files-disk-contents.ts';

/** Overhead of a file, a part or an upload, for entries of the index and of a folder, and an inode. */
export const FILE_BYTES = 1000;

/** The texts of a file or an upload: headers and metadata as JSON. */
export interface FileTexts {
  readonly key: string;
  readonly headers: string;
  readonly metadata: string;
}

/** The total size of these file contents, with the overhead of each. */
export function contentBytes(contents: readonly Pick<Content, 'size'>[]): number {
  return contents.reduce((sum, { size }) => sum + size + FILE_BYTES, 0);
}

/** The counted size of the texts of a file or an upload. */
export function textBytes({ key, headers, metadata }: FileTexts): number {
  return Buffer.byteLength(key) + Buffer.byteLength(headers) + Buffer.byteLength(metadata);
}

/** The texts of a file that will be written. */
export function textsOf(key: string, { headers, metadata }: Pick<FileWrite, 'headers' | 'metadata'>): FileTexts {
  return { key, headers: JSON.stringify(headers), metadata: JSON.stringify(metadata) };
}
