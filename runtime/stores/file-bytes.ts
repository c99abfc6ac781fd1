// What a stored file counts as: its bytes, its texts, and what each file takes beside them, so that many empty files
// are not free. Used by files-disk.ts and files-s3.ts.
import type { FileWrite } from '../engine/bindings/files.ts';
import type { Content } from './files-disk-contents.ts';

/** Of a file, a part or an upload, beside its bytes and texts: entries of the index and of a folder, an inode. */
export const FILE_BYTES = 1000;

/** Texts of a file or an upload: headers and metadata as JSON. */
export interface FileTexts {
  readonly key: string;
  readonly headers: string;
  readonly metadata: string;
}

/** What contents count as. */
export function contentBytes(contents: readonly Pick<Content, 'size'>[]): number {
  return contents.reduce((sum, { size }) => sum + size + FILE_BYTES, 0);
}

/** What the texts of a file or an upload count as. */
export function textBytes({ key, headers, metadata }: FileTexts): number {
  return Buffer.byteLength(key) + Buffer.byteLength(headers) + Buffer.byteLength(metadata);
}

/** Texts of a file that is about to be written. */
export function textsOf(key: string, { headers, metadata }: Pick<FileWrite, 'headers' | 'metadata'>): FileTexts {
  return { key, headers: JSON.stringify(headers), metadata: JSON.stringify(metadata) };
}
