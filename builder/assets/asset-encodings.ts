// Precompresses static files with Brotli and gzip at build time, so that requests do not have to. Called by build.ts;
// writes to a folder that the caller provides.
import { createHash } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import { assetEncodings, type AssetEncoding, type AssetFile } from '#core/manifest.ts';
import type { Assets } from './assets.ts';

/** Smaller files are not compressed: headers and packets outweigh the savings. */
const BYTES_MIN = 1024;
/** Larger files are not compressed: it would take too much memory and time. */
const BYTES_MAX = 32 * 1024 * 1024;
/**
 * Up to this size, the best Brotli quality is used (about 1 MB/s). For larger files, a ten times faster quality is
 * used, which compresses a few percent less.
 */
const THOROUGH_BYTES_MAX = 2 * 1024 * 1024;
/** Files compressed concurrently: as many as there are threads. */
const FILES_AT_ONCE = 4;

const COMPRESSIBLE =
  /^(?:text\/|application\/(?:json|javascript|wasm|rtf|xml|vnd\.ms-fontobject|vnd\.apple\.mpegurl)|image\/(?:svg|bmp|x-icon)|font\/(?:ttf|otf)|model\/gltf)|\+(?:json|xml)\b/;

/** Files with the compressed forms that are worth storing, and the location of these forms. */
interface EncodedAssets {
  readonly files: Readonly<Record<string, AssetFile>>;
  /** Hash of a compressed form -> its file, absolute. */
  readonly sources: ReadonlyMap<string, string>;
}

/**
 * Compresses files with a compressible type and at least 1 KB; a form that is not smaller is discarded.
 *
 * @param folder the folder for the compressed forms, which are named by hash
 */
export async function encodeAssets({ files, sources }: Assets, folder: string): Promise<EncodedAssets> {
  const encoded = new Map<string, string>();
  // Identical files are compressed once.
  const known = new Map<string, Promise<AssetFile['encoded']>>();
  const results: [string, AssetFile][] = Object.entries(files);
  const waiting = results.keys();
  const encodeSome = async (): Promise<void> => {
    for (const index of waiting) {
      const [path, file] = results[index]!;
      if (file.bytes < BYTES_MIN || file.bytes > BYTES_MAX || !COMPRESSIBLE.test(file.type)) continue;
      let forms = known.get(file.hash);
      if (forms === undefined) known.set(file.hash, (forms = encode(sources.get(path)!, folder, encoded)));
      const found = await forms;
      if (found !== undefined) results[index] = [path, { ...file, encoded: found }];
    }
  };
  await Promise.all(Array.from({ length: FILES_AT_ONCE }, encodeSome));
  return { files: Object.fromEntries(results), sources: encoded };
}

async function encode(source: string, folder: string, encoded: Map<string, string>): Promise<AssetFile['encoded']> {
  const plain = await readFile(source);
  const forms: Partial<Record<AssetEncoding, { hash: string; bytes: number }>> = {};
  let found: AssetFile['encoded'];
  for (const encoding of assetEncodings) {
    const bytes = await compress[encoding](plain);
    if (bytes.byteLength >= plain.byteLength) continue;
    const hash = createHash('sha256').update(bytes).digest('hex');
    const file = join(folder, hash);
    await writeFile(file, bytes);
    encoded.set(hash, file);
    forms[encoding] = { hash, bytes: bytes.byteLength };
    found = forms;
  }
  return found;
}

const compress: Readonly<Record<AssetEncoding, (plain: Buffer) => Promise<Buffer>>> = {
  br: (plain) =>
    promisify(brotliCompress)(plain, {
      params: {
        [constants.BROTLI_PARAM_QUALITY]: plain.byteLength <= THOROUGH_BYTES_MAX ? 11 : 9,
        [constants.BROTLI_PARAM_SIZE_HINT]: plain.byteLength,
      },
    }),
  gzip: (plain) => promisify(gzip)(plain, { level: 9 }),
};
