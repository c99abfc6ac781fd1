// The unpacked archives of servers on this machine. Each is unpacked once, by the hash of its content, for all
// processes that run it. Called by servers.ts.
import { mkdir, mkdtemp, readdir, rename, rm, stat, utimes } from 'node:fs/promises';
import path from 'node:path';
import type { ServerRules } from '#core/manifest.ts';
import { isArtifactId } from '#core/names.ts';
import { unpackServer } from '#artifacts/archive/server-archive.ts';

/** Options. */
interface UnpackedDeps {
  /** The private folder for unpacked archives, which is created if necessary. */
  readonly folder: string;
  /** Returns the path of an artifact's archive. */
  readonly archiveOf: (artifact: string) => string;
  readonly filesMax: number;
  /** Archives that no server has used for this long are deleted. */
  readonly keepMs: number;
}

/** Provides the folder of an archive. */
interface Unpacked {
  /** @throws {PlatformError} if the folder cannot be used. */
  folderOf(artifact: string, server: ServerRules): Promise<string>;
  /** Deletes old folders, except these. */
  clean(used: ReadonlySet<string>): Promise<void>;
}

export async function openUnpacked({ folder, archiveOf, filesMax, keepMs }: UnpackedDeps): Promise<Unpacked> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const running = new Map<string, Promise<string>>();

  async function unpack(artifact: string, { hash }: ServerRules): Promise<string> {
    if (!isArtifactId(artifact) || !isArtifactId(hash)) throw new Error('its id is not a hash');
    const target = path.join(folder, hash);
    if ((await stat(target).catch(() => null)) !== null) {
      await utimes(target, new Date(), new Date());
      return target;
    }
    const made = await mkdtemp(path.join(folder, '.new-'));
    try {
      const inside = path.join(made, 'server');
      await mkdir(inside, { mode: 0o755 });
      await unpackServer({ file: archiveOf(artifact), hash, filesMax }, inside);
      // Another process that uses the same folder may have been faster.
      await rename(inside, target).catch(async (error: unknown) => {
        if ((await stat(target).catch(() => null)) === null) throw error;
      });
      return target;
    } finally {
      await rm(made, { recursive: true, force: true });
    }
  }

  return {
    folderOf(artifact, server) {
      const found = running.get(server.hash) ?? unpack(artifact, server).finally(() => running.delete(server.hash));
      running.set(server.hash, found);
      return found;
    },
    async clean(used) {
      for (const name of await readdir(folder)) {
        const each = path.join(folder, name);
        const info = await stat(each).catch(() => null);
        if (info === null || used.has(each) || Date.now() - info.mtimeMs < keepMs) continue;
        await rm(each, { recursive: true, force: true }).catch(() => {});
      }
    },
  };
}
