// Where things lie: this installation, the data folder of the handler on this machine, and the addresses it answers on.
import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { parsePort } from '#core/parse-integer.ts';
import { CliError } from '../terminal/failure.ts';
import type { Shell } from '../terminal/shell.ts';

/** The folder of this package: the checkout, or the installed package. */
export const packageFolder = fileURLToPath(new URL('../..', import.meta.url));

/** Whether this runs from a checkout of the platform (TypeScript as it is) and not from the packed program. */
export const isCheckout = import.meta.url.endsWith('.ts');

/** A file of this installation that is written in TypeScript here and is JavaScript once packed. */
export function sourceFile(base: string): string {
  const typescript = path.join(packageFolder, `${base}.ts`);
  return isCheckout && existsSync(typescript) ? typescript : path.join(packageFolder, `${base}.js`);
}

/** Folder of what is the user's on this machine: `PLATFORM_HOME`, else `~/.platform`. */
export function userFolder({ env }: Shell): string {
  return env['PLATFORM_HOME'] || path.join(env['HOME'] || homedir(), '.platform');
}

/**
 * The folder of the platform that `start` starts: `FS_PATH`, else `data` in `PLATFORM_HOME`, else `.platform` in the
 * checkout, else in the current folder.
 */
export function dataFolder({ env, cwd }: Shell): string {
  const set = env['FS_PATH'];
  if (set !== undefined && set !== '') return path.resolve(cwd, set);
  const home = env['PLATFORM_HOME'];
  if (home !== undefined && home !== '') return path.resolve(cwd, home, 'data');
  return path.join(isCheckout ? packageFolder : cwd, '.platform');
}

/** Domain and port that the handler of this machine answers on. */
export interface HandlerAddress {
  readonly domain: string;
  readonly port: number;
}

/** The first of `HANDLER_DOMAIN` and `HANDLER_PORT`, else `localhost` and 4001. */
export function handlerAddress({ env }: Shell): HandlerAddress {
  const domain = (env['HANDLER_DOMAIN'] ?? '').split(',')[0]!.trim().toLowerCase();
  const port = (env['HANDLER_PORT'] ?? '').trim() || '4001';
  try {
    return { domain: domain || 'localhost', port: parsePort('HANDLER_PORT', port) };
  } catch (error) {
    throw new CliError((error as Error).message, { advice: 'Set it to a number, such as 4001, or leave it out.' });
  }
}

/**
 * The URL of a project, of one of its branches or of one of its deployments.
 *
 * @param label branch slug or deployment id; null for the project itself.
 * @example projectUrl({ domain: 'localhost', port: 4001 }, 'shop', null) // 'http://shop.localhost:4001'
 */
export function projectUrl({ domain, port }: HandlerAddress, project: string, label: string | null): string {
  return `http://${project}${label === null ? '' : `--${label}`}.${domain}${port === 80 ? '' : `:${port}`}`;
}
