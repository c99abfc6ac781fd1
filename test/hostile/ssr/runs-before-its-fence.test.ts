import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { openHostileServer } from '#test/setup/hostile-server.ts';
import { serverFenceMissing, testsUnless } from '#test/setup/needs.ts';
import { startPlatform } from '#test/setup/platform.ts';
import { SSR, ssrApp } from '#test/setup/ssr-app.ts';
import { until } from '#test/setup/until.ts';

const { test } = testsUnless(await serverFenceMissing());

test('programs of a project do not stand in for those that fence it', async (t) => {
  const platform = await startPlatform({});
  t.after(() => platform.close());
  const files = ssrApp(
    `globalThis.routes = { '/id': (_, response) => response.end(process.getuid() + ' ' + (process.env.TAKEN ?? 'fenced')) };`,
  );
  const stands = '#!/bin/sh\nexport TAKEN=taken\nwhile [ "$1" != -- ]; do shift; done; shift; exec "$@"\n';
  const programs = join(platform.folder, 'sources/app/main/node_modules/.bin');
  mkdirSync(programs, { recursive: true });
  for (const name of ['setpriv', 'prlimit']) writeFileSync(join(programs, name), stands, { mode: 0o755 });
  await platform.deploy('app', '', SSR, files);
  const { text } = await until(async () => {
    const answer = await platform.fetch('app', '/id');
    return answer.status === 200 ? answer : null;
  });
  assert.match(text, /^\d+ fenced$/);
  if (process.getuid?.() === 0) assert.notEqual(text, '0 fenced');
});

test('variables of a deployment reach its server alone, whatever they hold', async (t) => {
  const { platform, run } = await openHostileServer(t);
  const file = join(platform.folder, 'routes/bad.json');
  const vars = {
    QUOTED: `it's "$(id)" \n'; exit 1; '`,
    LD_DEBUG: 'files',
    PLATFORM_SERVER_FOLDER: '/etc',
    PATH: '/nowhere',
  };
  writeFileSync(file, JSON.stringify({ ...(JSON.parse(readFileSync(file, 'utf8')) as object), vars }));
  const quoted = await until(async () => {
    const found = await run('return [process.env.QUOTED ?? null, process.env.PLATFORM_SERVER_FOLDER];').catch(
      () => null,
    );
    return Array.isArray(found) && found[0] !== null ? found : null;
  });
  assert.equal(quoted[0], vars.QUOTED);
  assert.notEqual(quoted[1], '/etc');
  // What fences it was started with none of them: the loader would have written of it, into the log.
  const fenced = platform.logged(({ msg }) =>
    /calling init: .*(?:bwrap|setpriv)|file=.*(?:bwrap|setpriv)/.test(String(msg)),
  );
  const isQuiet = await Promise.race([fenced.then(() => false), run('return true;')]);
  assert.equal(isQuiet, true);
});
