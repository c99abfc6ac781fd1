// What the db binding keeps to from inside a worker, over every store: the shape of D1, and transactions
// (database-transactions.ts). Each store runs it from a test file of its own.
import assert from 'node:assert/strict';
import { after, before, beforeEach, test } from 'node:test';
import { defaultLimits } from '#core/limits.ts';
import { noStores } from '#test/setup/no-stores.ts';
import type { DatabaseStore } from '#runtime/engine/bindings/database.ts';
import type { DatabasePlace } from '#runtime/engine/bindings/scope.ts';
import { openEventsSqlite } from '#runtime/stores/event-stores-sqlite.ts';
import type { RunningOutbox } from '#runtime/stores/outbox.ts';
import { startHandler, type TestHandler } from '#test/setup/handler.ts';
import { openOutbox } from '#test/setup/outbox.ts';
import { databaseTransactionTests } from './database-transactions.ts';

/** A store, and what only it does. */
export interface DatabaseBindingCase {
  readonly store: DatabaseStore & { remove(place: DatabasePlace): Promise<unknown> };
  /** Errors say where in the text. */
  readonly hasOffsets: boolean;
  /** Also `-0` and the infinite ones go over its wire. */
  readonly hasEveryNumber: boolean;
  close(): Promise<void>;
}

const worker = `
export default {
  async fetch(request, { DB, OTHER, MAIL }) {
    const run = new Function('DB', 'OTHER', 'MAIL', 'return (async () => {' + (await request.text()) + '})()');
    try { return Response.json((await run(DB, OTHER, MAIL)) ?? null); }
    catch (error) { return Response.json({ error: error.message, code: error.code, cause: error.cause?.message }); }
  },
};`;
const yaml = 'db:\n  DB: main\n  OTHER: second\nqueue:\n  MAIL: mail\n';

/** Registers the suite's tests over the store that `open` gives. */
export function databaseBindingContract(open: () => Promise<DatabaseBindingCase>): void {
  let handler: TestHandler;
  let subject: DatabaseBindingCase;
  let outbox: RunningOutbox;
  const limits = { ...defaultLimits.delivery, messageBytesMax: 1000 };
  const events = openEventsSqlite({ file: ':memory:', limits });
  const mail = { namespace: 'shop', resource: 'mail' };

  before(async () => {
    subject = await open();
    outbox = openOutbox(subject.store, events, limits);
    const stores = { ...noStores, database: subject.store, events: { ...events, limits, outbox } };
    handler = await startHandler({ shop: { files: worker, yaml }, rival: { files: worker, yaml } }, {}, { stores });
  });
  after(async () => {
    await handler.close();
    await outbox.close();
    await events.close();
    await subject.close();
  });
  beforeEach(async () => {
    await subject.store.remove({ namespace: 'shop', resource: 'main' });
    await events.queue.purge(mail);
    await run(`await DB.exec("CREATE TABLE users (id INTEGER PRIMARY KEY, name TEXT UNIQUE, data)")`);
  });

  async function run(code: string, project = 'shop'): Promise<unknown> {
    const { text } = await handler.fetch(project, '/', { method: 'POST', body: code });
    return JSON.parse(text) as unknown;
  }

  /** The words of an error as this store has them. */
  const words = (text: string): string => (subject.hasOffsets ? text : text.replace(/ at offset \d+/, ''));

  test('all, first, run and raw give what D1 gives', async () => {
    assert.deepEqual(
      await run(`
      const inserted = await DB.prepare('INSERT INTO users (name) VALUES (?1)').bind('ann').run();
      await DB.prepare('INSERT INTO users (name, data) VALUES (?, ?)').bind('bob', 2.5).run();
      const all = await DB.prepare('SELECT id, name FROM users ORDER BY id').all();
      const { meta } = inserted;
      return [
        [inserted.success, inserted.results, meta.changes, meta.last_row_id, meta.changed_db, meta.rows_written, meta.rows_read, typeof meta.duration, typeof meta.size_after, meta.served_by],
        [all.success, all.results, all.meta.rows_read, all.meta.changed_db],
        await DB.prepare('SELECT * FROM users WHERE name = ?').bind('bob').first(),
        await DB.prepare('SELECT * FROM users WHERE name = ?').bind('bob').first('data'),
        await DB.prepare('SELECT * FROM users WHERE name = ?').bind('nobody').first(),
        await DB.prepare('SELECT id, name FROM users ORDER BY id').raw(),
        await DB.prepare('SELECT id, name FROM users WHERE id = 1').raw({ columnNames: true }),
        (await DB.prepare('INSERT INTO users (name) VALUES (?) RETURNING id, name').bind('cid').all()).results,
      ];`),
      [
        [true, [], 1, 1, true, 1, 0, 'number', 'number', 'shard-0'],
        [
          true,
          [
            { id: 1, name: 'ann' },
            { id: 2, name: 'bob' },
          ],
          2,
          false,
        ],
        { id: 2, name: 'bob', data: 2.5 },
        2.5,
        null,
        [
          [1, 'ann'],
          [2, 'bob'],
        ],
        [
          ['id', 'name'],
          [1, 'ann'],
        ],
        [{ id: 3, name: 'cid' }],
      ],
    );
  });

  test('values go in and come out as D1 has them', async () => {
    assert.deepEqual(
      await run(`
      const show = async (value) => {
        const { v, t } = await DB.prepare('SELECT ? AS v, typeof(?) AS t').bind(value, value).first();
        return [Object.is(v, -0) ? '-0' : typeof v === 'bigint' ? v + 'n' : typeof v === 'number' ? String(v) : v, t];
      };
      const values = [true, false, null, 1, 1.5, NaN, 2n ** 53n, -(2n ** 63n), 7n, 'ü\\u{1f600}\\0x', new Uint8Array([0, 255]), new Uint8Array([9, 8, 7]).subarray(1), new Uint8Array([1]).buffer, [1, 2]];
      return Promise.all(values.map(show));`),
      [
        ['1', 'real'],
        ['0', 'real'],
        [null, 'null'],
        ['1', 'real'],
        ['1.5', 'real'],
        [null, 'null'],
        ['9007199254740992n', 'integer'],
        ['-9223372036854775808n', 'integer'],
        ['7', 'integer'],
        ['ü\u{1f600}\0x', 'text'],
        [[0, 255], 'blob'],
        [[8, 7], 'blob'],
        [[1], 'blob'],
        [[1, 2], 'blob'],
      ],
    );
  });

  test('numbers for which JSON has no word come out as they went in', async () => {
    if (!subject.hasEveryNumber) return;
    const found = await run(`
    const [row] = await DB.prepare('SELECT ?, ?, ?').bind(-0, Infinity, -Infinity).raw();
    return row.map((value) => (Object.is(value, -0) ? '-0' : String(value)));`);
    assert.deepEqual(found, ['-0', 'Infinity', '-Infinity']);
  });

  test('a value that SQLite does not store is refused when it is bound', async () => {
    const values = {
      undefined: 'undefined',
      function: '() => 1',
      symbol: 'Symbol("x")',
      object: '({ a: 1 })',
      bigint: '2n ** 63n',
    };
    for (const [type, code] of Object.entries(values)) {
      const { error } = (await run(`DB.prepare('SELECT ?').bind(${code})`)) as { error: string };
      assert.match(error, new RegExp(`^D1_TYPE_ERROR: Type '${type}' not supported for value `));
    }
  });

  test('an error of SQL has the message, the position and the code of SQLite', async () => {
    const error = (sql: string): Promise<unknown> => run(`await DB.prepare(${JSON.stringify(sql)}).all()`);
    assert.deepEqual(await error('SELEC 1'), {
      error: words('D1_ERROR: near "SELEC": syntax error at offset 0: SQLITE_ERROR'),
      code: 'SQLITE_ERROR',
      cause: words('near "SELEC": syntax error at offset 0: SQLITE_ERROR'),
    });
    assert.deepEqual(await error('SELECT id, nope FROM users'), {
      error: words('D1_ERROR: no such column: nope at offset 11: SQLITE_ERROR'),
      code: 'SQLITE_ERROR',
      cause: words('no such column: nope at offset 11: SQLITE_ERROR'),
    });
    await run(`await DB.prepare("INSERT INTO users (name) VALUES ('ann')").run()`);
    assert.deepEqual(await error("INSERT INTO users (name) VALUES ('ann')"), {
      error: 'D1_ERROR: UNIQUE constraint failed: users.name: SQLITE_CONSTRAINT',
      code: 'SQLITE_CONSTRAINT_UNIQUE',
      cause: 'UNIQUE constraint failed: users.name: SQLITE_CONSTRAINT',
    });
    assert.deepEqual(await run(`await DB.prepare('SELECT 1 AS a').first('b')`), {
      error: 'D1_ERROR: no such column: b: SQLITE_ERROR',
      code: 'SQLITE_ERROR',
      cause: 'no such column: b: SQLITE_ERROR',
    });
  });

  test('a text of several statements is one transaction, and its result that of the last', async () => {
    assert.deepEqual(
      await run(`
      const made = await DB.prepare('CREATE TABLE pair (x); INSERT INTO pair VALUES (1); INSERT INTO pair VALUES (?)').bind(2).run();
      const read = await DB.prepare('INSERT INTO pair VALUES (3); SELECT x FROM pair; -- all of them').all().catch((error) => error.message);
      const batch = await DB.batch([DB.prepare("INSERT INTO pair VALUES (4); SELECT count(*) AS n FROM pair"), DB.prepare('SELECT 1 AS one')]);
      const first = await DB.prepare('SELECT 1 AS x; SELECT ? AS x').bind(5).first('x');
      const failed = await DB.prepare('INSERT INTO pair VALUES (6); SELECT nope FROM pair').all().catch((error) => error.message);
      const early = await DB.prepare('INSERT INTO pair VALUES (?); SELECT ?').bind(7, 8).all().catch((error) => error.message);
      const save = await DB.transaction((tx) => tx.prepare('SAVEPOINT a; SELECT 1').all()).catch((error) => /savepoint/i.test(error.message));
      const rows = await DB.prepare('SELECT x FROM pair ORDER BY x').raw();
      return [made.meta.changes, read.results, batch.map(({ results }) => results), first, failed, early, save, rows.flat()];`),
      [
        2,
        [{ x: 1 }, { x: 2 }, { x: 3 }],
        [[{ n: 4 }], [{ one: 1 }]],
        5,
        words('D1_ERROR: no such column: nope at offset 7: SQLITE_ERROR'),
        'D1_ERROR: When executing multiple SQL statements in a single call, only the last statement can have parameters.: SQLITE_ERROR',
        true,
        [1, 2, 3, 4],
      ],
    );
  });

  test('a name in double quotes is a text where no column has it', async (t) => {
    // There, the server decides.
    if (!subject.hasOffsets) return t.skip('a cloud');
    assert.deepEqual(
      await run(`
      await DB.prepare('INSERT INTO users (name) VALUES ("ann")').run();
      return (await DB.prepare('SELECT "name", "other" AS text FROM users WHERE name = "ann"').all()).results;`),
      [{ name: 'ann', text: 'other' }],
    );
  });

  test('a batch is one transaction, all or none', async () => {
    assert.deepEqual(
      await run(`
      const insert = DB.prepare('INSERT INTO users (name) VALUES (?)');
      const results = await DB.batch([insert.bind('ann'), insert.bind('bob'), DB.prepare('SELECT count(*) AS n FROM users')]);
      const failed = await DB.batch([insert.bind('cid'), insert.bind('ann')]).catch((error) => error.message);
      return [results.map(({ results, meta }) => [results, meta.changes, meta.last_row_id]), failed, await DB.prepare('SELECT count(*) AS n FROM users').first('n')];`),
      [
        [
          [[], 1, 1],
          [[], 1, 2],
          [[{ n: 2 }], 0, 0],
        ],
        'D1_ERROR: UNIQUE constraint failed: users.name: SQLITE_CONSTRAINT',
        2,
      ],
    );
  });

  test('exec runs a script, and says which line failed', async () => {
    assert.deepEqual(
      await run(`
      const done = await DB.exec("CREATE TABLE a (x);\\nINSERT INTO a\\n  VALUES (1); -- one; two\\nCREATE TRIGGER t AFTER INSERT ON a BEGIN DELETE FROM a; SELECT 1; END;");
      const failed = await DB.exec("SELECT 1;\\n\\nINSERT INTO nowhere VALUES (1);\\nSELECT 2").catch((error) => error.message);
      return [done.count, typeof done.duration, failed];`),
      [
        3,
        'number',
        'D1_EXEC_ERROR: Error in line 3: INSERT INTO nowhere VALUES (1): no such table: nowhere: SQLITE_ERROR',
      ],
    );
  });

  test('dump gives a SQLite file', async () => {
    assert.deepEqual(
      await run(
        `const bytes = await DB.dump(); return [bytes instanceof ArrayBuffer, new TextDecoder().decode(new Uint8Array(bytes, 0, 15)), bytes.byteLength % 4096];`,
      ),
      [true, 'SQLite format 3', 0],
    );
  });

  test('a session has a bookmark that grows with what it has seen', async () => {
    assert.deepEqual(
      await run(`
      const session = DB.withSession();
      const before = session.getBookmark();
      await session.prepare("INSERT INTO users (name) VALUES ('x')").run();
      const first = session.getBookmark();
      await session.batch([session.prepare("INSERT INTO users (name) VALUES ('y')")]);
      const second = session.getBookmark();
      return [before, /^[0-9a-f]{8}-[0-9a-f]{8}-[0-9a-f]{8}-[0-9a-f]{32}$/.test(first), second > first, DB.withSession(second).getBookmark() === second, (await DB.withSession('first-primary').prepare('SELECT count(*) AS n FROM users').first('n'))];`),
      [null, true, true, true, 2],
    );
  });

  databaseTransactionTests({ run, queue: events.queue, mail, sweep: () => outbox.sweep(true) });

  test('a database belongs to its project and its resource', async () => {
    await run(`await OTHER.exec("CREATE TABLE IF NOT EXISTS mine (x)")`);
    assert.deepEqual(await run(`return DB.prepare('SELECT * FROM mine').all()`), {
      error: 'D1_ERROR: no such table: mine: SQLITE_ERROR',
      code: 'SQLITE_ERROR',
      cause: 'no such table: mine: SQLITE_ERROR',
    });
    assert.match(
      ((await run(`return OTHER.prepare('SELECT * FROM mine').all()`, 'rival')) as { error: string }).error,
      /no such table: mine/,
    );
  });
}
