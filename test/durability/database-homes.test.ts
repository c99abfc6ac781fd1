// Project databases on several machines: each has one home, which another service takes when it is lost.
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test, type TestContext } from 'node:test';
import {
  allLeased,
  LEASE_MS,
  startHome,
  startPostgresWay,
  type PostgresWay,
  type TestHome,
} from '#test/setup/database-homes.ts';
import { ask, query } from '#test/setup/databases.ts';
import { ops } from '#runtime/databases/protocol/frames.ts';
import { createTestDatabase } from '#test/setup/postgres.ts';
import { startS3Server, type S3Server } from '#test/setup/s3-server.ts';
import { until } from '#test/setup/until.ts';

let prefixes = 0;
let s3: S3Server;
before(async () => {
  s3 = await startS3Server();
});
after(() => s3.close());

type Start = (machine: string, options?: Partial<Parameters<typeof startHome>[0]>) => Promise<TestHome>;

/** Services over a Postgres and a prefix of the test. */
async function installation(t: TestContext): Promise<{ start: Start; postgresUrl: string }> {
  const environment = { DB_REPLICA_S3_PREFIX: `homes-${++prefixes}` };
  const postgres = await createTestDatabase();
  const homes: TestHome[] = [];
  t.after(async () => {
    for (const home of homes) {
      await home.stop();
      await rm(home.directory, { recursive: true, force: true });
    }
    await postgres.close();
  });
  return {
    postgresUrl: postgres.url,
    start: async (machine, options = {}) => {
      const home = await startHome({ machine, postgresUrl: postgres.url, s3, environment, ...options });
      homes.push(home);
      return home;
    },
  };
}

const place = (namespace: string): { namespace: string; resource: string } => ({ namespace, resource: 'main' });

test('two services give a new project to the one that is asked, and each reaches what the other has', async (t) => {
  const { start } = await installation(t);
  const m1 = await start('m1');
  await query(m1.client, 'CREATE TABLE entry (text)', [], place('shop'));
  await query(m1.client, "INSERT INTO entry VALUES ('before')", [], place('shop'));
  const m2 = await start('m2');
  await query(m2.client, 'CREATE TABLE entry (text)', [], place('blog'));
  await query(m2.client, "INSERT INTO entry VALUES ('of m1')", [], place('shop'));
  await query(m1.client, "INSERT INTO entry VALUES ('of m2')", [], place('blog'));
  assert.deepEqual(await query(m1.client, 'SELECT text FROM entry', [], place('shop')), [['before'], ['of m1']]);
  assert.deepEqual(await query(m1.client, 'SELECT text FROM entry', [], place('blog')), [['of m2']]);
  assert.deepEqual(
    (await m2.client.list('shop')).map(({ resource }) => resource),
    ['main'],
  );
  assert.deepEqual(Object.keys((await m2.client.kept()) ?? {}).toSorted(), ['blog', 'shop']);
});

test('the projects of a lost machine are restored on another one', async (t) => {
  const { start, postgresUrl } = await installation(t);
  const m1 = await start('m1');
  const m2 = await start('m2');
  await allLeased(postgresUrl, 2);
  await query(m1.client, 'CREATE TABLE entry (text)', [], place('lost'));
  await query(m1.client, "INSERT INTO entry VALUES ('kept')", [], place('lost'));
  await until(async () => (await m1.client.replica(place('lost')).catch(() => null))?.range != null);
  await m1.kill();
  assert.deepEqual(await query(m2.client, 'SELECT text FROM entry', [], place('lost')), [['kept']]);
});

test('a lost database of 100 MB is served again, and the time is printed', async (t) => {
  const { start, postgresUrl } = await installation(t);
  const m1 = await start('m1');
  const m2 = await start('m2');
  await allLeased(postgresUrl, 2);
  const write = async (sql: string): Promise<void> =>
    assert.deepEqual(await query(m1.client, sql, [], place('large')), []);
  await write('CREATE TABLE large (bytes BLOB)');
  for (let n = 0; n < 100; n++) await write('INSERT INTO large VALUES (randomblob(1000000))');
  const written = Date.now();
  await until(async () => {
    // A write of its own: the replica's time is that of its last one.
    await write('INSERT INTO large VALUES (1)');
    return ((await m1.client.replica(place('large')).catch(() => null))?.range?.newest ?? 0) > written;
  });
  const lost = performance.now();
  await m1.kill();
  const sum = 'SELECT count(*), sum(length(bytes)) FROM large WHERE length(bytes) > 1';
  assert.deepEqual(await query(m2.client, sum, [], place('large')), [[100, 100_000_000]]);
  const ms = Math.round(performance.now() - lost);
  t.diagnostic(`100 MB: served by another machine ${ms} ms after the loss, of which its lease is up to ${LEASE_MS}`);
});

/** Rounds of each kind of loss. */
const ROUNDS = Math.max(1, Math.round(Number(process.env['DURABILITY_ROUNDS'] ?? 5) / 5));
/** What is acknowledged so long before a loss may not be in the bucket. */
const SHIPPED_MS = 2000;

interface Acknowledged {
  readonly id: number;
  readonly at: number;
}

/** Writes numbers one after the other until it is stopped; remembers those that were acknowledged. */
class Writer {
  readonly acknowledged: Acknowledged[] = [];
  home: TestHome;
  #isOver = false;
  readonly #next: () => number;
  readonly #running: Promise<void>;

  constructor(home: TestHome, next: () => number) {
    this.home = home;
    this.#next = next;
    this.#running = this.#run();
  }

  async #run(): Promise<void> {
    while (!this.#isOver) {
      const id = this.#next();
      try {
        const answer = await query(this.home.client, 'INSERT INTO entry (id) VALUES (?)', [id], place('shop'));
        if (String(answer) === '') this.acknowledged.push({ id, at: performance.now() });
      } catch {
        // The machine of this engine is being killed, or nobody has the database yet.
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
    }
  }

  async stop(): Promise<void> {
    this.#isOver = true;
    await this.#running;
  }
}

for (const confirms of [false, true])
  test(`kills, stops and partitions: ${confirms ? 'with DB_REPLICATION=confirm no acknowledged write is lost' : 'only writes of the last two seconds are lost'}, and there are never two homes`, async (t) => {
    const postgres = await createTestDatabase();
    const machines = new Map<string, { home: TestHome; way: PostgresWay }>();
    const environment = confirms ? { DB_REPLICATION: 'confirm' } : {};
    const begin = async (machine: string, directory: string): Promise<TestHome> => {
      const way = machines.get(machine)?.way ?? (await startPostgresWay(postgres.url));
      const home = await startHome({
        machine,
        postgresUrl: way.url,
        s3,
        directory,
        environment: { ...environment, DB_REPLICA_S3_PREFIX: `rounds-${confirms}` },
      });
      machines.set(machine, { home, way });
      return home;
    };
    t.after(async () => {
      for (const { home, way } of machines.values()) {
        await home.stop();
        await way.close();
        await rm(home.directory, { recursive: true, force: true });
      }
      await postgres.close();
    });
    for (const machine of ['m1', 'm2']) await begin(machine, await mkdtemp(join(tmpdir(), 'platform-test-')));
    const of = (machine: string): TestHome => machines.get(machine)!.home;
    await query(of('m1').client, 'CREATE TABLE entry (id INTEGER PRIMARY KEY)', [], place('shop'));
    let last = 0;
    const next = (): number => ++last;
    const writers = [new Writer(of('m1'), next), new Writer(of('m2'), next)];
    /** When each home was lost. */
    const losses: number[] = [];
    const pathOf = async (machine: string): Promise<string> => {
      const { path } = (await ask(of(machine).client, ops.describe, [], place('shop'))) as { path: string };
      return path;
    };
    const count = (): number => writers.reduce((sum, { acknowledged }) => sum + acknowledged.length, 0);
    const more = async (writer: Writer, by: number): Promise<void> => {
      const before = writer.acknowledged.length;
      await until(() => writer.acknowledged.length >= before + by);
    };
    for (let round = 0; round < ROUNDS; round++)
      for (const kind of ['kill', 'stop', 'cut'] as const) {
        await Promise.all(writers.map((writer) => more(writer, 20)));
        await allLeased(postgres.url, machines.size);
        const home = (await pathOf('m1')).startsWith(of('m1').directory) ? 'm1' : 'm2';
        const other = home === 'm1' ? 'm2' : 'm1';
        const survivor = writers[other === 'm1' ? 0 : 1]!;
        // A home that has just taken over has stored it once.
        await until(
          async () =>
            (
              await of(home)
                .client.replica(place('shop'))
                .catch(() => null)
            )?.range != null,
        );
        const wasAt = performance.now();
        losses.push(wasAt);

        if (kind === 'kill') await of(home).kill();
        else if (kind === 'stop') of(home).signal('SIGSTOP');
        else machines.get(home)!.way.cut();
        await more(survivor, 5);
        await until(async () => (await pathOf(other)).startsWith(of(other).directory));
        t.diagnostic(`${kind}: written again after ${Math.round(performance.now() - wasAt)} ms`);
        losses.push(performance.now());
        if (kind === 'kill') writers[home === 'm1' ? 0 : 1]!.home = await begin(home, of(home).directory);
        else if (kind === 'stop') of(home).signal('SIGCONT');
        else machines.get(home)!.way.mend();
      }
    await Promise.all(writers.map((writer) => more(writer, 20)));
    await Promise.all(writers.map((writer) => writer.stop()));
    const rows = (await query(of('m1').client, 'SELECT id FROM entry', [], place('shop'))) as number[][];
    assert.deepEqual(await query(of('m2').client, 'SELECT count(*) FROM entry', [], place('shop')), [[rows.length]]);
    const found = new Set(rows.map(([id]) => id));
    const missing = writers.flatMap(({ acknowledged }) => acknowledged).filter(({ id }) => !found.has(id));
    t.diagnostic(`${count()} acknowledged, ${missing.length} lost`);
    // Each loss is a pair of moments: when it happened, and when it was certain.
    const isLate = ({ at }: Acknowledged): boolean =>
      losses.some((lost, index) => index % 2 === 0 && at > lost - SHIPPED_MS && at < losses[index + 1]!);
    assert.deepEqual(confirms ? missing : missing.filter((one) => !isLate(one)), []);
  });

test('a hot project moves without a failed statement', async (t) => {
  const { start } = await installation(t);
  const m1 = await start('m1');
  const m2 = await start('m2');
  await query(m1.client, 'CREATE TABLE entry (id INTEGER PRIMARY KEY, text TEXT)', [], place('shop'));
  let isOver = false;
  let written = 0;
  const failures: string[] = [];
  const writing = [m1, m2].map(async ({ client }) => {
    while (!isOver) {
      const answer = await query(client, "INSERT INTO entry (text) VALUES ('x')", [], place('shop')).catch(String);
      if (String(answer) === '') written++;
      else failures.push(String(answer));
    }
  });
  for (const to of ['m2', 'm1', 'm2']) {
    const before = written;
    await until(() => written > before + 100);
    // Its own lease may not be there yet.
    await until(() =>
      m1.client.move('shop', to).then(
        () => true,
        (error: Error) => !/no other|no machine/.test(error.message),
      ),
    );
    const { path } = (await ask(m1.client, ops.describe, [], place('shop'))) as { path: string };
    assert.ok(path.startsWith((to === 'm1' ? m1 : m2).directory), path);
  }
  isOver = true;
  await Promise.all(writing);
  assert.deepEqual(failures, []);
  assert.deepEqual(await query(m1.client, 'SELECT count(*) FROM entry', [], place('shop')), [[written]]);
  await assert.rejects(m1.client.move('shop', 'm9'), /no machine m9 takes project databases: there are m1/);
});

test('without replicas, the projects of a lost machine stay where they are, and requests say so', async (t) => {
  const { start } = await installation(t);
  const m1 = await start('m1', { isReplicated: false });
  const m2 = await start('m2', { isReplicated: false, limits: { homeMs: 10_000 } });
  await query(m1.client, 'CREATE TABLE entry (text)', [], place('shop'));
  await query(m2.client, "INSERT INTO entry VALUES ('kept')", [], place('shop'));
  await m1.kill();
  await until(async () => {
    const answer = await query(m2.client, 'SELECT text FROM entry', [], place('shop')).catch(String);
    return /machine m1, which does not answer, and they have no replicas/.test(String(answer));
  });
  await start('m1', { isReplicated: false, directory: m1.directory });
  await until(async () => {
    const answer = await query(m2.client, 'SELECT text FROM entry', [], place('shop')).catch(String);
    return String(answer) === 'kept';
  });
});
