// The examples and the open-source apps of test/fixtures/apps/ answer from an isolate, and the same bundles when Node
// imports them.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { apps } from '#test/setup/apps.ts';
import { startHandler, type TestHandler } from '#test/setup/handler.ts';

interface App {
  fetch(request: Request, env: unknown, ctx: unknown): Response | Promise<Response>;
}

const root = fileURLToPath(new URL('../..', import.meta.url));
let handler: TestHandler;

before(async () => {
  handler = await startHandler(
    Object.fromEntries(
      Object.keys(apps).map((folder) => [
        basename(folder),
        { files: {}, folder: join(root, folder), yaml: readFileSync(join(root, folder, 'platform.yaml'), 'utf8') },
      ]),
    ),
  );
});
after(() => handler.close());

for (const [folder, requests] of Object.entries(apps)) {
  const name = basename(folder);

  test(`${folder} answers from its isolate`, async () => {
    for (const [request, status, part, body] of requests) {
      const [method, path] = request.split(' ') as [string, string];
      const response = await handler.fetch(name, path, { method, ...sent(body) });
      assert.match(response.text, part, `${request}: ${JSON.stringify(handler.logs.at(-1))}`);
      assert.equal(response.status, status, request);
    }
  });

  test(`${folder} answers when Node imports its bundle`, async () => {
    const code = readFileSync(join(handler.artifactFolder(name), 'worker.js'));
    const { default: app } = (await import(`data:text/javascript;base64,${code.toString('base64')}`)) as {
      default: App;
    };
    for (const [request, status, part, body] of requests) {
      const [method, path] = request.split(' ') as [string, string];
      const response = await app.fetch(
        new Request(`http://app.localhost${path}`, { method, ...sent(body) }),
        { vars: {} },
        { waitUntil() {}, passThroughOnException() {} },
      );
      assert.match(await response.text(), part, request);
      assert.equal(response.status, status, request);
    }
  });
}

function sent(body: string | undefined): { body?: string; headers?: Record<string, string> } {
  return body === undefined ? {} : { body, headers: { 'content-type': 'application/json' } };
}
