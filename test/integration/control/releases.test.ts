// Releases from an upload to what answers, with real engines: what is served when the pointer moves, and what happens
// to requests meanwhile.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { startReleaseControl, type ReleaseControl } from '#test/setup/release-control.ts';

let all: ReleaseControl;
before(async () => {
  all = await startReleaseControl({ HANDLER_PROCESSES: '2' });
});
after(() => all.close());

const worker = (says: string): { code: string } => ({
  code: `export default { fetch: (request, env) => new Response('${says} ' + JSON.stringify(env.vars)) };`,
});

test('an upload is released: production answers, and its URL, and the log says each step', async () => {
  const shop = await all.project('shop');
  const first = await all.deploy(shop, worker('one'));
  assert.equal(first.status, 'success', `${first.reason}: ${first.error_message}`);
  assert.equal((await all.platform.fetch('shop')).text, 'one {}');
  assert.equal((await all.platform.fetch(`shop--${first.id}`)).text, 'one {}');
  const log = await all.log(first.id);
  assert.match(log[0]!, /^upload Received 3 files, \d+ bytes: artifact [0-9a-f]{12}$/);
  assert.deepEqual(log.slice(1), ['release The worker has started on all engines', 'release Production leads to it']);
});
