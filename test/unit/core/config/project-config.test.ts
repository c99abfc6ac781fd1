// platform.yaml: every field with its default. What is refused: project-config-problems.test.ts.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { namedKinds } from '#core/bindings/kinds.ts';
import { parseProjectConfig, type ProjectConfig } from '#core/config/project-config.ts';
import { agentBindings } from '#core/config/written-bindings.ts';

const now = new Date('2026-11-21T12:00:00Z');

function parse(text: string) {
  return parseProjectConfig(text, { file: 'platform.yaml', now });
}

function valid(text: string): ProjectConfig {
  const { config, problems } = parse(text);
  assert.deepEqual(problems, []);
  assert.ok(config);
  return config;
}

const none = Object.fromEntries(namedKinds.map((kind) => [kind, {}])) as ProjectConfig['bindings'];

const defaults: ProjectConfig = {
  name: null,
  kind: null,
  main: null,
  build: null,
  out: null,
  base: '.',
  assets: null,
  agentSdk: false,
  skewProtection: true,
  compatibilityDate: null,
  compatibilityFlags: [],
  dev: { port: 3000, host: 'localhost' },
  bindings: none,
  queues: {},
  objects: {},
  auth: null,
  ai: false,
  cron: {},
  previews: { db: 'copy', cron: 'off', queue: 'on', timer: 'on' },
  release: null,
};

test('an empty file, comments alone and an explicit null give every default', () => {
  for (const text of ['', '\n', '# nothing\n', '---\n', '~', 'null\n', '{}', '\ufeff', '\ufeff{}\r\n']) {
    assert.deepEqual(valid(text), defaults, JSON.stringify(text));
  }
});

test('a file with every field is read in full', () => {
  const config = valid(`
name: my-shop
kind: worker
main: src/index.ts
build: npm run build
out: dist/
base: apps/shop//
assets:
  binding: ASSETS
  not_found_handling: single-page-application
  run_worker_first: [/api/*, "!/api/docs/*"]
  error_pages: { 404: /404.html, 500: /sorry/500.html }
skew_protection: false
compatibility_date: "2026-11-21"
compatibility_flags: [nodejs_compat]
dev: { port: 4000, host: 0.0.0.0 }
db: { DB: users }
queue: { MAIL: email_queue, JOBS: { name: jobs, max_retries: 0, retry_delay: 60, max_concurrency: 5, dead_letter: lost_jobs } }
workflow: { ORDER: order_flow }
state: { KV: settings }
fs: { FILES: uploads }
timer: { TIMER: reminders }
cache: { CACHE: pages }
sandbox: { BOX: builds }
object: { ROOM: ChatRoom, BOARD: { class: Board }, DESK: { class: Desk, project: office, previews: production } }
service: { AUTH: auth, ADMIN: { project: auth, entrypoint: Admin, previews: production } }
hyperdrive: { PG: DATABASE_URL }
auth: { binding: PLATFORM_AUTH }
ai: true
cron:
  CLEAN: "0 3 * * *"
  REPORT: { schedule: "0 0 8 * * MON-FRI", timezone: Europe/Berlin, overlap: queue }
previews: { db: empty, cron: on, timer: off }
release: { steps: [10, 100], minutes: 3, errors: 0.5%, p99: 1.25x }
`);
  assert.deepEqual(config, {
    name: 'my-shop',
    kind: 'dynamic',
    main: 'src/index.ts',
    build: 'npm run build',
    out: 'dist',
    base: 'apps/shop',
    assets: {
      binding: 'ASSETS',
      notFoundHandling: 'single-page-application',
      runWorkerFirst: ['/api/*', '!/api/docs/*'],
      errorPages: { 404: '/404.html', 500: '/sorry/500.html' },
    },
    agentSdk: false,
    skewProtection: false,
    compatibilityDate: '2026-11-21',
    compatibilityFlags: ['nodejs_compat'],
    dev: { port: 4000, host: '0.0.0.0' },
    bindings: {
      ...none,
      db: { DB: 'users' },
      queue: { MAIL: 'email_queue', JOBS: 'jobs' },
      workflow: { ORDER: 'order_flow' },
      state: { KV: 'settings' },
      fs: { FILES: 'uploads' },
      timer: { TIMER: 'reminders' },
      cache: { CACHE: 'pages' },
      sandbox: { BOX: 'builds' },
      service: { AUTH: 'auth', ADMIN: 'auth#Admin?production' },
      hyperdrive: { PG: 'DATABASE_URL' },
    },
    objects: { ROOM: 'ChatRoom', BOARD: 'Board', DESK: 'office#Desk?production' },
    queues: { jobs: { maxRetries: 0, retryDelayMs: 60_000, maxConcurrency: 5, deadLetter: 'lost_jobs' } },
    auth: { binding: 'PLATFORM_AUTH' },
    ai: true,
    cron: {
      CLEAN: { schedule: '0 3 * * *', timezone: 'UTC', overlap: 'skip' },
      REPORT: { schedule: '0 0 8 * * MON-FRI', timezone: 'Europe/Berlin', overlap: 'queue' },
    },
    previews: { db: 'empty', cron: 'on', queue: 'on', timer: 'off' },
    release: { steps: [10, 100], minutes: 3, errors: '0.5%', p99: '1.25x', cpu: '2x' },
  } satisfies ProjectConfig);
});

test('a workflow may be a map with its name and its class', () => {
  const { config } = parseProjectConfig(
    'workflow: { A: { name: order, class: OrderFlow }, B: { name: order, class: OrderFlow }, C: { name: plain }, D: other }',
    { file: 'platform.yaml' },
  );
  assert.deepEqual(config?.bindings.workflow, { A: 'order', B: 'order', C: 'plain', D: 'other' });
  assert.deepEqual(config?.workflowClasses, { order: 'OrderFlow' });
});

test('an empty map under release has every default', () => {
  assert.deepEqual(valid('release: {}').release, {
    steps: [5, 25, 100],
    minutes: 5,
    errors: '1%',
    p99: '1.5x',
    cpu: '2x',
  });
});

test('agentSDK adds its bindings to those of the file and turns the AI binding on', () => {
  const config = valid('agentSDK: true\nstate:\n  KV: settings\n');
  assert.equal(config.ai, true);
  assert.deepEqual(config.bindings, {
    ...defaults.bindings,
    state: { KV: 'settings', PLATFORM_AGENT_STATE: 'platform_agent_state' },
    fs: { PLATFORM_AGENT_FILES: 'platform_agent_files' },
    workflow: { PLATFORM_AGENT_WORKFLOW: 'platform_agent_run' },
    timer: { PLATFORM_AGENT_SCHEDULER: 'platform_agent_scheduler' },
  });
});

test('the bindings of the agent library may be written out, with or without agentSDK', () => {
  for (const prefix of ['', 'agentSDK: true\n']) {
    const config = valid(`${prefix}fs: { PLATFORM_AGENT_FILES: platform_agent_files }\n`);
    assert.deepEqual(config.bindings.fs, agentBindings.fs);
  }
});

test('aliases stand for the value of their anchor', () => {
  assert.deepEqual(valid('db: { DB: &name users }\nfs: { FILES: *name }\n').bindings.fs, { FILES: 'users' });
  assert.deepEqual(valid('db: &all { A: users }\n').bindings.db, { A: 'users' });
});
