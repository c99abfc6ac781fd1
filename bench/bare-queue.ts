// The load of events.bench.ts on bare SQL: inserts a hundred rows at a time, claims ten at a time with SKIP LOCKED and
// a lease, and deletes them, in one embedded Postgres with the platform's settings. One process, without workers and
// isolates.
import { rmSync } from 'node:fs';
import path from 'node:path';
import { openPostgres } from '../postgres/connection.ts';
import { startEmbeddedPostgres } from '../postgres/embedded.ts';
import { temporaryFolder } from './cleanup.ts';
import { cpuMs } from './load.ts';

/** A round of so many messages: how long it took, and CPU of this process and the server. */
interface BareQueue {
  measure(count: number): Promise<{ readonly wallMs: number; readonly cpuMs: number }>;
  stop(): Promise<void>;
}

const SENT_TOGETHER = 100;
const CLAIMED_TOGETHER = 10;
/** Claims at a time. */
const WORKERS = 8;

export async function startBareQueue(): Promise<BareQueue> {
  const folder = temporaryFolder();
  const postgres = await startEmbeddedPostgres({ folder: path.join(folder, 'postgres') });
  const sql = openPostgres({ url: postgres.url, name: 'bench', connectionsMax: WORKERS + 1 });
  await sql.all(
    'CREATE TABLE message (seq bigserial PRIMARY KEY, payload text NOT NULL, due_at bigint NOT NULL, lease text)',
  );
  await sql.all('CREATE INDEX ON message (due_at)');

  async function send(count: number): Promise<void> {
    for (let at = 0; at < count; at += SENT_TOGETHER) {
      const payloads = Array.from({ length: Math.min(SENT_TOGETHER, count - at) }, (_, i) =>
        JSON.stringify({ n: at + i }),
      );
      await sql.all(
        'INSERT INTO message (payload, due_at) SELECT p, $1 FROM unnest($2::text[]) AS p',
        Date.now(),
        payloads,
      );
    }
  }

  return {
    async measure(count) {
      const [cpuBefore, startedAt] = [cpuMs(process.pid), performance.now()];
      let done = 0;
      const sending = send(count);
      const work = async (): Promise<void> => {
        while (done < count) {
          const rows = await sql.all<{ seq: number }>(
            `WITH picked AS MATERIALIZED (
              SELECT seq FROM message WHERE due_at <= $1 ORDER BY due_at, seq LIMIT ${CLAIMED_TOGETHER} FOR UPDATE SKIP LOCKED)
            UPDATE message m SET due_at = $2, lease = 'bench' FROM picked WHERE m.seq = picked.seq
            RETURNING m.seq, m.payload`,
            Date.now(),
            Date.now() + 30_000,
          );
          if (rows.length === 0) continue;
          await sql.all(
            'DELETE FROM message WHERE seq = ANY($1::bigint[])',
            rows.map(({ seq }) => seq),
          );
          done += rows.length;
        }
      };
      await Promise.all([sending, ...Array.from({ length: WORKERS }, work)]);
      return { wallMs: performance.now() - startedAt, cpuMs: cpuMs(process.pid) - cpuBefore };
    },
    async stop() {
      await sql.close();
      await postgres.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
