// Stored log lines of a control plane, past and live, for `platform logs`.
import type { Api } from '../account/api.ts';
import type { LogLine } from '../project/log-line.ts';
import { CliError } from '../terminal/failure.ts';
import { eventsOf } from './events.ts';
import { ask, type Query } from './requests.ts';

const PAGE_MAX = 1000;
const AGAIN_MS = 500;
const ATTEMPTS_MAX = 20;

interface StoredLine {
  readonly id: string;
  readonly at: string;
  readonly level: LogLine['level'];
  readonly text: string;
  readonly deploymentId: string;
  readonly invocation: string | null;
  readonly traceId: string | null;
}

/**
 * The last lines of a project, oldest first, and the ID to follow from.
 *
 * @param filters of `GET /projects/{id}/logs`.
 */
export async function readStoredLines(
  api: Api,
  project: string,
  filters: Query,
  count: number,
): Promise<{ lines: LogLine[]; last: string | null }> {
  const lines: StoredLine[] = [];
  let cursor: string | null = null;
  while (lines.length < count) {
    const limit = Math.min(PAGE_MAX, count - lines.length);
    const page: { items: StoredLine[]; nextCursor: string | null } = await ask(api, 'GET', pathOf(project, 'logs'), {
      query: { ...filters, limit, cursor },
    });
    lines.push(...page.items);
    cursor = page.nextCursor;
    if (cursor === null) break;
  }
  const last = lines.length === 0 ? null : String(Math.max(...lines.map(({ id }) => Number(id))));
  return { lines: lines.toReversed().map(toLine), last };
}

/**
 * Follows lines until the signal; resumes after a broken connection.
 *
 * @param from ID of the last known line; null means only new lines.
 */
export async function* followStoredLines(
  api: Api,
  project: string,
  filters: Query,
  from: string | null,
  signal: AbortSignal,
): AsyncGenerator<LogLine> {
  let after: string | null = from;
  for (let attempt = 0; !signal.aborted && attempt < ATTEMPTS_MAX; attempt++) {
    try {
      const query: Query = { ...filters, after };
      for await (const { name, text } of eventsOf(api, pathOf(project, 'logs/stream'), query, signal)) {
        const line: StoredLine | null = name === 'line' ? parse(text) : null;
        if (line === null) continue;
        after = line.id;
        attempt = 0;
        yield toLine(line);
      }
    } catch (error) {
      if (signal.aborted) return;
      if (error instanceof CliError && error.code !== null && error.code !== 'unavailable') throw error;
    }
    await new Promise((resolve) => setTimeout(resolve, AGAIN_MS));
  }
}

function pathOf(project: string, rest: string): string {
  return `/projects/${encodeURIComponent(project)}/${rest}`;
}

function parse(text: string): StoredLine | null {
  try {
    const line = JSON.parse(text) as StoredLine;
    return typeof line.id === 'string' && typeof line.text === 'string' ? line : null;
  } catch {
    return null;
  }
}

function toLine({ at, level, text, deploymentId, invocation, traceId }: StoredLine): LogLine {
  return { time: Date.parse(at), level, deployment: deploymentId, invocation, traceId, text };
}
