// Events in production's own processes: supervisor, Postgres service, broker, engines. What was acknowledged survives
// the death of any of them.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { openPostgres, type Postgres } from '#postgres/connection.ts';
import { startPlatform, type TestPlatform } from '#test/setup/platform.ts';
import { createTestDatabase } from '#test/setup/postgres.ts';
import { until } from '#test/setup/until.ts';

const yaml = 'queue: { JOBS: jobs }\ntimer: { TIMER: reminders }\nworkflow: { ORDER: orders }\nstate: { KV: ledger }\n';
const worker = `
export default {
  async fetch(request, env) {
    const { pathname, searchParams } = new URL(request.url);
    const id = searchParams.get('id');
    if (pathname === '/send') return Response.json(await env.JOBS.send(id));
    if (pathname === '/timer') return Response.json(await env.TIMER.set(id, { afterMs: 10 }, { payload: id }) ?? null);
    if (pathname === '/run') return Response.json(await env.ORDER.trigger({ id }, { id }));
    if (pathname === '/execution') return Response.json(await env.ORDER.getExecution(id));
    return Response.json(await env.KV.get('seen', 'json') ?? { ids: [] });
  },
  async message(event, env) {
    await env.KV.update('seen', { $push: { ids: event.payload } });
    if (event.payload === 'abort' && event.attempt === 1) 'x'.repeat(2 ** 28).split('');
  },
  async timer(event, env) {
    await env.KV.update('seen', { $push: { ids: event.payload } });
  },
  workflows: {
    orders: {
      async handler({ input, step, env }) {
        for (const name of ['a', 'b', 'c']) {
          await step.run(name, async () => {
            await env.KV.update('seen', { $push: { ids: input.id + ' ' + name } });
          });
          await step.sleep(20);
        }
        return 'done';
      },
    },
  },
};`;

let platform: TestPlatform;
let database: Awaited<ReturnType<typeof createTestDatabase>>;
let sql: Postgres;

before(async () => {
  database = await createTestDatabase();
  sql = openPostgres({ url: database.url, name: 'test', connectionsMax: 2, schema: 'binding' });
  platform = await startPlatform(
    {},
    { DATABASE_URL: database.url, DELIVERY_BACKOFF_MS: '50', BROKER_POLL_MS: '200', HANDLER_PROCESSES: '2' },
  );
  await platform.deploy('shop', worker, yaml);
  await platform.answers('shop', '{"ids":[]}');
});
after(async () => {
  await platform.close();
  await sql.close();
  await database.close();
});

const seen = async (): Promise<string[]> => {
  const response = await platform.fetch('shop').catch(() => null);
  return response?.status === 200 ? (response.json() as { ids: string[] }).ids : [];
};
/** Asks until it is taken: an engine that died just now refuses. */
async function insist(path: string): Promise<void> {
  await until(async () => (await platform.fetch('shop', path).catch(() => null))?.status === 200);
}
/** Kills the broker or an engine, once there is one: what died just now is still in the state for a moment. */
const kill = (what: 'broker' | 'engine'): Promise<true> =>
  until(async () => {
    const { services, engines } = await platform.state();
    const broker = services.find(({ name, state }) => name === 'broker' && state === 'ready');
    const pid = (what === 'broker' ? broker : engines.find(({ state }) => state === 'listening'))?.pid;
    try {
      return pid != null && process.kill(pid, 'SIGKILL');
    } catch {
      return false;
    }
  });

test('a message, a timer and a run come from one engine through Postgres and the broker to an engine', async () => {
  await insist('/send?id=m1');
  await insist('/timer?id=t1');
  await insist('/run?id=r1');
  await until(async () => {
    const ids = await seen();
    return ['m1', 't1', 'r1 a', 'r1 b', 'r1 c'].every((id) => ids.includes(id));
  });
  await until(
    async () =>
      ((await platform.fetch('shop', '/execution?id=r1')).json() as { status: string }).status === 'completed',
  );
  assert.deepEqual(
    (await seen()).filter((id) => id.startsWith('r1')),
    ['r1 a', 'r1 b', 'r1 c'],
  );
});

test('a message that kills its engine is delivered again to the next one', async () => {
  await insist('/send?id=abort');
  await until(async () => (await seen()).filter((id) => id === 'abort').length === 2);
  const rows = await sql.all('SELECT 1 FROM queue_message');
  assert.ok(rows.length <= 1);
});

test('with brokers and engines killed in turn, every message comes, and every step but one in flight comes once', async () => {
  const count = 60;
  for (let n = 0; n < count; n++) {
    await insist(`/send?id=k${n}`);
    if (n % 10 === 0) await insist(`/run?id=w${n}`);
    if (n % 20 === 5) await kill('broker');
    if (n % 20 === 15) await kill('engine');
  }
  const expected = Array.from({ length: count }, (_, n) => `k${n}`);
  await until(async () => {
    const ids = new Set(await seen());
    return expected.every((id) => ids.has(id)) && [0, 10, 20, 30, 40, 50].every((n) => ids.has(`w${n} c`));
  });
  await until(async () => (await sql.all(`SELECT 1 FROM workflow_execution WHERE status <> 'completed'`)).length === 0);
  const dead = await sql.all(
    `SELECT m.payload FROM queue_message m JOIN lane l ON l.id = m.lane_id WHERE l.resource = 'jobs_dlq'`,
  );
  assert.deepEqual([...dead], []);
  const ids = await seen();
  // A step is repeated only where its engine or its broker was killed in it: six kills at most.
  const repeated = [0, 10, 20, 30, 40, 50].flatMap((n) =>
    ['a', 'b', 'c'].map((name) => ids.filter((id) => id === `w${n} ${name}`).length - 1),
  );
  assert.ok(repeated.reduce((sum, n) => sum + n, 0) <= 12, String(repeated));
});
