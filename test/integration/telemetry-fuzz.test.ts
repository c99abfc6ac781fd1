// Records of engines, which share memory with hostile code, changed at random: none makes the reader throw, and
// whatever it lets through Postgres takes, so that one bad record holds up no batch. The seed is printed with a
// failure; FUZZ_SEED sets it.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { newId } from '#control/records/ids.ts';
import { parseRecords, type Records } from '#control/telemetry/parse-records.ts';
import { createTelemetryStore } from '#control/telemetry/store.ts';
import { startControl, type TestControl } from '#test/setup/control.ts';
import { createSeededRandom } from '#test/setup/seeded-random.ts';

const BATCHES = Number(process.env['FUZZ_RUNS'] ?? 200);
const RECORDS = 40;
const random = createSeededRandom();
const failing = (what: string): string => `${what} (FUZZ_SEED=${random.seed})`;

let control: TestControl;
before(async () => {
  control = await startControl();
  await control.sql`
    INSERT INTO control.project (id, organization_id, name) VALUES (${newId('project')}, ${control.organizationId}, 'shop')`;
});
after(() => control.close());

const own = () => ({ project: 'shop', deployment: 'dabc', at: Date.now() });
const trace = '0af7651916cd43dd8448eb211c80319c';
type Fields = Record<string, unknown>;
const valid: readonly (() => Fields)[] = [
  () => ({
    record: 'line',
    ...own(),
    level: 'info',
    text: 'hello',
    kind: null,
    route: '',
    invocation: null,
    traceId: null,
  }),
  () => ({
    record: 'invocation',
    ...own(),
    kind: 'http',
    invocation: 'i1',
    traceId: trace,
    method: 'GET',
    path: '/',
    route: '/',
    status: 200,
    outcome: 'ok',
    error: '',
    cpuMs: 0.25,
    wallMs: 2,
    firstByteMs: 1.5,
    request: {
      query: 'a=1',
      headers: [
        ['accept', '*/*'],
        ['cookie', null],
      ],
      client: '192.0.2.1',
      requestBytes: 0,
      responseBytes: 5,
    },
  }),
  () => ({
    record: 'span',
    ...own(),
    traceId: trace,
    spanId: 'b7ad6b7169203331',
    parentId: null,
    isRoot: true,
    name: 'GET /',
    kind: 2,
    ms: 1.5,
    error: null,
    invocation: 'i1',
    attributes: { 'http.route': '/', n: 1 },
    links: [`00-${trace}-b7ad6b7169203331-01`],
  }),
  () => ({ record: 'dropped', ...own(), lines: 1, invocations: 2, spans: 3 }),
];
const texts = ['', 'x', ' \t\r\n\\.\\N', '\0', '\ud800', '\udc00x', '{"a":1}', `'";--`, '\u2028', 'x'.repeat(3000)];
const words = [
  'line',
  'invocation',
  'span',
  'dropped',
  'constructor',
  '__proto__',
  trace,
  '0'.repeat(32),
  '0'.repeat(16),
];
const numbers = [
  0,
  -0,
  1,
  -1,
  0.1,
  1e-320,
  1e-40,
  1e300,
  -1e300,
  2 ** 31,
  2 ** 53,
  2 ** 53 - 1,
  1e9,
  999,
  1000,
  32_768,
];
const times = [Date.now() - 1e9, Date.now() + 1e9, -8.64e15, 8.64e15, 1e18];
const objects = [
  [],
  {},
  [null],
  ['x'],
  { a: { b: 1 } },
  { '\udfff': '\0' },
  { a: 1e308, b: '\udead' },
  { '\ud800': 'x' },
];
const values: readonly unknown[] = [null, true, ...texts, ...words, ...numbers, ...times, ...objects];

/** A record with some fields changed, taken away or added; now and then a text that is none. */
function mutated(): string {
  const record = random.pick(valid)();
  for (let changes = random.below(4); changes > 0; changes--) {
    const key =
      random.below(8) === 0 ? random.pick(['__proto__', 'more', 'toString']) : random.pick(Object.keys(record));
    if (random.below(6) === 0) delete record[key];
    else record[key] = random.pick(values);
  }
  const text = JSON.stringify(record);
  if (random.below(10) > 0) return text;
  const at = random.below(text.length);
  return `${text.slice(0, at)}${random.pick(['', '\\', '"', '\u0001', '{', 'null', '\ud800'])}${text.slice(at + random.below(3))}`;
}

const sizeOf = ({ lines, invocations, spans, dropped, refused }: Records): number =>
  lines.length + invocations.length + spans.length + dropped.length + refused;

test('a record that is as it should be is taken as it is', () => {
  const now = Date.now();
  const given = valid.map((make) => make());
  const { lines, invocations, spans, dropped, refused } = parseRecords(
    given.map((one) => JSON.stringify(one)).join('\n'),
    now,
  );
  assert.deepEqual([...lines, ...invocations, ...spans, ...dropped], given);
  assert.equal(refused, 0);
});

test('no batch of changed records is refused by the reader or by Postgres, and each record is one of its answers', async () => {
  const counts = { kept: { lines: 0, invocations: 0, spans: 0 } };
  const store = createTelemetryStore({ sql: control.sql, counts });
  let refused = 0;
  for (let batch = 0; batch < BATCHES; batch++) {
    const records = Array.from({ length: RECORDS }, mutated)
      .map((text) => text.replaceAll('\n', ' '))
      .join('\n');
    const parsed = parseRecords(records, Date.now());
    assert.equal(sizeOf(parsed), RECORDS, failing('a record was counted twice or not at all'));
    refused += parsed.refused;
    await store
      .keep({ id: `batch-${batch}`, records, lost: 0 })
      .catch((error: unknown) => assert.fail(failing(`Postgres refused a batch: ${(error as Error).message}`)));
  }
  // Both happened, or nothing was tried.
  for (const [what, count] of Object.entries(counts.kept)) assert.ok(count > 0, failing(`no ${what} were kept`));
  assert.ok(refused > 0, failing('nothing was refused'));
});
