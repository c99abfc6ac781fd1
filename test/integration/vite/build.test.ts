// Projects that Vite builds through the plugin: `platform build` runs Vite, and one artifact holds the worker and the
// files for browsers.
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, test, type TestContext } from 'node:test';
import { run } from '#cli/main.ts';
import { startPlatform, type TestPlatform } from '#test/setup/platform.ts';
import type { TestResponse } from '#test/setup/send.ts';
import { until } from '#test/setup/until.ts';
import { viteProject } from '#test/setup/vite-project.ts';
import { recordingShell } from '../../unit/cli/shell-double.ts';

const CONFIG = 'import { platform } from "@platform-run/vite"; export default { plugins: [...platform()] };';

let platform: TestPlatform;
let home: string;

before(async () => {
  home = mkdtempSync(path.join(tmpdir(), 'vite-build-'));
  platform = await startPlatform({});
});
after(async () => {
  await platform.close();
  rmSync(home, { recursive: true });
});

/** A project whose `vite` is the checkout's. */
function projectOf(context: TestContext, files: Readonly<Record<string, string>>): string {
  const folder = viteProject(context, {
    'package.json': '{"type":"module","devDependencies":{"@platform-run/vite":"0.0.0","vite":"8.0.0"}}',
    'vite.config.js': CONFIG,
    ...files,
  });
  mkdirSync(path.join(folder, 'node_modules/.bin'));
  // By the Node of this test: the plugin is here as TypeScript.
  const program = `#!/bin/sh\nexec ${process.execPath} ${path.join(folder, 'node_modules/vite/bin/vite.js')} "$@"\n`;
  writeFileSync(path.join(folder, 'node_modules/.bin/vite'), program, { mode: 0o755 });
  return folder;
}

async function platformSays(folder: string, ...words: string[]): Promise<{ code: number; said: string }> {
  const shell = recordingShell(folder, { FS_PATH: platform.folder, PLATFORM_HOME: home });
  const code = await run(words, shell);
  return { code, said: [...shell.output, ...shell.errors].join('\n') };
}

/** What a project answers once it is known. */
async function answerOf(project: string, target: string): Promise<TestResponse> {
  await until(async () => !/host_not_found/.test((await platform.fetch(project, '/')).text));
  return platform.fetch(project, target);
}

test('the page of Vite and the worker are one deployment', async (context) => {
  const folder = projectOf(context, {
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
  const { code, said } = await platformSays(folder, 'deploy', '--json', '--name', 'page');
  assert.equal(code, 0, said);
  const { text } = await answerOf('page', '/');
  assert.match(text, /<h1>Page<\/h1>/);
  const [, script] = /src="(\/assets\/index-[\w-]+\.js)"/.exec(text)!;
  assert.match((await platform.fetch('page', script!)).text, /from the page/);
  assert.equal((await platform.fetch('page', '/robots.txt')).text, 'User-agent: *');
  assert.equal((await platform.fetch('page', '/api/x')).text, 'built production');
  assert.equal((await platform.fetch('page', '/lazy')).text, 'came later');
  assert.match((await platform.fetch('page', '/page')).text, /<h1>Page<\/h1>/);
  assert.deepEqual(JSON.parse((await platform.fetch('page', '/db')).text), { one: 1 });
  assert.doesNotMatch((await platform.fetch('page', '/worker/index.js')).text, /came later/);
});

test('a plugin that only the root of a monorepo names builds the worker of a project below', async (context) => {
  const repository = projectOf(context, {
    'package.json': '{"private":true,"workspaces":["apps/*"],"devDependencies":{"@platform-run/vite":"0.0.0"}}',
    'apps/web/package.json': '{"type":"module","devDependencies":{"vite":"8.0.0"}}',
    'apps/web/vite.config.js': CONFIG,
    'apps/web/worker/index.js': 'export default { fetch: () => new Response("built for " + import.meta.env.MODE) };',
  });
  const { code, said } = await platformSays(path.join(repository, 'apps/web'), 'deploy', '--json', '--name', 'below');
  assert.equal(code, 0, said);
  assert.equal((await answerOf('below', '/')).text, 'built for production');
});

test('pages that a framework prerenders with the worker are files of the deployment', async (context) => {
  const folder = projectOf(context, {
    'vite.config.js': `import { mkdirSync, writeFileSync } from 'node:fs';
      import path from 'node:path';
      import { pathToFileURL } from 'node:url';
      import { platform } from '@platform-run/vite';
      const prerender = {
        name: 'test:prerender',
        enforce: 'post',
        buildApp: {
          order: 'post',
          async handler({ config, environments }) {
            const file = path.join(config.root, environments.worker.config.build.outDir, 'index.js');
            const worker = (await import(pathToFileURL(file))).default;
            const html = await worker.fetch(new Request('http://any/page')).text();
            mkdirSync(path.join(config.root, 'dist/client'), { recursive: true });
            writeFileSync(path.join(config.root, 'dist/client/page.html'), html);
          },
        },
      };
      export default { plugins: [prerender, ...platform()] };`,
    'index.html': '<h1>Home</h1>',
    'worker/index.js': `export default { fetch: ({ url }) => ({ text: async () => '<h1>Prerendered ' + new URL(url).pathname }) };`,
  });
  const { code, said } = await platformSays(folder, 'deploy', '--json', '--name', 'prerendered');
  assert.equal(code, 0, said);
  await answerOf('prerendered', '/');
  assert.equal((await platform.fetch('prerendered', '/page')).text, '<h1>Prerendered /page');
});
