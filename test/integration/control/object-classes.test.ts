// Deployments that rename, delete or forget classes of durable objects: what production holds is found under the new
// name, deleted when that is said, and never lost. More over processes: test/control/object-classes.test.ts.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { counter, deployed, plain } from '#test/setup/object-classes.ts';
import { startReleaseControl, type ReleaseControl } from '#test/setup/release-control.ts';
import { until } from '#test/setup/until.ts';

let all: ReleaseControl;
before(async () => {
  all = await startReleaseControl();
});
after(() => all.close());

const says = async (host: string, path = '/a'): Promise<string> => (await all.platform.fetch(host, path)).text;

test('a deployment without a class that has objects fails before anything moves', async () => {
  const id = await all.project('forgets');
  await deployed(all, id, counter('Room'));
  // Without an object, nothing is lost.
  await deployed(all, id, plain);
  await deployed(all, id, counter('Room'));
  const first = await says('forgets');
  assert.match(first, /^Room 1 /);
  const refused = await all.deploy(id, plain);
  assert.deepEqual([refused.status, refused.reason], ['failure', 'artifact_invalid']);
  assert.equal(
    refused.error_message,
    'Production has durable objects of the class Room, such as "/a", but this deployment has no such class. Put the class ' +
      'back into "object" in platform.yaml, or add to "object_classes" either renamed: { Room: NewName } or ' +
      'deleted: [Room], which deletes these objects.',
  );
  const renamed = await all.deploy(id, counter('Hall'));
  assert.equal(renamed.status, 'failure');
  assert.equal(await says('forgets'), first.replace('1', '2'));
  const preview = await deployed(all, id, plain, 'next');
  assert.match(
    (await all.log(preview)).join('\n'),
    /This deployment cannot become production\. Production has durable objects/,
  );
  const { body } = await all.control.call('GET', `/deployments/${preview}/promotion`);
  assert.match(body.objection, /^Production has durable objects of the class Room/);
  const promoted = await all.control.call('POST', `/projects/${id}/promote`, { deploymentId: preview });
  assert.deepEqual([promoted.status, /of the class Room/.test(promoted.body.message)], [422, true]);
  assert.equal(await says('forgets'), first.replace('1', '3'));
});

test('objects of a renamed class are the same under each of its names, also after a rollback', async () => {
  const id = await all.project('renames');
  await deployed(all, id, counter('Room'));
  const [, , key] = (await says('renames')).split(' ');
  await deployed(all, id, counter('Hall', 'object_classes: { renamed: { Room: Hall } }\n'));
  assert.equal(await says('renames'), `Hall 2 ${key}`);
  await deployed(all, id, counter('Den', 'object_classes: { renamed: { Room: Hall, Hall: Den } }\n'));
  assert.equal(await says('renames'), `Den 3 ${key}`);
  const { body } = await all.control.call('GET', `/projects/${id}/objects/COUNT`);
  assert.deepEqual([body.class, body.items.map(({ name }: { name: string }) => name)], ['Den', ['/a']]);
  const entry = await all.control.call('GET', `/projects/${id}/objects/Den/entry/values?object=%2Fa`);
  assert.deepEqual(entry.body.items[0].value, '3');
  const lost = await all.deploy(id, counter('Den'));
  assert.equal(lost.status, 'failure');
  assert.match(lost.error_message!, /class Den \(first named Room\).*renamed: \{ Room: NewName \}/);
  const back = await all.control.call('POST', `/projects/${id}/rollback`, {});
  assert.equal(back.status, 200, JSON.stringify(back.body));
  assert.equal(await says('renames'), `Hall 4 ${key}`);
});

test('objects of a deleted class go when the deployment becomes production, not before', async () => {
  const id = await all.project('deletes');
  const first = await deployed(all, id, counter('Room'));
  assert.match(await says('deletes'), /^Room 1 /);
  assert.match(await says('deletes', '/b'), /^Room 1 /);
  const gone = { ...plain, yaml: 'object_classes: { deleted: [Room] }\n' };
  const broken = await all.deploy(id, { ...gone, code: 'throw new Error("at its top");' });
  assert.equal(broken.status, 'failure');
  await deployed(all, id, gone, 'next');
  assert.match(await says('deletes'), /^Room 2 /);
  const second = await deployed(all, id, gone);
  await until(async () =>
    (await all.log(second)).includes('release Deleted 2 durable objects of the class Room') ? true : null,
  );
  const back = await all.control.call('POST', `/projects/${id}/rollback`, { deploymentId: first });
  assert.equal(back.status, 200, JSON.stringify(back.body));
  assert.match(await says('deletes'), /^Room 1 /);
  // The deletion was of that release: going back to it deletes nothing.
  const again = await all.control.call('POST', `/projects/${id}/promote`, { deploymentId: first });
  assert.equal(again.status, 200);
  assert.match(await says('deletes'), /^Room 2 /);
  assert.equal((await all.deploy(id, plain)).status, 'failure');
});
