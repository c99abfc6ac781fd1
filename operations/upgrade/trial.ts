// Starts a version of the platform on the data folder to see whether it is well: its migrations are applied, its
// engines serve. Ports are free ones, and nothing is done for anybody: no events, no builds, no API. Called by
// upgrade.ts.
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { nodeFlags } from '#core/node-flags.mjs';
import { nodeCommand } from '#core/process/node-command.ts';
import type { Environment } from '../places.ts';

const TRIAL_MS_MAX = 15 * 60_000;
const LINES_MAX = 20;

/** What differs from the platform as it will be started. */
export const quiet = {
  HANDLER_PORT: '0',
  HANDLER_HOST: '127.0.0.1',
  HANDLER_PRIVATE_PORT: 'off',
  API_PORT: 'off',
  UI_PORT: 'off',
  DOCS_PORT: 'off',
  PUBLIC_HTTPS: '',
  BACKUP_CRON: '',
  PLATFORM_PARTS: '',
};

/**
 * Runs it until it serves, and stops it.
 *
 * @param launcher `cli/run.mjs` of the version.
 * @returns lines about projects that do not answer.
 * @throws {Error} with its last words when it does not come to serve.
 */
export async function tryVersion(
  launcher: string,
  environment: Environment,
  folder: string,
  id: string,
): Promise<string[]> {
  const [program, ...before] = nodeCommand();
  // Over the channel it hears of our death, also by kill -9.
  const child = spawn(program, [...before, ...nodeFlags, '--', launcher, 'start'], {
    env: { ...environment, ...quiet, FS_PATH: folder, PLATFORM_UPGRADE: id, NO_COLOR: '1', LOG_FORMAT: 'text' },
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  });
  const last: string[] = [];
  const silent: string[] = [];
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()));
  const serves = new Promise<boolean>((resolve) => {
    const late = setTimeout(() => resolve(false), TRIAL_MS_MAX);
    void ended.then(() => {
      clearTimeout(late);
      resolve(false);
    });
    for (const stream of [child.stdout!, child.stderr!])
      createInterface({ input: stream }).on('line', (line) => {
        last.push(line);
        if (last.length > LINES_MAX) last.shift();
        if (/^ {2}\S+ does not answer: /.test(line)) silent.push(line.trim());
        if (line === 'Ctrl-C stops it') {
          clearTimeout(late);
          resolve(true);
        }
      });
  });
  const isWell = await serves;
  if (child.exitCode === null && child.signalCode === null) child.kill('SIGTERM');
  await ended;
  if (!isWell) throw new Error(`It did not come to serve. Its last words:\n${last.join('\n')}`);
  return silent;
}
