// A worker behind Vite's dev server: it runs in an isolate of the engine, and a save is seen by the next request.
import assert from 'node:assert/strict';
import path from 'node:path';
import { test } from 'node:test';
import { createServer, type Plugin } from 'vite';
import { platform } from '#packages/vite/index.ts';
import { navigate, save, startVite, viteProject, write } from '#test/setup/vite-project.ts';

const entry = `import { greet } from './greet';
export default {
  async fetch(request: Request): Promise<Response> {
    const { pathname } = new URL(request.url);
    if (pathname === '/throw') throw new TypeError('no such thing');
    if (pathname === '/later') return Response.json((await import('./later.ts')).default);
    if (pathname === '/named') return Response.json((await import(/* @vite-ignore */ '/worker/' + 'named.ts')).name());
    if (pathname === '/body') return new Response(request.body, { headers: [['set-cookie', 'a=1'], ['set-cookie', 'b=2']] });
    return new Response(greet(pathname));
  },
};
`;
const greet = (word: string): string =>
  `interface Unused {\n  a: string;\n}\n\nexport const greet = (path: string): string => '${word} ' + path;\n`;

test('the worker answers in an isolate what Vite does not, and the next request after a save sees the new code', async (context) => {
  const folder = viteProject(context, {
    'worker/index.ts': entry,
    'worker/greet.ts': greet('hello'),
    'worker/later.ts': 'export default { later: true };\n',
    'worker/named.ts': "export const name = (): string => 'named';\n",
  });
  const vite = await startVite(context, folder);

  assert.equal(await (await vite.get('/a?b=c')).text(), 'hello /a');
  assert.deepEqual(await (await vite.get('/later')).json(), { later: true });
  assert.equal(await (await vite.get('/named')).json(), 'named');

  const echoed = await vite.get('/body', { method: 'POST', body: 'sent' });
  assert.equal(await echoed.text(), 'sent');
  assert.deepEqual(echoed.headers.getSetCookie(), ['a=1', 'b=2']);

  await save(vite, folder, 'worker/greet.ts', greet('good day'));
  assert.equal(await (await vite.get('/a')).text(), 'good day /a');

  const thrown = await vite.get('/throw');
  assert.equal(thrown.status, 500);
  const { name, message, file, line, column, stack } = (await thrown.json()) as Record<string, unknown>;
  assert.deepEqual(
    { name, message, file, line, column },
    {
      name: 'TypeError',
      message: 'no such thing',
      file: 'worker/index.ts',
      line: 5,
      column: 38,
    },
  );
  assert.match(String(stack), /at Object\.fetch \(worker\/index\.ts:5:38\)/);
});

test('pages of Vite are served by Vite, and navigations of a single page application get its page', async (context) => {
  const files = {
    'worker/index.js': "export default { fetch: ({ url }) => new Response('worker ' + new URL(url).pathname) };\n",
    'index.html': '<!doctype html><title>the page</title><script type="module" src="/src/main.js"></script>\n',
    'about/index.html': '<!doctype html><title>about</title>\n',
    'src/main.js': "console.log('main');\n",
  };
  const vite = await startVite(context, viteProject(context, files));
  const shown = (await navigate(vite.url, '/')).text;
  assert.match(shown, /<title>the page<\/title>/);
  assert.match(shown, /<script type="module" src="\/@vite\/client"><\/script>/);
  assert.match((await navigate(vite.url, '/about/')).text, /<title>about<\/title>/);
  assert.match(await (await vite.get('/src/main.js')).text(), /console\.log\('main'\)/);
  assert.equal((await navigate(vite.url, '/api/things')).text, 'worker /api/things');
  assert.equal(await (await vite.get('/', { method: 'POST' })).text(), 'worker /');

  const single = await startVite(
    context,
    viteProject(context, {
      ...files,
      'platform.yaml': 'assets: { not_found_handling: single-page-application }\n',
    }),
  );
  assert.match((await navigate(single.url, '/settings/me')).text, /<title>the page<\/title>/);
  assert.equal(await (await single.get('/settings/me')).text(), 'worker /settings/me');
});

test('a syntax error is answered with its place, and mended by the next save', async (context) => {
  const folder = viteProject(context, { 'worker/index.js': "export default { fetch: () => new Response('one') };\n" });
  const vite = await startVite(context, folder);
  assert.equal(await (await vite.get('/')).text(), 'one');

  await save(vite, folder, 'worker/index.js', 'export default { fetch: ( => };\n');
  const broken = await vite.get('/');
  assert.equal(broken.status, 500);
  assert.match(await broken.text(), /"loc":\{"file":"[^"]+\/worker\/index\.js","line":1,/);

  await save(vite, folder, 'worker/index.js', "export default { fetch: () => new Response('two') };\n");
  assert.equal(await (await vite.get('/')).text(), 'two');
});

test('bindings, variables and modules of Node are those of the platform', async (context) => {
  const folder = viteProject(context, {
    'platform.yaml': 'state:\n  KEPT: kept\n',
    '.env': 'WORD=first\n',
    'worker/index.ts': `import { AsyncLocalStorage } from 'node:async_hooks';
import { createHash } from 'crypto';
const scope = new AsyncLocalStorage<string>();
export default {
  async fetch(request: Request, env: any): Promise<Response> {
    const before = await env.KEPT.get('count');
    await env.KEPT.set('count', String(Number(before ?? 0) + 1));
    const inner = await scope.run('inner', async () => (await null, scope.getStore()));
    const hash = createHash('sha256').update(Buffer.from('a')).digest('hex').slice(0, 4);
    return Response.json({ before, inner, hash, word: env.vars.WORD, node: typeof process.version });
  },
};
`,
  });
  const vite = await startVite(context, folder);
  const first = { before: null, inner: 'inner', hash: 'ca97', word: 'first', node: 'string' };
  assert.deepEqual(await (await vite.get('/')).json(), first);
  assert.deepEqual(await (await vite.get('/')).json(), { ...first, before: '1' });
});

test('each deployment after a save has an isolate of its own', async (context) => {
  const source = (word: string): string =>
    `globalThis.loads = (globalThis.loads ?? 0) + 1;\nexport default { fetch: () => Response.json(['${word}', globalThis.loads]) };\n`;
  const folder = viteProject(context, { 'worker/index.js': source('one') });
  const vite = await startVite(context, folder);
  assert.deepEqual(await (await vite.get('/')).json(), ['one', 1]);
  await save(vite, folder, 'worker/index.js', source('two'));
  assert.deepEqual(await (await vite.get('/')).json(), ['two', 1]);
});

test('an environment that nothing has loaded yet keeps no request waiting', async (context) => {
  const folder = viteProject(context, {
    'worker/index.js': 'export default { fetch: () => new Response("alone") };',
  });
  const vite = await startVite(context, folder, { options: { viteEnvironment: { childEnvironments: ['ssr'] } } });
  assert.equal(await (await vite.get('/')).text(), 'alone');
});

for (const [what, files, more, message] of [
  [
    'the plugin twice',
    { 'worker/index.js': '' },
    [...platform()],
    /platform\(\) is in the configuration of Vite twice/,
  ],
  [
    'Nitro beside the plugin',
    { 'worker/index.js': '' },
    [{ name: 'nitro:main' }],
    /nitro\(\) and platform\(\) are in the configuration of Vite.*: take nitro\(\) away/,
  ],
  ['no worker', {}, [], /platform\(\) found no worker in .*: create one of worker\/index\.ts, worker\/index\.js/],
  [
    'a worker that is not there',
    { 'platform.yaml': 'main: gone.js\n' },
    [],
    /main: gone\.js of platform\.yaml does not exist in .*: name the file that the worker starts at/,
  ],
] as const)
  test(`${what}: the dev server says what to change`, async (context) => {
    const folder = viteProject(context, files);
    const plugins = [...platform(), ...more];
    await assert.rejects(createServer({ root: folder, configFile: false, logLevel: 'silent', plugins }), message);
  });

test('what a worker throws as it is loaded is answered with its message and place, and mended by the next save', async (context) => {
  const folder = viteProject(context, { 'worker/index.js': '\nthrow new Error("not today");\n' });
  const vite = await startVite(context, folder);
  const response = await vite.get('/');
  assert.equal(response.status, 500);
  assert.match(await response.text(), /not today[\s\S]*worker\/index\.js:2/);
  await save(vite, folder, 'worker/index.js', 'export default { fetch: () => new Response("today") };');
  assert.equal(await (await vite.get('/')).text(), 'today');
});

test('a package that Vite bundles on the first start is there once, also for packages that it does not bundle', async (context) => {
  const folder = viteProject(context, {
    'node_modules/shared/package.json': '{"name":"shared","version":"1.0.0","type":"module","exports":"./index.js"}',
    'node_modules/shared/index.js': 'globalThis.loads = (globalThis.loads ?? 0) + 1;\nexport const context = {};\n',
    'node_modules/framework/package.json':
      '{"name":"framework","version":"1.0.0","type":"module","exports":"./index.js"}',
    'node_modules/framework/index.js': "export { context } from 'shared';\n",
    // Found after the framework has been read.
    'worker/index.js': `import { context } from 'framework';
import { page } from './page.js';
export default { fetch: () => Response.json([context === page, globalThis.loads]) };
`,
    'worker/page.js': "export { page } from './deeper.js';\n",
    'worker/deeper.js': "export { context as page } from 'shared';\n",
  });
  const vite = await startVite(context, folder, {
    environments: { worker: { optimizeDeps: { exclude: ['framework'] } } },
  });
  assert.deepEqual(await (await vite.get('/')).json(), [true, 1]);
});

test('modules whose names the running worker makes anew each time leave its isolate as it is', async (context) => {
  const folder = viteProject(context, {
    'worker/index.js': `let requests = 0;
export default {
  async fetch() {
    const made = await import(/* @vite-ignore */ '/@made/' + ++requests);
    return Response.json([requests, made.default]);
  },
};
`,
  });
  const plugins: Plugin[] = [
    ...platform(),
    {
      name: 'test:made',
      resolveId: (id) => (id.startsWith('/@made/') ? id : null),
      load: (id) => (id.startsWith('/@made/') ? `export default ${JSON.stringify(id)};` : null),
    },
  ];
  const vite = await startVite(context, folder, { plugins });
  assert.deepEqual(await (await vite.get('/')).json(), [1, '/@made/1']);
  assert.deepEqual(await (await vite.get('/')).json(), [2, '/@made/2']);
});

test('a file that is empty while it is written is read when it has its text', async (context) => {
  const source = (word: string): string => `export default { fetch: () => new Response('${word}') };\n`;
  const folder = viteProject(context, { 'worker/index.js': source('one') });
  // A watcher tells of the first of two writes within milliseconds, and may leave out the other.
  const server = { port: 0, host: '127.0.0.1', watch: null };
  const vite = await startVite(context, folder, { server, plugins: [...platform()] });
  assert.equal(await (await vite.get('/')).text(), 'one');
  const file = path.join(folder, 'worker/index.js');
  write(folder, 'worker/index.js', '');
  for (const event of ['all', 'change']) vite.server.watcher.emit(event, ...(event === 'all' ? ['change'] : []), file);
  setTimeout(write, 20, folder, 'worker/index.js', source('two'));
  assert.equal(await (await vite.get('/')).text(), 'two');
});
