// Files of a Vite project as its worker sees them in dev: `env.ASSETS`, and `run_worker_first`, as after a deploy.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assetDecision } from '#runtime/engine/assets/asset-rules.ts';
import { isWorkerFirst } from '#packages/vite/worker-first.ts';
import { navigate, save, startVite, viteProject } from '#test/setup/vite-project.ts';

const FILES = {
  'index.html': '<!doctype html><title>the page</title><script type="module" src="/src/main.js"></script>\n',
  'about.html': '<!doctype html><title>about</title>\n',
  '404.html': '<!doctype html><title>nothing here</title>\n',
  'src/main.js': "console.log('main');\n",
  'public/robots.txt': 'User-agent: *\n',
  // What it is asked for, it asks its files for.
  'worker/index.js': `export default {
  async fetch(request, env) {
    const { pathname, search, searchParams } = new URL(request.url);
    if (!pathname.startsWith('/assets-of/')) return new Response('worker ' + pathname);
    const url = new URL(pathname.slice('/assets-of'.length) + search, 'https://any.host');
    const method = searchParams.get('method') ?? 'GET';
    const answer = await env.ASSETS.fetch(new Request(url, { method, headers: request.headers, redirect: 'manual' }));
    return Response.json({
      status: answer.status,
      type: answer.headers.get('content-type'),
      location: answer.headers.get('location'),
      body: await answer.text(),
    });
  },
};
`,
};

interface Asked {
  readonly status: number;
  readonly type: string | null;
  readonly location: string | null;
  readonly body: string;
}

test('env.ASSETS answers files of public, pages as Vite makes them and modules, by the rules of a deployment', async (context) => {
  const vite = await startVite(context, viteProject(context, FILES));
  const ask = async (target: string, headers: Record<string, string> = {}): Promise<Asked> =>
    (await (await vite.get(`/assets-of${target}`, { headers })).json()) as Asked;

  const robots = await ask('/robots.txt');
  assert.deepEqual([robots.status, robots.body], [200, 'User-agent: *\n']);
  assert.match(robots.type!, /^text\/plain/);
  const page = await ask('/');
  assert.deepEqual([page.status, page.type], [200, 'text/html']);
  assert.match(page.body, /<script type="module" src="\/@vite\/client"><\/script>[\s\S]*<title>the page<\/title>/);
  assert.match((await ask('/about')).body, /<title>about<\/title>/);
  assert.match((await ask('/src/main.js')).body, /console\.log\('main'\)/);

  assert.deepEqual(await ask('/about.html?a=b'), { status: 307, type: null, location: '/about?a=b', body: '' });
  assert.equal((await ask('/index.html')).location, '/');
  for (const [target, status, body] of [
    ['/nothing', 404, 'Not found\n'],
    ['/nothing?method=POST', 404, 'Not found\n'],
    ['/robots.txt?method=POST', 405, 'Method POST is not allowed here\n'],
  ] as const) {
    const got = await ask(target);
    assert.deepEqual([got.status, got.body.split(';')[0]], [status, body], target);
  }
});

test('env.ASSETS has its name and what is not there from platform.yaml', async (context) => {
  const files = {
    ...FILES,
    'worker/index.js': FILES['worker/index.js'].replace('env.ASSETS', 'env.SITE'),
    'platform.yaml': 'assets: { binding: SITE, not_found_handling: 404-page }\n',
  };
  const vite = await startVite(context, viteProject(context, files));
  const missing = (await (await vite.get('/assets-of/deep/down')).json()) as Asked;
  assert.equal(missing.status, 404);
  assert.match(missing.body, /<title>nothing here<\/title>/);
  // A visitor who navigates there gets it too, the worker what else is asked.
  const navigated = await navigate(vite.url, '/deep/down');
  assert.equal(navigated.status, 404);
  assert.match(navigated.text, /<title>nothing here<\/title>/);
  assert.equal(await (await vite.get('/deep/down')).text(), 'worker /deep/down');

  const yaml = 'assets: { not_found_handling: single-page-application, run_worker_first: ["/assets-of/*"] }\n';
  const single = { ...FILES, 'platform.yaml': yaml };
  const shown = await startVite(context, viteProject(context, single));
  const page = JSON.parse((await navigate(shown.url, '/assets-of/settings/me')).text) as Asked;
  assert.equal(page.status, 200);
  assert.match(page.body, /<title>the page<\/title>/);
  assert.equal(((await (await shown.get('/assets-of/settings/me')).json()) as Asked).status, 404);
  // Where the worker does not come first, who navigates gets it from Vite.
  assert.match((await navigate(shown.url, '/settings/me')).text, /<title>the page<\/title>/);
  assert.equal(await (await shown.get('/settings/me')).text(), 'worker /settings/me');
});

test('with run_worker_first the worker comes before the files, and Vite keeps what is its own', async (context) => {
  const folder = viteProject(context, { ...FILES, 'platform.yaml': 'assets:\n  run_worker_first: true\n' });
  const vite = await startVite(context, folder);
  const text = async (target: string): Promise<string> => (await vite.get(target)).text();
  assert.equal(await text('/'), 'worker /');
  assert.equal(await text('/about.html'), 'worker /about.html');
  assert.equal(await text('/robots.txt'), 'worker /robots.txt');
  assert.match(await text('/src/main.js'), /console\.log\('main'\)/);
  assert.match(await text('/@vite/client'), /HMRClient/);
  const asked = (await (await vite.get('/assets-of/robots.txt')).json()) as Asked;
  assert.equal(asked.body, 'User-agent: *\n');

  await save(vite, folder, 'platform.yaml', 'assets:\n  run_worker_first: ["/about*", "/robots.txt", "!/robots*"]\n');
  assert.match(await text('/'), /<title>the page<\/title>/);
  assert.equal(await text('/about'), 'worker /about');
  assert.equal(await text('/%61bout'), 'worker /%61bout');
  assert.equal(await text('/robots.txt'), 'User-agent: *\n');
});

test('the plugin decides as the engine does who comes first', () => {
  const rules = [false, true, [], ['/api/*', '!/api/docs/*', '/exact', '/a.b', '*(x)'], ['!/a', '/*']];
  const targets = ['/', '/api', '/api/', '/api/x?y', '/%61pi/x', '/api/docs/a', '/exact', '/exact/', '/a.b', '/axb'];
  for (const runWorkerFirst of rules)
    for (const url of [...targets, '/f(x)', '/%zz', '/a%00', '/a', '/api/\n', ''])
      for (const method of ['GET', 'HEAD']) {
        const asset = { binding: null, notFoundHandling: 'none', runWorkerFirst, files: {} } as const;
        const expected = assetDecision(asset, { method, target: url, header: () => null }) === 'worker';
        assert.equal(isWorkerFirst({ runWorkerFirst }, { method, url }), expected, `${runWorkerFirst} ${url}`);
      }
});
