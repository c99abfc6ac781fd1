// The output of `platform start` and `platform listener`: the HTTP listener, and the reason for it.
import { uwsProblem, uwsSystem, type UwsSystem } from '#core/process/uws.ts';
import type { Shell } from '../terminal/shell.ts';

/** The listener of an engine, and the reason if it is node:http. */
interface OpenedListener {
  readonly technology: 'node' | 'uws';
  readonly reason: string | null;
}

/** @param isActivated whether systemd opened the socket, which only node:http supports. */
export function listenerText(
  { technology, reason }: OpenedListener,
  { env }: Shell,
  isActivated: boolean,
  system: UwsSystem = uwsSystem(),
): string {
  if (technology === 'uws') return 'HTTP listener: uWebSockets.js';
  return `HTTP listener: node:http, since ${whyNode(reason, env['HANDLER_LISTENER']?.trim(), isActivated, system)}`;
}

function whyNode(
  reason: string | null,
  wanted: string | undefined,
  isActivated: boolean,
  system: UwsSystem,
): string | null {
  if (isActivated) return 'platform.socket hands over its socket';
  if (wanted === 'node') return 'HANDLER_LISTENER is node';
  const problem = uwsProblem(system);
  if (problem !== null) return problem;
  return reason === 'uWebSockets.js is not installed' ? `${reason}: run \`platform listener install\`` : reason;
}
