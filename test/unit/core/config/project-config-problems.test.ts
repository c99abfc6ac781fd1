// platform.yaml: what is refused or warned of, with the exact messages of spec section 7, and places of problems.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Problem } from '#core/problem.ts';
import { parseProjectConfig } from '#core/config/project-config.ts';

const now = new Date('2026-11-21T12:00:00Z');

function parse(text: string) {
  return parseProjectConfig(text, { file: 'platform.yaml', now });
}

/** `line:column path: message`, the way the tables below write a problem. */
function short({ line, column, path, message }: Problem): string {
  return `${line}:${column} ${path}: ${message}`;
}

const lower = 'a resource name (lower-case letters, digits and underscores, starting with a letter, at most 64)';
const binding =
  'a binding name (letters, digits and underscores, starting with a letter, at most 64; not a reserved name such as vars)';

/** Text of a file -> the one problem it has. */
const wrong: readonly (readonly [string, string])[] = [
  // Spec section 7, to the letter.
  ['kind: static', "1:7 build: Build command is required when kind is 'static'"],
  ['kind: static\nbuild: ""', "2:8 build: Build command is required when kind is 'static'"],
  ['kind: static\nbuild: "  "', "2:8 build: Build command is required when kind is 'static'"],
  ['out: /dist', '1:6 out: Out path must be relative, not absolute'],
  ['out: /', '1:6 out: Out path must be relative, not absolute'],
  ['out: C:\\dist', '1:6 out: Out path must be relative, not absolute'],
  ['out: \\dist', '1:6 out: Out path must be relative, not absolute'],
  ['out: //server/share', '1:6 out: Out path must be relative, not absolute'],
  ['out: /a/../b', '1:6 out: Out path must be relative, not absolute'],
  ['out: ../dist', "1:6 out: Out path cannot contain '..'"],
  ['out: ..', "1:6 out: Out path cannot contain '..'"],
  ['out: a/../b', "1:6 out: Out path cannot contain '..'"],
  ['base: /srv', '1:7 base: Base path must be relative, not absolute'],
  ['base: ../other', "1:7 base: Base path cannot contain '..'"],
  // The same rules elsewhere.
  ['main: /index.ts', '1:7 main: Main path must be relative, not absolute'],
  ['main: ../index.ts', "1:7 main: Main path cannot contain '..'"],
  ['out: a\\b', "1:6 out: Out path cannot contain '\\'"],
  ['out: "a\\0b"', '1:6 out: Out path cannot contain control characters'],
  ['out: " "', '1:6 out: Out path cannot begin or end with a space'],
  ['out: ""', '1:6 out: out must be a relative path inside the repository, not an empty text'],
  ['out: 5', '1:6 out: out must be a relative path inside the repository, not 5'],
  ['out: [dist]', '1:6 out: out must be a relative path inside the repository, not a list'],
  ['out:', '1:5 out: out has no value'],
  ['build: ""', '1:8 build: build must be a shell command, not an empty text'],
  ['build: true', '1:8 build: build must be a shell command, not true'],
  ['build: "a\\0"', '1:8 build: build cannot contain NUL characters'],
  // Guarded releases.
  ['release: {step: [5, 100]}', '1:11 release.step: Unknown key "step" in release'],
  ['release: {steps: []}', '1:18 release.steps: release.steps must not be empty'],
  ['release: {steps: [25, 5, 100]}', '1:18 release.steps: release.steps must rise: 5 follows 25'],
  ['release: {steps: [5, 5, 100]}', '1:18 release.steps: release.steps must rise: 5 follows 5'],
  ['release: {steps: [5, 25]}', '1:18 release.steps: release.steps must end with 100, not with 25'],
  [
    'release: {steps: [0, 100]}',
    '1:19 release.steps[0]: release.steps[0] must be a whole number of percent from 1 to 100, not 0',
  ],
  [
    'release: {steps: [5, 101]}',
    '1:22 release.steps[1]: release.steps[1] must be a whole number of percent from 1 to 100, not 101',
  ],
  [
    'release: {minutes: 0}',
    '1:20 release.minutes: release.minutes must be a whole number of minutes from 1 to 240, not 0',
  ],
  [
    'release: {errors: 101%}',
    '1:19 release.errors: release.errors must be a percentage from 0% to 100%, such as 1%, not "101%"',
  ],
  [
    'release: {errors: 1}',
    '1:19 release.errors: release.errors must be a percentage from 0% to 100%, such as 1%, not 1',
  ],
  [
    'release: {p99: 0.5x}',
    '1:16 release.p99: release.p99 must be a factor from 1x to 99.99x, such as 1.5x, not "0.5x"',
  ],
  ['release: {cpu: 200%}', '1:16 release.cpu: release.cpu must be a factor from 1x to 99.99x, such as 2x, not "200%"'],
  // kind and name.
  ['kind: dinamic', '1:7 kind: kind must be one of static, ssr, dynamic, worker, not "dinamic"'],
  ['kind: {a: b}', '1:7 kind: kind must be one of static, ssr, dynamic, worker, not a map'],
  ['kind: 1', '1:7 kind: kind must be one of static, ssr, dynamic, worker, not 1'],
  [
    'name: My Shop',
    '1:7 name: name must be a project name (lower-case letters, digits and single hyphens between them, at most 40), not "My Shop"',
  ],
  [
    'name: a--b',
    '1:7 name: name must be a project name (lower-case letters, digits and single hyphens between them, at most 40), not "a--b"',
  ],
  [
    'name: 12',
    '1:7 name: name must be a project name (lower-case letters, digits and single hyphens between them, at most 40), not 12',
  ],
  // Documents that are none.
  ['- a\n- b', '1:1 : The file must be a map of keys, not a list'],
  ['just text', '1:1 : The file must be a map of keys, not "just text"'],
  ['42', '1:1 : The file must be a map of keys, not 42'],
  ['kind: ssr\n---\nkind: ssr', '2:1 : The file contains more than one YAML document'],
  // Keys.
  ['kind: ssr\nkind: ssr', '2:1 kind: kind is there twice'],
  ['db: { DB: a, DB: b }', '1:14 db.DB: db.DB is there twice'],
  ['knd: ssr', '1:1 knd: Unknown key "knd"'],
  ['dev: { prot: 1 }', '1:8 dev.prot: Unknown key "prot" in dev'],
  ['__proto__: 1', '1:1 __proto__: Unknown key "__proto__"'],
  ['constructor: 1', '1:1 constructor: Unknown key "constructor"'],
  ['db: { __proto__: a }', `1:7 db.__proto__: "__proto__" in db must be ${binding}`],
  ['1: ssr', '1:1 : A key must be text, not 1'],
  ['? [a]\n: ssr', '1:3 : A key must be text, not a list'],
  ['<<: { kind: ssr }', '1:1 "<<": Unknown key "<<"'],
  ['env: { A: b }', "1:1 env: The key 'env' is not part of platform.yaml any more"],
  ['monorepo: true', "1:1 monorepo: The key 'monorepo' is not part of platform.yaml any more"],
  ['"a\\e[31mb": 1', '1:1 "a\\u001b[31mb": Unknown key "a\\u001b[31mb"'],
  // Booleans and numbers.
  ['ai: yes', '1:5 ai: ai must be true or false, not "yes"'],
  ['agentSDK: 1', '1:11 agentSDK: agentSDK must be true or false, not 1'],
  ['skew_protection: "false"', '1:18 skew_protection: skew_protection must be true or false, not "false"'],
  ['dev: { port: 0 }', '1:14 dev.port: dev.port must be a whole number from 1 to 65535, not 0'],
  ['dev: { port: 65536 }', '1:14 dev.port: dev.port must be a whole number from 1 to 65535, not 65536'],
  ['dev: { port: 80.5 }', '1:14 dev.port: dev.port must be a whole number from 1 to 65535, not 80.5'],
  ['dev: { port: .nan }', '1:14 dev.port: dev.port must be a whole number from 1 to 65535, not NaN'],
  ['dev: { port: "80" }', '1:14 dev.port: dev.port must be a whole number from 1 to 65535, not "80"'],
  ['dev: { host: "a b" }', '1:14 dev.host: dev.host must be a host name or address, not "a b"'],
  ['dev: 3000', '1:6 dev: dev must be a map, not 3000'],
  // Bindings.
  ['db: users', '1:5 db: db must be a map from binding names to resource names, such as "DB: users", not "users"'],
  ['db: [users]', '1:5 db: db must be a map from binding names to resource names, such as "DB: users", not a list'],
  ['db: { db-a: users }', `1:7 db.db-a: "db-a" in db must be ${binding}`],
  ['db: { vars: users }', `1:7 db.vars: "vars" in db must be ${binding}`],
  ['db: { toString: users }', `1:7 db.toString: "toString" in db must be ${binding}`],
  ['queue: { 1A: users }', `1:10 queue.1A: "1A" in queue must be ${binding}`],
  ['db: { DB: Users }', `1:11 db.DB: db.DB must be ${lower}, not "Users"`],
  ['db: { DB: user-data }', `1:11 db.DB: db.DB must be ${lower}, not "user-data"`],
  ['db: { DB: 5 }', `1:11 db.DB: db.DB must be ${lower}, not 5`],
  ['db: { DB: { name: a } }', `1:11 db.DB: db.DB must be ${lower}, not a map`],
  ['db: { DB }', '1:7 db.DB: db.DB has no value'],
  ['db: { A: x }\nfs: { A: y }', '2:7 fs.A: The binding name A is used twice: in db and in fs'],
  ['ai: true\ndb: { AI: x }', '2:7 db.AI: The binding name AI is used twice: in ai and in db'],
  [
    'agentSDK: true\nsandbox: { AI: x }',
    '2:12 sandbox.AI: The binding name AI is used twice: in agentSDK and in sandbox',
  ],
  [
    'db: { AUTH: x }\nauth: { binding: AUTH }',
    '2:18 auth.binding: The binding name AUTH is used twice: in db and in auth',
  ],
  [
    'db: { ASSETS: x }\nassets: { binding: ASSETS }',
    '2:20 assets.binding: The binding name ASSETS is used twice: in db and in assets',
  ],
  ['db: { PLATFORM_DB: x }', '1:7 db.PLATFORM_DB: The binding name PLATFORM_DB is reserved'],
  ['db: { PLATFORM_AUTH: x }', '1:7 db.PLATFORM_AUTH: The binding name PLATFORM_AUTH is reserved'],
  [
    'db: { PLATFORM_AGENT_STATE: platform_agent_state }',
    '1:7 db.PLATFORM_AGENT_STATE: The binding name PLATFORM_AGENT_STATE is reserved',
  ],
  [
    'state: { PLATFORM_AGENT_STATE: mine }',
    '1:32 state.PLATFORM_AGENT_STATE: PLATFORM_AGENT_STATE belongs to the agent library and must be bound to "platform_agent_state"',
  ],
  ['auth: { binding: PLATFORM_AI_URL }', '1:18 auth.binding: The binding name PLATFORM_AI_URL is reserved'],
  ['auth: true', '1:7 auth: auth must be a map with the key "binding", such as {binding: PLATFORM_AUTH}, not true'],
  ['auth: {}', '1:7 auth: auth needs the key "binding"'],
  [
    'auth: { binding: my-auth }',
    '1:18 auth.binding: auth.binding must be a binding name, usually PLATFORM_AUTH, not "my-auth"',
  ],
  // Assets.
  ['assets: dist', '1:9 assets: assets must be a map, not "dist"'],
  [
    'assets: { binding: assets }',
    '1:20 assets.binding: assets.binding must be a name of upper-case letters and underscores, at most 64, not "assets"',
  ],
  [
    'assets: { binding: ASSETS2 }',
    '1:20 assets.binding: assets.binding must be a name of upper-case letters and underscores, at most 64, not "ASSETS2"',
  ],
  ['assets: { binding: PLATFORM_ASSETS }', '1:20 assets.binding: The binding name PLATFORM_ASSETS is reserved'],
  [
    'assets: { not_found_handling: spa }',
    '1:31 assets.not_found_handling: assets.not_found_handling must be one of none, 404-page, single-page-application, not "spa"',
  ],
  [
    'assets: { run_worker_first: /api/* }',
    '1:29 assets.run_worker_first: assets.run_worker_first must be true, false or a list of route patterns, not "/api/*"',
  ],
  [
    'assets: { run_worker_first: [api/*] }',
    '1:30 assets.run_worker_first[0]: assets.run_worker_first[0] must be a route pattern that starts with "/" (or "!/" to exclude), such as "/api/*", not "api/*"',
  ],
  [
    'assets: { run_worker_first: [/a, [/b]] }',
    '1:34 assets.run_worker_first[1]: assets.run_worker_first[1] must be a route pattern that starts with "/" (or "!/" to exclude), such as "/api/*", not a list',
  ],
  [
    'assets: { error_pages: { 500: 500.html } }',
    '1:31 assets.error_pages.500: assets.error_pages.500 must be the path of an HTML file, such as "/500.html", not "500.html"',
  ],
  [
    'assets: { error_pages: { 401: /401.html } }',
    '1:26 assets.error_pages.401: Unknown key "401" in assets.error_pages',
  ],
  // Compatibility.
  [
    'compatibility_date: "2022-12-31"',
    '1:21 compatibility_date: compatibility_date must be 2023-01-01 or later, not 2022-12-31',
  ],
  [
    'compatibility_date: 2026-11-22',
    '1:21 compatibility_date: compatibility_date must not be in the future: 2026-11-22 is after today, 2026-11-21 (UTC)',
  ],
  [
    'compatibility_date: "2025-02-30"',
    '1:21 compatibility_date: compatibility_date "2025-02-30" is not a day of the calendar',
  ],
  [
    'compatibility_date: "2025-13-01"',
    '1:21 compatibility_date: compatibility_date "2025-13-01" is not a day of the calendar',
  ],
  [
    'compatibility_date: "2025-1-1"',
    '1:21 compatibility_date: compatibility_date must be a date in quotes, such as "2026-01-31", not "2025-1-1"',
  ],
  [
    'compatibility_date: 20250101',
    '1:21 compatibility_date: compatibility_date must be a date in quotes, such as "2026-01-31", not 20250101',
  ],
  [
    'compatibility_flags: nodejs_compat',
    '1:22 compatibility_flags: compatibility_flags must be a list of flags, such as ["nodejs_compat"], not "nodejs_compat"',
  ],
  [
    'compatibility_flags: [nodejs_compat, 5]',
    '1:38 compatibility_flags[1]: compatibility_flags[1] must be a flag such as "nodejs_compat", not 5',
  ],
  [
    'compatibility_flags: [""]',
    '1:23 compatibility_flags[0]: compatibility_flags[0] must be a flag such as "nodejs_compat", not an empty text',
  ],
  [
    'compatibility_flags: [nodejs_compat, no_nodejs_compat]',
    '1:38 compatibility_flags[1]: The flags "nodejs_compat" and "no_nodejs_compat" contradict each other',
  ],
  // Queues.
  [
    'queue: { MAIL: 5 }',
    '1:16 queue.MAIL: queue.MAIL must be a resource name, such as "mail", or a map with the key "name", not 5',
  ],
  ['queue: { MAIL: { max_retries: 1 } }', '1:16 queue.MAIL: queue.MAIL needs the key "name"'],
  [
    'queue: { MAIL: { name: mail, max_retries: -1 } }',
    '1:43 queue.MAIL.max_retries: queue.MAIL.max_retries must be a whole number from 0 to 100, not -1',
  ],
  ['queue: { MAIL: { name: mail, retries: 1 } }', '1:30 queue.MAIL.retries: Unknown key "retries" in queue.MAIL'],
  [
    'queue: { MAIL: { name: mail, dead_letter: mail } }',
    '1:43 queue.MAIL.dead_letter: "mail" cannot take its own dead letters',
  ],
  [
    'queue: { MAIL: { name: mail, dead_letter: lost }, LOST: { name: lost, dead_letter: more } }',
    '1:84 queue.LOST.dead_letter: "lost" takes the dead letters of MAIL: what fails there stays there',
  ],
  ['workflow: { A: { class: Order } }', '1:16 workflow.A: workflow.A needs the key "name"'],
  [
    'workflow: { A: { name: order, class: "a b" } }',
    '1:38 workflow.A.class: workflow.A.class must be the name of an exported class, not "a b"',
  ],
  [
    'workflow: { A: { name: order, class: Order }, B: order }',
    '1:50 workflow.B: B and A declare different classes for the workflow "order"',
  ],
  [
    'queue: { A: { name: mail, max_retries: 1 }, B: { name: mail, max_retries: 2 } }',
    '1:48 queue.B: Two bindings of the queue "mail" say different things of it',
  ],
  // Cron.
  [
    'cron: "* * * * *"',
    '1:7 cron: cron must be a map from names to schedules, such as CLEANUP: "0 3 * * *", not "* * * * *"',
  ],
  [
    'cron: { clean: "* * * * *" }',
    '1:9 cron.clean: "clean" in cron must be a name (upper-case letters, digits and underscores, starting with a letter, at most 64)',
  ],
  [
    'cron: { A: 5 }',
    '1:12 cron.A: cron.A must be a schedule such as "*/5 * * * *", or a map with the key "schedule", not 5',
  ],
  ['cron: { A: "* * * *" }', '1:12 cron.A: A schedule has 5 or 6 fields, not 4'],
  ['cron: { A: { schedule: "61 * * * *" } }', '1:24 cron.A.schedule: "61" is not a minute (0 to 59)'],
  ['cron: { A: { timezone: UTC } }', '1:12 cron.A: cron.A needs the key "schedule"'],
  [
    'cron: { A: { schedule: "* * * * *", timezone: Mars/Olympus } }',
    '1:47 cron.A.timezone: "Mars/Olympus" is not a time zone',
  ],
  [
    'cron: { A: { schedule: "* * * * *", overlap: allow } }',
    '1:46 cron.A.overlap: cron.A.overlap must be one of skip, queue, not "allow"',
  ],
  ['cron: { A: { schedule: "* * * * *", tz: UTC } }', '1:37 cron.A.tz: Unknown key "tz" in cron.A'],
  // YAML itself.
  ['kind: *nobody', '1:7 kind: Alias *nobody has no anchor before it'],
  ['\tkind: ssr', '1:1 : Invalid YAML: Tabs are not allowed as indentation'],
  ['kind: !!binary aGVs', '1:16 kind: kind must be one of static, ssr, dynamic, worker, not a value of another type'],
  [`# ${'x'.repeat(70_000)}`, '1:1 : The file has 70002 bytes; at most 65536 are allowed'],
];

for (const [text, problem] of wrong) {
  test(`${JSON.stringify(text.slice(0, 70))} is refused at ${problem.slice(0, 40)}`, () => {
    const { config, problems } = parse(text);
    assert.equal(config, null);
    assert.deepEqual(problems.map(short), [problem]);
    assert.equal(problems[0]?.severity, 'error');
    assert.equal(problems[0]?.file, 'platform.yaml');
  });
}

test('a misspelt key or value names the one that was meant', () => {
  const meant: readonly (readonly [string, string])[] = [
    ['knd: ssr', 'Did you mean "kind"?'],
    ['compatabilityDate: x', 'Did you mean "compatibility_date"?'],
    ['skewProtection: true', 'Did you mean "skew_protection"?'],
    ['agent_sdk: true', 'Did you mean "agentSDK"?'],
    ['queues: {}', 'Did you mean "queue"?'],
    ['database: {}', 'Did you mean "db"?'],
    ['kv: {}', 'Did you mean "state"?'],
    ['kind: dinamic', 'Did you mean "dynamic"?'],
    ['assets: { notFoundHandling: none }', 'Did you mean "not_found_handling"?'],
    ['dev: { zzzzzz: 1 }', 'Known keys: port, host.'],
    ['ai: on', 'Write true, without quotes.'],
    ['dev: { port: "80" }', 'Leave the quotes out.'],
    ['compatibility_date: 20250101', 'Put it in quotes.'],
    ['compatibility_flags: [nodejs-compat]', 'Did you mean "nodejs_compat"?'],
    ['compatibility_flags: [zzzz]', 'Flags with an effect here: nodejs_compat (on by default), no_nodejs_compat.'],
    [
      'monorepo: true',
      'Delete it: a monorepo is recognised by its workspace files. Use base for the directory of this project.',
    ],
  ];
  for (const [text, hint] of meant) assert.equal(parse(text).problems[0]?.hint, hint, text);
});

test('warnings leave the configuration usable', () => {
  const warned: readonly (readonly [string, string])[] = [
    ['agentSDK: true\nai: false', "2:5 ai: 'ai: false' has no effect, because agentSDK needs the AI binding"],
    ['kind: static\nbuild: make\ndb: { DB: x }', '1:7 kind: A static project has no worker that could use bindings'],
    [
      'compatibility_flags: [url_standard, url_standard]',
      '1:37 compatibility_flags[1]: The flag "url_standard" is there twice',
    ],
    [
      'compatibility_flags: [nodejs_compt]',
      '1:23 compatibility_flags[0]: Unknown flag "nodejs_compt": it has no effect',
    ],
    [
      'compatibility_flags: [url_original]',
      '1:23 compatibility_flags[0]: The flag "url_original" is known, but has no effect on this platform',
    ],
    [
      'assets: { run_worker_first: ["!/a"] }',
      '1:29 assets.run_worker_first: All patterns exclude paths, so no request goes to the worker first',
    ],
  ];
  for (const [text, problem] of warned) {
    const { config, problems } = parse(text);
    assert.ok(config, text);
    assert.deepEqual(problems.map(short), [problem]);
    assert.equal(problems[0]?.severity, 'warning');
  }
});

test('the present day bounds compatibility_date when none is given', () => {
  assert.ok(parseProjectConfig('compatibility_date: "2023-01-01"', { file: 'platform.yaml' }).config);
  assert.equal(parseProjectConfig('compatibility_date: "9999-01-01"', { file: 'platform.yaml' }).config, null);
});
