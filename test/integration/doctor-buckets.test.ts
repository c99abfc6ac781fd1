// What `platform doctor` says about buckets: a server that speaks S3, keys that it refuses, and one that is away.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { checkBuckets } from '#operations/doctor/buckets.ts';
import { freePort } from '#test/setup/free-port.ts';
import { startProxy } from '#test/setup/replicas.ts';
import { startS3Server, variablesOf, type S3Server } from '#test/setup/s3-server.ts';

let s3: S3Server;
before(async () => {
  s3 = await startS3Server();
});
after(() => s3.close());

const files = (changes: Readonly<Record<string, string>> = {}): Record<string, string> => ({
  ...variablesOf(s3, 'FILES_S3'),
  FILES_S3_BUCKET: s3.bucket,
  ...changes,
});
const short = async (environment: Readonly<Record<string, string>>): Promise<string[]> =>
  (await checkBuckets(environment)).map(({ status, message, advice }) => `${status}: ${message}; ${advice ?? ''}`);

test('without buckets there is nothing to check', async () => {
  assert.deepEqual(await short({}), []);
});

test('each bucket that is set is checked', async () => {
  assert.deepEqual(await short(files({ ARTIFACTS_S3_PREFIX: '_artifacts', DB_REPLICA_S3_PREFIX: '_databases' })), [
    `ok: Files: bucket files at ${s3.endpoint} answers; `,
    `ok: Artifacts: bucket files at ${s3.endpoint} answers; `,
    `ok: Replicas of databases: bucket files at ${s3.endpoint} answers; `,
  ]);
});

test('a variable that is missing is named', async () => {
  assert.deepEqual(await short(files({ FILES_S3_REGION: '' })), [
    'fail: Files in S3 need FILES_S3_REGION, which is not set; Correct FILES_S3_*, or remove all of them.',
  ]);
});

test('a wrong key, a missing bucket and a server that is away have different advice', async () => {
  assert.deepEqual(await short(files({ FILES_S3_ACCESS_KEY_ID: 'another' })), [
    `fail: Files: bucket files at ${s3.endpoint}: the storage answers 403 InvalidAccessKeyId; Check FILES_S3_ACCESS_KEY_ID, FILES_S3_SECRET_ACCESS_KEY, FILES_S3_REGION, and that this key can list, read, write and delete objects of the bucket.`,
  ]);
  assert.deepEqual(await short(files({ FILES_S3_BUCKET: 'other' })), [
    `fail: Files: bucket other at ${s3.endpoint}: the storage answers 404 NoSuchBucket; Create the bucket other, or correct FILES_S3_BUCKET.`,
  ]);
  const nobody = `http://127.0.0.1:${await freePort()}`;
  assert.deepEqual(await short(files({ FILES_S3_ENDPOINT: nobody })), [
    `fail: Files: bucket files at ${nobody} does not answer: ECONNREFUSED; Check FILES_S3_ENDPOINT, and whether this machine can reach it.`,
  ]);
  const proxy = await startProxy(s3.endpoint);
  try {
    proxy.behave('denied');
    assert.deepEqual(await short(files({ FILES_S3_ENDPOINT: proxy.endpoint })), [
      `fail: Files: bucket files at ${proxy.endpoint}: the storage answers 403 AccessDenied; Check FILES_S3_ACCESS_KEY_ID, FILES_S3_SECRET_ACCESS_KEY, FILES_S3_REGION, and that this key can list, read, write and delete objects of the bucket.`,
    ]);
  } finally {
    await proxy.close();
  }
});
