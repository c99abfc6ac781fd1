// A project that Vite builds through the plugin: `platform build` runs Vite, and one artifact holds the worker and the
// files for browsers. More of them, deployed to a platform: test/dev/vite-build.test.ts.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { run } from '#cli/main.ts';
import { noStores } from '#test/setup/no-stores.ts';
import { startFor } from '#test/setup/databases.ts';
import { startHandler } from '#test/setup/handler.ts';
import { builtViteProject } from '#test/setup/vite-project.ts';
import { recordingShell } from '../../unit/cli/recording-shell.ts';

test('the page of Vite and the worker are one artifact', async (context) => {
  const folder = builtViteProject(context, {
    'platform.yaml': 'db:\n  NOTES: notes\nassets:\n  binding: ASSETS\n  run_worker_first: ["/api/*"]\n',
    'index.html': '<h1>Page</h1><script type="module" src="/src/page.js"></script>',
    'src/page.js': 'document.title = "from the page"',
    'public/robots.txt': 'User-agent: *',
    'worker/index.js': `import { word } from './word.js';
      export default {
        async fetch(request, env) {
          const { pathname } = new URL(request.url);
          if (pathname === '/page') return env.ASSETS.fetch(new URL('/', request.url));
          if (pathname === '/db') return Response.json(await env.NOTES.prepare('SELECT 1 AS one').first());
          if (pathname === '/lazy') return new Response((await import('./lazy.js')).word);
          return new Response(word + ' ' + import.meta.env.MODE);
        },
      };`,
    'worker/word.js': 'export const word = "built";',
    'worker/lazy.js': 'export const word = "came later";',
  });
  const shell = recordingShell(folder);
  assert.equal(await run(['build', '--json'], shell), 0, [...shell.output, ...shell.errors].join('\n'));
  const artifact = JSON.parse(shell.output[0]!) as { id: string; folder: string };
  const { client } = await startFor(context);
  const handler = await startHandler(
    { page: { files: {}, artifact } },
    {},
    { stores: { ...noStores, database: client } },
  );
  context.after(() => handler.close());
  const { text } = await handler.fetch('page');
  assert.match(text, /<h1>Page<\/h1>/);
  const [, script] = /src="(\/assets\/index-[\w-]+\.js)"/.exec(text)!;
  assert.match((await handler.fetch('page', script!)).text, /from the page/);
  assert.equal((await handler.fetch('page', '/robots.txt')).text, 'User-agent: *');
  assert.equal((await handler.fetch('page', '/api/x')).text, 'built production');
  assert.equal((await handler.fetch('page', '/lazy')).text, 'came later');
  assert.match((await handler.fetch('page', '/page')).text, /<h1>Page<\/h1>/);
  assert.deepEqual(JSON.parse((await handler.fetch('page', '/db')).text), { one: 1 });
  assert.doesNotMatch((await handler.fetch('page', '/worker/index.js')).text, /came later/);
});
