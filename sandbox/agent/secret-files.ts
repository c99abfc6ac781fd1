// Files with secrets: kept in memory, readable only by the user of commands, and deleted after use. Replaced
// atomically, so readers see the old or the new text.
import { randomUUID } from 'node:crypto';
import { lstat, mkdir, rename, rm, statfs, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { PlatformError } from '#core/errors.ts';
import type { AgentSettings } from './settings.ts';

/** File system types of `statfs`. */
const TMPFS = 0x0102_1994;

export interface SecretFiles {
  /** @returns its path. @throws {PlatformError} `sandbox_unavailable` if no folder is suitable. */
  put(name: string, text: string): Promise<string>;
  remove(name: string): Promise<void>;
}

export function createSecretFiles({
  secretFolders,
  confined,
}: Pick<AgentSettings, 'secretFolders' | 'confined'>): SecretFiles {
  /** A folder in memory; a confined agent uses one on the developer's disk. */
  async function usable(folder: string): Promise<boolean> {
    try {
      await mkdir(folder, { recursive: true, mode: 0o700 });
      const found = await lstat(folder);
      const isOurs = found.uid === process.getuid?.() && (found.mode & 0o077) === 0;
      // The folder is sticky like /tmp, so that users cannot replace each other's files.
      const isSticky = found.uid === 0 && (found.mode & 0o1000) !== 0;
      if (!found.isDirectory() || !(isOurs || isSticky)) return false;
      return confined || (await statfs(folder)).type === TMPFS;
    } catch {
      return false;
    }
  }

  /** The folder is checked each time, because commands may change it. */
  async function folderOf(): Promise<string> {
    for (const folder of secretFolders) if (await usable(folder)) return folder;
    throw new PlatformError('sandbox_unavailable', {
      reason: `no folder in memory exists for files with secrets (${secretFolders.join(', ')})`,
    });
  }

  return {
    async put(name, text) {
      const file = path.join(await folderOf(), name);
      const beside = `${file}.${randomUUID()}`;
      try {
        await writeFile(beside, text, { mode: 0o600, flag: 'wx' });
        await rename(beside, file);
      } catch (error) {
        await rm(beside, { force: true });
        throw error;
      }
      return file;
    },
    async remove(name) {
      for (const folder of secretFolders) await rm(path.join(folder, name), { force: true }).catch(() => {});
    },
  };
}
