// Opens a page in the user's browser, if there is one.
import { spawn } from 'node:child_process';
import { platform } from 'node:os';
import type { Shell } from '../terminal/shell.ts';

/** Whether this machine probably has a browser: not over SSH or without a display. */
export function hasBrowser({ env }: Shell): boolean {
  if (env['BROWSER']) return true;
  if (env['SSH_CONNECTION'] || env['CI']) return false;
  return platform() === 'darwin' || Boolean(env['DISPLAY'] || env['WAYLAND_DISPLAY']);
}

/**
 * Opens an http or https URL with `BROWSER` or the system's default program. Errors are ignored, since the URL is also
 * printed.
 */
export function openPage({ env }: Shell, url: string): void {
  if (!/^https?:\/\//.test(url)) return;
  const program = env['BROWSER'] || (platform() === 'darwin' ? 'open' : 'xdg-open');
  const child = spawn(program, [url], { stdio: 'ignore', detached: true });
  child.on('error', () => {});
  child.unref();
}
