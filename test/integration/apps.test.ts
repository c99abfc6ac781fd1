import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { apps } from '#test/setup/apps.ts';
import { startHandler, type TestHandler } from '#test/setup/handler.ts';

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
  test(`${folder} answers from its isolate`, async () => {
    for (const [request, status, part, body] of requests) {
      const [method, path] = request.split(' ') as [string, string];
      const response = await handler.fetch(
        basename(folder),
        path,
        body === undefined ? { method } : { method, body, headers: { 'content-type': 'application/json' } },
      );
      assert.match(response.text, part, `${request}: ${JSON.stringify(handler.logs.at(-1))}`);
      assert.equal(response.status, status, request);
    }
  });
}
