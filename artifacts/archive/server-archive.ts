// The archive of an ssr project: plain files and symbolic links (`server.tar` of an artifact), from untrusted users.
// No link leads outside, and all files are written below one folder. Called by runtime/ssr/.
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { mkdir, open, symlink } from 'node:fs/promises';
import path from 'node:path';
import { BLOCK_BYTES, invalid, padding, parseTarHeader, paxPath, shown } from '#core/archive/tar-header.ts';
import { assetPathProblem } from './artifact-path.ts';
import { BlockReader, RECORD_BYTES_MAX } from './read-archive.ts';

/** Requirements of an archive. */
interface ServerArchive {
  readonly file: string;
  readonly hash: string;
  readonly filesMax: number;
}

/**
 * Unpacks an archive into an existing, empty folder, readable by every user.
 *
 * @throws {PlatformError} if the archive is refused. The files that were written so far stay, and the caller removes
 * them.
 */
export async function unpackServer({ file, hash, filesMax }: ServerArchive, folder: string): Promise<void> {
  const digest = createHash('sha256');
  async function* chunks(): AsyncGenerator<Uint8Array> {
    for await (const chunk of createReadStream(file, { highWaterMark: 1024 * 1024 })) {
      digest.update(chunk as Uint8Array);
      yield chunk as Uint8Array;
    }
  }
  const blocks = new BlockReader(chunks());
  const folders = new Set([folder]);
  const parents = async (name: string): Promise<string> => {
    const target = path.join(folder, name);
    const above = path.dirname(target);
    if (!folders.has(above)) {
      await mkdir(above, { recursive: true, mode: 0o755 });
      folders.add(above);
    }
    return target;
  };
  // Created after all files, so that no file is written through a link.
  const links = new Map<string, string>();
  const files = new Set<string>();
  let nextPath: string | null = null;
  let nextTarget: string | null = null;
  for (;;) {
    const header = parseTarHeader(await blocks.read(BLOCK_BYTES), true);
    if (header === null) break;
    if (header.type === 'pax') {
      if (header.bytes > RECORD_BYTES_MAX) throw invalid(`a name has more than ${RECORD_BYTES_MAX} bytes`);
      const record = await blocks.read(header.bytes);
      await blocks.read(padding(header.bytes));
      nextPath = paxPath(record) ?? nextPath;
      nextTarget = paxPath(record, 'linkpath') ?? nextTarget;
      continue;
    }
    const name = nextPath ?? header.path;
    const leadsTo = nextTarget ?? header.target;
    nextPath = nextTarget = null;
    const problem = assetPathProblem(name);
    if (problem !== null) throw invalid(`the file ${shown(name)} ${problem}`);
    if (files.has(name) || links.has(name)) throw invalid(`${shown(name)} is there twice`);
    if (files.size + links.size >= filesMax) throw invalid(`it has more than ${filesMax} files`);
    if (header.type === 'link') {
      const linkProblem = serverLinkProblem(name, leadsTo);
      if (linkProblem !== null) throw invalid(`the link ${shown(name)} ${linkProblem}`);
      links.set(name, leadsTo);
      continue;
    }
    if (header.type !== 'file') throw invalid(`${shown(name)} is neither a file nor a link`);
    files.add(name);
    // Never overwrites an existing file.
    await using handle = await open(await parents(name), 'wx', header.isExecutable ? 0o755 : 0o644);
    await handle.writeFile(blocks.content(header.bytes));
    await blocks.read(padding(header.bytes));
  }
  await blocks.expectZeros();
  if (digest.digest('hex') !== hash) throw invalid('it does not match its manifest');
  for (const name of links.keys())
    for (let above = path.posix.dirname(name); above !== '.'; above = path.posix.dirname(above))
      if (links.has(above)) throw invalid(`${shown(name)} lies behind a link`);
  for (const [name, target] of links) await symlink(target, await parents(name));
}

/** Why a link of the archive is invalid; null if it is valid. */
function serverLinkProblem(name: string, target: string): string | null {
  if (target === '' || target.startsWith('/') || /[\p{Cc}\\]/u.test(target)) return `leads to ${shown(target)}`;
  const end = path.posix.join(path.posix.dirname(name), target);
  return end === '..' || end.startsWith('../') ? `points outside the archive, to ${shown(target)}` : null;
}
