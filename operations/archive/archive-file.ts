// A backup as one tar file: `platform-backup.json`, `blobs/<id>` for each content, and `manifest/<id>` last. The file
// is written under a temporary name and renamed when it is complete; its mode is 0600.
import { open, mkdir, rename, rm, type FileHandle } from 'node:fs/promises';
import path from 'node:path';
import { BLOCK_BYTES, padding, parseTarHeader, tarHeader } from '#core/archive/tar-header.ts';
import { isFailure } from '#core/failure.ts';
import { backupError } from './backup-error.ts';
import { BLOB_BYTES_MAX, damaged, MANIFEST_BYTES_MAX, parseHeader, type BackupHeader } from './manifest.ts';
import type { BackupSink, BackupSource } from './store.ts';

const HEADER_NAME = 'platform-backup.json';
const HEADER_BYTES_MAX = 4096;
/** The most that compression and encryption add to an incompressible content. */
const ADDED_BYTES_MAX = 64 * 1024;
const UNFINISHED = '.unfinished';

/** Creates an archive. @throws {Failure} `backup` when the file cannot be written. */
export async function createArchiveFile(file: string, header: BackupHeader): Promise<BackupSink> {
  const unfinished = `${file}${UNFINISHED}`;
  await mkdir(path.dirname(file), { recursive: true, mode: 0o700 });
  // This file was left behind by an interrupted backup.
  await rm(unfinished, { force: true });
  const handle = await open(unfinished, 'wx', 0o600);
  const ids = new Set<string>();
  let bytes = 0;
  const write = async (name: string, content: Uint8Array): Promise<void> => {
    const entry = Buffer.concat([tarHeader(name, content.length), content, Buffer.alloc(padding(content.length))]);
    await handle.write(entry);
    bytes += entry.length;
  };
  await write(HEADER_NAME, Buffer.from(JSON.stringify(header)));
  return {
    has: (id) => ids.has(id),
    async put(id, encoded) {
      ids.add(id);
      await write(`blobs/${id}`, encoded);
    },
    async finish(id, encoded) {
      await write(`manifest/${id}`, encoded);
      await handle.write(Buffer.alloc(2 * BLOCK_BYTES));
      await handle.sync();
      await handle.close();
      await rename(unfinished, file);
      await using folder = await open(path.dirname(file), 'r');
      await folder.sync();
      return { location: file, bytes: bytes + 2 * BLOCK_BYTES };
    },
    async abort() {
      await handle.close().catch(() => {});
      await rm(unfinished, { force: true });
    },
  };
}

/** Reads the index of an archive without reading its contents. @throws {Failure} `backup`: `damaged` or `newer`. */
export async function openArchiveFile(file: string): Promise<BackupSource> {
  const handle = await open(file, 'r').catch((error: NodeJS.ErrnoException) => {
    throw backupError('settings', `${file} cannot be read: ${error.message}`, 'Pass the file of a backup.');
  });
  try {
    const { header, entries, manifestId } = await readEntries(handle);
    return {
      location: file,
      header,
      manifestId,
      has: (id) => entries.has(id),
      async read(id) {
        const entry = entries.get(id);
        if (entry === undefined) throw damaged('a content is missing');
        return readAt(handle, entry.at, entry.bytes);
      },
      close: () => handle.close(),
    };
  } catch (error) {
    await handle.close();
    if (isFailure(error, 'backup')) throw error;
    throw damaged((error as Error).message.replace(/^The archive cannot be used: /, ''));
  }
}

async function readEntries(handle: FileHandle): Promise<{
  header: BackupHeader;
  entries: Map<string, { readonly at: number; readonly bytes: number }>;
  manifestId: string;
}> {
  const { size } = await handle.stat();
  const entries = new Map<string, { at: number; bytes: number }>();
  let header: BackupHeader | null = null;
  let manifestId: string | null = null;
  let at = 0;
  let filled = 0;
  for (;;) {
    // Includes the padding of the previous content, which must be zeros.
    const block = await readAt(handle, at, filled + BLOCK_BYTES);
    if (block.subarray(0, filled).some((byte) => byte !== 0))
      throw damaged('there is unexpected data between its contents');
    at += filled;
    const found = parseTarHeader(block.subarray(filled));
    if (found === null) break;
    const { path: name, type, bytes } = found;
    at += BLOCK_BYTES;
    // Compares the whole header, because the header's checksum does not cover the checksum field itself.
    if (!block.subarray(filled).equals(tarHeader(name, bytes))) throw damaged('it contains an unexpected entry');
    if (type !== 'file') throw damaged('it contains an unexpected entry');
    if (at + bytes > size) throw damaged('it is truncated');
    if (header === null) {
      if (name !== HEADER_NAME || bytes > HEADER_BYTES_MAX)
        throw damaged('it does not begin with the header of a backup');
      header = parseHeader((await readAt(handle, at, bytes)).toString('utf8'));
    } else {
      const [, kind, id] = /^(blobs|manifest)\/([0-9a-f]{64})$/.exec(name) ?? [];
      if (id === undefined || manifestId !== null) throw damaged('it contains an unexpected entry');
      if (bytes > (kind === 'blobs' ? BLOB_BYTES_MAX : MANIFEST_BYTES_MAX) + ADDED_BYTES_MAX)
        throw damaged('a content exceeds the maximum size');
      if (kind === 'manifest') manifestId = id;
      // Each content is stored once, so a content that occurs twice means that the archive is damaged.
      if (entries.has(id)) throw damaged('it has a content twice');
      entries.set(id, { at, bytes });
    }
    at += bytes;
    filled = padding(bytes);
  }
  if (header === null || manifestId === null) throw damaged('it is truncated before its manifest');
  if (size < at + 2 * BLOCK_BYTES) throw damaged('it is truncated');
  const isEnd =
    size === at + 2 * BLOCK_BYTES && (await readAt(handle, at, 2 * BLOCK_BYTES)).every((byte) => byte === 0);
  if (!isEnd) throw damaged('there is data after its end');
  return { header, entries, manifestId };
}

async function readAt(handle: FileHandle, at: number, bytes: number): Promise<Buffer> {
  const buffer = Buffer.alloc(bytes);
  let read = 0;
  while (read < bytes) {
    const { bytesRead } = await handle.read(buffer, read, bytes - read, at + read);
    if (bytesRead === 0) throw damaged('it is truncated');
    read += bytesRead;
  }
  return buffer;
}
