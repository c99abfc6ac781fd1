// Shows a page in the user's browser, where this machine has one.
import { spawn } from 'node:child_process';
import { platform } from 'node:os';
import type { Shell } from '../terminal/shell.ts';

/** Whether a browser can be expected on this machine: not over SSH, and not without a screen. */
export function hasBrowser({ env }: Shell): boolean {
  if (env['BROWSER']) return true;
  if (env['SSH_CONNECTION'] || env['CI']) return false;
  return platform() === 'darwin' || Boolean(env['DISPLAY'] || env['WAYLAND_DISPLAY']);
}

/**
 * Opens an address of http or https with `BROWSER`, else with the system's own program. What becomes of it is nobody's
 * concern: the address is printed as well.
 */
export function openPage({ env }: Shell, url: string): void {
  if (!/^https?:\/\//.test(url)) return;
  const program = env['BROWSER'] || (platform() === 'darwin' ? 'open' : 'xdg-open');
  const child = spawn(program, [url], { stdio: 'ignore', detached: true });
  child.on('error', () => {});
  child.unref();
}
