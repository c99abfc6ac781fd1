// A quick subset of the Web Platform Tests in `npm test`: some areas, on our side beside the committed expectations.
// All of them, on both sides: `npm test -- wpt`.
import { deepEqual } from 'node:assert/strict';
import { test } from 'node:test';
import { cacheFolder } from '#core/process/cache-folder.ts';
import { listCases } from './cases.ts';
import { readExpectations, regressions } from './expectations.ts';
import { runCases, runWorseAgain } from './run.ts';
import { cachedSuite } from './suite.ts';

const cache = cacheFolder(process.env);
const suite = await cachedSuite(cache);
const quick = [
  'url',
  'FileAPI',
  'dom/abort',
  'dom/events',
  'html/webappapis/atob',
  'html/webappapis/structured-clone',
  'console',
  'user-timing',
];

test(
  'subtests of the platform tests that have passed still pass',
  {
    skip: suite === null && 'the Web Platform Tests are not in the cache: `npm test -- wpt` fetches them',
    timeout: 150_000,
  },
  async () => {
    const known = readExpectations();
    const options = { suite: suite!, cache, oursAlone: true };
    const seen = await runCases({ ...options, cases: listCases(suite!.folder, quick) });
    const worse = await runWorseAgain(seen, known, options);
    deepEqual(
      worse.flatMap((comparison) => regressions(comparison, known).map((name) => `${comparison.test.id}: ${name}`)),
      [],
    );
  },
);
