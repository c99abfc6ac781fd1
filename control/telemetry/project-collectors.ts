// Exporters to the collectors of projects, which are read from the database: one exporter each, with a common limit on
// buffered spans. Counts of exported and dropped spans are written back periodically. Started by collect.ts.
import { runRounds } from '#core/process/rounds.ts';
import { collectorKind, openSecret, UNREADABLE } from '../outbound/subscription.ts';
import type { Dependencies } from '../process/dependencies.ts';
import { SpanExporter, type CollectorAddress } from './export-spans.ts';
import type { OwnedSpan } from './otlp.ts';

/** Maximum number of buffered spans: for all projects, and per project. */
const WAITING_MAX = 20_000;
const WAITING_OF_ONE_MAX = 2000;
const TELL_MS = 2000;
/** Interval of polling, which is needed because a NOTIFY may be lost while the database restarts. */
const READ_MS = 60_000;

interface Row {
  readonly project_id: string;
  readonly url: string;
  readonly headers: Buffer;
  readonly is_private: boolean;
  readonly made: string;
}

interface Known {
  readonly exporter: SpanExporter;
  /** Time of the setting: a changed collector gets a new exporter. */
  readonly made: string;
  readonly end: AbortController;
  told: { readonly sent: number; readonly dropped: number };
}

/** Receives spans of projects that have a collector. */
interface ProjectCollectors {
  add(spans: readonly OwnedSpan[]): void;
  /** Totals since the start, including removed collectors. */
  total(): { readonly sent: number; readonly dropped: number };
  /** Runs until the process shuts down. */
  run(): Promise<void>;
}

export function createProjectCollectors({
  sql,
  keys,
  log,
  stopping,
  onNotify,
}: Pick<Dependencies, 'sql' | 'keys' | 'log' | 'stopping' | 'onNotify'>): ProjectCollectors {
  const known = new Map<string, Known>();
  const running = new Set<Promise<void>>();
  const gone = { sent: 0, dropped: 0 };

  /** Null if the headers of the collector cannot be decrypted. */
  function addressOf({ project_id: id, url, headers, is_private: isPrivate }: Row): CollectorAddress | null {
    try {
      const opened = JSON.parse(openSecret(keys, collectorKind, id, headers)) as Record<string, string>;
      return { url, headers: opened, isPrivate };
    } catch {
      return null;
    }
  }

  async function read(): Promise<void> {
    const rows = await sql<Row[]>`
      SELECT project_id, url, headers, is_private, collector.created_at::text AS made FROM control.collector
      JOIN control.project ON project.id = project_id AND deleted_at IS NULL`;
    const madeOf = new Map(rows.map((row) => [row.project_id, row.made]));
    for (const [id, { made, end, exporter }] of known) {
      if (madeOf.get(id) === made) continue;
      await tell();
      gone.sent += exporter.sent;
      gone.dropped += exporter.dropped;
      end.abort();
      known.delete(id);
    }
    for (const row of rows) {
      if (known.has(row.project_id)) continue;
      const address = addressOf(row);
      if (address === null) {
        await sql`
          UPDATE control.collector SET error = ${UNREADABLE}, error_at = now() WHERE project_id = ${row.project_id}`;
        continue;
      }
      const end = new AbortController();
      const exporter = new SpanExporter({
        address,
        log: log.child({ projectId: row.project_id }),
        stopping: AbortSignal.any([stopping, end.signal]),
        waitingMax: WAITING_OF_ONE_MAX,
      });
      known.set(row.project_id, { exporter, made: row.made, end, told: { sent: 0, dropped: 0 } });
      const done: Promise<void> = exporter.run().finally(() => void running.delete(done));
      running.add(done);
    }
  }

  /** Writes the counts since the last call. */
  async function tell(): Promise<void> {
    for (const [id, one] of known) {
      const { sent, dropped, problem } = one.exporter;
      const more = { sent: sent - one.told.sent, dropped: dropped - one.told.dropped };
      if (more.sent + more.dropped === 0) continue;
      await sql`
        UPDATE control.collector SET sent = sent + ${more.sent}, dropped = dropped + ${more.dropped},
          sent_at = CASE WHEN ${more.sent > 0} THEN now() ELSE sent_at END,
          error = CASE WHEN ${more.dropped > 0} THEN ${problem} ELSE error END,
          error_at = CASE WHEN ${more.dropped > 0} THEN now() ELSE error_at END
        WHERE project_id = ${id} AND created_at::text = ${one.made}`;
      one.told = { sent, dropped };
    }
  }

  return {
    add(spans) {
      if (known.size === 0) return;
      let waiting = 0;
      for (const { exporter } of known.values()) waiting += exporter.waiting;
      for (const [id, mine] of Map.groupBy(spans, ({ projectId }) => projectId)) {
        const exporter = known.get(id)?.exporter;
        if (exporter === undefined) continue;
        const room = Math.max(0, WAITING_MAX - waiting);
        exporter.add(mine.slice(0, room));
        exporter.drop(mine.length - Math.min(room, mine.length), 'Too many spans of all projects are queued');
        waiting += mine.length;
      }
    },
    total() {
      const total = { ...gone };
      for (const { exporter } of known.values()) {
        total.sent += exporter.sent;
        total.dropped += exporter.dropped;
      }
      return total;
    },
    async run() {
      let readAt = -Infinity;
      const listen = (wake: () => void): Promise<() => Promise<void>> =>
        onNotify('control_collector', () => {
          readAt = -Infinity;
          wake();
        });
      const rounds = { failure: 'Collectors of projects could not be read', pollMs: TELL_MS, listen };
      await runRounds({ stopping, log }, rounds, async () => {
        if (performance.now() - readAt > READ_MS) {
          readAt = performance.now();
          await read().catch((error: unknown) => {
            readAt = -Infinity;
            throw error;
          });
        }
        await tell();
      });
      await Promise.allSettled(running);
      await tell().catch(() => {});
    },
  };
}
