// The folders of one build on this machine. Created by fence.ts; sandbox builds use the same names.
import { execFile } from 'node:child_process';
import { lstat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { promisify } from 'node:util';
import { buildFailure } from './types.ts';

/** Folders of a build; all below its work folder. */
export interface BuildFolders {
  readonly git: string;
  readonly source: string;
  readonly home: string;
  readonly tmp: string;
  /** Download caches of package managers. */
  readonly cache: string;
  readonly artifact: string;
}

/** The folders of a build inside its work folder. */
export function foldersIn(workFolder: string): BuildFolders {
  const of = (name: string): string => join(workFolder, name);
  return {
    git: of('git'),
    source: of('source'),
    home: of('home'),
    tmp: of('tmp'),
    cache: of('cache'),
    artifact: of('artifact'),
  };
}

/** Deletes deep trees and folders without permissions: `chmod` and `rm` handle both. */
export async function removeFolders(folders: readonly string[]): Promise<void> {
  await promisify(execFile)('rm', ['-rf', '--', ...folders]).catch(async () => {
    await promisify(execFile)('chmod', ['-R', 'u+rwX', '--', ...folders]).catch(() => {});
    await promisify(execFile)('rm', ['-rf', '--', ...folders]).catch(() => {});
  });
}

/**
 * A build with the platform's own user can replace its folders by links, which the next command would mount and this
 * process would read. Call this function only while no command runs. @throws {Failure} `build` when one of the folders
 * is a link.
 */
export async function refuseLinks(paths: readonly string[]): Promise<void> {
  for (const path of paths) {
    const info = await lstat(path).catch(() => null);
    if (info?.isSymbolicLink() === true)
      throw buildFailure('build_failed', `The build replaced its folder ${basename(path)} by a link`);
  }
}
