// What every store of sandboxes' rows promises. Run by sandbox-rows-*.test.ts, each with its own store.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BUILD_RESOURCE, type SandboxPlace } from '#core/sandbox/operations.ts';
import type { SandboxOptions } from '#core/sandbox/options.ts';
import type { IdleTimes, SandboxRows } from '#sandbox/service/rows.ts';

/** A store under test. */
interface SandboxRowsCase {
  readonly rows: SandboxRows;
  /** Makes all rows look as if nobody had called for so long. */
  age(ms: number): Promise<void>;
  close(): Promise<void>;
}

export const TIMES: IdleTimes = { idleMs: 60_000, stopMs: 600_000, destroyMs: 6_000_000 };
export const PER_PROJECT_MAX = 3;

const place = (id: string, project = 'shop'): SandboxPlace => ({ project, resource: 'work', id });

export function testSandboxRows(name: string, open: () => Promise<SandboxRowsCase>): void {
  const fact = (title: string, run: (subject: SandboxRowsCase) => Promise<void>): void => {
    test(`${name}: ${title}`, async () => {
      const subject = await open();
      try {
        await run(subject);
      } finally {
        await subject.close();
      }
    });
  };
  const keyOf = async (rows: SandboxRows, where: SandboxPlace): Promise<string> => {
    const claim = await rows.claim(where);
    assert.equal(claim.is, 'ours');
    return (claim as { row: { key: string } }).row.key;
  };

  fact(
    'a place that is claimed has a row that is being created, and the same one when it is claimed again',
    async ({ rows }) => {
      const before = Date.now();
      const claim = await rows.claim(place('a'));
      assert.equal(claim.is, 'ours');
      const { row } = claim as Extract<typeof claim, { is: 'ours' }>;
      assert.match(row.key, /^[a-z0-9]{1,40}$/);
      assert.deepEqual(
        { ...row, key: '', createdAt: 0, lastActiveAt: 0 },
        {
          key: '',
          place: place('a'),
          provider: 'local',
          state: 'creating',
          options: { machine: null, image: null, egress: null, ai: null },
          createdAt: 0,
          lastActiveAt: 0,
        },
      );
      assert.ok(Math.abs(row.createdAt - before) < 60_000);
      assert.equal(await keyOf(rows, place('a')), row.key);
      assert.deepEqual(await rows.find(place('a')).then((found) => found?.key), row.key);
    },
  );

  fact('the same id is another sandbox in another project, and under another resource', async ({ rows }) => {
    const keys = new Set([
      await keyOf(rows, place('a')),
      await keyOf(rows, place('a', 'blog')),
      await keyOf(rows, { ...place('a'), resource: 'other' }),
    ]);
    assert.equal(keys.size, 3);
    assert.equal(await rows.find(place('a', 'news')), null);
  });

  fact('a project has as many as it may, and another one has room', async ({ rows }) => {
    for (const id of ['a', 'b', 'c']) await keyOf(rows, place(id));
    assert.deepEqual(await rows.claim(place('d')), { is: 'full' });
    // Those of builds take no place of theirs.
    assert.equal((await rows.claim({ ...place('d'), resource: BUILD_RESOURCE })).is, 'ours');
    await keyOf(rows, place('a'));
    await keyOf(rows, place('d', 'blog'));
    await rows.remove(await keyOf(rows, place('b')));
    await keyOf(rows, place('d'));
  });

  fact('a state is saved, and one that was removed cannot be', async ({ rows }) => {
    const key = await keyOf(rows, place('a'));
    assert.equal(await rows.save(key, 'running', 1_700_000_000_000), true);
    const found = await rows.find(place('a'));
    assert.deepEqual([found?.state, found?.lastActiveAt], ['running', 1_700_000_000_000]);
    await rows.remove(key);
    assert.equal(await rows.save(key, 'running', 0), false);
    assert.deepEqual(await rows.renew([key]), []);
    assert.equal(await rows.claimKey(key), null);
    assert.notEqual(await keyOf(rows, place('a')), key);
  });

  fact('what a sandbox is made of is kept with it', async ({ rows }) => {
    const key = await keyOf(rows, place('a'));
    const options: SandboxOptions = {
      machine: 'large',
      image: 'tools:3',
      egress: { mode: 'allow', allow: ['*.example.com'] },
      ai: false,
    };
    assert.equal(await rows.saveOptions(key, options), true);
    assert.deepEqual((await rows.find(place('a')))?.options, options);
    await rows.save(key, 'running', Date.now());
    assert.deepEqual((await rows.claimKey(key))?.options, options);
    await rows.remove(key);
    assert.equal(await rows.saveOptions(key, options), false);
  });

  fact('they are listed by id, from after a cursor and with a prefix', async ({ rows }) => {
    for (const id of ['b1', 'a1', 'B1']) await keyOf(rows, place(id));
    await keyOf(rows, place('a0', 'blog'));
    const ids = async (prefix: string, cursor: string, limit: number): Promise<string[]> =>
      (await rows.list({ project: 'shop', resource: 'work' }, { prefix, cursor, limit })).map((row) => row.place.id);
    assert.deepEqual(await ids('', '', 10), ['B1', 'a1', 'b1']);
    assert.deepEqual(await ids('', 'B1', 1), ['a1']);
    assert.deepEqual(await ids('b', '', 10), ['b1']);
    assert.deepEqual(await ids('%', '', 10), []);
  });

  fact('what nobody calls is due to be suspended, then stopped, then destroyed', async ({ rows, age }) => {
    const key = await keyOf(rows, place('a'));
    await rows.save(key, 'running', Date.now());
    await rows.release(key);
    assert.deepEqual(await rows.due(), []);
    await age(61_000);
    assert.deepEqual(await rows.due(), [{ key, what: 'suspend' }]);
    const now = Date.now();
    await rows.claimKey(key);
    await rows.save(key, 'suspended', now - 61_000);
    assert.deepEqual(await rows.due(), []);
    await age(601_000);
    assert.deepEqual(await rows.due(), [{ key, what: 'stop' }]);
    await rows.save(key, 'stopped', now - 601_000);
    assert.deepEqual(await rows.due(), []);
    await age(6_001_000);
    assert.deepEqual(await rows.due(), [{ key, what: 'destroy' }]);
  });

  fact('of keys, those are known that have a row, and a project has its places', async ({ rows }) => {
    const key = await keyOf(rows, place('a'));
    assert.deepEqual(await rows.known([key, 'nobody']), new Set([key]));
    assert.deepEqual(await rows.placesOf('shop'), [place('a')]);
    assert.deepEqual(await rows.placesOf('blog'), []);
  });
}
