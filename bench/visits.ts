// A client that sends requests to one project after the other, at an interval or a number at a time, and measures each
// from sending it to the end of the response. Connections are kept alive.
import { Agent, request } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';

/** What visits showed. */
interface Visits {
  /** Milliseconds of those that were answered 200, in the order of sending. */
  readonly times: number[];
  /** What the others got: a status, or why nothing came. */
  readonly failures: string[];
}

/**
 * How visits are paced: one every so many milliseconds, each after the answer to the one before it; or so many at a
 * time.
 */
type Pace = { readonly everyMs: number } | { readonly atATime: number };

/**
 * Visits `<project>.localhost` for each name.
 *
 * @param url of the server; its path and query count, unless `targetOf` has those of each project.
 */
export async function visit(
  url: string,
  projects: Iterable<string>,
  pace: Pace,
  targetOf: ((project: string) => string) | null = null,
): Promise<Visits> {
  const agent = new Agent({ keepAlive: true });
  const visits: Visits = { times: [], failures: [] };
  const left = projects[Symbol.iterator]();
  const everyMs = 'everyMs' in pace ? pace.everyMs : 0;
  const run = async (): Promise<void> => {
    for (let next = left.next(); next.done !== true; next = left.next()) {
      const began = performance.now();
      const to = targetOf === null ? url : new URL(targetOf(next.value), url).href;
      const status = await visitOnce(to, next.value, agent);
      const tookMs = performance.now() - began;
      if (status === '200') visits.times.push(tookMs);
      else visits.failures.push(status);
      if (everyMs > 0) await delay(Math.max(0, everyMs - tookMs));
    }
  };
  await Promise.all(Array.from({ length: 'atATime' in pace ? pace.atATime : 1 }, run));
  agent.destroy();
  return visits;
}

/** One request; resolves with its status as text, or with the code of what went wrong. */
export function visitOnce(url: string, project: string, agent: Agent, timeoutMs = 30_000): Promise<string> {
  return new Promise((resolve) => {
    const sent = request(url, { agent, headers: { host: `${project}.localhost` }, timeout: timeoutMs }, (response) => {
      response.resume();
      response.on('end', () => resolve(String(response.statusCode)));
      response.on('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
    });
    sent.on('timeout', () => sent.destroy(new Error('timeout')));
    sent.on('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
    sent.end();
  });
}

/** How often each of some texts occurs: `3 x timeout, 1 x 500`; `none` of none. */
export function tally(texts: readonly string[]): string {
  const counts = new Map<string, number>();
  for (const text of texts) counts.set(text, (counts.get(text) ?? 0) + 1);
  return [...counts].map(([text, count]) => `${count} x ${text}`).join(', ') || 'none';
}
