// core/s3/bucket-variables.ts: the buckets that variables name, and what is refused.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { artifactVariables, bucketFrom } from '#core/s3/bucket-variables.ts';

const files = {
  FILES_S3_ENDPOINT: 'https://s3.example',
  FILES_S3_BUCKET: 'platform',
  FILES_S3_REGION: 'eu',
  FILES_S3_ACCESS_KEY_ID: 'key',
  FILES_S3_SECRET_ACCESS_KEY: 'secret',
};
const get =
  (environment: Readonly<Record<string, string>>) =>
  (name: string): string =>
    environment[name] ?? '';

test('without ARTIFACTS_S3_* artifacts stay in the folder, also where files are in a bucket', () => {
  assert.deepEqual(artifactVariables(files), {});
  assert.equal(bucketFrom(get(files), 'ARTIFACTS_S3', 'Artifacts'), null);
});

test('what is not set of artifacts is that of files', () => {
  const shared = artifactVariables({ ...files, ARTIFACTS_S3_PREFIX: '/_artifacts/' });
  assert.deepEqual(shared, {
    ARTIFACTS_S3_ENDPOINT: 'https://s3.example',
    ARTIFACTS_S3_BUCKET: 'platform',
    ARTIFACTS_S3_REGION: 'eu',
    ARTIFACTS_S3_ACCESS_KEY_ID: 'key',
    ARTIFACTS_S3_SECRET_ACCESS_KEY: 'secret',
    ARTIFACTS_S3_PREFIX: '_artifacts',
  });
  assert.equal(bucketFrom(get(shared), 'ARTIFACTS_S3', 'Artifacts')?.bucket, 'platform');
  const own = artifactVariables({ ...files, ARTIFACTS_S3_BUCKET: 'artifacts' });
  assert.deepEqual([own['ARTIFACTS_S3_BUCKET'], own['ARTIFACTS_S3_PREFIX']], ['artifacts', '_artifacts']);
});

test('what is missing or invalid is named, and a prefix that files of a project could have is refused', () => {
  assert.throws(() => artifactVariables({ ARTIFACTS_S3_PREFIX: '_artifacts' }), {
    message:
      'Artifacts in S3 need a bucket: set ARTIFACTS_S3_ENDPOINT, ARTIFACTS_S3_BUCKET, ARTIFACTS_S3_REGION, ARTIFACTS_S3_ACCESS_KEY_ID, ARTIFACTS_S3_SECRET_ACCESS_KEY, or FILES_S3_*',
  });
  assert.throws(() => artifactVariables({ ...files, FILES_S3_REGION: '', ARTIFACTS_S3_BUCKET: 'artifacts' }), {
    message: 'Artifacts in S3 need ARTIFACTS_S3_REGION, which is not set',
  });
  assert.throws(() => artifactVariables({ ...files, ARTIFACTS_S3_ENDPOINT: 's3.example' }), {
    message: /^ARTIFACTS_S3_ENDPOINT must be an address such as /,
  });
  const refused = { message: /^ARTIFACTS_S3_PREFIX "[^"]+" can collide with files of a project in the same bucket/ };
  assert.throws(() => artifactVariables({ ...files, ARTIFACTS_S3_PREFIX: 'shop' }), refused);
  assert.throws(
    () => artifactVariables({ ...files, FILES_S3_PREFIX: 'files', ARTIFACTS_S3_PREFIX: 'files/shop/x' }),
    refused,
  );
  assert.equal(
    artifactVariables({ ...files, FILES_S3_PREFIX: 'files', ARTIFACTS_S3_PREFIX: 'shop' })['ARTIFACTS_S3_PREFIX'],
    'shop',
  );
});
