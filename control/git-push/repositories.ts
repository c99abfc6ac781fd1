// The platform's own bare repositories, `<FS_PATH>/repositories/<id>.git`: made with the hooks that deploy what is
// pushed.
import { execFile } from 'node:child_process';
import { chmod, copyFile, mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { existsSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { repositoriesFolder, repositoryFolder } from '#git/builtin-repositories.ts';

const run = promisify(execFile);
const hooks = path.join(import.meta.dirname, 'hooks');
/** Bytes of one push. */
const PUSH_BYTES_MAX = 2 * 1024 ** 3;

const settings: Readonly<Record<string, string>> = {
  'http.receivepack': 'true',
  'http.uploadpack': 'true',
  'receive.fsckObjects': 'true',
  'receive.maxInputSize': String(PUSH_BYTES_MAX),
  'receive.denyDeletes': 'false',
  'receive.denyCurrentBranch': 'ignore',
  'transfer.hideRefs': 'refs/platform',
  'gc.auto': '256',
};

/** Makes it where it is not there; whole or not at all. */
export async function ensureRepository(dataFolder: string, id: string, defaultBranch: string): Promise<string> {
  const folder = repositoryFolder(dataFolder, id);
  if (existsSync(folder)) return folder;
  const unfinished = `${folder}.${process.pid}.unfinished`;
  await mkdir(repositoriesFolder(dataFolder), { recursive: true, mode: 0o700 });
  await rm(unfinished, { recursive: true, force: true });
  await run('git', ['init', '--quiet', '--bare', `--initial-branch=${defaultBranch}`, unfinished], {
    env: gitEnvironment(),
  });
  for (const [name, value] of Object.entries(settings))
    await run('git', ['--git-dir', unfinished, 'config', name, value], { env: gitEnvironment() });
  await rm(path.join(unfinished, 'hooks'), { recursive: true, force: true });
  await mkdir(path.join(unfinished, 'hooks'));
  await copyFile(path.join(hooks, 'update'), path.join(unfinished, 'hooks', 'update'));
  await chmod(path.join(unfinished, 'hooks', 'update'), 0o755);
  const script = `#!/bin/sh\nexec '${process.execPath}' '${path.join(hooks, 'post-receive.mjs')}'\n`;
  await writeFile(path.join(unfinished, 'hooks', 'post-receive'), script, { mode: 0o755 });
  await rename(unfinished, folder).catch(async (error: unknown) => {
    // Another push was quicker.
    await rm(unfinished, { recursive: true, force: true });
    if (!existsSync(folder)) throw error;
  });
  return folder;
}

/** What Git sees of our environment: nothing of the platform's secrets, no settings of other users. */
export function gitEnvironment(): Record<string, string> {
  return {
    PATH: process.env['PATH'] ?? '/usr/local/bin:/usr/bin:/bin',
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_CONFIG_GLOBAL: '/dev/null',
    GIT_TERMINAL_PROMPT: '0',
    LANG: 'C.UTF-8',
  };
}
