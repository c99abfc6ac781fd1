// packages/sveltekit: the adapter as the builder gives it to an app, and the worker that it writes. SvelteKit is a
// double with what the adapter calls of it; that real apps run is shown by test/frameworks.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { build } from '#builder/build/build.ts';
import { configOf, evaluate, projectFolder } from '../../builder/project-folder.ts';

const runtime = `
let files;
export class Server {
  constructor(manifest) { this.manifest = manifest; }
  async init({ env, read }) { this.greeting = env.GREETING; files = read; }
  async respond(request, { platform, getClientAddress }) {
    const { pathname } = new URL(request.url);
    const read = pathname === '/read' ? await new Response(await files('logo.svg')).text() : null;
    return Response.json({ manifest: this.manifest, greeting: this.greeting, address: getClientAddress(), read,
      given: Object.keys(platform.env) });
  }
}`;

/** What the app's build does: asks for its adapter as every app does, and hands it a builder. */
const make = (version: 2 | 3, base: string, adapter: string): string => `
import adapter from '${adapter}';
import { mkdirSync, writeFileSync } from 'node:fs';
const put = (file, text) => { mkdirSync(file.slice(0, file.lastIndexOf('/')), { recursive: true }); writeFileSync(file, text); };
const paths = { base: '${base}' };
const { name, adapt } = adapter({ out: 'elsewhere' });
if (name !== '@platform-run/sveltekit') throw new Error('the adapter is ' + name);
await adapt({
  config: ${version === 2 ? '{ kit: { paths } }' : '{ paths }'},
  prerendered: { redirects: new Map([['${base}/old', { status: 308, location: '/new' }]]) },
  getAppPath: () => '${base.slice(1)}/_app'.replace(/^\\//, ''),
  getServerDirectory: () => process.cwd() + '/.svelte-kit/output/server',
  writeClient: (folder) => { put(folder + '/logo.svg', '<svg/>'); put(folder + '/_headers', '/*\\n  X-Own: yes\\n'); },
  writePrerendered: (folder) => put(folder + '/about.html', '<p>about'),
  hasServerInstrumentationFile: () => false,
  ${
    version === 2
      ? `generateManifest: ({ relativePath }) => JSON.stringify({ relativePath }),`
      : `generateServerInstance: (file) => put(file, "import { Server } from '../../../.svelte-kit/output/server/index.js';\\nexport const server = new Server('three');"),`
  }
});`;

interface Made {
  readonly rules: { readonly headers?: unknown; readonly redirects?: unknown; readonly files: object };
  fetch(path: string): Promise<Record<string, unknown>>;
}

async function adapt(t: TestContext, version: 2 | 3, base = '', adapter = '@sveltejs/adapter-auto'): Promise<Made> {
  const root = projectFolder(t, {
    'package.json': JSON.stringify({ type: 'module', devDependencies: { '@sveltejs/kit': `^${version}.0.0` } }),
    'make.mjs': make(version, base, adapter),
    '.svelte-kit/output/server/index.js': runtime,
    [`node_modules/${adapter}/package.json`]: JSON.stringify({ type: 'module', exports: './index.js' }),
    [`node_modules/${adapter}/index.js`]: `export default () => ({ name: '${adapter}', adapt() {} });`,
    'node_modules/@sveltejs/kit/package.json': JSON.stringify({ name: '@sveltejs/kit', version: `${version}.1.0` }),
  });
  const artifact = await build({
    root,
    config: configOf('build: node make.mjs'),
    artifacts: join(dirname(root), 'artifacts'),
  });
  const code = readFileSync(join(artifact.folder, 'worker.js'), 'utf8').replace(/^\/\/# sourceMappingURL.*$/m, '');
  const ASSETS = {
    fetch: async (url: string) => new Response(url.endsWith(`${base}/logo.svg`) ? '<svg/>' : null, { status: 200 }),
  };
  const env = { GREETING: 'hello', ASSETS };
  const worker = evaluate(code, { [Symbol.for('platform.env')]: env, caches: {} }) as {
    fetch(request: Request, env: object, ctx: object): Promise<Response>;
  };
  return {
    rules: artifact.manifest.assets!,
    async fetch(path) {
      const request = new Request(`http://app.test${path}`, { headers: { 'x-real-ip': '192.0.2.1' } });
      return (await (await worker.fetch(request, env, {})).json()) as Record<string, unknown>;
    },
  };
}

for (const version of [2, 3] as const) {
  test(`an app of SvelteKit ${version} with adapter-auto becomes a worker with its files`, async (t) => {
    const { rules, fetch } = await adapt(t, version);
    assert.deepEqual(Object.keys(rules.files).sort(), ['about.html', 'logo.svg']);
    assert.deepEqual(await fetch('/'), {
      manifest: version === 2 ? { relativePath: '../../../.svelte-kit/output/server' } : 'three',
      greeting: 'hello',
      address: '192.0.2.1',
      read: null,
      given: ['GREETING', 'ASSETS'],
    });
    assert.equal((await fetch('/read'))['read'], '<svg/>');
  });
}

for (const adapter of ['@sveltejs/adapter-vercel', '@sveltejs/adapter-netlify']) {
  test(`${adapter} is replaced too`, async (t) => {
    const { fetch } = await adapt(t, 2, '', adapter);
    assert.equal((await fetch('/'))['greeting'], 'hello');
  });
}

test('below a base path files lie there, and rules at the top', async (t) => {
  const { rules, fetch } = await adapt(t, 3, '/docs');
  assert.deepEqual(Object.keys(rules.files).sort(), ['docs/about.html', 'docs/logo.svg']);
  const headers = JSON.stringify(rules.headers);
  assert.match(headers, /x-own/i);
  assert.match(headers, /docs\/_app\/immutable.*max-age=31536000, immutable/);
  assert.match(JSON.stringify(rules.redirects), /docs\/old.*\/new/);
  assert.equal((await fetch('/read'))['read'], '<svg/>');
});
