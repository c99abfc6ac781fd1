// `watch`: changes of a file or folder, as server-sent events until the caller disconnects.
import { watch } from 'node:fs';
import { lstat, stat } from 'node:fs/promises';
import type { ServerResponse } from 'node:http';
import path from 'node:path';
import { PlatformError } from '#core/errors.ts';
import { toFlag, toPath, type Fields } from '#core/sandbox/arguments.ts';
import { SANDBOX_LIMITS } from '#core/sandbox/call-limits.ts';
import { createEventStream } from './event-stream.ts';
import { fileError } from './file-errors.ts';
import type { Paths } from './paths.ts';

/** Maximum buffered changes for a slow reader. Further events are dropped, which a separate event reports. */
const WAITING_MAX = 1000;

export function createFileWatches(paths: Paths): (fields: Fields, response: ServerResponse) => Promise<void> {
  let open = 0;
  return async (fields, response) => {
    const place = await paths.resolve(toPath(fields['path']));
    const recursive = toFlag(fields['recursive'], 'recursive');
    if (open >= SANDBOX_LIMITS.watchesMax)
      throw new PlatformError('sandbox_limit', { what: 'Another watch', limit: SANDBOX_LIMITS.watchesMax });
    open++;
    try {
      const root = await stat(place.real);
      const watcher = watch(place.real, { recursive: recursive && root.isDirectory() });
      const known = new Set<string>();
      const waiting = new Set<string>();
      let lost = false;
      let busy = false;
      const events = createEventStream(response);
      let wake = (): void => {};
      response.on('drain', () => wake()).once('close', () => wake());

      const drain = async (): Promise<void> => {
        if (busy) return;
        busy = true;
        for (const name of waiting) {
          waiting.delete(name);
          const found = await lstat(path.join(place.real, name)).catch(() => null);
          const eventType = found === null ? 'delete' : known.has(name) ? 'modify' : born(found) ? 'create' : 'modify';
          if (found === null) known.delete(name);
          else if (known.size < WAITING_MAX) known.add(name);
          const shown = path.posix.join(place.shown, name);
          const more = events.send({
            type: 'event',
            eventType,
            path: shown,
            isDirectory: found?.isDirectory() ?? false,
          });
          if (lost) events.send({ type: 'lost' });
          lost = false;
          if (!more && !events.closed)
            await new Promise<void>((resolve) => {
              wake = resolve;
            });
          if (events.closed) break;
        }
        busy = false;
      };
      const startedAt = Date.now();
      const born = (found: { readonly birthtimeMs: number }): boolean => found.birthtimeMs >= startedAt - 1000;

      watcher.on('change', (_kind, name) => {
        if (waiting.size >= WAITING_MAX) lost = true;
        else waiting.add(root.isDirectory() ? String(name ?? '') : '');
        void drain();
      });
      watcher.on('error', (error) => {
        events.send({ type: 'error', message: error.message });
        events.end();
      });
      events.send({ type: 'watching', path: place.shown });
      await new Promise<void>((resolve) => void response.once('close', resolve));
      watcher.close();
    } catch (error) {
      throw fileError(error, place.shown, 'watched');
    } finally {
      open--;
    }
  };
}
