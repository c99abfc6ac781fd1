// `platform dev`, and Vite, of a project that calls others of its workspace: one command serves all of them.
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { startDevHere } from '#test/setup/dev.ts';
import { startVite, viteProject } from '#test/setup/vite-project.ts';

test('a called project is built again when one of its files changes, also after a build that failed', async () => {
  const root = mkdtempSync(join(tmpdir(), 'platform-dev-services-'));
  const write = writerOf(root);
  const names = (text: string): string => `import { WorkerEntrypoint } from 'cloudflare:workers';
    export default class extends WorkerEntrypoint { first() { return ${text}; } }`;
  write('package.json', '{"private": true, "workspaces": ["apps/*"]}');
  write('apps/shop/platform.yaml', 'service: { NAMES: names }\n');
  write(
    'apps/shop/src/index.js',
    'export default { fetch: async (request, env) => new Response(await env.NAMES.first()) };',
  );
  write('apps/names/platform.yaml', 'name: names\n');
  write('apps/names/src/index.js', names(`'Ada'`));
  const dev = await startDevHere(join(root, 'apps/shop'));
  try {
    assert.equal(String((await dev.fetch('/')).body), 'Ada');
    write('apps/names/src/index.js', names('('));
    await dev.printed(/^error \.\.\/names\/src\/index\.js:2:\d+: Unexpected token/m);
    assert.equal(String((await dev.fetch('/')).body), 'Ada');
    write('apps/names/src/index.js', names(`'Grace'`));
    await dev.printed(/Reloaded/);
    assert.equal(String((await dev.fetch('/')).body), 'Grace');
  } finally {
    await dev.close();
    rmSync(root, { recursive: true, force: true });
  }
});

test('the worker behind Vite calls another project of the workspace', async (context) => {
  const folder = viteProject(context, {
    'platform.yaml': 'service: { NAMES: names }\n',
    'worker/index.ts': 'export default { fetch: async (_, env) => new Response(await env.NAMES.first()) };',
    'names/platform.yaml': 'name: names\n',
    'names/src/index.js': `import { WorkerEntrypoint } from 'cloudflare:workers';
      export default class extends WorkerEntrypoint { first() { return 'Ada'; } }`,
  });
  const vite = await startVite(context, folder);
  assert.equal(await (await vite.get('/')).text(), 'Ada');
});

test('projects of a workspace call each other in dev, and a missing one is warned of', async () => {
  const root = mkdtempSync(join(tmpdir(), 'platform-dev-services-'));
  const write = writerOf(root);
  write('package.json', '{"private": true, "workspaces": ["apps/*"]}');
  write('apps/shop/platform.yaml', 'service: { AUTH: auth, GONE: gone }\n');
  write(
    'apps/shop/src/index.js',
    `export default { async fetch(request, env) {
      const failure = await env.GONE.any().catch(({ code }) => code);
      return Response.json([await env.AUTH.whoami(), failure]);
    } };`,
  );
  write('apps/auth/platform.yaml', 'service: { NAMES: { project: names, entrypoint: Names } }\n');
  write('apps/auth/.env', 'GREETING=hello\n');
  write(
    'apps/auth/src/index.js',
    `import { WorkerEntrypoint } from 'cloudflare:workers';
    export default class extends WorkerEntrypoint {
      async whoami() { return this.env.vars.GREETING + ' ' + await this.env.NAMES.first(); }
    }`,
  );
  write('apps/names/platform.yaml', 'name: names\n');
  write(
    'apps/names/src/index.js',
    `import { WorkerEntrypoint } from 'cloudflare:workers';
    export class Names extends WorkerEntrypoint { first() { return 'Ada'; } }
    export default { fetch: () => new Response('names') };`,
  );
  const dev = await startDevHere(join(root, 'apps/shop'), ['--no-watch']);
  try {
    assert.deepEqual((await dev.fetch('/')).json(), ['hello Ada', 'service_not_found']);
    assert.match(dev.output, /The workspace has no project gone/);
  } finally {
    await dev.close();
    rmSync(root, { recursive: true, force: true });
  }
});

function writerOf(root: string) {
  return (file: string, text: string): void => {
    mkdirSync(dirname(join(root, file)), { recursive: true });
    writeFileSync(join(root, file), text);
  };
}
