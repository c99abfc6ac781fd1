// A worker behind Vite's dev server: it runs in an isolate of the engine, and a save is seen by the next request. With
// the engine in a process of its own: test/dev/vite-program.test.ts.
import assert from 'node:assert/strict';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { createServer, type Plugin } from 'vite';
import { defer } from '#packages/vite/deferred.ts';
import { platform } from '#packages/vite/index.ts';
import { navigate, save, startVite, viteProject, write, type RunningVite } from '#test/setup/vite-project.ts';

const entry = `import { greet } from './greet';
import { bindings } from './bindings';
export default {
  async fetch(request: Request, env: any): Promise<Response> {
    const { pathname } = new URL(request.url);
    if (pathname === '/throw') throw new TypeError('no such thing');
    if (pathname === '/later') return Response.json((await import('./later.ts')).default);
    if (pathname === '/named') return Response.json((await import(/* @vite-ignore */ '/worker/' + 'named.ts')).name());
    if (pathname === '/body') return new Response(request.body, { headers: [['set-cookie', 'a=1'], ['set-cookie', 'b=2']] });
    if (pathname === '/bindings') return bindings(env);
    return new Response(greet(pathname));
  },
};
`;
const greet = (word: string): string =>
  `interface Unused {\n  a: string;\n}\n\nexport const greet = (path: string): string => '${word} ' + path;\n`;

const bindings = `import { AsyncLocalStorage } from 'node:async_hooks';
import { createHash } from 'crypto';
const scope = new AsyncLocalStorage<string>();
export async function bindings(env: any): Promise<Response> {
  const before = await env.KEPT.get('count');
  await env.KEPT.set('count', String(Number(before ?? 0) + 1));
  const inner = await scope.run('inner', async () => (await null, scope.getStore()));
  const hash = createHash('sha256').update(Buffer.from('a')).digest('hex').slice(0, 4);
  return Response.json({ before, inner, hash, word: env.vars.WORD, node: typeof process.version });
}
`;

/** Serves what the first tests ask for. */
let vite: RunningVite;
let folder: string;
const ends: (() => unknown)[] = [];

before(async () => {
  const context = { after: (end: () => unknown) => void ends.unshift(end) };
  folder = viteProject(context, {
    'platform.yaml': 'state:\n  KEPT: kept\n',
    '.env': 'WORD=first\n',
    'worker/index.ts': entry,
    'worker/bindings.ts': bindings,
    'worker/greet.ts': greet('hello'),
    'worker/later.ts': 'export default { later: true };\n',
    'worker/named.ts': "export const name = (): string => 'named';\n",
    'index.html': '<!doctype html><title>the page</title><script type="module" src="/src/main.js"></script>\n',
    'about/index.html': '<!doctype html><title>about</title>\n',
    'src/main.js': "console.log('main');\n",
  });
  vite = await startVite(context, folder);
});
after(async () => {
  for (const end of ends) await end();
});

test('the worker answers in an isolate what Vite does not, and the next request after a save sees the new code', async () => {
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
      line: 6,
      column: 38,
    },
  );
  assert.match(String(stack), /at Object\.fetch \(worker\/index\.ts:6:38\)/);
});

test('pages of Vite are served by Vite', async () => {
  const shown = (await navigate(vite.url, '/')).text;
  assert.match(shown, /<title>the page<\/title>/);
  assert.match(shown, /<script type="module" src="\/@vite\/client"><\/script>/);
  assert.match((await navigate(vite.url, '/about/')).text, /<title>about<\/title>/);
  assert.match(await (await vite.get('/src/main.js')).text(), /console\.log\('main'\)/);
  assert.match((await navigate(vite.url, '/api/things')).text, / \/api\/things$/);
  assert.match(await (await vite.get('/', { method: 'POST' })).text(), / \/$/);
});

test('bindings, variables and modules of Node are those of the platform', async () => {
  const first = { before: null, inner: 'inner', hash: 'ca97', word: 'first', node: 'string' };
  assert.deepEqual(await (await vite.get('/bindings')).json(), first);
  assert.deepEqual(await (await vite.get('/bindings')).json(), { ...first, before: '1' });
});

test('what a worker throws as it is loaded, and a syntax error, is answered with its place, and mended by the next save, in an isolate of its own', async (context) => {
  const source = (word: string): string =>
    `globalThis.loads = (globalThis.loads ?? 0) + 1;\nexport default { fetch: () => Response.json(['${word}', globalThis.loads]) };\n`;
  const own = viteProject(context, { 'worker/index.js': '\nthrow new Error("not today");\n' });
  const started = await startVite(context, own);
  const throwing = await started.get('/');
  assert.equal(throwing.status, 500);
  assert.match(await throwing.text(), /not today[\s\S]*worker\/index\.js:2/);
  await save(started, own, 'worker/index.js', source('one'));
  assert.deepEqual(await (await started.get('/')).json(), ['one', 1]);
  await save(started, own, 'worker/index.js', source('two'));
  assert.deepEqual(await (await started.get('/')).json(), ['two', 1]);

  await save(started, own, 'worker/index.js', 'export default { fetch: ( => };\n');
  const broken = await started.get('/');
  assert.equal(broken.status, 500);
  assert.match(await broken.text(), /"loc":\{"file":"[^"]+\/worker\/index\.js","line":1,/);
  await save(started, own, 'worker/index.js', source('mended'));
  assert.deepEqual(await (await started.get('/')).json(), ['mended', 1]);
});

for (const [what, files, more, message] of [
  ['the plugin twice', { 'worker/index.js': '' }, [...platform()], /platform\(\) is in the Vite configuration twice/],
  [
    'Nitro beside the plugin',
    { 'worker/index.js': '' },
    [{ name: 'nitro:main' }],
    /nitro\(\) and platform\(\) are both in the Vite configuration.*: remove nitro\(\)/,
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
    const own = viteProject(context, files);
    const plugins = [...platform(), ...more];
    await assert.rejects(createServer({ root: own, configFile: false, logLevel: 'silent', plugins }), message);
  });

test('a package that Vite bundles on the first start is there once, also for packages that it does not bundle', async (context) => {
  const own = viteProject(context, {
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
  const started = await startVite(context, own, {
    environments: { worker: { optimizeDeps: { exclude: ['framework'] } } },
  });
  assert.deepEqual(await (await started.get('/')).json(), [true, 1]);
});

test('modules whose names the running worker makes anew each time leave its isolate as it is, and an environment that nothing has loaded keeps no request waiting', async (context) => {
  const own = viteProject(context, {
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
    ...platform({ viteEnvironment: { childEnvironments: ['ssr'] } }),
    {
      name: 'test:made',
      resolveId: (id) => (id.startsWith('/@made/') ? id : null),
      load: (id) => (id.startsWith('/@made/') ? `export default ${JSON.stringify(id)};` : null),
    },
  ];
  const started = await startVite(context, own, { plugins });
  assert.deepEqual(await (await started.get('/')).json(), [1, '/@made/1']);
  assert.deepEqual(await (await started.get('/')).json(), [2, '/@made/2']);
});

test('a file that is empty while it is written is read when it has its text', async (context) => {
  const source = (word: string): string => `export default { fetch: () => new Response('${word}') };\n`;
  const own = viteProject(context, { 'worker/index.js': source('one') });
  // A watcher tells of the first of two writes within milliseconds, and may leave out the other.
  const server = { port: 0, host: '127.0.0.1', watch: null };
  const started = await startVite(context, own, { server, plugins: [...platform()] });
  assert.equal(await (await started.get('/')).text(), 'one');
  const file = path.join(own, 'worker/index.js');
  write(own, 'worker/index.js', '');
  for (const event of ['all', 'change'])
    started.server.watcher.emit(event, ...(event === 'all' ? ['change'] : []), file);
  globalThis.setTimeout(write, 20, own, 'worker/index.js', source('two'));
  assert.equal(await (await started.get('/')).text(), 'two');
});

test('a request waits for each file that was saved, whichever Vite is done with first', async (context) => {
  const source = (word: string): string => `export const word = '${word}';\n`;
  const own = viteProject(context, {
    'worker/index.js':
      "import * as slow from './slow.js';\nimport * as fast from './fast.js';\nexport default { fetch: () => Response.json([slow.word, fast.word]) };\n",
    'worker/slow.js': source('old'),
    'worker/fast.js': source('old'),
  });
  const [isHeld, fastIsDone] = [defer<void>(), defer<void>()];
  const holding: Plugin = {
    name: 'test:holding',
    watchChange: (file) => (file.endsWith('/slow.js') ? isHeld.promise : undefined),
    hotUpdate: { order: 'post', handler: ({ file }) => void (file.endsWith('/fast.js') && fastIsDone.resolve()) },
  };
  const started = await startVite(context, own, { plugins: [...platform(), holding] });
  assert.deepEqual(await (await started.get('/')).json(), ['old', 'old']);
  await save(started, own, 'worker/slow.js', source('new'));
  await save(started, own, 'worker/fast.js', source('new'));
  const answer = started.get('/');
  await fastIsDone.promise;
  await Promise.race([answer, setTimeout(100)]);
  isHeld.resolve();
  assert.deepEqual(await (await answer).json(), ['new', 'new']);
});
