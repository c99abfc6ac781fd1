// `GET /_platform/logs?project=<name>&after=<cursor>` on the private port: the engines' recent log lines of a
// project, by time, and a cursor for the lines after them. Lines of a dead engine are lost.
import { PlatformError } from '#core/errors.ts';
import { isProjectName } from '#core/names.ts';
import { readFromEngine } from '../engines/engine-calls.ts';
import type { SupervisorState } from '../engines/state.ts';

interface Read {
  readonly next: number;
  readonly lines: readonly { readonly time: number }[];
}

/** @throws {PlatformError} `bad_request`. */
export async function readLogs(url: string, state: () => SupervisorState): Promise<object> {
  const query = new URLSearchParams(url.split('?', 2)[1] ?? '');
  const project = query.get('project') ?? '';
  if (!isProjectName(project))
    throw new PlatformError('bad_request', { reason: 'project must be the name of a project' });
  const after = cursorOf(query.get('after') ?? '');
  const next: Record<string, number> = {};
  const read = await Promise.all(
    state().engines.map(async ({ id, socketPath, state: at }): Promise<Read['lines']> => {
      if (at === 'starting') return [];
      try {
        const answer = (await readFromEngine(
          socketPath,
          `/_platform/logs?project=${project}&after=${after[id] ?? 0}`,
        )) as Read;
        next[id] = answer.next;
        return answer.lines;
      } catch {
        if (after[id] !== undefined) next[id] = after[id];
        return [];
      }
    }),
  );
  const lines = read.flat().toSorted((a, b) => a.time - b.time);
  return { lines, next: Object.entries(next).flat().join('-') };
}

/** Numbers by engine: `1-200-2-17`. */
function cursorOf(text: string): Readonly<Record<string, number>> {
  if (!/^(?:\d{1,15}-\d{1,15}(?:-\d{1,15}-\d{1,15}){0,300})?$/.test(text))
    throw new PlatformError('bad_request', { reason: 'after must be a cursor' });
  const numbers = text === '' ? [] : text.split('-');
  return Object.fromEntries(numbers.flatMap((engine, at) => (at % 2 === 0 ? [[engine, Number(numbers[at + 1])]] : [])));
}
