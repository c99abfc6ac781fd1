// The import rules over small made-up trees: what is forbidden is found, what is allowed is not; and `npm run check`
// fails.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { importFindings } from '#test/tidy/import-findings.ts';
import type { Sources } from '#cli/tasks/tools/sources.ts';
import { formatFinding } from '#test/tidy/findings.ts';

const manifest = JSON.stringify({
  dependencies: { 'isolated-vm': '1', citty: '1', yaml: '1' },
  devDependencies: { hono: '1' },
});

function found(sources: Sources): string[] {
  return importFindings({ 'package.json': manifest, ...sources }).map(formatFinding);
}

test('core imports nothing of ours', () => {
  assert.deepEqual(found({ 'core/names.ts': "import { x } from '#runtime/engine/handler.ts';" }), [
    'core/names.ts:1 imports runtime/engine/handler.ts: core/ may import nothing of ours but itself',
  ]);
});

test('everything may import core', () => {
  assert.deepEqual(
    found({
      'builder/build/build.ts': "import { x } from '#core/names.ts';",
      'cli/main.ts': "import { x } from '#core/names.ts';",
      'runtime/engine/http/listener.ts': "import { x } from '#core/names.ts';",
      'core/names.ts': "import { y } from './plans.ts';",
    }),
    [],
  );
});

test('the guest reaches only the bridge protocol and no Node module', () => {
  const sources = {
    'runtime/engine/guest/package.json': '{"name":"guest"}',
    'runtime/engine/guest/main.ts': [
      "import { FIELD } from '../bridge/protocol.ts';",
      "import { x } from '../bridge/host-calls.ts';",
      "import fs from 'node:fs';",
      "import type { T } from '../bridge/streams.ts';",
    ].join('\n'),
  };
  assert.deepEqual(found(sources), [
    'runtime/engine/guest/main.ts:2 imports runtime/engine/bridge/host-calls.ts: runtime/engine/guest/ may import only itself and runtime/engine/bridge/protocol.ts',
    "runtime/engine/guest/main.ts:3 imports node:fs: guest code runs inside the isolate, where Node's modules do not exist",
    'runtime/engine/guest/main.ts:4 imports runtime/engine/bridge/streams.ts: runtime/engine/guest/ may import only itself and runtime/engine/bridge/protocol.ts',
  ]);
});

test("what starts with every engine does not load Node's HTTP client by an import", () => {
  const text = "import { createServer } from 'node:http';";
  assert.deepEqual(
    found({
      'runtime/engine/process/internal-server.ts': text,
      'runtime/engine/http/listener.ts': "import type { Server } from 'node:http';",
      'runtime/dev/dashboard/server.ts': text,
    }),
    [
      "runtime/engine/process/internal-server.ts:1 imports node:http: that loads Node's HTTP client as well, write process.getBuiltinModule('node:http')",
    ],
  );
});

test('parts of the engine know types of each other, never values', () => {
  assert.deepEqual(
    found({
      'runtime/engine/http/request.ts': "import type { Route } from '../router/project-routes.ts';",
      'runtime/engine/router/route-table.ts': "import { send } from '../http/response.ts';",
    }),
    [
      'runtime/engine/router/route-table.ts:1 imports values from runtime/engine/http/response.ts: runtime/engine/router/ may import only types from there',
    ],
  );
});

test('handler.ts joins the parts, but nobody joins the guest', () => {
  assert.deepEqual(
    found({
      'runtime/engine/handler.ts':
        "import { Pool } from './isolates/pool.ts';\nimport { listen } from './http/listener-node.ts';\nimport { g } from './guest/main.ts';",
    }),
    [
      'runtime/engine/handler.ts:3 imports runtime/engine/guest/main.ts: runtime/engine/ may import only itself and core/, artifacts/, runtime/supervisor/data-folder/private-folders.ts',
    ],
  );
});

test('bindings never import stores', () => {
  assert.deepEqual(
    found({ 'runtime/engine/bindings/state.ts': "import { open } from '../../stores/state-sqlite.ts';" }),
    [
      'runtime/engine/bindings/state.ts:1 imports runtime/stores/state-sqlite.ts: runtime/engine/bindings/ may import only itself and core/, runtime/engine/work/, types of runtime/engine/bridge/, types of runtime/engine/tracing/',
    ],
  );
});

test('the cli reaches the runtime through dev.ts and the provider of sandboxes only', () => {
  assert.deepEqual(
    found({
      'cli/commands/dev.ts':
        "const { startDev } = await import('#runtime/dev/dev.ts');\nimport { Pool } from '#runtime/engine/isolates/pool.ts';",
    }),
    [
      'cli/commands/dev.ts:2 imports runtime/engine/isolates/pool.ts: cli/commands/ may import only itself and core/, cli/, artifacts/, operations/, packages/create/project.ts, runtime/dev/dev.ts, sandbox/backends/hosted/, types of packages/vite/messages.ts, types of runtime/dev/contract/',
    ],
  );
});

test('nothing in control imports what stands above it', () => {
  assert.deepEqual(
    found({
      'control/domains/recheck.ts': "import { needs } from '../api/request/needs.ts';",
      'control/records/projects.ts': "import type { Proof } from '../domains/proof.ts';",
      'control/api/routes/domains.ts': "import { readDomain } from '../../records/domains.ts';",
    }).map((line) => line.split(':', 2)[0]),
    ['control/domains/recheck.ts', 'control/records/projects.ts'],
  );
});

test('control and runtime never import each other', () => {
  assert.deepEqual(
    found({
      'control/api.ts': "import { x } from '#runtime/engine/handler.ts';",
      'runtime/engine/invoke.ts': "import type { x } from '#control/api.ts';",
    }).map((line) => line.split(':', 2)[0]),
    ['control/api.ts', 'runtime/engine/invoke.ts'],
  );
});

test('a quarantined library stays in its folder, also when it is imported lazily', () => {
  assert.deepEqual(
    found({
      'runtime/engine/isolates/isolate.ts': "import ivm from 'isolated-vm';",
      'runtime/engine/handler.ts': "const ivm = await import('isolated-vm');",
      'builder/build/build.ts': "import { defineCommand } from 'citty';",
      'runtime/databases/sqlite/connection.ts': "import { DatabaseSync } from 'node:sqlite';",
      'runtime/stores/state-sqlite.ts': "import { DatabaseSync } from 'node:sqlite';",
    }),
    [
      'runtime/engine/handler.ts:1 imports isolated-vm: it stays in runtime/engine/isolates/',
      'builder/build/build.ts:1 imports citty: it stays in cli/, web/docs-site/',
      'runtime/stores/state-sqlite.ts:1 imports node:sqlite: it stays in runtime/databases/, artifacts/file-lock.ts',
    ],
  );
});

test('a library that no package.json declares is refused, and a development one outside of tests', () => {
  assert.deepEqual(
    found({
      'core/a.ts': "import x from 'left-pad';",
      'core/b.ts': "import { Hono } from 'hono/tiny';",
      'test/unit/b.test.ts': "import { Hono } from 'hono';",
    }),
    [
      'core/a.ts:1 imports left-pad: no package.json above it declares that dependency',
      'core/b.ts:1 imports hono: no package.json above it declares that dependency',
    ],
  );
});

test('relative paths stay inside a top-level folder, # paths cross them', () => {
  assert.deepEqual(
    found({ 'cli/main.ts': "import { a } from '../core/names.ts';\nimport { b } from '#cli/terminal/failure.ts';" }),
    [
      'cli/main.ts:1 imports ../core/names.ts: across top-level folders, use #core/names.ts',
      'cli/main.ts:2 imports #cli/terminal/failure.ts: inside one folder, use a relative path',
    ],
  );
});

test('an import cycle is found once, also of types; lazy imports do not close one', () => {
  assert.deepEqual(
    found({
      'core/a.ts': "import { b } from './b.ts';",
      'core/b.ts': "import { c } from './c.ts';",
      'core/c.ts': "import { a } from './a.ts';",
      'core/d.ts': "import type { e } from './e.ts';",
      'core/e.ts': "import { d } from './d.ts';\nconst f = () => import('./f.ts');",
      'core/f.ts': "import { e } from './e.ts';",
    }),
    [
      'core/a.ts is in an import cycle: core/a.ts -> core/b.ts -> core/c.ts -> core/a.ts',
      'core/d.ts is in an import cycle: core/d.ts -> core/e.ts -> core/d.ts',
    ],
  );
});

test('a specifier inside a string or a comment is not an import', () => {
  assert.deepEqual(
    found({ 'core/a.ts': "// import x from 'left-pad'\nexport const code = `import x from 'left-pad';`;" }),
    [],
  );
});

test('the tidy step of `npm run check` fails on a tree with a forbidden import', (t) => {
  const tree = mkdtempSync(path.join(tmpdir(), 'tidy-'));
  t.after(() => rmSync(tree, { recursive: true }));
  mkdirSync(path.join(tree, 'core'));
  writeFileSync(path.join(tree, 'core/names.ts'), "// Names.\nimport { x } from '#control/api.ts';\n");
  const file = fileURLToPath(new URL('../../tidy.test.ts', import.meta.url));
  const env: NodeJS.ProcessEnv = { ...process.env, TIDY_ROOT: tree };
  delete env['NODE_TEST_CONTEXT'];
  const ended = spawnSync(process.execPath, ['--no-warnings', '--test', file], { env, encoding: 'utf8' });
  assert.equal(ended.status, 1);
  assert.match(
    ended.stdout,
    /core\/names\.ts:2 imports control\/api\.ts: core\/ may import nothing of ours but itself/,
  );
});
