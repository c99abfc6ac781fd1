// env.d.ts as text: the members that each key of platform.yaml gives (docs/bindings.md), and the hash that avoids
// rewriting.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { environmentTypes, hasSameHash } from '#core/config/environment-types.ts';
import { parseProjectConfig } from '#core/config/project-config.ts';

function generate(yaml: string): string {
  const { config, problems } = parseProjectConfig(yaml, { file: 'platform.yaml' });
  assert.deepEqual(problems, []);
  return environmentTypes(config!);
}

/** `name: type` lines of PlatformEnv, without `import(...)`. */
function members(yaml: string): string[] {
  const text = generate(yaml);
  const body = /interface PlatformEnv \{\n([\s\S]*?)\n\}/.exec(text)![1]!;
  return body
    .split('\n')
    .filter((line) => !line.includes('/**'))
    .map((line) => line.trim().replace("import('@platform-run/types').", ''));
}

test('a project without bindings has its variables and nothing else', () => {
  assert.deepEqual(members(''), ['vars: Record<string, string>;']);
});

test('every kind of binding has its type', () => {
  const kinds: readonly (readonly [string, readonly string[]])[] = [
    ['db: { DB: a, B: b }', ['DB: Database;', 'B: Database;']],
    ['queue: { Q: a }', ['Q: QueueBinding;']],
    ['workflow: { W: a }', ['W: WorkflowBinding;']],
    ['state: { S: a }', ['S: StateBinding;']],
    ['fs: { F: a }', ['F: FileStorageBinding;']],
    ['timer: { T: a }', ['T: TimerBinding;']],
    ['cache: { C: a }', ['C: CacheBinding;']],
    ['sandbox: { X: a }', ['X: SandboxBinding;']],
    ['service: { X: { project: a, entrypoint: Admin } }', ['X: Service;']],
    ['hyperdrive: { X: DATABASE_URL }', ['X: Hyperdrive;']],
    ['auth: { binding: PLATFORM_AUTH }', ['PLATFORM_AUTH: PlatformAuth;']],
    ['auth: { binding: USERS }', ['PLATFORM_AUTH: PlatformAuth;', 'USERS: PlatformAuth;']],
    ['assets: { binding: ASSETS }', ['ASSETS: Fetcher;']],
    ['assets: { not_found_handling: none }', []],
    ['ai: true', ['AI: Ai;', 'PLATFORM_AI_URL: string;', 'PLATFORM_AI_TOKEN: string;']],
    ['cron: { A: "* * * * *" }', []],
    [
      'agentSDK: true',
      [
        'PLATFORM_AGENT_WORKFLOW: WorkflowBinding;',
        'PLATFORM_AGENT_STATE: StateBinding;',
        'PLATFORM_AGENT_FILES: FileStorageBinding;',
        'PLATFORM_AGENT_SCHEDULER: TimerBinding;',
        'AI: Ai;',
        'PLATFORM_AI_URL: string;',
        'PLATFORM_AI_TOKEN: string;',
      ],
    ],
  ];
  for (const [yaml, expected] of kinds)
    assert.deepEqual(members(yaml), ['vars: Record<string, string>;', ...expected], yaml);
});

test('the file is a script that refers to the types package and declares what else can be imported', () => {
  const text = generate('db: { DB: users }');
  assert.match(text, /^\/\/\/ <reference types="@platform-run\/types" \/>$/m);
  for (const pattern of ['*.txt', '*.sql', '*.html', '*?raw', '*.wasm'])
    assert.ok(text.includes(`declare module '${pattern}' {`), pattern);
  assert.doesNotMatch(text, /^(?:import|export) /m);
});

test('the hash follows the declarations and survives a formatter', () => {
  const text = generate('db: { DB: users }');
  assert.equal(generate('db:\n  DB: users # the same\n'), text);
  assert.equal(hasSameHash(text, text), true);
  assert.equal(hasSameHash(text.replaceAll("'", '"').replaceAll('\n', '\r\n'), text), true);
  assert.equal(hasSameHash(text, generate('db: { DB: others }')), false);
  for (const other of [null, '', 'interface PlatformEnv {}', '// hash: 0000000000000000\n'])
    assert.equal(hasSameHash(other, text), false);
});
