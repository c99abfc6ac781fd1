// Starts a version of the platform on the data folder as a trial: it applies migrations and starts the engines. The
// trial uses free ports and does no work: no events, no builds, no API. Called by upgrade.ts.
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { nodeFlags } from '#core/node-flags.mjs';
import { nodeCommand } from '#core/process/node-command.ts';
import type { Environment } from '../locations.ts';

const TRIAL_MS_MAX = 15 * 60_000;
const LINES_MAX = 20;

/** Differences from the regular start. */
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
 * Runs the version until it serves requests, then stops it.
 *
 * @param launcher `cli/run.mjs` of the version.
 * @returns lines about projects that do not respond. @throws {Error} with the last output of the version when it does
 * not become ready.
 */
export async function tryVersion(
  launcher: string,
  environment: Environment,
  folder: string,
  id: string,
): Promise<string[]> {
  const [program, ...before] = nodeCommand();
  // The child detects our exit by the closed channel, even after a kill -9.
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
        if (/^ {2}\S+ does not (?:answer|respond): /.test(line)) silent.push(line.trim());
        if (line === 'Ctrl-C stops it') {
          clearTimeout(late);
          resolve(true);
        }
      });
  });
  const isWell = await serves;
  if (child.exitCode === null && child.signalCode === null) child.kill('SIGTERM');
  await ended;
  if (!isWell) throw new Error(`The new version never became ready. Its last output:\n${last.join('\n')}`);
  return silent;
}
