// Writes the archive of an ssr project's server: a reproducible tar file. Called by build.ts; runtime/ssr/ unpacks it
// where the server runs.
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createReadStream, createWriteStream, realpathSync } from 'node:fs';
import type { ServerRules } from '#core/manifest.ts';
import { BLOCK_BYTES, padding, tarHeader } from '#core/archive/tar-header.ts';
import { tooLarge, type ArtifactLimits } from '../assets/assets.ts';
import { BuildError } from '../project/build-error.ts';
import { addProject, isVariables, ServerFiles, type ServerFile } from './packages.ts';
import type { ProjectServer } from './server.ts';

/**
 * @param root the project's folder @param target file to write, which must not exist.
 * @throws {BuildError} `too_large`; `write_failed`
 */
export async function archiveServer(
  server: ProjectServer,
  root: string,
  limits: ArtifactLimits,
  target: string,
): Promise<ServerRules> {
  const base = realpathSync(server.base);
  const files = new ServerFiles(base, limits.artifactFilesMax);
  if (server.archived === 'whole') files.addTree(base, '', (name) => isVariables(name));
  else addProject(files, root);
  for (const [to, from] of server.added) files.addTree(from, to);
  const hash = createHash('sha256');
  const output = createWriteStream(target, { flags: 'wx', mode: 0o600 });
  const failed = new Promise<never>((_, reject) => output.once('error', reject));
  failed.catch(() => {});
  let bytes = 0;
  try {
    for await (const chunk of chunks(sorted(files))) {
      bytes += chunk.length;
      if (bytes > limits.artifactBytesMax)
        throw tooLarge('bytes', bytes, limits.artifactBytesMax, 'BUILD_ARTIFACT_MAX_BYTES');
      hash.update(chunk);
      if (!output.write(chunk)) await Promise.race([once(output, 'drain'), failed]);
    }
    output.end();
    await Promise.race([once(output, 'close'), failed]);
  } catch (error) {
    output.destroy();
    if (error instanceof BuildError) throw error;
    throw new BuildError('write_failed', `The server cannot be archived: ${(error as Error).message}`, {
      cause: error,
    });
  }
  return { hash: hash.digest('hex'), bytes, start: server.start, folder: server.folder };
}

function sorted({ files }: ServerFiles): readonly ServerFile[] {
  return [...files.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
}

async function* chunks(files: readonly ServerFile[]): AsyncGenerator<Uint8Array> {
  for (const { name, file, bytes, isExecutable, target } of files) {
    yield tarHeader(name, bytes, { isExecutable, ...(target !== null && { target }) });
    if (target !== null) continue;
    let read = 0;
    for await (const chunk of createReadStream(file)) {
      read += (chunk as Buffer).length;
      yield chunk as Buffer;
    }
    if (read !== bytes) throw new BuildError('assets', `${name} changed while it was archived; build again`);
    yield Buffer.alloc(padding(bytes));
  }
  yield Buffer.alloc(2 * BLOCK_BYTES);
}
