// Transactions of the db binding from inside a worker, by `transaction()` and by statements, and the messages sent in
// them. Part of database-binding.ts.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { EventStores } from '#runtime/stores/event-stores.ts';
import { until } from '#test/setup/until.ts';

/** A worker with the bindings `DB` and `OTHER`, and the queue `MAIL`. */
interface Subject {
  /** Runs the body of an async function in the worker. */
  run(code: string): Promise<unknown>;
  readonly queue: EventStores['queue'];
  /** The place of `MAIL` in `queue`. */
  readonly mail: { readonly namespace: string; readonly resource: string };
  /** Sends what the outbox holds. */
  sweep(): Promise<unknown>;
}

const refused =
  'D1_ERROR: not authorized: use batch() or transaction() instead of BEGIN, COMMIT, ROLLBACK and SAVEPOINT: SQLITE_AUTH';

export function databaseTransactionTests({ run, queue, mail, sweep }: Subject): void {
  test('a transaction commits together, and what it threw undoes it', async () => {
    assert.deepEqual(
      await run(`
      const count = (on) => on.prepare('SELECT count(*) AS n FROM users').first('n');
      const kept = await DB.transaction(async (tx) => {
        await tx.prepare("INSERT INTO users (name) VALUES ('ann')").run();
        return [await count(tx), await count(DB)];
      });
      const thrown = await DB.transaction(async (tx) => {
        await tx.batch([tx.prepare("INSERT INTO users (name) VALUES ('bob')")]);
        await tx.exec("INSERT INTO users (name) VALUES ('cid')");
        throw new Error('no');
      }).catch((error) => error.message);
      let late;
      await DB.transaction(async (tx) => { late = tx; });
      return [kept, thrown, await count(DB), await count(late).catch((error) => error.message)];`),
      [[1, 0], 'no', 1, 'D1_ERROR: the transaction has ended: it was committed: SQLITE_ABORT'],
    );
  });

  test('BEGIN and COMMIT as statements enclose the calls of their chain of await, and no concurrent ones', async () => {
    assert.deepEqual(
      await run(`
      const count = (on = DB) => on.prepare('SELECT count(*) AS n FROM users').first('n');
      const say = (sql) => DB.prepare(sql).run();
      const add = (name) => DB.prepare('INSERT INTO users (name) VALUES (?)').bind(name).run();
      // As drivers do it.
      const transaction = async (work, begin = 'begin') => {
        await say(begin);
        try {
          const result = await work();
          await DB.prepare('COMMIT').all();
          return result;
        } catch (error) {
          await say('rollback');
          throw error;
        }
      };
      const kept = await transaction(async () => { await add('ann'); return count(); }, 'BEGIN IMMEDIATE TRANSACTION;');
      const failed = transaction(async () => {
        await add('bob');
        await DB.batch([DB.prepare("INSERT INTO users (name) VALUES ('cid')")]);
        await DB.exec("INSERT INTO users (name) VALUES ('dan')");
        await DB.withSession().prepare("INSERT INTO users (name) VALUES ('eva')").run();
        throw new Error('no');
      }).catch((error) => error.message);
      // Starts while the other waits for its BEGIN: outside, and stays outside.
      const beside = (async () => { const before = await count(); await add('fay'); return before; })();
      const ended = [await failed, await beside, await count()];
      const both = await Promise.all([transaction(() => add('gil')), transaction(() => add('hal'))]);
      return [kept, ended, both.map(({ meta }) => meta.changes), await count(), [(await say('begin')).success, (await say('rollback')).results]];`),
      [1, ['no', 1, 2], [1, 1], 4, [true, []]],
    );
  });

  test('COMMIT or ROLLBACK without BEGIN fails as in SQLite; statements after a failed COMMIT get its reason', async () => {
    assert.deepEqual(
      await run(`
      const say = (sql) => DB.prepare(sql).run().then(() => 'done', (error) => error.message);
      const first = [await say('commit'), await say('ROLLBACK TRANSACTION')];
      await DB.exec('CREATE TABLE IF NOT EXISTS notes (owner REFERENCES users(id) DEFERRABLE INITIALLY DEFERRED)');
      await DB.prepare('begin').run();
      await DB.prepare('INSERT INTO notes VALUES (7)').run();
      // What a driver does when its commit fails.
      const second = [await say('commit'), (await say('SELECT 1')).split(': ').slice(0, 3), await say('rollback'), await say('rollback'), await say('SELECT 1')];
      return [first, second];`),
      [
        [
          'D1_ERROR: cannot commit - no transaction is active: SQLITE_ERROR',
          'D1_ERROR: cannot rollback - no transaction is active: SQLITE_ERROR',
        ],
        [
          'D1_ERROR: FOREIGN KEY constraint failed: SQLITE_CONSTRAINT',
          ['D1_ERROR', 'the transaction has ended', 'its commit failed'],
          'done',
          'D1_ERROR: cannot rollback - no transaction is active: SQLITE_ERROR',
          'done',
        ],
      ],
    );
  });

  test('savepoints are allowed only inside a transaction', async () => {
    assert.deepEqual(
      await run(`
      const names = (on) => on.prepare('SELECT name FROM users ORDER BY name').raw().then((rows) => rows.flat());
      const inside = await DB.transaction(async (tx) => {
        const say = (sql) => tx.prepare(sql).run().then(() => 'done', (error) => error.message);
        await say("INSERT INTO users (name) VALUES ('ann')");
        await say('SAVEPOINT one');
        await say("INSERT INTO users (name) VALUES ('bob')");
        await say('CREATE TABLE gone (x)');
        await say('SELECT * FROM gone');
        await say('ROLLBACK TO SAVEPOINT one');
        const after = [await names(tx), await say('SELECT * FROM gone')];
        await say("INSERT INTO users (name) VALUES ('cid')");
        return [...after, await say('RELEASE one'), await tx.batch([tx.prepare('SAVEPOINT two')]).catch((error) => error.message), await say('COMMIT')];
      });
      const outside = await DB.prepare('SAVEPOINT three').run().catch((error) => error.message);
      return [inside, outside, await names(DB)];`),
      [[['ann'], 'D1_ERROR: no such table: gone: SQLITE_ERROR', 'done', refused, refused], refused, ['ann', 'cid']],
    );
  });

  /** Payloads in the queue, once there are as many. */
  async function mailed(count: number): Promise<unknown[]> {
    return until(async () => {
      const { messages } = await queue.list(mail, { limit: 100, after: 0 });
      return messages.length >= count && messages.map(({ payload }) => JSON.parse(payload) as unknown);
    });
  }

  test('a message is sent if and only if its transaction commits', async () => {
    const ids = await run(`
      const send = (name, fail) => DB.transaction(async (tx) => {
        await tx.prepare('INSERT INTO users (name) VALUES (?)').bind(name).run();
        const { messageId } = await tx.send(MAIL, { to: name });
        if (fail) throw new Error('no');
        return messageId;
      });
      const kept = await send('ann');
      await send('bob', true).catch(() => {});
      await send('ann').catch(() => {});
      await DB.transaction((tx) => void tx.send(MAIL, 'not awaited'));
      return [kept];`);
    assert.deepEqual(await mailed(2), [{ to: 'ann' }, 'not awaited']);
    const { messages } = await queue.list(mail, { limit: 100, after: 0 });
    assert.deepEqual([messages[0]!.id], ids);
    // Nothing is left to be sent again.
    await sweep();
    assert.equal((await mailed(2)).length, 2);
    assert.equal(await run(`return DB.prepare('SELECT count(*) AS n FROM platform_internal_outbox').first('n')`), 0);
  });

  test('a message of a transaction has the options of one that is sent by itself', async () => {
    const now = Date.now();
    await run(`
      const remembered = 'd' + Math.random();
      await MAIL.send('first', { dedupeId: remembered });
      await DB.transaction(async (tx) => {
        await tx.send(MAIL, 'again', { dedupeId: remembered });
        await tx.send(MAIL, 'late', { delaySeconds: 60, orderingKey: 'k' });
        await tx.send(MAIL, 'last');
      });`);
    assert.deepEqual(await mailed(3), ['first', 'late', 'last']);
    const [, late] = (await queue.list(mail, { limit: 100, after: 0 })).messages;
    assert.ok(late!.dueAt! >= now + 60_000 && late!.dueAt! <= Date.now() + 60_000);
  });

  test('sendBatch of a transaction sends all of its messages or none, in their order, as that of a queue does', async () => {
    const [ids, ...refused] = (await run(`
      const said = async (work) => { try { return await work(); } catch (error) { return error.message; } };
      return DB.transaction(async (tx) => {
        const { messageIds } = await tx.sendBatch(MAIL, new Set([{ payload: 'a' }, { body: 'b' }]), { orderingKey: 'k' });
        const found = [messageIds];
        for (const list of [[], [{ payload: 'x' }, { payload: 'x'.repeat(2000) }], Array.from({ length: 101 }, () => ({ payload: 1 }))])
          found.push([await said(() => tx.sendBatch(MAIL, list)), await said(() => MAIL.sendBatch(list))]);
        found.push(await said(() => tx.sendBatch(DB, [{ payload: 1 }])));
        await tx.sendBatch(MAIL, [{ payload: 'c' }]);
        return found;
      });`)) as [string[], ...unknown[]];
    assert.deepEqual(await mailed(3), ['a', 'b', 'c']);
    const { messages } = await queue.list(mail, { limit: 100, after: 0 });
    assert.deepEqual(
      messages.slice(0, 2).map(({ id }) => id),
      ids,
    );
    assert.equal(refused.pop(), 'sendBatch takes a queue of env, such as tx.sendBatch(env.MAIL, [{ payload }])');
    for (const [outbox, queue] of refused as [string, string][]) assert.equal(outbox, queue);
  });

  test('a message that a queue would refuse is refused in the same words, and the transaction goes on', async () => {
    assert.deepEqual(
      await run(`
      const said = async (work) => { try { return await work(); } catch (error) { return [error.message, error.code]; } };
      const wrong = [
        (on) => on('x'.repeat(2000)),
        (on) => on(undefined),
        (on) => on(1, { delaySeconds: -1 }),
        (on) => on(1, { dedupeId: '' }),
        (on) => on(1, { orderingKey: 'x'.repeat(200) }),
      ];
      let late;
      const pairs = await DB.transaction(async (tx) => {
        late = tx;
        await tx.prepare("INSERT INTO users (name) VALUES ('ann')").run();
        const found = [];
        for (const one of wrong) found.push([await said(() => one((...args) => MAIL.send(...args))), await said(() => one((...args) => tx.send(MAIL, ...args)))]);
        return found;
      });
      return [
        pairs.filter(([queue, outbox]) => !Array.isArray(queue) || String(queue) !== String(outbox)),
        await said(() => late.send(MAIL, 1)),
        await said(() => DB.transaction((tx) => tx.send(DB, 1))),
        await said(() => DB.transaction((tx) => tx.send('MAIL', 1))),
        await DB.prepare('SELECT count(*) AS n FROM users').first('n'),
      ];`),
      [
        [],
        ['D1_ERROR: the transaction has ended: it was committed: SQLITE_ABORT', 'SQLITE_ABORT'],
        ['send takes a queue of env, such as tx.send(env.MAIL, payload)', null],
        ['send takes a queue of env, such as tx.send(env.MAIL, payload)', null],
        1,
      ],
    );
    assert.deepEqual(await mailed(0), []);
  });

  test('writes wait for a transaction of somebody else, and transactions queue', async () => {
    assert.deepEqual(
      await run(`
      await DB.exec("CREATE TABLE counter (n); INSERT INTO counter VALUES (0)");
      const bump = () => DB.transaction(async (tx) => {
        const n = await tx.prepare('SELECT n FROM counter').first('n');
        await tx.prepare('UPDATE counter SET n = ?').bind(n + 1).run();
      });
      await Promise.all(Array.from({ length: 20 }, bump));
      const order = [];
      let write;
      await DB.transaction(async (tx) => {
        write = DB.prepare('UPDATE counter SET n = n + 100').run().then(() => order.push('write'));
        order.push(await DB.prepare('SELECT n FROM counter').first('n'));
        await tx.prepare('UPDATE counter SET n = n + 1').run();
        order.push('end');
      });
      await write;
      return [await DB.prepare('SELECT n FROM counter').first('n'), order];`),
      [121, [20, 'end', 'write']],
    );
  });
}
