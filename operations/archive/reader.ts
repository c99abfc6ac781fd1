// Reads a backup: its manifest and its parts, checking every byte against its hash. A restore calls `verify`, which
// reads everything, before it makes changes.
import { createHash } from 'node:crypto';
import { codecFor, type Codec } from './codec.ts';
import {
  BLOB_BYTES_MAX,
  damaged,
  MANIFEST_BYTES_MAX,
  parseManifest,
  shown,
  type Manifest,
  type Part,
} from './manifest.ts';
import type { BackupSource } from './store.ts';

/** A backup whose manifest was read. */
export interface OpenBackup {
  readonly location: string;
  readonly manifest: Manifest;
  readonly isEncrypted: boolean;
  /** Reads a part. @throws {Failure} `backup`: `damaged` */
  read(part: Part): AsyncGenerator<Buffer>;
  /** Reads and verifies everything. @throws {Failure} `backup`: `damaged` */
  verify(progress?: (bytes: number) => void): Promise<void>;
  close(): Promise<void>;
}

/** @throws {Failure} `backup` when the backup is damaged, or the passphrase is wrong. */
export async function openBackup(source: BackupSource, passphrase: string | null): Promise<OpenBackup> {
  try {
    const codec = await codecFor(source.header, passphrase);
    const text = await codec.decode(source.manifestId, await source.read(source.manifestId), MANIFEST_BYTES_MAX);
    const manifest = parseManifest(text.toString('utf8'));
    // The header itself is not authenticated, so it is compared with the manifest.
    if (source.header.createdAt !== manifest.createdAt || source.header.platform !== manifest.platform)
      throw damaged('its header does not match its manifest');
    return backupOf(source, codec, manifest);
  } catch (error) {
    await source.close();
    throw error;
  }
}

function backupOf(source: BackupSource, codec: Codec, manifest: Manifest): OpenBackup {
  async function* read(part: Part): AsyncGenerator<Buffer> {
    const hash = createHash('sha256');
    let bytes = 0;
    for (const id of part.blobs) {
      const content = await codec.decode(id, await source.read(id), BLOB_BYTES_MAX);
      hash.update(content);
      bytes += content.length;
      if (bytes > part.bytes) throw damaged(`${part.kind} ${shown(part.name)} is larger than it should be`);
      yield content;
    }
    if (bytes !== part.bytes || hash.digest('hex') !== part.sha256)
      throw damaged(`${part.kind} ${shown(part.name)} does not match its hash`);
  }
  return {
    location: source.location,
    manifest,
    isEncrypted: source.header.encryption !== null,
    read,
    async verify(progress = () => {}) {
      let bytes = 0;
      for (const part of manifest.parts) {
        for await (const piece of read(part)) bytes += piece.length;
        progress(bytes);
      }
    },
    close: () => source.close(),
  };
}
