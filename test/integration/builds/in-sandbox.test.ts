// A build in a sandbox of a sandbox service, here a local one. What goes in, comes out and is kept between two builds:
// test/builds/in-sandbox.test.ts.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { openSandboxClient } from '#core/sandbox/service-client.ts';
import { buildPlace } from '#builder/steps/build-sandbox/place.ts';
import { unconfined } from '#core/process/confinement/confinement.ts';
import { LOCAL_PACKAGE } from '#test/setup/build-cases.ts';
import { inProcess } from '#test/setup/builds-in-process.ts';
import { buildIn, linkedProgram, openBuildPlace, WORKER } from '#test/setup/confined-builds.ts';
import { startTestSandboxService } from '#test/setup/sandbox-service.ts';

test('a worker with a package becomes the artifact that a build on this machine makes', async (t) => {
  const service = await startTestSandboxService();
  t.after(() => service.close());
  const client = openSandboxClient(service.address);
  const sandbox = {
    client,
    place: buildPlace('shop', 'main'),
    headers: {},
    isCleared: false,
    isTransient: false,
    program: linkedProgram,
  };
  const place = openBuildPlace(t);
  place.commit({ ...WORKER, ...LOCAL_PACKAGE });
  const here = await inProcess.build(place);
  const there = await buildIn(place, unconfined, { sandbox });
  assert.equal(there.failure, null, `${there.failure?.message}\n${there.log}`);
  assert.equal(there.result?.artifactId, here.result?.artifactId);
  assert.deepEqual(there.result?.commit, here.result?.commit);
  assert.deepEqual(there.steps, ['clone', 'install', 'build', 'artifact']);
  assert.ok(readFileSync(join(there.result!.folder, 'worker.js'), 'utf8').includes('from a package'));
  assert.deepEqual(place.leftOver(), []);
  assert.equal((await client.info(sandbox.place))?.state, 'stopped');
});
