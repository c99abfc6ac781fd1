// What a project may keep in state and queues holds in `platform dev` as on the handler
// (test/contract/project-limits.ts).
import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { startDevHere } from '#test/setup/dev.ts';

const worker = `
export default {
  async fetch(request, { KV, MAIL }) {
    const text = 'x'.repeat(6000);
    const say = async (act) => { try { await act(); return 'done'; } catch ({ code, message }) { return [code, message]; } };
    return Response.json([
      await say(() => KV.put('a', text)),
      await say(() => KV.put('b', text)),
      await say(() => KV.update('c', { $set: { text } })),
      await say(() => MAIL.send(text, { delaySeconds: 3600 })),
      await say(() => MAIL.send(text, { delaySeconds: 3600 })),
    ]);
  },
};`;

test('a project in dev is refused what goes beyond its bounds, also after a restart', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'platform-dev-'));
  t.after(() => rm(folder, { recursive: true, force: true }));
  await mkdir(join(folder, 'src'));
  await writeFile(join(folder, 'src/index.ts'), worker);
  await writeFile(join(folder, 'platform.yaml'), 'state: { KV: notes }\nqueue: { MAIL: mail }\n');
  const bounds = { STATE_PROJECT_BYTES_MAX: '10000', QUEUE_PROJECT_BYTES_MAX: '10000' };
  const state = ['quota_exceeded', 'The state of this project would exceed 10000 bytes'];
  const messages = ['quota_exceeded', 'The messages of this project would exceed 10000 bytes'];
  for (const _ of ['fresh', 'restarted']) {
    const dev = await startDevHere(folder, [], bounds);
    try {
      // The first write of each kind waits for no count, however much is there.
      assert.deepEqual((await dev.fetch()).json(), ['done', state, state, 'done', messages]);
    } finally {
      await dev.close();
    }
  }
});
