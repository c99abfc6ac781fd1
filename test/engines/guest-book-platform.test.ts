// examples/guest-book on the platform as it runs in production: an engine and its spare, the database service, Postgres
// and a broker. What a restart is in `platform dev`, is kill -9 of the engine here.
import assert from 'node:assert/strict';
import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { build } from '#builder/build/build.ts';
import { publish } from '#artifacts/publish.ts';
import { parseProjectConfig, type ProjectConfig } from '#core/config/project-config.ts';
import { copyGuestBook, guestBookStory, guestBookVariables } from '#test/setup/guest-book.ts';
import { startPlatform, type TestPlatform } from '#test/setup/platform.ts';
import { createTestDatabase } from '#test/setup/postgres.ts';

let project: Awaited<ReturnType<typeof copyGuestBook>>;
let database: Awaited<ReturnType<typeof createTestDatabase>>;
let platform: TestPlatform;

before(async () => {
  project = await copyGuestBook();
  database = await createTestDatabase();
  platform = await startPlatform({}, { DATABASE_URL: database.url, BROKER_POLL_MS: '200', DELIVERY_BACKOFF_MS: '50' });
  const yaml = await readFile(join(project.folder, 'platform.yaml'), 'utf8');
  const config = parseProjectConfig(yaml, { file: 'platform.yaml' }).config as ProjectConfig;
  const artifact = await build({
    root: project.folder,
    config,
    artifacts: join(platform.folder, 'artifacts'),
    durable: false,
  });
  publish({
    dataFolder: platform.folder,
    project: 'guest-book',
    branch: 'main',
    production: true,
    artifactFolder: artifact.folder,
    artifactId: artifact.id,
    vars: guestBookVariables,
  });
  await platform.answers('guest-book', '{"entries":[],"next":null}', '/api/entries');
});
after(async () => {
  await platform.close();
  await database.close();
  await project.remove();
});

guestBookStory(() => ({
  origin: 'http://guest-book.localhost',
  fetch: (path, options) => platform.fetch('guest-book', path, options),
  logged: (pattern) => platform.logged((line) => pattern.test(String(line['msg']))),
  async restart() {
    const restarted = platform.restarted();
    process.kill(platform.enginePid, 'SIGKILL');
    await restarted;
  },
}));

test('its databases lie in the data folder, and all services that it needs are there', async () => {
  assert.ok((await stat(join(platform.folder, 'databases/guest-book/guest_book.sqlite'))).isFile());
  const { services } = await platform.state();
  assert.deepEqual(services.map(({ name, state }) => `${name} ${state}`).sort(), [
    'broker ready',
    'databases ready',
    'postgres ready',
    'ssr stopped',
  ]);
});
