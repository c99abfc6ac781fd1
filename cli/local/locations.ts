// Locations: this installation, the data folder of the local handler, and its address.
import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { parsePort } from '#core/parse-integer.ts';
import { CliError } from '../terminal/failure.ts';
import type { Shell } from '../terminal/shell.ts';

/** The folder of this package: the checkout, or the installed package. */
export const packageFolder = fileURLToPath(new URL('../..', import.meta.url));

/** Whether this runs from a checkout (TypeScript) rather than from the package. */
export const isCheckout = import.meta.url.endsWith('.ts');

/** A source file of this installation: TypeScript in a checkout, JavaScript in the package. */
export function sourceFile(base: string): string {
  const typescript = path.join(packageFolder, `${base}.ts`);
  return isCheckout && existsSync(typescript) ? typescript : path.join(packageFolder, `${base}.js`);
}

/** The user's folder: `PLATFORM_HOME`, else `~/.platform`. */
export function userFolder({ env }: Shell): string {
  return env['PLATFORM_HOME'] || path.join(env['HOME'] || homedir(), '.platform');
}

/**
 * The data folder of `start`: `FS_PATH`, else `data` in `PLATFORM_HOME`, else `.platform` in the checkout, else in the
 * current folder.
 */
export function dataFolder({ env, cwd }: Shell): string {
  const set = env['FS_PATH'];
  if (set !== undefined && set !== '') return path.resolve(cwd, set);
  const home = env['PLATFORM_HOME'];
  if (home !== undefined && home !== '') return path.resolve(cwd, home, 'data');
  return path.join(isCheckout ? packageFolder : cwd, '.platform');
}

/** Domain and port of the local handler. */
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
    throw new CliError((error as Error).message, {
      advice: 'Set the variable to a number, such as 4001, or unset it.',
    });
  }
}

/**
 * The URL of a project, a branch or a deployment.
 *
 * @param label branch slug or deployment ID; null for the project.
 * @example projectUrl({ domain: 'localhost', port: 4001 }, 'shop', null) // 'http://shop.localhost:4001'
 */
export function projectUrl({ domain, port }: HandlerAddress, project: string, label: string | null): string {
  return `http://${project}${label === null ? '' : `--${label}`}.${domain}${port === 80 ? '' : `:${port}`}`;
}
