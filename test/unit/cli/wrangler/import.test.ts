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
import { recordingShell } from '../recording-shell.ts';

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

[[durable_objects.bindings]]
name = "DESK"
class_name = "Desk"
script_name = "Back_Office"
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
  cache: cache
object:
  ROOM: Room
  DESK: { class: Desk, project: back-office }
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
    [
      'durable_objects.bindings.script_name',
      'env.staging',
      'account_id',
      'vars.LIMITS',
      'queues.consumers.max_batch_size',
    ],
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
workflow:
  ORDER: { name: order, class: Order }
# Uploads of
# customers
fs:
  UPLOADS: uploads
`,
  );
  assert.deepEqual(notes, [
    { key: 'name', note: '"Shop_One" is named shop-one here' },
    { key: 'observability', note: 'needs no switch: `platform logs`, docs/operating.md' },
  ]);
});

test('keys in comments are no keys', () => {
  const text = `{
  "name": "app"
  /* first: */
  // "vars": { "A": "b" },
  /** second
   */
  // "services": [{ "binding": "OTHER", "service": "other" }]
}`;
  assert.equal(
    imported(text, 'wrangler.jsonc').yaml,
    `name: app
# first:
# "vars": { "A": "b" },
# second
# "services": [{ "binding": "OTHER", "service": "other" }]
`,
  );
});

test('what a build has to make first is made by the script "build"', () => {
  const file = readWrangler(
    '{ "name": "app", "main": "dist/index.js", "assets": { "directory": "./dist" } }',
    'a.json',
  );
  const beside = { scripts: new Set(['build']), dependencies: new Set<string>(), has: () => false };
  const made = toPlatformYaml(file, beside);
  assert.equal(made.yaml, 'name: app\nmain: dist/index.js\nbuild: npm run build\nout: dist\n');
  assert.equal(made.notes[0]?.key, 'build');
  const there = toPlatformYaml(file, { ...beside, has: () => true });
  assert.equal(there.yaml, 'name: app\nmain: dist/index.js\nout: dist\n');
  assert.deepEqual(there.notes, []);
});

test("a project with Cloudflare's Vite plugin is built by it", () => {
  const file = readWrangler(
    '{ "name": "my-app", "main": "worker/index.ts", "assets": { "directory": "./dist" } }',
    'wrangler.json',
  );
  const beside = (...dependencies: string[]) => ({
    scripts: new Set(dependencies.length > 0 ? ['build'] : []),
    dependencies: new Set(['@cloudflare/vite-plugin', ...dependencies]),
    has: () => false,
  });
  const { yaml, notes } = toPlatformYaml(file, beside());
  assert.equal(yaml, 'name: my-app\nmain: dist/my_app/index.js\nbuild: vite build\nout: dist/client\n');
  assert.match(notes[0]!.note, /^its build makes dist\/my_app\/index\.js; .*@platform-run\/vite/);
  assert.equal(
    toPlatformYaml(file, beside('@react-router/dev')).yaml,
    'name: my-app\nmain: build/server/index.js\nbuild: npm run build\nout: build/client\n',
  );
  assert.match(toPlatformYaml(file, beside('@tanstack/react-start')).yaml, /^main: dist\/server\/index\.js$/m);
});

/** The keys of tables that an import reads, as wrangler's configuration schema has them. */
const published = {
  assets: [
    'binding',
    'directory',
    'experimental_serve_directly',
    'html_handling',
    'not_found_handling',
    'run_worker_first',
  ],
  build: ['command', 'cwd', 'watch_dir'],
  dev: 'ip port inspector_port inspector_ip local_protocol upstream_protocol host enable_containers container_engine generate_types types'.split(
    ' ',
  ),
  ai: ['binding', 'remote', 'staging'],
  limits: ['cpu_ms', 'subrequests'],
  site: ['bucket', 'entry-point', 'include', 'exclude'],
  'd1_databases[]':
    'binding database_name database_id preview_database_id migrations_dir migrations_table migrations_pattern database_internal_env jurisdiction remote'.split(
      ' ',
    ),
  'kv_namespaces[]': ['binding', 'id', 'preview_id', 'remote'],
  'r2_buckets[]': ['binding', 'bucket_name', 'preview_bucket_name', 'jurisdiction', 'remote'],
  'workflows[]': ['binding', 'name', 'class_name', 'script_name', 'limits', 'remote', 'schedules'],
  'queues.producers[]': ['binding', 'queue', 'delivery_delay', 'remote'],
  'queues.consumers[]':
    'queue type max_batch_size max_batch_timeout max_retries dead_letter_queue max_concurrency visibility_timeout_ms retry_delay'.split(
      ' ',
    ),
};
const valueOf = (key: string): unknown =>
  ({
    binding: 'NAME',
    run_worker_first: true,
    port: 1,
    cpu_ms: 1,
    max_retries: 1,
    retry_delay: 1,
    max_concurrency: 1,
    type: 'http_pull',
  })[key] ?? 'given';
/** What becomes a line of platform.yaml, and is known by its value there. */
const becomes = new Set(
  (
    'ai.binding assets.binding assets.directory assets.not_found_handling assets.run_worker_first build.command dev.ip dev.port d1_databases.binding d1_databases.database_name ' +
    'kv_namespaces.binding r2_buckets.binding r2_buckets.bucket_name workflows.binding workflows.name workflows.class_name queues.producers.binding queues.producers.queue queues.consumers.queue queues.consumers.max_retries queues.consumers.dead_letter_queue queues.consumers.max_concurrency queues.consumers.retry_delay'
  ).split(' '),
);
/** Names of things there. */
const names =
  /^(?:d1_databases\.(?:preview_)?database_id|kv_namespaces\.(?:preview_)?id|r2_buckets\.preview_bucket_name)$/;
/** Whose note has the key of the table. */
const toldAbove = new Set(['site.bucket']);

test('each key of a table that an import reads is taken, or named', () => {
  for (const [table, keys] of Object.entries(published)) {
    const place = table.replace('[]', '');
    const [first, second] = place.split('.') as [string, string?];
    const of = (some: readonly string[]) => {
      const value = Object.fromEntries(some.map((key) => [key, valueOf(key)]));
      const at = table.endsWith('[]') ? [value] : value;
      return imported(
        JSON.stringify({ name: 'app', [first]: second === undefined ? at : { [second]: at } }),
        'wrangler.json',
      );
    };
    const { yaml, notes } = of(keys);
    const told = new Set(notes.map(({ key }) => key));
    for (const key of keys) {
      const at = `${place}.${key}`;
      if (names.test(at)) continue;
      if (becomes.has(at)) assert.notEqual(of(keys.filter((one) => one !== key)).yaml, yaml, `${at} changes nothing`);
      else assert.ok(told.has(toldAbove.has(at) ? place : at), `${at} is dropped without a word: ${[...told].join()}`);
    }
  }
});

test('each top-level key is taken, or has a note of its own; an empty one needs none', () => {
  const keys =
    'account_id agent_memory ai_search ai_search_namespaces alias analytics_engine_datasets artifacts base_dir browser cloudchamber compliance_region containers data_blobs define dispatch_namespaces exports find_additional_modules first_party_worker flagship images jsx_factory jsx_fragment keep_names keep_vars legacy_env logfwdr logpush media minify mtls_certificates observability pipelines placement preserve_file_names preview_urls previews python_modules ratelimits route routes rules secrets secrets_store_secrets send_email send_metrics stream streaming_tail_consumers tail_consumers text_blobs tsconfig unsafe unsafe_hello_world upload_source_maps vectorize version_metadata vpc_networks vpc_services wasm_modules worker_loaders workers_dev';
  for (const key of keys.split(' ')) {
    const { notes } = imported(JSON.stringify({ name: 'a', [key]: { x: 1 } }), 'wrangler.json');
    assert.deepEqual([notes.length, notes[0]?.key, notes[0]?.note === 'unknown key: omitted'], [1, key, false], key);
    assert.deepEqual(imported(JSON.stringify({ name: 'a', [key]: [] }), 'wrangler.json').notes, []);
  }
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
  assert.throws(() => imported('[]', 'wrangler.json'), /the file is not an object/);
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
      durable_objects: { bindings: [{ name: word(), class_name: word(), script_name: word() }] },
      migrations: [
        { new_classes: [word()], renamed_classes: [{ from: word(), to: word() }], deleted_classes: [word()] },
      ],
      [word()]: word(),
    };
    const { yaml } = imported(JSON.stringify(source), 'wrangler.json');
    const known = [
      'name',
      'main',
      'compatibility_flags',
      'build',
      'db',
      'queue',
      'cron',
      'out',
      'assets',
      'state',
      'object',
      'object_classes',
    ];
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
  assert.match(shell.errors.at(-1)!, /^error platform.yaml already exists/);
  assert.equal(await run(['import', '--print'], shell), 0);
  assert.equal(await run(['import'], recordingShell(newFolder(t))), 2);
  assert.equal(existsSync(path.join(folder, 'env')), false);
});

test('keys that need nothing here are one line, and others one each', async (t) => {
  const folder = newFolder(t);
  writeFileSync(
    path.join(folder, 'wrangler.json'),
    '{ "name": "shop", "main": "index.ts", "workers_dev": true, "observability": { "enabled": true }, "rules": [{ "type": "Text" }], "data_blobs": { "KEY": "./key.bin" }, "browser": { "binding": "B" } }',
  );
  const shell = recordingShell(folder);
  assert.equal(await run(['import'], shell), 0);
  assert.deepEqual(
    shell.errors.map((line) => line.split(':')[0]),
    ['rules', 'data_blobs', 'browser', 'Not needed here'],
  );
  assert.equal(shell.errors.at(-1), 'Not needed here: workers_dev, observability');
});
