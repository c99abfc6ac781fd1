// The examples and the open-source apps of test/fixtures/apps/ bundle, and answer when the bundle is imported by Node.
// (That they answer in an isolate: test/integration/apps.test.ts.)
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { bundle } from '#builder/bundle/bundle.ts';
import { findEntry } from '#builder/frameworks/entry.ts';
import { apps } from '#test/setup/apps.ts';
import { configOf } from './project-folder.ts';

interface App {
  fetch(request: Request, env: unknown, ctx: unknown): Response | Promise<Response>;
}

for (const [folder, requests] of Object.entries(apps)) {
  test(`${folder} bundles and answers`, async () => {
    const root = fileURLToPath(new URL(`../../../${folder}`, import.meta.url));
    const { entry } = findEntry(root, configOf(readFileSync(join(root, 'platform.yaml'), 'utf8')));
    const { code } = await bundle({ root, entry: entry!, nodeCompat: true });
    const { default: app } = (await import(`data:text/javascript;base64,${Buffer.from(code).toString('base64')}`)) as {
      default: App;
    };
    for (const [request, status, part, body] of requests) {
      const [method, path] = request.split(' ') as [string, string];
      const init = body === undefined ? { method } : { method, body, headers: { 'content-type': 'application/json' } };
      const response = await app.fetch(
        new Request(`http://app.localhost${path}`, init),
        { vars: {} },
        { waitUntil() {}, passThroughOnException() {} },
      );
      assert.match(await response.text(), part, request);
      assert.equal(response.status, status, request);
    }
  });
}
