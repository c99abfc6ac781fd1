// Projects that Vite builds through the plugin, deployed to a platform: a workspace, and pages that are made with the
// worker. A page and a worker in one artifact: test/integration/vite/build.test.ts.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { run } from '#cli/main.ts';
import { startPlatform, type TestPlatform } from '#test/setup/platform.ts';
import type { TestResponse } from '#test/setup/send.ts';
import { until } from '#test/setup/until.ts';
import { builtViteProject, VITE_CONFIG } from '#test/setup/vite-project.ts';
import { recordingShell } from '../unit/cli/recording-shell.ts';

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

test('a plugin that only the root of a monorepo names builds the worker of a project below', async (context) => {
  const repository = builtViteProject(context, {
    'package.json': '{"private":true,"workspaces":["apps/*"],"devDependencies":{"@platform-run/vite":"0.0.0"}}',
    'apps/web/package.json': '{"type":"module","devDependencies":{"vite":"8.0.0"}}',
    'apps/web/vite.config.js': VITE_CONFIG,
    'apps/web/worker/index.js': 'export default { fetch: () => new Response("built for " + import.meta.env.MODE) };',
  });
  const { code, said } = await platformSays(path.join(repository, 'apps/web'), 'deploy', '--json', '--name', 'below');
  assert.equal(code, 0, said);
  assert.equal((await answerOf('below', '/')).text, 'built for production');
});

test('pages that a framework prerenders with the worker are files of the deployment', async (context) => {
  const folder = builtViteProject(context, {
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
