// Apps that have something to build, in the shapes that people bring: what is asked of each, what it answers, and an
// edit. Used by the tests of `platform dev`, of the handler and of the platform.
import assert from 'node:assert/strict';
import { cpSync } from 'node:fs';
import path from 'node:path';
import type { TestRequest, TestResponse } from './send.ts';

export type Fetch = (path?: string, options?: TestRequest) => Promise<TestResponse>;

interface BuiltApp {
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

export const builtApps: Readonly<Record<string, BuiltApp>> = {
  'vite-worker': {
    async asks(fetch) {
      await answers(fetch, '/api/hello', 200, /from the worker/);
      const [, script] =
        /src="(\/assets\/index-[0-9a-f]{8}\.js)"/.exec(await answers(fetch, '/', 200, /Vite and a worker/)) ?? [];
      await answers(fetch, script!, 200, /'from the page'/);
      await answers(fetch, '/icon.svg', 200, /<svg/);
      await answers(fetch, '/some/route', 200, /<div id="root">/, { headers: { accept: 'text/html' } });
      // Sources are not published: a client that accepts HTML gets the shell.
      for (const source of ['/src/index.tsx', '/package.json', '/worker/index.ts']) {
        await answers(fetch, source, 200, /<div id="root">/);
        await answers(fetch, source, 404, /Not found/, { headers: { accept: 'application/json' } });
      }
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

/** The sources of an app alone, below a folder. */
export function copySources(name: string, below: string): string {
  const target = path.join(below, name);
  cpSync(path.join(import.meta.dirname, '../fixtures/apps', name), target, { recursive: true });
  return target;
}
