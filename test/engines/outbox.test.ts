// Messages of transactions outlive kill -9 of engines, the database service and Postgres under load. Every committed
// message comes, no other does, and none is in its queue twice.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { childOf } from '#test/setup/child-process.ts';
import { startPlatform } from '#test/setup/platform.ts';
import { until } from '#test/setup/until.ts';

const yaml = 'db: { DB: main }\nqueue: { MAIL: mail }\n';
const worker = `
export default {
  async fetch(request, { DB, MAIL }) {
    const { pathname, searchParams } = new URL(request.url);
    const id = searchParams.get('id');
    if (pathname === '/prepare') await DB.exec('CREATE TABLE IF NOT EXISTS sent (id TEXT); CREATE TABLE IF NOT EXISTS came (id TEXT, message TEXT)');
    else if (pathname === '/all') {
      const all = await DB.batch(['SELECT id FROM sent ORDER BY id', 'SELECT DISTINCT id, message FROM came ORDER BY id'].map((sql) => DB.prepare(sql)));
      return Response.json(all.map(({ results }) => results));
    } else if (pathname === '/send') {
      await DB.transaction(async (tx) => {
        await tx.prepare('INSERT INTO sent VALUES (?)').bind(id).run();
        await tx.send(MAIL, id);
        if (id.endsWith('7')) throw new Error('undone');
      });
    }
    return new Response('ok');
  },
  message: ({ id, payload }, { DB }) => DB.prepare('INSERT INTO came VALUES (?, ?)').bind(payload, id).run(),
};`;

test(
  'engines, the database service and Postgres are killed while messages are sent with transactions',
  { timeout: 180_000 },
  async () => {
    const platform = await startPlatform(
      {},
      {
        DATABASE_URL: '',
        HANDLER_PROCESSES: '2',
        OUTBOX_SWEEP_MS: '500',
        DELIVERY_BACKOFF_MS: '50',
        DELIVERY_RETRIES: '100',
        BROKER_POLL_MS: '200',
        QUARANTINE_BACKOFF_MS: '10',
      },
    );
    try {
      await platform.deploy('shop', worker, yaml);
      const insist = async (path: string): Promise<unknown> => {
        const answer = await until(async () => {
          const given = await platform.fetch('shop', path).catch(() => null);
          return given?.status === 200 && given;
        });
        return answer.text === 'ok' ? null : answer.json();
      };
      await insist('/prepare');
      const acknowledged: string[] = [];
      let count = 0;
      let running = true;
      let reached: { at: number; resolve: () => void } | null = null;
      const load = async (): Promise<void> => {
        while (running) {
          const id = `n${String(++count).padStart(6, '0')}`;
          // A GET whose engine died may be asked of another one again.
          const answer = await platform.fetch('shop', `/send?id=${id}`, { method: 'POST' }).catch(() => null);
          if (answer?.status === 200) acknowledged.push(id);
          else if (!id.endsWith('7')) await insist('/');
          if (acknowledged.length >= (reached?.at ?? Infinity)) reached!.resolve();
        }
      };
      const lanes = [load(), load(), load(), load()];
      const progress = (): Promise<void> =>
        new Promise((resolve) => (reached = { at: acknowledged.length + 20, resolve }));
      for (const what of ['engine', 'databases', 'postgres'] as const) {
        await progress();
        const pid = await until(async () => {
          const { engines, services } = await platform.state();
          const service = services.find(({ name, state }) => name === what && state === 'ready')?.pid;
          return what === 'engine'
            ? engines.find(({ state }) => state === 'listening')?.pid
            : service == null
              ? undefined
              : childOf(service);
        });
        process.kill(pid, 'SIGKILL');
      }
      await progress();
      running = false;
      await Promise.all(lanes);
      // Everything that is committed comes; what is never there would be waited for until the time of the test is up.
      type Came = { id: string; message: string };
      const [sent, came] = await until(async () => {
        const all = (await insist('/all')) as [{ id: string }[], Came[]];
        return all[0].length <= new Set(all[1].map(({ id }) => id)).size && all;
      });
      const ids = sent.map(({ id }) => id);
      assert.deepEqual(
        acknowledged.filter((id) => !ids.includes(id)),
        [],
      );
      // One message each, and none of what was undone.
      assert.deepEqual(
        came.map(({ id }) => id),
        ids,
      );
      assert.deepEqual(
        ids.filter((id) => id.endsWith('7')),
        [],
      );
    } finally {
      await platform.close();
    }
  },
);
