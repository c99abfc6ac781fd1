// The steps of a build as the builder runs them: in confined processes, with the real npm.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { test } from 'node:test';
import { commandCases } from '#test/setup/build-cases.ts';
import { buildIn, openBuildPlace, possibleWays, WORKER } from '#test/setup/confined-builds.ts';

const [way] = await possibleWays();
const confinement = way?.confinement ?? { kind: 'none', reason: null };

commandCases({ open: openBuildPlace, build: (place, wishes) => buildIn(place, confinement, wishes) });

test('without any confinement a build of people who are trusted works as well', async (t) => {
  const place = openBuildPlace(t);
  place.commit({ ...WORKER, 'platform.yaml': 'kind: worker\nbuild: (sleep 7561 &); echo built\n' });
  const { result, log } = await buildIn(place, { kind: 'none', reason: null, withoutGroups: true });
  assert.equal(result?.kind, 'dynamic', log);
  assert.equal(existsSync(result.folder), true);
});
