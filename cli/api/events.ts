// Server-sent events of the API, for build logs.
import type { Api } from '../account/api.ts';
import { CliError } from '../terminal/failure.ts';
import { open, type Query } from './requests.ts';

/** One event. */
interface ServerEvent {
  /** `message` by default. */
  readonly name: string;
  readonly id: string;
  readonly text: string;
}

const EVENT_CHARS_MAX = 1024 * 1024;

/** Yields events until the stream ends or the signal aborts. @throws {CliError} */
export async function* eventsOf(
  api: Api,
  path: string,
  query: Query,
  signal: AbortSignal,
): AsyncGenerator<ServerEvent> {
  const response = await open(api, 'GET', path, { query, signal, headers: { accept: 'text/event-stream' } });
  if (!(response.headers.get('content-type') ?? '').startsWith('text/event-stream')) {
    await response.body?.cancel();
    throw new CliError(`${api.origin} sends no events on ${path}`, { advice: 'The platform may be an older version.' });
  }
  try {
    yield* parseEvents(response.body ?? new ReadableStream());
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}

/** @throws {CliError} for an oversized event. */
export async function* parseEvents(body: AsyncIterable<Uint8Array>): AsyncGenerator<ServerEvent> {
  const decoder = new TextDecoder();
  let rest = '';
  let event = { name: 'message', id: '', lines: [] as string[] };
  let chars = 0;
  for await (const bytes of body) {
    rest += decoder.decode(bytes, { stream: true });
    // A trailing \r may be the first half of \r\n.
    for (let end = /\r\n|\n|\r(?=[^\n])/.exec(rest); end !== null; end = /\r\n|\n|\r(?=[^\n])/.exec(rest)) {
      const line = rest.slice(0, end.index);
      rest = rest.slice(end.index + end[0].length);
      if (line === '') {
        if (event.lines.length > 0) yield { name: event.name, id: event.id, text: event.lines.join('\n') };
        event = { name: 'message', id: event.id, lines: [] };
        chars = 0;
        continue;
      }
      chars += line.length;
      const [, field = '', value = ''] = /^([^:]*):? ?(.*)$/s.exec(line) ?? [];
      if (field === 'data') event.lines.push(value);
      else if (field === 'event') event.name = value;
      else if (field === 'id') event.id = value;
    }
    if (rest.length + chars > EVENT_CHARS_MAX) throw new CliError('The API sent an oversized event');
  }
}
