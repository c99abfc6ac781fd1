// A Map that grows and a JSON text of a million keys overflow the heap inside V8's own code, where no limit can end
// them: the thread is parked, and the engine goes on without it.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { startPlatform, type TestPlatform } from '#test/setup/platform.ts';
import { until } from '#test/setup/until.ts';

let platform: TestPlatform;

before(async () => {
  platform = await startPlatform(
    {
      hostile: `export default { fetch(request) {
        const { pathname } = new URL(request.url);
        if (pathname === '/map') { const map = new Map(); for (let i = 0; ; i++) map.set(i, { i }); }
        if (pathname === '/json') { const all = {}; for (let i = 0; i < 1e6; i++) all['key' + i] = { i }; return new Response(String(JSON.stringify(all).length)); }
        if (pathname === '/buffers') { const all = []; for (;;) all.push(new Uint8Array(10_000_000).fill(1)); }
        if (pathname === '/strings') { let text = 'x'; for (;;) text += text + text; }
        return new Response('still here');
      } };`,
      victim: `export default { fetch: () => new Response('unhurt') };`,
    },
    { WORKER_MEMORY_MB: '64' },
  );
});
after(() => platform.close());

for (const path of ['/map', '/json', '/buffers', '/strings']) {
  test(`${path} ends with an error or with its engine, and the neighbour answers afterwards`, async () => {
    // A thread that could not be ended has its deployment quarantined for a while.
    const answer = await until(async () => {
      const found = await platform.fetch('hostile', path).catch((error: NodeJS.ErrnoException) => error);
      return found instanceof Error || !found.text.includes('deployment_quarantined') ? found : null;
    });
    if (answer instanceof Error) {
      assert.ok(['ECONNRESET', 'ECONNREFUSED'].includes((answer as NodeJS.ErrnoException).code ?? ''), String(answer));
    } else {
      assert.equal(answer.status, 500, answer.text);
      assert.ok(
        ['memory_limit_exceeded', 'cpu_limit_exceeded', 'worker_threw'].includes(
          (answer.json() as { code: string }).code,
        ),
        answer.text,
      );
    }
    await platform.answers('victim', 'unhurt');
    await platform.answers('hostile', 'still here');
  });
}
