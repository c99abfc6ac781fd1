// Deliveries of every form, signed and not: nothing but an answer comes of them, and what is taken can be stored. More
// rounds with WEBHOOK_FUZZ_ROUNDS; the second half is changed bytes, the first one changed values.
import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { after, before, test } from 'node:test';
import { receiveDelivery } from '#control/git-host/receive.ts';
import { workOnDeliveries } from '#control/git-host/deliveries.ts';
import { ApiError } from '#control/http/errors.ts';
import { startConnectedHost, type ConnectedHost } from '#test/setup/connected-host.ts';
import type { HostedRepository } from '#test/setup/git-host-state.ts';
import { createSeededRandom, type SeededRandom } from '#test/setup/seeded-random.ts';

const ROUNDS = Number(process.env['WEBHOOK_FUZZ_ROUNDS'] ?? 400);

let connected: ConnectedHost;
before(async () => {
  connected = await startConnectedHost();
});
after(() => connected.close());

/** Values that take the place of others. */
const strange: readonly unknown[] = [
  null,
  true,
  0,
  -1,
  1.5,
  1e308,
  2 ** 53,
  '',
  '0',
  'refs/heads/',
  'refs/heads/-x',
  'refs/heads/a..b',
  'refs/heads/\u0000',
  'a\u0000b',
  '\ud800',
  '\udc00x',
  '../../etc/passwd',
  "'; DROP TABLE control.project; --",
  '0'.repeat(40),
  'f'.repeat(40),
  'F'.repeat(40),
  'x'.repeat(3000),
  '💥'.repeat(200),
  [],
  [[]],
  {},
  { id: 1 },
  { __proto__: null, constructor: { prototype: 1 } },
];
const keys = [
  'id',
  'ref',
  'after',
  'repository',
  'installation',
  '__proto__',
  'constructor',
  'toString',
  '',
  'a\u0000',
  '\ud800',
  '{',
];

/** A copy with a few values changed, taken away, doubled or put elsewhere. */
function changed(value: unknown, random: SeededRandom): unknown {
  const places: { readonly holder: Record<string, unknown>; readonly key: string }[] = [];
  const root = { it: structuredClone(value) } as Record<string, unknown>;
  const collect = (holder: Record<string, unknown>): void => {
    for (const key of Object.keys(holder)) {
      places.push({ holder, key });
      const inner = holder[key];
      if (typeof inner === 'object' && inner !== null) collect(inner as Record<string, unknown>);
    }
  };
  collect(root);
  for (let count = random.below(4); count > 0; count--) {
    const { holder, key } = random.pick(places);
    const way = random.below(6);
    if (way === 0) delete holder[key];
    else if (way === 1) holder[key] = structuredClone(random.pick(places).holder[random.pick(places).key]);
    else if (way === 2) holder[random.pick(keys)] = random.pick(strange);
    else holder[key] = random.pick(strange);
  }
  return root['it'];
}

/** The text with bytes changed, cut or doubled. */
function damaged(text: string, random: SeededRandom): Buffer {
  const bytes = Buffer.from(text);
  for (let count = 1 + random.below(4); count > 0; count--) bytes[random.below(bytes.length)] = random.below(256);
  const cut = random.below(4);
  if (cut === 0) return bytes.subarray(0, random.below(bytes.length));
  if (cut === 1) return Buffer.concat([bytes, bytes.subarray(random.below(bytes.length))]);
  return bytes;
}

test('every delivery is answered, and what is taken can be stored and worked on', async (t) => {
  const random = createSeededRandom();
  const { repository } = await connected.connect('fuzzed');
  const { deps, sql } = connected.control;
  const samples = await samplesOf(repository);
  const secret = connected.host.webhookSecret;
  const counts: Record<string, number> = {};
  // What is stored is looked at here; a part of it goes to the real database below.
  const stored: { event: string; subject: string; details: unknown }[] = [];
  const take: string[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const [event, body] = random.pick(samples);
    const text = JSON.stringify(changed(body, random)) ?? 'null';
    const bytes = round < ROUNDS / 2 ? Buffer.from(text) : damaged(text, random);
    const isSigned = random.below(10) > 0;
    const signature = createHmac('sha256', isSigned ? secret : 'another')
      .update(bytes)
      .digest('hex');
    const place = `round ${round}, seed ${random.seed}: ${event} ${bytes.toString().slice(0, 300)}`;
    const request = new Request('http://localhost:4002/webhooks/git-host', {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'x-github-event': random.below(20) === 0 ? random.pick(['ping', 'x y', 'push']) : event,
        'x-github-delivery': `fuzz-${random.seed}-${round}`,
        'x-hub-signature-256': random.below(40) === 0 ? signature : `sha256=${signature}`,
      },
      body: new Uint8Array(bytes),
    });
    let outcome: string;
    try {
      outcome = await receiveDelivery({ git: deps.git, sql: round < 400 ? sql : storing(stored) }, request);
    } catch (error) {
      assert.ok(error instanceof ApiError && error.status < 500, `${place}\n${(error as Error).stack}`);
      outcome = error.code;
    }
    assert.ok(isSigned || outcome === 'signature_invalid' || outcome === 'bad_request', place);
    counts[outcome] = (counts[outcome] ?? 0) + 1;
    for (const row of stored.splice(0)) {
      const written = JSON.stringify(row);
      assert.ok(written.isWellFormed() && !/\\u0000|\\ud[89a-f]/i.test(written), place);
      assert.ok(written.length < 500_000, place);
      if (take.length < 1000 && random.below(50) === 0) take.push(JSON.stringify(row.details));
    }
  }
  if (take.length > 0) await sql`SELECT jsonb(line) FROM unnest(${take}::text[]) AS line`;
  while ((await workOnDeliveries(deps)) > 0);
  const failed = await sql`SELECT details, outcome FROM control.webhook_received WHERE outcome LIKE 'failed%'
                            OR (due_at IS NOT NULL)`;
  assert.deepEqual([...failed], [], `seed ${random.seed}`);
  t.diagnostic(`${ROUNDS} inputs, seed ${random.seed}: ${JSON.stringify(counts)}`);
  assert.ok((counts['accepted'] ?? 0) > 0 && (counts['bad_request'] ?? 0) > 0, JSON.stringify(counts));
});

/** In the place of the database: takes what would be inserted. */
function storing(into: { event: string; subject: string; details: unknown }[]): typeof connected.control.sql {
  const run = (_texts: TemplateStringsArray, ...values: unknown[]): unknown => {
    if (values.length < 5) return values;
    const [, , event, subject, details] = values as [string, Buffer, string, string, unknown];
    into.push({ event, subject, details });
    return Promise.resolve([{}]);
  };
  const like = Object.assign(run, { json: (value: unknown) => value, notify: () => Promise.resolve() });
  return like as unknown as typeof connected.control.sql;
}

async function samplesOf(repository: HostedRepository): Promise<[string, object][]> {
  const { host } = connected;
  const first = host.commit(repository, { files: { a: '1' } });
  const second = host.commit(repository, { files: { 'apps/web/b': '2' }, message: 'More [skip ci]' });
  const about = { number: 3, branch: 'topic', sha: second };
  const push = connected.pushBody(repository, 'main', first, second);
  const installation = { id: repository.installationId, account: { login: 'acme' }, permissions: { contents: 'read' } };
  return [
    ['push', push],
    ['push', connected.pushBody(repository, 'topic', null, second)],
    ['push', connected.pushBody(repository, 'topic', second, null)],
    ['delete', { ...push, ref: 'topic', ref_type: 'branch' }],
    ['repository', connected.repositoryEvent(repository, 'renamed')],
    ['repository', connected.repositoryEvent(repository, 'archived')],
    ['pull_request', connected.pullRequestBody(repository, { action: 'opened', ...about })],
    [
      'pull_request',
      connected.pullRequestBody(repository, { action: 'synchronize', ...about, head: { id: 5, full_name: 'm/x' } }),
    ],
    ['pull_request', connected.pullRequestBody(repository, { action: 'closed', ...about, head: null })],
    ['installation', { action: 'new_permissions_accepted', installation }],
    ['installation_repositories', { action: 'added', installation, repositories_added: [{ id: repository.id }] }],
    ['ping', { zen: 'x' }],
  ];
}
