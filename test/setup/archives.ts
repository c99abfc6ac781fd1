// Artifacts and tar files for tests, made in memory.
import { canonicalJson, hashOf } from '#core/artifact-id.ts';
import type { Manifest } from '#core/manifest.ts';
import { BLOCK_BYTES, padding, tarHeader } from '#core/archive/tar-header.ts';

/** The files of an artifact, by path. */
interface ArtifactFiles {
  readonly id: string;
  readonly manifest: Manifest;
  readonly files: Readonly<Record<string, string>>;
}

/** An artifact of one page. */
export function staticArtifact(page = 'hello'): ArtifactFiles {
  const manifest: Manifest = {
    version: 1,
    kind: 'static',
    worker: null,
    compatibilityDate: '2025-04-02',
    compatibilityFlags: [],
    assets: {
      binding: null,
      notFoundHandling: 'none',
      runWorkerFirst: false,
      files: {
        'index.html': { hash: hashOf(page), bytes: Buffer.byteLength(page), type: 'text/html; charset=utf-8' },
      },
    },
    bindings: {},
    cron: {},
    ai: false,
    skewProtection: true,
  };
  const json = canonicalJson(manifest);
  return { id: hashOf(json), manifest, files: { 'manifest.json': json, 'assets/index.html': page } };
}

/** A tar file. @param more entries after those of `files`. */
export function archiveOf(
  files: Readonly<Record<string, string>>,
  more: readonly (readonly [string, string])[] = [],
): Buffer {
  const blocks = [...Object.entries(files), ...more].flatMap(([name, content]) => {
    const bytes = Buffer.from(content);
    return [tarHeader(name, bytes.length), bytes, Buffer.alloc(padding(bytes.length))];
  });
  return Buffer.concat([...blocks, Buffer.alloc(2 * BLOCK_BYTES)]);
}

/** The archive with its first header changed, and the checksum of that put right. */
export function changedHeader(archive: Buffer, change: (header: Buffer) => void): Buffer {
  const copy = Buffer.from(archive);
  const header = copy.subarray(0, BLOCK_BYTES);
  change(header);
  signHeader(header);
  return copy;
}

/** Writes the checksum of a header. */
export function signHeader(header: Buffer): void {
  header.write('        ', 148);
  const sum = header.reduce((total, byte) => total + byte, 0);
  header.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148);
}
