// The platform's own bare repositories, `<FS_PATH>/repositories/<id>.git`, with hooks that deploy pushes.
import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { existsSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import type { Dependencies } from '../process/dependencies.ts';
import { repositoriesFolder, repositoryFolder } from '#git/builtin-repositories.ts';

const run = promisify(execFile);
const hooks = path.join(import.meta.dirname, 'hooks');
/** Maximum size of a push in bytes. */
const PUSH_BYTES_MAX = 2 * 1024 ** 3;

/** In addition to the process limits: where Git supports it, larger objects are not loaded into memory as a whole. */
const memorySettings: Readonly<Record<string, string>> = {
  'core.bigFileThreshold': '16m',
  'core.deltaBaseCacheLimit': '64m',
  'core.packedGitWindowSize': '32m',
  'core.packedGitLimit': '256m',
  'pack.threads': '1',
  'pack.windowMemory': '64m',
};

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
 * Creates a repository atomically if it does not exist. Rewrites missing or outdated hooks: a restored backup has no
 * hooks, and after an upgrade they point to the previous version.
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
    // A concurrent push has created the repository.
    await rm(unfinished, { recursive: true, force: true });
    if (!existsSync(folder)) throw error;
  });
  return folder;
}

async function ensureHooks(repository: string): Promise<void> {
  const folder = path.join(repository, 'hooks');
  await mkdir(folder, { recursive: true });
  const texts = {
    'pre-receive': await readFile(path.join(hooks, 'pre-receive'), 'utf8'),
    update: await readFile(path.join(hooks, 'update'), 'utf8'),
    // This hook gets no limit of its address space: it does not run Git, and Node reserves more address space than it
    // uses.
    'post-receive': `#!/bin/sh\nulimit -S -v unlimited 2>/dev/null\nexec '${process.execPath}' '${path.join(hooks, 'post-receive.mjs')}'\n`,
  };
  for (const [name, text] of Object.entries(texts)) {
    const file = path.join(folder, name);
    if ((await readFile(file, 'utf8').catch(() => null)) === text) continue;
    // The hook is replaced by renaming, because another push may be running it.
    const beside = `${file}.${randomUUID()}`;
    await writeFile(beside, text, { mode: 0o755 });
    await rename(beside, file);
  }
}

/**
 * A Git command on pushed data, with memory and CPU limits for each process: a small pack may expand to any size.
 * Returns the file and the arguments to start.
 */
export function limitedGit(
  { gitMemoryMbMax, gitCpuSecondsMax }: Pick<Dependencies['limits'], 'gitMemoryMbMax' | 'gitCpuSecondsMax'>,
  words: readonly string[],
): [file: string, args: string[]] {
  // Some shells cannot set these limits.
  const script = 'ulimit -S -v "$0" 2>/dev/null; ulimit -S -t "$1" 2>/dev/null; shift; exec git "$@"';
  return ['/bin/sh', ['-c', script, String(gitMemoryMbMax * 1024), String(gitCpuSecondsMax), ...words]];
}

/** Git's environment, without the platform's secrets and without settings of other users. */
export function gitEnvironment(): Record<string, string> {
  const kept = Object.entries(memorySettings).flatMap(([key, value], index) => [
    [`GIT_CONFIG_KEY_${index}`, key],
    [`GIT_CONFIG_VALUE_${index}`, value],
  ]);
  return {
    GIT_CONFIG_COUNT: String(kept.length / 2),
    ...(Object.fromEntries(kept) as Record<string, string>),
    PATH: process.env['PATH'] ?? '/usr/local/bin:/usr/bin:/bin',
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_CONFIG_GLOBAL: '/dev/null',
    GIT_TERMINAL_PROMPT: '0',
    LANG: 'C.UTF-8',
  };
}
