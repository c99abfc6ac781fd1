// Apps that have something to build, in the shapes that people bring: each runs in `platform dev`, follows an edit, and
// is deployed to a platform by `platform deploy`, from a folder that holds its sources alone.
import assert from 'node:assert/strict';
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { run } from '#cli/main.ts';
import { startDev } from '#test/setup/dev.ts';
import { startPlatform, type TestPlatform } from '#test/setup/platform.ts';
import type { TestRequest, TestResponse } from '#test/setup/send.ts';
import { until } from '#test/setup/until.ts';
import { recordingShell } from '../unit/cli/shell-double.ts';

type Fetch = (path?: string, options?: TestRequest) => Promise<TestResponse>;

interface App {
  /** Asks what the app is for. */
  asks(fetch: Fetch): Promise<void>;
  /** Replaces a text in a source, and what is answered then. */
  readonly edit: {
    readonly file: string;
    readonly from: string;
    readonly to: string;
    readonly path: string;
    readonly options?: TestRequest;
  };
}

const admin = { headers: { authorization: `Basic ${btoa('admin:admin')}` } };

async function answers(
  fetch: Fetch,
  target: string,
  status: number,
  part: RegExp,
  options: TestRequest = {},
): Promise<string> {
  const { status: got, text } = await fetch(target, options);
  assert.match(text, part, target);
  assert.equal(got, status, target);
  return text;
}

const apps: Readonly<Record<string, App>> = {
  'vite-worker': {
    async asks(fetch) {
      await answers(fetch, '/api/hello', 200, /from the worker/);
      const [, script] =
        /src="(\/assets\/index-[0-9a-f]{8}\.js)"/.exec(await answers(fetch, '/', 200, /Vite and a worker/)) ?? [];
      await answers(fetch, script!, 200, /'from the page'/);
      await answers(fetch, '/icon.svg', 200, /<svg/);
      await answers(fetch, '/some/route', 200, /<div id="root">/, { headers: { accept: 'text/html' } });
      for (const source of ['/src/index.tsx', '/package.json', '/worker/index.ts'])
        await answers(fetch, source, 404, /Not found/);
    },
    edit: { file: 'index.html', from: 'Vite and a worker', to: 'Edited', path: '/' },
  },
  'framework-out': {
    async asks(fetch) {
      await answers(fetch, '/?name=Ada', 200, /<h1>Hello Ada<\/h1>/);
      await answers(fetch, '/about', 200, /About, at \/about/);
      await answers(fetch, '/_app/start.js', 200, /started in the browser/);
      for (const hidden of ['/_worker.js/index.js', '/_worker.js/chunks/pages.mjs', '/_routes.json'])
        await answers(fetch, hidden, 404, /No such page/);
    },
    edit: { file: 'pages/about.html', from: 'About', to: 'Edited', path: '/about' },
  },
  'kv-todo': {
    async asks(fetch) {
      await answers(fetch, '/', 200, /<title>To do<\/title>/);
      const body = JSON.stringify({ text: 'write it down' });
      await answers(fetch, '/todos?user=ada', 201, /write it down/, { method: 'POST', body });
      await answers(fetch, '/todos?user=ada', 200, /write it down/);
      await answers(fetch, '/todos?user=bob', 200, /^\[\]$/);
      await answers(fetch, '/robots.txt', 200, /User-agent/);
    },
    edit: { file: 'src/page.html', from: 'To do', to: 'Edited', path: '/' },
  },
  'admin-panel': {
    async asks(fetch) {
      await answers(fetch, '/', 401, /Who are you/);
      await answers(fetch, '/', 200, /data-built="production"/, admin);
      await answers(fetch, '/api/permissions', 200, /\["read","write"\]/, admin);
    },
    edit: { file: 'panel/permissions.json', from: 'write', to: 'Edited', path: '/api/permissions', options: admin },
  },
  'mail-worker': {
    async asks(fetch) {
      await answers(fetch, '/', 200, /A desk for mail/);
      await answers(fetch, '/preview', 200, /"from":"desk@example.org","to":"ada@example.org","raw":"From: desk@/);
      await answers(fetch, '/archive', 200, /cloudflare:pipelines is not available on this platform/);
    },
    edit: { file: 'src/index.ts', from: 'A desk for mail', to: 'Edited', path: '/' },
  },
};

const folder = mkdtempSync(path.join(tmpdir(), 'built-apps-'));
let platform: TestPlatform;

before(async () => {
  platform = await startPlatform({}, { DATABASE_URL: '', PUBLIC_PROTOCOL: 'http' });
});
after(async () => {
  await platform.close();
  rmSync(folder, { recursive: true });
});

for (const [name, { asks, edit }] of Object.entries(apps)) {
  const sources = (copy: string): string => {
    const target = path.join(folder, copy, name);
    cpSync(path.join(import.meta.dirname, '../fixtures/apps', name), target, { recursive: true });
    return target;
  };

  test(`${name} runs in dev and follows an edit`, async (t) => {
    const project = sources('dev');
    const dev = await startDev(project);
    t.after(() => dev.close());
    await dev.printed(/Ready/);
    await asks(dev.fetch);
    const file = path.join(project, edit.file);
    writeFileSync(file, readFileSync(file, 'utf8').replace(edit.from, edit.to));
    await until(async () => (await dev.fetch(edit.path, edit.options)).text.includes('Edited'));
    assert.doesNotMatch(dev.output, /error/i);
  });

  test(`${name} is deployed`, async () => {
    const shell = recordingShell(sources('deployed'), { FS_PATH: platform.folder, PLATFORM_HOME: folder });
    assert.equal(await run(['deploy', '--json'], shell), 0, [...shell.output, ...shell.errors].join('\n'));
    const fetch: Fetch = (target, options) => platform.fetch(name, target, options);
    await until(async () => !/host_not_found|No deployment/.test((await fetch('/')).text));
    await asks(fetch);
  });
}
