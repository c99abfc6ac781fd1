// Random statements over tables of vectors: sqlite-vec is native code in the process that runs everybody's SQL, so each
// must be answered or refused, and leave a database that is whole. `FUZZ_TIMES` makes it longer.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { toWire } from '#core/database-request.ts';
import { defaultLimits } from '#core/limits.ts';
import { Connection } from '#runtime/databases/sqlite/connection.ts';
import { toRefusal } from '#runtime/databases/sqlite/sqlite-errors.ts';
import { createSeededRandom, fuzzRounds } from '#test/setup/seeded-random.ts';

const random = createSeededRandom();
const { below, pick } = random;

const numbers = ['0', '1', '-1', '2.5', '1e38', '-1e38', '1e-45', 'nan', 'inf', '1e400', '', '"a"'];
const floats = (): Float32Array => new Float32Array(pick([0, 1, 3, 4, 8, 8193])).map(() => Number(pick(numbers)));
const text = (): string =>
  `[${Array.from({ length: pick([1, 3, 3, 3, 4, 8]) }, () => pick(numbers.slice(0, 5))).join()}]`;

/** A value that is bound. */
function bound(): unknown {
  switch (below(6)) {
    case 0:
      return { i: pick(['0', '1', '2', '3', '-1', '4096', '9223372036854775807', '-9223372036854775808']) };
    case 1:
      return pick([null, 1.5, 7, 'a', 'a text that is longer than its place', '[', '[1,,2]', '\0']);
    case 2:
      return toWire(new Uint8Array(floats().buffer));
    case 3:
      return toWire(new Uint8Array(below(40)).map(() => below(256)));
    default:
      return text();
  }
}

function expression(depth = 0): string {
  if (depth > 2 || below(3) > 0)
    return pick(['?', '?', '?', `'${text()}'`, String(below(5000) - 2), 'NULL', 'zeroblob(12)']);
  const one = (): string => expression(depth + 1);
  return pick([
    () => `vec_f32(${one()})`,
    () => `vec_int8(${one()})`,
    () => `vec_bit(${one()})`,
    () => `vec_quantize_binary(${one()})`,
    () => `vec_quantize_int8(${one()}, 'unit')`,
    () => `vec_slice(${one()}, ${below(12) - 2}, ${below(12) - 2})`,
    () => `vec_normalize(${one()})`,
    () => `vec_add(${one()}, ${one()})`,
    () => `vec_sub(${one()}, ${one()})`,
    () => `vec_to_json(${one()})`,
    () => `vec_length(${one()})`,
    () => `vec_distance_${pick(['L2', 'L1', 'cosine', 'hamming'])}(${one()}, ${one()})`,
  ])();
}

function columns(): string {
  const types = ['TEXT', 'INTEGER', 'FLOAT', 'BOOLEAN'];
  return [
    pick(['id INTEGER PRIMARY KEY', 'id TEXT PRIMARY KEY']),
    `v0 ${pick(['float[3]', 'float[3] distance_metric=cosine', 'float[4]', 'int8[4]', 'bit[8]', 'float[-1]'])}`,
    `v1 ${pick(['float[3] distance_metric=L1', 'bit[16]', 'int8[3]'])}`,
    `m0 ${pick(types)}`,
    `m1 ${pick(types)}`,
    `p0 ${pick(['TEXT', 'INTEGER'])} PARTITION KEY`,
    `+a0 ${pick(['TEXT', 'BLOB', 'INTEGER'])}`,
    `chunk_size=${pick([8, 8, 16, 7])}`,
  ].join(', ');
}

const column = (): string => pick(['rowid', 'id', 'v0', 'v1', 'm0', 'm1', 'p0', 'a0', 'distance', 'k']);
const condition = (): string =>
  `${column()} ${pick(['=', '<', '>', '!=', 'IS', 'LIKE', 'GLOB', 'MATCH'])} ${expression()}`;

function statement(): string {
  const table = pick(['t0', 't1']);
  return pick([
    () => `CREATE VIRTUAL TABLE ${table} USING vec0(${columns()})`,
    () => (below(8) === 0 ? `DROP TABLE ${table}` : `DELETE FROM ${table} WHERE ${condition()}`),
    () => `INSERT INTO ${table} (id, v0, v1, m0, m1, p0, a0) VALUES (?, ?, ?, ?, ?, ?, ?)`,
    () =>
      `INSERT INTO ${table} (id, v0, v1, m0, m1, p0, a0) VALUES (${below(40)}, '${text()}', '${text()}', 1, 1, 1, 1)`,
    () => `INSERT INTO ${table} (id, v0, v1, m0, m1, p0) SELECT 'k' || ${below(40)}, v0, v1, m0, m1, p0 FROM ${table}`,
    () => `UPDATE ${table} SET ${column()} = ${expression()} WHERE ${condition()}`,
    () => `SELECT * FROM ${table} WHERE ${condition()}`,
    () =>
      `SELECT id, distance FROM ${table} WHERE v0 MATCH ${expression()} AND k = ${pick(['3', '?', '0', '4097'])} AND ${condition()}`,
    () =>
      `SELECT * FROM ${table} WHERE v1 MATCH ${expression()} ORDER BY distance LIMIT ${below(5)} OFFSET ${below(3)}`,
    () => `SELECT a.id FROM ${table} a JOIN t0 b ON a.v0 MATCH b.v0 AND a.k = 3`,
    () => `SELECT ${expression()}, (SELECT count(*) FROM vec_each(${expression()}))`,
  ])();
}

test('random statements are answered or refused, and the database stays whole', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'platform-test-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const path = join(folder, 'main.sqlite');
  const connection = new Connection({ path, limits: defaultLimits.database, synchronous: 'normal' });
  let answered = 0;
  const rounds = fuzzRounds(1500);
  for (let round = 0; round < rounds; round++) {
    const sql = statement();
    try {
      const prepared = connection.prepare(sql);
      connection.run(prepared, Array.from({ length: prepared.parameters }, bound), 200);
      answered++;
    } catch (error) {
      // Another error than a refusal is thrown on.
      assert.doesNotMatch(toRefusal(error).message, /\/tmp|node_modules/, sql);
    }
  }
  assert.ok(answered > rounds / 20, `${answered} of ${rounds} were answered`);
  assert.deepEqual(connection.own('PRAGMA integrity_check'), [['ok']]);
  connection.close();
});
