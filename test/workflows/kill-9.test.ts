// Ten workflows written as classes end as they should although each of their steps is killed once with its engine, and
// a new version is deployed in the middle.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startPlatform } from '#test/setup/platform.ts';
import { until } from '#test/setup/until.ts';
import { storyEnds, storyEvents, storyNames, storySource, storyYaml } from '#test/setup/workflow-stories.ts';

type Name = (typeof storyNames)[number];

/** Steps whose first execution is held until its engine is killed. */
const steps: Readonly<Record<Name, readonly string[]>> = {
  Constant: ['flaky', 'after'],
  Linear: ['flaky', 'after'],
  Exponential: ['flaky', 'after'],
  Computed: ['flaky', 'after'],
  Events: ['open', 'pack', 'tell'],
  Impatient: ['ask', 'remind'],
  Refused: ['first', 'second', 'charge', 'undo second', 'undo first'],
  Caught: ['look up', 'instead'],
  Sleeper: ['item 1', 'item 2', 'item 3', 'plan', 'wake'],
  Parallel: ['a', 'b', 'c', 'good', 'bad', 'sum'],
};

/** Every execution of a step is a row; the first of each waits for the end of its engine. */
function sourceOf(version: string): string {
  return `${storySource(`
const times = () => {};
const work = async (self, name, value) => {
  const insert = self.env.DB.prepare('INSERT INTO ran (id, step, version) VALUES (?, ?, ?)').bind(self.id, name, '${version}');
  const count = self.env.DB.prepare('SELECT count(*) AS n FROM ran WHERE id = ? AND step = ?').bind(self.id, name);
  const [, { results }] = await self.env.DB.batch([insert, count]);
  if (results[0].n === 1 && self.id !== 'late') await new Promise((resolve) => setTimeout(resolve, 600_000));
  return value;
};
const noted = (self, name) => work(self, 'undo ' + name, null);
`)}
export default {
  async fetch(request, env) {
    const { pathname, searchParams } = new URL(request.url);
    const name = searchParams.get('name');
    if (pathname === '/prepare') await env.DB.exec('CREATE TABLE IF NOT EXISTS ran (id TEXT, step TEXT, version TEXT)');
    else if (pathname === '/create') await env[name.toUpperCase()].trigger({}, { id: searchParams.get('id') });
    else if (pathname === '/event') {
      const { type, payload } = JSON.parse(searchParams.get('event'));
      await (await env[name.toUpperCase()].get(name)).sendEvent({ type, payload });
    } else if (pathname === '/ran') {
      return Response.json((await env.DB.prepare('SELECT id, step, version FROM ran').all()).results);
    } else if (pathname === '/status') {
      return Response.json(await (await env[name.toUpperCase()].get(searchParams.get('id'))).status());
    } else return new Response('${version}');
    return new Response('done');
  },
};`;
}

interface Row {
  readonly id: string;
  readonly step: string;
  readonly version: string;
}
interface Status {
  readonly status: string;
  readonly output?: unknown;
  readonly error?: { readonly message: string };
}

test(
  'ten workflows survive a kill -9 in each of their steps, and a deployment in the middle',
  { timeout: 600_000 },
  async (t) => {
    const yaml = `${storyYaml}db: { DB: main }\n`;
    const platform = await startPlatform(
      {},
      {
        DATABASE_URL: '',
        HANDLER_PROCESSES: '2',
        DELIVERY_BACKOFF_MS: '50',
        DELIVERY_BACKOFF_MS_MAX: '500',
        DELIVERY_RETRIES: '100',
        BROKER_POLL_MS: '200',
        QUARANTINE_BACKOFF_MS: '10',
      },
    );
    try {
      /** An answer of the worker, however long it takes until there is one. */
      const insist = async (path: string): Promise<string> =>
        until(async () => {
          const answer = await platform.fetch('shop', path).catch(() => null);
          return answer?.status === 200 && answer.text;
        });
      const ran = async (): Promise<readonly Row[]> => JSON.parse(await insist('/ran')) as Row[];
      const statusOf = async (name: Name, id: string = name): Promise<Status> =>
        JSON.parse(await insist(`/status?name=${name}&id=${id}`)) as Status;
      const isOver = ({ status }: Status): boolean => ['complete', 'errored', 'terminated'].includes(status);

      await platform.deploy('shop', sourceOf('v1'), yaml);
      await insist('/prepare');
      for (const name of storyNames) await insist(`/create?name=${name}&id=${name}`);
      for (const name of storyNames)
        for (const event of storyEvents[name] ?? [])
          await insist(`/event?name=${name}&event=${encodeURIComponent(JSON.stringify(event))}`);

      const killed = new Set<string>();
      let kills = 0;
      for (;;) {
        // Until each run is over, asleep, or held in a step that was not killed yet.
        const held = await until(async () => {
          const rows = await ran();
          const fresh = new Set(rows.map(({ id, step }) => `${id}: ${step}`).filter((key) => !killed.has(key)));
          const statuses = await Promise.all(storyNames.map((name) => statusOf(name)));
          if (statuses.every(isOver)) return 'over';
          const isStill = storyNames.every(
            (name, index) =>
              isOver(statuses[index]!) ||
              statuses[index]!.status === 'waiting' ||
              [...fresh].some((key) => key.startsWith(`${name}: `)),
          );
          return isStill && fresh.size > 0 && fresh;
        });
        if (held === 'over') break;
        for (const key of held) killed.add(key);
        const { engines } = await platform.state();
        for (const { pid } of engines.filter(({ state }) => state === 'listening')) {
          process.kill(pid, 'SIGKILL');
          kills++;
        }
        t.diagnostic(`killed in ${[...held].join(', ')}`);
        if (killed.size > 12 && (await insist('/')) === 'v1') {
          await platform.deploy('shop', sourceOf('v2'), yaml);
          await platform.answers('shop', 'v2');
          t.diagnostic('deployed v2');
        }
      }
      t.diagnostic(`${kills} engines killed`);

      for (const name of storyNames) {
        const { status, output, error } = await statusOf(name);
        const { undone: _, ...end } = storyEnds[name];
        assert.deepEqual(status === 'complete' ? { status, output } : { status, message: error?.message }, end);
      }
      const rows = await ran();
      const expected = storyNames.flatMap((name) => steps[name].map((step) => `${name}: ${step}`));
      assert.deepEqual([...killed].toSorted(), expected.toSorted());
      const again = expected.filter((key) => rows.filter(({ id, step }) => `${id}: ${step}` === key).length < 2);
      assert.deepEqual(again, [], 'killed, and not run again');
      // Runs stay on the deployment that started them.
      assert.deepEqual([...new Set(rows.map(({ version }) => version))], ['v1']);
      await insist('/create?name=Caught&id=late');
      const late = await until(async () => {
        const found = await statusOf('Caught', 'late');
        return isOver(found) && found;
      });
      assert.deepEqual(late.output, storyEnds.Caught['output']);
      assert.deepEqual(
        (await ran()).filter(({ id }) => id === 'late').map(({ version }) => version),
        ['v2', 'v2'],
      );
    } finally {
      await platform.close();
    }
  },
);
