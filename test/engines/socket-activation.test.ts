// `platform start` with the listening socket of systemd.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';
import { root } from '#cli/tasks/tools/processes.ts';
import { keepSocket, type SocketKeeper } from '#test/setup/socket-keeper.ts';

/** Of the example project `hello`. */
const HELLO = 'Hello World!\n';
const folder = mkdtempSync(path.join(tmpdir(), 'socket-activation-'));
const keepers: SocketKeeper[] = [];
after(() => {
  for (const keeper of keepers) keeper.close();
  rmSync(folder, { recursive: true, force: true });
});

async function keep(environment: Readonly<Record<string, string>> = {}): Promise<SocketKeeper> {
  const { HANDLER_PORT: _, ...own } = process.env;
  const keeper = await keepSocket([process.execPath, path.join(root, 'cli/run.mjs'), 'start'], {
    env: {
      ...own,
      FS_PATH: folder,
      DATABASE_URL: 'none',
      HANDLER_PROCESSES: '2',
      HANDLER_PRIVATE_PORT: '0',
      NO_COLOR: '1',
      ...environment,
    },
  });
  keepers.push(keeper);
  return keeper;
}

test('no request is lost while the platform stops and starts again', async () => {
  const platform = await keep();
  const early = platform.ask('hello');
  await platform.start();
  assert.equal(await early, HELLO);
  const answers = new Set<string>();
  let isOver = false;
  const asking = Array.from({ length: 8 }, async () => {
    while (!isOver) answers.add(await platform.ask('hello'));
  });
  await platform.stop();
  await platform.start();
  assert.equal(await platform.ask('hello'), HELLO);
  isOver = true;
  await Promise.all(asking);
  assert.deepEqual([...answers], [HELLO]);
  await platform.stop();
});

test('a socket that does not fit the variables is refused by name', async () => {
  for (const [name, value, message] of [
    ['HANDLER_PORT', '1', /^error ListenStream of platform\.socket is \d+, and HANDLER_PORT is 1$/m],
    [
      'HANDLER_HOST',
      '0.0.0.0',
      /^error ListenStream of platform\.socket is 127\.0\.0\.1:\d+, and HANDLER_HOST is 0\.0\.0\.0$/m,
    ],
    ['HANDLER_LISTENER', 'uws', /^error HANDLER_LISTENER is uws, which cannot use the socket of platform\.socket$/m],
  ] as const) {
    const { output, code } = await (await keep({ [name]: value })).startInVain();
    assert.match(output, message);
    assert.equal(code, 1);
  }
});
