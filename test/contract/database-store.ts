// What every store of databases keeps to. Each store runs it from a test file of its own.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { databaseOps as ops, outboxOps } from '#core/database-request.ts';
import type { DatabaseStore } from '#runtime/engine/bindings/database.ts';

interface Answer {
  readonly c: string[];
  readonly r: unknown[][];
  readonly m: unknown[];
  readonly e: unknown[];
  readonly n: number;
  readonly t: number;
}

/** Registers the suite's tests over the store that `open` gives. */
export function databaseStoreContract(
  open: () => Promise<{ store: DatabaseStore; close(): Promise<void> }>,
  { hasInfinities = true }: { readonly hasInfinities?: boolean } = {},
): void {
  let store: DatabaseStore;
  let close: () => Promise<void>;
  let at = { namespace: 'shop', resource: 'main' };
  let databases = 0;
  before(async () => {
    ({ store, close } = await open());
  });
  after(() => close());

  const fresh = (): void => {
    at = { namespace: 'shop', resource: `main${++databases}` };
  };
  const ask = async (op: number, args: unknown, transaction = 0, place = at): Promise<Answer> =>
    JSON.parse((await store.run(place, op, transaction, JSON.stringify(args))) as string) as Answer;
  const query = (sql: string, ...values: unknown[]): Promise<Answer> => ask(ops.query, [sql, values]);
  const rows = async (sql: string, ...values: unknown[]): Promise<unknown> => {
    const answer = await query(sql, ...values);
    return answer.e ?? answer.r;
  };

  test('a database is there when it is first asked for', async () => {
    fresh();
    assert.deepEqual(await rows('SELECT 1, ?', 'x'), [[1, 'x']]);
    assert.deepEqual(await rows('SELECT name FROM sqlite_schema'), []);
  });

  test('an answer has columns, rows, and what changed', async () => {
    fresh();
    await query('CREATE TABLE t (id INTEGER PRIMARY KEY, a)');
    const inserted = await query('INSERT INTO t (a) VALUES (?), (?)', 'one', 2.5);
    assert.deepEqual([inserted.c, inserted.r, inserted.m.slice(1, 6)], [[], [], [0, 2, 2, 2, 1]]);
    const found = await query('SELECT id, a, a AS a FROM t ORDER BY id');
    assert.deepEqual(
      [found.c, found.r, found.m.slice(1, 6)],
      [
        ['id', 'a', 'a'],
        [
          [1, 'one', 'one'],
          [2, 2.5, 2.5],
        ],
        [2, 0, 0, 0, 0],
      ],
    );
    const returned = await query('UPDATE t SET a = id RETURNING id');
    assert.deepEqual([returned.c, returned.r, returned.m.slice(1, 4)], [['id'], [[1], [2]], [2, 2, 2]]);
    assert.equal(((await query('DELETE FROM t WHERE id = 9')).m as number[])[5], 0);
  });

  test('every value that SQLite stores comes back as it was', async () => {
    fresh();
    await query('CREATE TABLE t (v)');
    const values = [
      null,
      'grüße \u{1f600} "quoted" \\ \u0001 \u2028',
      '',
      1.5,
      -1e300,
      { i: '9223372036854775807' },
      { i: '-9223372036854775808' },
      { b: '' },
      { b: 'AP8QIA==' },
      ...(hasInfinities ? [{ n: 'Infinity' }, { n: '-Infinity' }] : []),
    ];
    for (const value of values) {
      await query('DELETE FROM t');
      await query('INSERT INTO t VALUES (?)', value);
      assert.deepEqual(await rows('SELECT v FROM t'), [[value]]);
    }
    assert.deepEqual(await rows('SELECT 9007199254740991, 9007199254740992, ?', { i: '5' }), [
      [9007199254740991, { i: '9007199254740992' }, 5],
    ]);
    assert.deepEqual(await rows('SELECT ?', { n: 'NaN' }), [[null]]);
  });

  test('parameters are counted: ?, ?NNN, and neither in texts nor comments', async () => {
    fresh();
    assert.deepEqual(await rows('SELECT ?2, ?1, \'?\', "?" /* ? */ -- ?\n FROM (SELECT 1 AS "?")', 'a', 'b'), [
      ['b', 'a', '?', 1],
    ]);
    for (const [sql, values] of [
      ['SELECT ?', []],
      ['SELECT ?', ['a', 'b']],
      ['SELECT ?2', ['a']],
      ['SELECT 1', ['a']],
    ] as const) {
      const { e } = await query(sql, ...values);
      assert.match(String(e?.[1]), /^Wrong number of parameter bindings/);
    }
    assert.match(String((await query('SELECT :name', 'a')).e?.[1]), /^named parameters/);
  });

  test('an error has the code and the words of SQLite', async () => {
    fresh();
    await query(
      'CREATE TABLE t (id INTEGER PRIMARY KEY, a TEXT UNIQUE NOT NULL, CHECK (a <> ?1))'.replace('?1', "'bad'"),
    );
    await query("INSERT INTO t (a) VALUES ('x')");
    assert.deepEqual(await rows("INSERT INTO t (a) VALUES ('x')"), [
      'SQLITE_CONSTRAINT_UNIQUE',
      'UNIQUE constraint failed: t.a',
    ]);
    assert.deepEqual(await rows('INSERT INTO t (a) VALUES (NULL)'), [
      'SQLITE_CONSTRAINT_NOTNULL',
      'NOT NULL constraint failed: t.a',
    ]);
    assert.equal(((await query("INSERT INTO t (a) VALUES ('bad')")).e as string[])[0], 'SQLITE_CONSTRAINT_CHECK');
    assert.match(String((await query('SELECT * FROM nowhere')).e?.[1]), /^no such table: nowhere/);
    assert.match(String((await query('SELEKT 1')).e?.[1]), /^near "SELEKT": syntax error/);
  });

  test('UPDATE and DELETE take ORDER BY and LIMIT', async () => {
    fresh();
    await ask(ops.exec, [
      'CREATE TABLE t (id INTEGER PRIMARY KEY, a, rowid TEXT); CREATE TABLE pairs (a, b, c, PRIMARY KEY (b, a)) WITHOUT ROWID;' +
        'CREATE VIEW v AS SELECT * FROM t; CREATE TABLE "or""der" (x); CREATE INDEX by_a ON t (a)',
    ]);
    const fill = (): Promise<Answer> =>
      ask(ops.exec, [
        "DELETE FROM t; DELETE FROM pairs; INSERT INTO t (id, a, rowid) VALUES (1, 'c', 'same'), (2, 'a', 'same'), (3, 'b', 'same'), (4, 'a', 'same');" +
          "INSERT INTO pairs VALUES (1, 1, 'x'), (1, 2, 'y'), (2, 1, 'z')",
      ]);
    for (const [sql, values, given, left] of [
      ['DELETE FROM t WHERE id > 0 LIMIT 2', [], [], [3, 4]],
      ['DELETE FROM t ORDER BY a, id DESC LIMIT 1;', [], [], [1, 2, 3]],
      [
        'delete from t as x where x.a = ? returning id, ? order by x.id desc limit ? offset ?',
        ['a', 'r', 1, 1],
        [[2, 'r']],
        [1, 3, 4],
      ],
      ['DELETE FROM main.t INDEXED BY by_a WHERE a >= ?2 ORDER BY id LIMIT ?1', [2, 'b'], [], [2, 4]],
      ['WITH t AS (SELECT 4 AS id LIMIT 1) DELETE FROM t WHERE id IN (SELECT id FROM t) LIMIT 5', [], [], [1, 2, 3]],
      [
        '/* LIMIT */ DELETE FROM "t" WHERE a IN (SELECT a FROM t ORDER BY a LIMIT 1) ORDER BY (CASE id WHEN 4 THEN 0 ELSE 1 END) LIMIT 0, 1',
        [],
        [],
        [1, 2, 3],
      ],
      [
        "UPDATE t SET id = id + 10, a = a || 'LIMIT' WHERE a IS DISTINCT FROM 'c' RETURNING id ORDER BY id DESC LIMIT 1 -- last",
        [],
        [[14]],
        [1, 2, 3, 14],
      ],
      ['UPDATE OR IGNORE t SET id = 1 ORDER BY id DESC LIMIT 3', [], [], [1, 2, 3, 4]],
      ['UPDATE t SET id = ? WHERE a = ? LIMIT ?', [9, 'b', 1], [], [1, 2, 4, 9]],
    ] as const) {
      await fill();
      assert.deepEqual(await rows(sql, ...values), given, sql);
      assert.deepEqual(
        await rows('SELECT id FROM t ORDER BY id'),
        left.map((id) => [id]),
        sql,
      );
    }
    await fill();
    assert.equal((await query('DELETE FROM t ORDER BY id LIMIT ?', 3)).m[3], 3);
    await query("UPDATE pairs SET c = 'new' ORDER BY b DESC, a LIMIT 1");
    await query('DELETE FROM pairs WHERE b = 1 ORDER BY a DESC LIMIT 1');
    assert.deepEqual(await rows('SELECT a, b, c FROM pairs ORDER BY a, b'), [
      [1, 1, 'x'],
      [1, 2, 'new'],
    ]);
    await query('INSERT INTO "or""der" VALUES (1), (2)');
    const batch = await ask(ops.batch, [
      ['DELETE FROM `or"der` ORDER BY x LIMIT 1', []],
      ['SELECT x FROM "or""der"', []],
    ]);
    assert.deepEqual((batch as unknown as Answer[])[1]?.r, [[2]], JSON.stringify(batch));
    assert.equal(
      (await ask(ops.exec, ['INSERT INTO t (id) VALUES (7); DELETE FROM t ORDER BY id LIMIT 1; DELETE FROM t LIMIT 0']))
        .n,
      3,
    );
    assert.deepEqual(await rows('SELECT id FROM t'), [[7]]);
    const { t } = await ask(ops.begin, []);
    await ask(ops.query, ['UPDATE t SET id = 8 LIMIT 1', []], t);
    await ask(ops.commit, [], t);
    assert.deepEqual(await rows('SELECT id FROM t'), [[8]]);
    for (const [sql, message] of [
      ['DELETE FROM t ORDER BY id', /^ORDER BY without LIMIT on DELETE/],
      ['UPDATE t SET a = 1 ORDER BY id', /^ORDER BY without LIMIT on UPDATE/],
      ['UPDATE t SET a = p.a FROM pairs AS p LIMIT 1', /^LIMIT is not available for UPDATE \.\.\. FROM/],
      ['DELETE FROM v LIMIT 1', /^LIMIT is not available for changes of a view: v/],
      ['DELETE FROM nowhere LIMIT 1', /^no such table: nowhere|near "LIMIT"/],
      ['DELETE FROM t WHERE absent = 1 LIMIT 1', /^no such column: absent/],
      ['DELETE FROM t LIMIT 1 RETURNING id', /syntax error/],
      ['DELETE FROM t LIMIT 1 WHERE id = 1', /syntax error/],
      ['DELETE FROM t WHERE id IN (1) UNION SELECT 2 LIMIT 1', /syntax error/],
      ['DELETE FROM t WHERE (1 LIMIT 1', /syntax error/],
      ['DELETE FROM t WHERE 1) OR (1 LIMIT 1', /syntax error/],
    ] as const)
      assert.match(String((await query(sql)).e?.[1] ?? 'no error'), message, sql);
  });

  test('foreign keys are checked', async () => {
    fresh();
    await ask(ops.exec, [
      'CREATE TABLE p (id INTEGER PRIMARY KEY); CREATE TABLE c (p REFERENCES p (id) DEFERRABLE INITIALLY DEFERRED)',
    ]);
    assert.deepEqual(await rows('INSERT INTO c VALUES (1)'), [
      'SQLITE_CONSTRAINT_FOREIGNKEY',
      'FOREIGN KEY constraint failed',
    ]);
    const batch = await ask(ops.batch, [
      ['INSERT INTO c VALUES (1)', []],
      ['INSERT INTO p VALUES (1)', []],
    ]);
    assert.equal(batch.e, undefined);
    assert.deepEqual(await rows('SELECT count(*) FROM c'), [[1]]);
  });

  test('a batch is one transaction', async () => {
    fresh();
    await query('CREATE TABLE t (a UNIQUE)');
    const results = (await ask(ops.batch, [
      ['INSERT INTO t VALUES (?)', ['x']],
      ['SELECT a FROM t', []],
    ])) as unknown as Answer[];
    assert.deepEqual(
      results.map(({ r }) => r),
      [[], [['x']]],
    );
    const failed = await ask(ops.batch, [
      ['INSERT INTO t VALUES (?)', ['y']],
      ['INSERT INTO t VALUES (?)', ['x']],
    ]);
    assert.equal(failed.e[0], 'SQLITE_CONSTRAINT_UNIQUE');
    assert.deepEqual(await rows('SELECT a FROM t'), [['x']]);
    assert.deepEqual(await ask(ops.batch, []), []);
  });

  test('exec counts statements, and names the line of the one that fails', async () => {
    fresh();
    assert.equal((await ask(ops.exec, ['CREATE TABLE t (a);\nINSERT INTO t VALUES (1); ; -- none\n'])).n, 2);
    assert.deepEqual((await ask(ops.exec, ['INSERT INTO t VALUES (2);\n\n nonsense'])).e.slice(2), [3, 'nonsense']);
    assert.deepEqual(await rows('SELECT a FROM t'), [[1], [2]]);
  });

  test('an interactive transaction is alone, commits together, and can be undone', async () => {
    fresh();
    await query('CREATE TABLE t (a)');
    const { t } = await ask(ops.begin, []);
    assert.equal((await ask(ops.query, ['INSERT INTO t VALUES (1)', []], t)).e, undefined);
    assert.deepEqual((await ask(ops.query, ['SELECT a FROM t', []], t)).r, [[1]]);
    assert.equal((await ask(ops.commit, [], t)).e, undefined);
    assert.deepEqual(await rows('SELECT a FROM t'), [[1]]);
    const second = (await ask(ops.begin, [])).t;
    await ask(ops.batch, [['INSERT INTO t VALUES (2)', []]], second);
    assert.equal((await ask(ops.rollback, [], second)).e, undefined);
    assert.deepEqual(await rows('SELECT a FROM t'), [[1]]);
    assert.equal((await ask(ops.query, ['SELECT 1', []], second)).e[0], 'SQLITE_ABORT');
    assert.equal((await ask(ops.query, ['SELECT 1', []], 12_345)).e[0], 'SQLITE_ABORT');
    const third = (await ask(ops.begin, [])).t;
    const stranger = { namespace: 'rival', resource: 'main' };
    for (const op of [ops.query, ops.commit, ops.rollback])
      assert.equal((await ask(op, ['SELECT 1', []], third, stranger)).e[0], 'SQLITE_ABORT');
    assert.equal((await ask(ops.commit, [], third)).e, undefined);
  });

  test('a message is in the outbox if and only if its transaction commits, until it is taken out', async () => {
    fresh();
    const pending = async (): Promise<unknown> =>
      ((await ask(outboxOps.pending, [])) as unknown as { rows: unknown }).rows;
    assert.deepEqual(await pending(), []);
    assert.deepEqual(await ask(outboxOps.dequeue, [['none']]), {});
    const { t: kept } = await ask(ops.begin, []);
    assert.deepEqual(await ask(outboxOps.enqueue, ['a', '{"n":1}'], kept), {});
    assert.deepEqual(await ask(outboxOps.enqueue, ['b', '{"n":2}'], kept), {});
    assert.deepEqual(await pending(), []);
    assert.equal(((await ask(ops.commit, [], kept)) as unknown as { o: number }).o, 2);
    const { t: undone } = await ask(ops.begin, []);
    await ask(outboxOps.enqueue, ['c', '{"n":3}'], undone);
    assert.equal((await ask(outboxOps.enqueue, ['a', '{"n":4}'], undone)).e[0], 'SQLITE_CONSTRAINT_UNIQUE');
    await ask(ops.rollback, [], undone);
    assert.deepEqual((await ask(outboxOps.enqueue, ['d', '{}'], undone)).e, [
      'SQLITE_ABORT',
      'the transaction has ended: it was rolled back',
    ]);
    assert.equal((await ask(outboxOps.enqueue, ['e', '{}'])).e[0], 'SQLITE_MISUSE');
    assert.deepEqual(await pending(), [
      ['a', '{"n":1}'],
      ['b', '{"n":2}'],
    ]);
    assert.deepEqual(await ask(outboxOps.dequeue, [['a', 'nobody']]), {});
    assert.deepEqual(await pending(), [['b', '{"n":2}']]);
    const { t: plain } = await ask(ops.begin, []);
    assert.deepEqual(Object.keys(await ask(ops.commit, [], plain)), ['m']);
  });

  test('messages that go into the outbox together go in all or none, in their order, whatever text they are', async () => {
    fresh();
    const { t } = await ask(ops.begin, []);
    const texts = ['"\\u0000"', '{"a":"\u{1f600}\\ud800 \\" \\\\ \u2028"}', '[]'];
    const pairs = Array.from({ length: 12 }, (_, index) => [`m${index}`, texts[index % 3] as string]);
    assert.deepEqual(await ask(outboxOps.enqueue, pairs.flat(), t), {});
    assert.equal((await ask(outboxOps.enqueue, ['new', '1', 'm3', '2'], t)).e[0], 'SQLITE_CONSTRAINT_UNIQUE');
    for (const args of [[], ['a'], ['a', 1], ['a', '1', 'b'], [['a', '1']]])
      assert.equal((await ask(outboxOps.enqueue, args, t)).e[0], 'SQLITE_MISUSE');
    assert.equal(((await ask(ops.commit, [], t)) as unknown as { o: number }).o, 12);
    assert.deepEqual((await ask(outboxOps.pending, [])) as unknown, { rows: pairs });
  });

  test('namespaces and resources see nothing of each other', async () => {
    fresh();
    await query('CREATE TABLE mine (a)');
    for (const other of [
      { namespace: 'shop', resource: 'other' },
      { namespace: 'other', resource: at.resource },
    ]) {
      assert.match(String((await ask(ops.query, ['SELECT * FROM mine', []], 0, other)).e?.[1]), /^no such table: mine/);
    }
  });

  test('a request that makes no sense is refused', async () => {
    fresh();
    for (const args of [
      [],
      [1, []],
      ['SELECT 1'],
      ['SELECT 1', {}],
      ['SELECT ?', [{}]],
      ['SELECT ?', [true]],
      ['', []],
    ]) {
      assert.equal(typeof (await ask(ops.query, args)).e?.[1], 'string', JSON.stringify(args));
    }
    for (const args of [['SELECT 1'], [[]], [[1, []]], [null]])
      assert.equal(typeof (await ask(ops.batch, args)).e?.[1], 'string');
    assert.equal(
      typeof (JSON.parse((await store.run(at, ops.query, 0, 'no JSON')) as string) as Answer).e[1],
      'string',
    );
  });
}
