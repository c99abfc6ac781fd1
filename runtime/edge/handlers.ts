// The handlers to which this edge sends requests: handlers of announced machines, as reported by the supervisor,
// without unresponsive ones. Used by edge.ts.
import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';
import type { Logger } from 'pino';
import { openUpstreamNames, UPSTREAMS_MAX } from './upstream-names.ts';

interface HandlersDeps {
  /** Folder of the edge, which contains the last list for a start without Postgres. */
  readonly folder: string;
  /** Handlers of this machine. */
  readonly local: readonly string[];
  readonly log: Logger;
}

/** The handlers, for Caddy. */
interface Handlers {
  /** Address of the name server with these handlers. */
  readonly resolver: string;
  /** Sets the handlers. Resolves when Caddy has read the list. */
  set(upstreams: readonly string[]): Promise<void>;
  close(): void;
}

const CHECK_MS = 1000;
const CHECK_MS_MAX = 2000;
/** The refresh interval in Caddy's configuration, and some time for requests in progress. */
export const REFRESH_MS = 500;
const READ_MS = 2 * REFRESH_MS;
const FILE = 'handlers.json';
const UPSTREAM = /^(?:\[[0-9a-fA-F:.]+\]|[\w.-]+):\d{1,5}$/;

export async function openHandlers({ folder, local, log }: HandlersDeps): Promise<Handlers> {
  const names = await openUpstreamNames();
  const file = join(folder, FILE);
  let known: readonly string[] = readKept(file) ?? local;
  const silent = new Set<string>();
  const timers = new Set<NodeJS.Timeout>();
  let isTooMany = false;

  function apply(): void {
    const answering = known.filter((one) => !silent.has(one));
    // If all handlers seem unresponsive, the check itself may be wrong.
    names.set(answering.length > 0 ? answering : known);
  }

  function check(): void {
    for (const upstream of silent) if (!known.includes(upstream)) silent.delete(upstream);
    if (known.length > 1) for (const upstream of known) void probe(upstream).then((answers) => mark(upstream, answers));
  }

  function mark(upstream: string, answers: boolean): void {
    if (answers === !silent.has(upstream) || !known.includes(upstream)) return;
    if (answers) silent.delete(upstream);
    else silent.add(upstream);
    log.warn({ handler: upstream }, answers ? 'Handler answers again' : 'Handler does not respond');
    apply();
  }

  apply();
  const checking = setInterval(check, CHECK_MS);
  return {
    resolver: names.address,
    set(upstreams) {
      const all = upstreams.filter((one) => UPSTREAM.test(one));
      if (all.length > UPSTREAMS_MAX && !isTooMany)
        log.error(
          { handlers: all.length },
          `One edge sends requests to ${UPSTREAMS_MAX} handlers: the others get none`,
        );
      isTooMany = all.length > UPSTREAMS_MAX;
      if (all.join(' ') === known.join(' ')) return Promise.resolve();
      known = all;
      apply();
      log.info({ handlers: known }, 'Handlers changed');
      keep(file, known);
      return new Promise((resolve) => {
        const timer = setTimeout(() => {
          timers.delete(timer);
          resolve();
        }, READ_MS);
        timers.add(timer);
      });
    },
    close() {
      clearInterval(checking);
      for (const timer of timers) clearTimeout(timer);
      names.close();
    },
  };
}

/** Any response means that a handler is running. */
function probe(upstream: string): Promise<boolean> {
  return new Promise((resolve) => {
    const sent = request(`http://${upstream}/`, { agent: false, timeout: CHECK_MS_MAX }, (response) => {
      response.destroy();
      resolve(true);
    });
    sent.on('timeout', () => sent.destroy(new Error('silent')));
    sent.on('error', () => resolve(false));
    sent.end();
  });
}

function readKept(file: string): readonly string[] | null {
  try {
    const kept = JSON.parse(readFileSync(file, 'utf8')) as unknown;
    const all = Array.isArray(kept) ? kept.filter((one) => typeof one === 'string' && UPSTREAM.test(one)) : [];
    return all.length > 0 ? (all as string[]) : null;
  } catch {
    return null;
  }
}

function keep(file: string, upstreams: readonly string[]): void {
  try {
    writeFileSync(`${file}.new`, JSON.stringify(upstreams), { mode: 0o600 });
    renameSync(`${file}.new`, file);
  } catch {
    // If the disk is full, the next start uses an older list.
  }
}
