// A whole build as the builder runs it: confined as well as this machine can, with the real npm. More of them are in
// test/builds/.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { LOCAL_LOCK, LOCAL_PACKAGE } from '#test/setup/build-cases.ts';
import { buildIn, openBuildPlace, possibleWays, WORKER } from '#test/setup/confined-builds.ts';

const [way] = await possibleWays();
const confinement = way?.confinement ?? { kind: 'none', reason: null };

test('a worker with a package and a command becomes an artifact, and nothing is left of its build', async (t) => {
  const place = openBuildPlace(t);
  place.commit({
    ...WORKER,
    ...LOCAL_PACKAGE,
    'package-lock.json': LOCAL_LOCK,
    'platform.yaml': 'kind: worker\nname: shop\nbuild: echo "built by $USER in $(pwd)"\n',
  });
  const { result, failure, log, steps } = await buildIn(place, confinement);
  assert.equal(failure, null, `${failure?.message}\n${log}`);
  assert.deepEqual(steps, ['clone', 'install', 'build', 'artifact']);
  assert.match(log, /\$ npm ci --include=dev\n/);
  assert.match(log, /^built by build in \S+\/source$/m);
  assert.ok(readFileSync(join(result!.folder, 'worker.js'), 'utf8').includes('from a package'));
  assert.deepEqual(place.leftOver(), []);
});
