// Stands in for the steps of a build in tests of the service around them: clones with Git, runs `build.sh` with the
// environment of the request in a process group of its own, and makes an artifact of the folder `out`.
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { build } from '#builder/build/build.ts';
import { buildFailure, type RunBuild } from '#builder/steps/types.ts';
import { parseProjectConfig } from '#core/config/project-config.ts';

const run = promisify(execFile);

export const shellSteps: RunBuild = async (request) => {
  const { signal, source } = request;
  if (!('folder' in source)) throw new Error('Only folders can be cloned here');
  const checkout = path.join(request.workFolder, 'checkout');
  await mkdir(checkout);
  request.onStep('clone');
  // Out of the repository itself: a clone starts five processes.
  const [at, env] = [request.commit ?? request.branch, { ...process.env, GIT_INDEX_FILE: `${checkout}.index` }];
  const git = ['--git-dir', source.folder, '--work-tree', checkout];
  await run('git', [...git, 'checkout', '--quiet', at, '--', '.'], { env });
  const { stdout } = await run('git', [...git, 'log', '-1', '--format=%H%n%s%n%an', at]);
  const [sha, message, author] = stdout.trim().split('\n') as [string, string, string];
  request.onLine('clone', 'info', `Checked out ${sha}`);
  request.onStep('build');
  const child = spawn('sh', ['build.sh'], {
    cwd: checkout,
    env: { PATH: process.env['PATH'], ...request.variables, ...request.platformVariables, PLATFORM_COMMIT: sha },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  });
  const gone = request.onProcessGroup(child.pid!);
  const kill = (): void => {
    try {
      process.kill(-child.pid!, 'SIGKILL');
    } catch {
      // Gone.
    }
  };
  signal.addEventListener('abort', kill);
  if (signal.aborted) kill();
  child.stdout.on('data', (chunk: Buffer) => request.onOutput('build', 'info', chunk));
  child.stderr.on('data', (chunk: Buffer) => request.onOutput('build', 'warn', chunk));
  const [code] = (await once(child, 'close')) as [number | null];
  gone();
  signal.throwIfAborted();
  if (code !== 0) throw buildFailure('build_failed', `build.sh ended with exit code ${code}`);
  request.onStep('artifact');
  const config = parseProjectConfig('kind: static\nbuild: "true"\nout: out\n', { file: 'platform.yaml' }).config!;
  const made = await build({ root: checkout, config, artifacts: request.artifactsFolder, durable: false });
  const { id: artifactId, folder, bytes, files } = made;
  return { artifactId, folder, kind: 'static', name: null, bytes, files, commit: { sha, message, author } };
};
