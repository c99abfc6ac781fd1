// The failure of a build whose artifact could not be written: it shows nothing of the machine.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { defaultLimits } from '#core/limits.ts';
import { failureOf } from '#builder/steps/make-artifact.ts';

test('a full disk fails a build without folder and figures; the cause has them for the operator', () => {
  const message =
    'The artifact cannot be written to /srv/platform/builds/made/dpl_1: it has 3378 bytes, the disk has 2104320 free, and 268435456 of them stay free (DISK_FREE_BYTES_MIN)';
  const failure = failureOf({ what: 'failed', code: 'write_failed', message }, {
    limits: defaultLimits.build,
  } as never);
  assert.deepEqual(
    [failure.reason, failure.message],
    [
      'disk_full',
      'The disk of the platform is too full for this build: deploy again when the operator has freed space',
    ],
  );
  assert.equal((failure.cause as Error).message, message);
});
