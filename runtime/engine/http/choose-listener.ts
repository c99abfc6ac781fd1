// Which listener a handler opens: uWebSockets.js where it loads, node:http everywhere else.
import { Failure } from '#core/failure.ts';
import type { OpenListener } from './listener.ts';
import { openNodeListener } from './listener-node.ts';

/** @throws {Failure} `configuration` when `uws` is asked for and does not load. */
export async function chooseListener(
  wanted: 'auto' | 'node' | 'uws',
): Promise<{ open: OpenListener; reason: string | null }> {
  if (wanted === 'node') return { open: openNodeListener, reason: null };
  const { loadUws, openUwsListener } = await import('./listener-uws.ts');
  // The copy of bench/ is used only when `uws` is requested by name.
  const loaded = loadUws(wanted === 'uws' ? 'anywhere' : 'installed');
  if (loaded.uws !== null) return { open: openUwsListener(loaded.uws), reason: null };
  if (wanted === 'uws')
    throw new Failure('configuration', `HANDLER_LISTENER is uws, but uWebSockets.js does not load: ${loaded.reason}`);
  return { open: openNodeListener, reason: `uWebSockets.js does not load: ${loaded.reason}` };
}
