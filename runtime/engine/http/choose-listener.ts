// Chooses the listener of a handler: uWebSockets.js if it can be loaded, otherwise node:http.
import { Failure } from '#core/failure.ts';
import type { OpenListener } from './listener.ts';
import { openNodeListener } from './listener-node.ts';
import type { loadUws } from './listener-uws.ts';

/**
 * @param dataFolder the folder where `platform listener install` stores uWebSockets.js; null if this folder is not
 * searched. @param load loads uWebSockets.js; by default, from the installed packages.
 * @returns a function that opens the listener, and the reason if it is node:http, or null. @throws {Failure}
 * `configuration` if `uws` is requested and does not load.
 */
export async function chooseListener(
  wanted: 'auto' | 'node' | 'uws',
  dataFolder: string | null = null,
  load?: typeof loadUws,
): Promise<{ open: OpenListener; reason: string | null }> {
  if (wanted === 'node') return { open: openNodeListener, reason: 'HANDLER_LISTENER is node' };
  const uws = await import('./listener-uws.ts');
  // The copy in bench/ is only used when `uws` is requested by name.
  const loaded = (load ?? uws.loadUws)(wanted === 'uws' ? 'anywhere' : 'installed', dataFolder);
  if (loaded.uws !== null) return { open: uws.openUwsListener(loaded.uws), reason: null };
  if (wanted === 'uws')
    throw new Failure('configuration', `HANDLER_LISTENER is uws, but uWebSockets.js does not load: ${loaded.reason}`);
  return { open: openNodeListener, reason: loaded.reason };
}
