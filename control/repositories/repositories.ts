// The platform's own bare repositories, `<FS_PATH>/repositories/<id>.git`: made with the hooks that deploy what is
// pushed.
import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
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

/**
 * Makes it where it is not there; whole or not at all. The hooks of one that is there are made anew where they are not
 * those of this program: a restore brings none, and after an upgrade they lead to the version before.
 */
export async function ensureRepository(dataFolder: string, id: string, defaultBranch: string): Promise<string> {
  const folder = repositoryFolder(dataFolder, id);
  if (existsSync(folder)) {
    await ensureHooks(folder);
    return folder;
  }
  // First pushes may be concurrent.
  const unfinished = `${folder}.${randomUUID()}.unfinished`;
  await mkdir(repositoriesFolder(dataFolder), { recursive: true, mode: 0o700 });
  await run('git', ['init', '--quiet', '--bare', `--initial-branch=${defaultBranch}`, unfinished], {
    env: gitEnvironment(),
  });
  for (const [name, value] of Object.entries(settings))
    await run('git', ['--git-dir', unfinished, 'config', name, value], { env: gitEnvironment() });
  await rm(path.join(unfinished, 'hooks'), { recursive: true, force: true });
  await ensureHooks(unfinished);
  await rename(unfinished, folder).catch(async (error: unknown) => {
    // Another push was quicker.
    await rm(unfinished, { recursive: true, force: true });
    if (!existsSync(folder)) throw error;
  });
  return folder;
}

async function ensureHooks(repository: string): Promise<void> {
  const folder = path.join(repository, 'hooks');
  await mkdir(folder, { recursive: true });
  const texts = {
    update: await readFile(path.join(hooks, 'update'), 'utf8'),
    'post-receive': `#!/bin/sh\nexec '${process.execPath}' '${path.join(hooks, 'post-receive.mjs')}'\n`,
  };
  for (const [name, text] of Object.entries(texts)) {
    const file = path.join(folder, name);
    if ((await readFile(file, 'utf8').catch(() => null)) === text) continue;
    // Renamed, for another push may run it.
    const beside = `${file}.${randomUUID()}`;
    await writeFile(beside, text, { mode: 0o755 });
    await rename(beside, file);
  }
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
