// The steps of docs/getting-started.md and docs/tutorial.md as they stand, followed by a new user outside of the
// repository. The lines of README.md: first-project.test.ts.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { freePort } from '#test/setup/free-port.ts';
import { followPage } from '#test/setup/page-steps.ts';
import { send } from '#test/setup/send.ts';
import { startWalk, within } from '#test/setup/walk.ts';

test('docs/getting-started.md and docs/tutorial.md do what they say', { timeout: 900_000 }, async (t) => {
  const ports = {
    3000: await freePort(),
    3002: await freePort(),
    3005: await freePort(),
    4000: await freePort(),
    4001: await freePort(),
    4002: await freePort(),
  };
  const environment = {
    HANDLER_PORT: String(ports[4001]),
    HANDLER_PRIVATE_PORT: '0',
    HANDLER_PROCESSES: '1',
    API_PORT: String(ports[4002]),
    UI_PORT: String(ports[3002]),
    DOCS_PORT: String(ports[3005]),
  };
  const walk = await startWalk({
    uid: process.getuid?.() === 0 ? 65_534 : null,
    node: null,
    installed: true,
    environment,
  });
  t.after(() => walk.end());
  const page = (text: string): Promise<true> =>
    within(
      async () => ((await send(ports[3000], `localhost:${ports[3000]}`, '/')).text.includes(text) ? true : null),
      10_000,
    );
  await followPage('docs/getting-started.md', {
    walk,
    ports,
    // The walk has the clone and what it depends on.
    skip: ['git clone --depth 1 <address of this repository> platform', 'cd platform', 'npm ci'],
    async meanwhile(typed, going) {
      if (typed === 'npm start') {
        assert.match((await send(ports[4001], `hello.localhost:${ports[4001]}`, '/')).text, /Hello World!/);
        return;
      }
      const note = { method: 'POST', headers: { 'content-type': 'application/x-www-form-urlencoded' } };
      assert.equal((await send(ports[3000], 'localhost', '/', { ...note, body: 'text=milk' })).status, 303);
      await page('<h1>Notes</h1>\n<ul><li>milk</li></ul>');
      const source = readFileSync(path.join(walk.folder, 'src/index.ts'), 'utf8');
      walk.write('src/index.ts', source.replace('<h1>Notes</h1>', '<h1>Things</h1>'));
      await going.printed(/Reloaded/);
      await page('<h1>Things</h1>');
      walk.write('src/index.ts', source);
      await going.printed(/Reloaded/);
    },
  });
  walk.folder = walk.clone;
  await followPage('docs/tutorial.md', { walk, ports, skip: [], meanwhile: async () => {} });
});
