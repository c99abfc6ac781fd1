// `platform import`: what a configuration of Wrangler becomes, with its comments, and what has no counterpart.
import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test, type TestContext } from 'node:test';
import { parseProjectConfig } from '#core/config/project-config.ts';
import { run } from '#cli/main.ts';
import { readWrangler } from '#cli/wrangler/read-wrangler.ts';
import { toPlatformYaml } from '#cli/wrangler/to-platform-yaml.ts';
import { createSeededRandom } from '#test/setup/seeded-random.ts';
import { recordingShell } from '../shell-double.ts';

const imported = (text: string, file: string) => toPlatformYaml(readWrangler(text, file));

const toml = `# Shortens links
name = "link-shortener"
main = "./src/index.ts"
compatibility_date = "2025-05-05" # as of the first release
compatibility_flags = ["nodejs_compat"]
account_id = "0123"

[vars]
BASE = "https://sho.rt"
LIMITS = { a = 1 }

# Links, by their short name
[[d1_databases]]
binding = "DB"
database_name = "links-prod"
database_id = "3a6f3a66"

[[kv_namespaces]]
binding = "cache"
id = "0f2ac74b"

[[queues.producers]]
binding = "CLICKS"
queue = "clicks"

[[queues.consumers]]
queue = "clicks"
max_batch_size = 10
max_retries = 5
dead_letter_queue = "clicks-dead"

[triggers]
crons = ["*/10 * * * *", "0 3 * * *"]

[assets]
directory = "./public/"
binding = "ASSETS"
run_worker_first = ["/api/*"]

[env.staging]
name = "staging"

[[durable_objects.bindings]]
name = "ROOM"
class_name = "Room"
`;

test('a wrangler.toml becomes a platform.yaml that is valid, with its comments before their keys', () => {
  const { yaml, variables, notes } = imported(toml, 'wrangler.toml');
  assert.equal(
    yaml,
    `# Shortens links
name: link-shortener
main: src/index.ts
# as of the first release
compatibility_date: '2025-05-05'
compatibility_flags: [nodejs_compat]
out: public
assets:
  binding: ASSETS
  run_worker_first: ['/api/*']
# Links, by their short name
db:
  DB: links_prod
state:
  CACHE: cache
queue:
  CLICKS: { name: clicks, max_retries: 5, dead_letter: clicks_dead }
cron:
  CRON_1: '*/10 * * * *'
  CRON_2: '0 3 * * *'
`,
  );
  const { config, problems } = parseProjectConfig(yaml, { file: 'platform.yaml' });
  assert.deepEqual([problems, config?.bindings.db], [[], { DB: 'links_prod' }]);
  assert.deepEqual(variables, { BASE: 'https://sho.rt', LIMITS: '{"a":1}' });
  assert.deepEqual(
    notes.map(({ key }) => key),
    ['kv_namespaces', 'queues.consumers.max_batch_size', 'env.staging', 'account_id', 'durable_objects', 'vars.LIMITS'],
  );
});

test('a wrangler.jsonc keeps its comments, of both kinds', () => {
  const text = `{
  // The shop
  "name": "Shop_One",
  "main": "src/index.ts", // where it begins
  /* Uploads of
   * customers */
  "r2_buckets": [{ "binding": "UPLOADS", "bucket_name": "uploads" }],
  "workflows": [{ "binding": "ORDER", "name": "order", "class_name": "Order" }],
  "observability": { "enabled": true },
}`;
  const { yaml, notes } = imported(text, 'wrangler.jsonc');
  assert.equal(
    yaml,
    `# The shop
name: shop-one
# where it begins
main: src/index.ts
# Uploads of
# customers
fs:
  UPLOADS: uploads
workflow:
  ORDER: order
`,
  );
  assert.deepEqual(notes, [
    { key: 'name', note: '"Shop_One" is called shop-one here' },
    { key: 'workflows', note: 'the class Order becomes a function (docs/workflow.md)' },
    { key: 'observability', note: 'needs no switch: `platform logs`, docs/operating.md' },
  ]);
});

test('a text that is neither is refused with its place', () => {
  assert.throws(() => imported('name = \n', 'wrangler.toml'), {
    name: 'CliError',
    location: { file: 'wrangler.toml', line: 1, column: 8 },
  });
  assert.throws(() => imported('{ "name": }', 'wrangler.json'), {
    name: 'CliError',
    location: { file: 'wrangler.json', line: 1, column: 11 },
  });
  assert.throws(() => imported('[]', 'wrangler.json'), /holds no table of keys/);
});

test('names and values from strangers make no other keys: what comes out is valid, or refused', () => {
  const { seed, text } = createSeededRandom();
  const words = [
    'a: b',
    '# no',
    "it's",
    '"',
    '{',
    '\n',
    '- x',
    '& y',
    '*',
    '|',
    '日本',
    'A_1',
    'true',
    '',
    ' ',
    '!!js',
    '%',
    '\\',
    '\t',
  ];
  const word = (): string => text(words, 3);
  const rounds = Number(process.env['WRANGLER_ROUNDS'] ?? 300);
  for (let round = 0; round < rounds; round++) {
    const source = {
      name: word(),
      main: word(),
      compatibility_flags: [word()],
      build: { command: word() },
      vars: { [word()]: word() },
      d1_databases: [{ binding: word(), database_name: word() }],
      queues: {
        producers: [{ binding: word(), queue: word() }],
        consumers: [{ queue: word(), dead_letter_queue: word() }],
      },
      triggers: { crons: ['* * * * *', word()] },
      assets: { directory: word(), not_found_handling: word() },
      [word()]: word(),
    };
    const { yaml } = imported(JSON.stringify(source), 'wrangler.json');
    const known = ['name', 'main', 'compatibility_flags', 'build', 'db', 'queue', 'cron', 'out', 'assets', 'state'];
    for (const [, key] of yaml.matchAll(/^([^\s#][^:\n]*):/gm))
      assert.ok(known.includes(key!), `seed ${seed}, round ${round}: ${JSON.stringify(source)} gives the key ${key}`);
  }
});

function newFolder(t: TestContext): string {
  const folder = mkdtempSync(path.join(tmpdir(), 'import-'));
  t.after(() => rmSync(folder, { recursive: true }));
  return folder;
}

test('the command writes platform.yaml and .env, and over neither of them', async (t) => {
  const folder = newFolder(t);
  writeFileSync(path.join(folder, 'wrangler.toml'), 'name = "shop"\nmain = "index.ts"\n[vars]\nKEY = "value"\n');
  const shell = recordingShell(folder);
  assert.equal(await run(['import'], shell), 0, shell.errors.join('\n'));
  assert.deepEqual(shell.output, ['Wrote platform.yaml from wrangler.toml']);
  assert.equal(readFileSync(path.join(folder, '.env'), 'utf8'), "KEY='value'\n");
  assert.equal(statSync(path.join(folder, '.env')).mode & 0o777, 0o600);
  assert.equal(await run(['import'], shell), 1);
  assert.match(shell.errors.at(-1)!, /^error platform.yaml is there already/);
  assert.equal(await run(['import', '--print'], shell), 0);
  assert.equal(await run(['import'], recordingShell(newFolder(t))), 2);
  assert.equal(existsSync(path.join(folder, 'env')), false);
});
