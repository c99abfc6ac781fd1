// Arguments of `platform vite build` and `platform vite dev`: one flag of the platform, and flags that are passed to
// Vite.
import path from 'node:path';
import { CliError } from '../terminal/failure.ts';
import type { Shell } from '../terminal/shell.ts';
import type { ViteRun } from './run-vite.ts';

const FLAG = '--platform-config';

/**
 * `[--platform-config PATH] [...args] [-- vite args]`: all other arguments go to Vite.
 *
 * @throws {CliError} with exit code 2.
 */
export function viteRunOf(shell: Shell, command: ViteRun['command'], rawArgs: readonly string[]): ViteRun {
  const words: string[] = [];
  let configFile: string | null = null;
  const dashes = rawArgs.indexOf('--');
  const before = dashes === -1 ? rawArgs : rawArgs.slice(0, dashes);
  for (let at = 0; at < before.length; at++) {
    const word = before[at]!;
    if (word !== FLAG && !word.startsWith(`${FLAG}=`)) {
      words.push(word);
      continue;
    }
    const value = word === FLAG ? before[++at] : word.slice(FLAG.length + 1);
    if (value === undefined || value === '' || value.startsWith('-'))
      throw new CliError(`${FLAG} needs a value`, {
        exitCode: 2,
        advice: `Pass the configuration file: platform vite ${command} ${FLAG} platform.yaml`,
      });
    configFile = path.resolve(shell.cwd, value);
  }
  if (dashes !== -1) words.push(...rawArgs.slice(dashes + 1));
  return { command, folder: configFile === null ? shell.cwd : path.dirname(configFile), configFile, words };
}
