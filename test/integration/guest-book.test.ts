// examples/guest-book in `platform dev`.
import assert from 'node:assert/strict';
import { readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { startDevHere, type TestDev } from '#test/setup/dev.ts';
import { copyGuestBook, guestBookStory, guestBookVariables } from '#test/setup/guest-book.ts';

let project: Awaited<ReturnType<typeof copyGuestBook>>;
let dev: TestDev;

before(async () => {
  project = await copyGuestBook();
  const variables = Object.entries(guestBookVariables).map(([name, value]) => `${name}=${value}\n`);
  await writeFile(join(project.folder, '.env'), variables.join(''));
  dev = await startDevHere(project.folder);
});
after(async () => {
  await dev.close();
  await project.remove();
});

guestBookStory(() => ({
  origin: `http://localhost:${dev.port}`,
  fetch: dev.fetch,
  logged: dev.printed,
  async restart() {
    await dev.close();
    dev = await startDevHere(project.folder);
  },
}));

test('what it keeps lies beside the project, and nowhere else', async () => {
  const kept = await readdir(join(project.folder, '.platform/dev'));
  assert.deepEqual(
    ['databases', 'events.sqlite', 'state.sqlite'].filter((name) => !kept.includes(name)),
    [],
  );
});
