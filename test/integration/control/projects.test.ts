// Projects over the API, with a real database.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { startControl, type TestControl } from '#test/setup/control.ts';

let control: TestControl;
before(async () => {
  control = await startControl();
});
after(() => control.close());

test('a project is made once and read by its id', async () => {
  const body = { name: 'shop', organizationId: control.organizationId };
  const made = await control.call('POST', '/projects', body);
  assert.equal(made.status, 201);
  assert.equal(made.body.name, 'shop');
  const read = await control.call('GET', `/projects/${made.body.id}`);
  assert.deepEqual(read.body, made.body);
  const again = await control.call('POST', '/projects', body);
  assert.deepEqual([again.status, again.body.code, again.body.message], [409, 'conflict', 'The name shop is taken']);
  assert.equal(again.headers.get('x-request-id'), again.body.requestId);
});

test('nobody and strangers learn nothing of a project', async () => {
  const { body } = await control.call('POST', '/projects', { name: 'quiet', organizationId: control.organizationId });
  const stranger = await control.account('eve', { [await control.organization('other')]: 'owner' });
  assert.equal((await control.call('GET', `/projects/${body.id}`, undefined, null)).status, 401);
  assert.equal((await control.call('GET', `/projects/${body.id}`, undefined, stranger.token)).status, 404);
});
