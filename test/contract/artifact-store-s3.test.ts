// Artifacts in a bucket, over a server that speaks S3, between machines with folders of their own; and what the driver
// does when the storage misbehaves.
import assert from 'node:assert/strict';
import { rmSync } from 'node:fs';
import { mkdtemp, readdir } from 'node:fs/promises';
import { createServer, request, type IncomingMessage, type ServerResponse } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import type { ArtifactStore } from '#artifacts/store/artifact-store.ts';
import { openArtifactsS3 } from '#artifacts/store/artifact-store-s3.ts';
import { defaultLimits } from '#core/limits.ts';
import { openBucket } from '#core/s3/bucket.ts';
import { deployInto } from '#test/setup/deployed-sources.ts';
import { startS3Server, type S3Server } from '#test/setup/s3-server.ts';
import { artifactStoreContract } from './artifact-store.ts';

/** Answers a request itself (true), or leaves it to the server. */
type Fault = (request: IncomingMessage, response: ServerResponse) => boolean;

const open = (
  server: Pick<S3Server, 'endpoint' | 'bucket' | 'region' | 'accessKeyId' | 'secretAccessKey'>,
  dataFolder: string,
  { prefix = '_artifacts', installation = 'one-platform', awayMsMax = 0, stallMsMax = 30_000 } = {},
): ArtifactStore => {
  const { endpoint, bucket, region, accessKeyId, secretAccessKey } = server;
  return openArtifactsS3({
    dataFolder,
    place: { endpoint, bucket, region, accessKeyId, secretAccessKey, prefix },
    installation: () => Promise.resolve(installation),
    limits: defaultLimits,
    awayMsMax,
    stallMsMax,
  });
};

artifactStoreContract(async (folders) => {
  const server = await startS3Server();
  const machines = folders.map((folder) => ({ folder, store: open(server, folder) }));
  return {
    machines,
    async close() {
      for (const { store } of machines) await store.close();
      await server.close();
    },
  };
});

let server: S3Server;
let folder: string;
let empty: string;
let id: string;
/** A way to the server with faults. */
let way: { readonly endpoint: string; fault: Fault; close(): void };
const opened: ArtifactStore[] = [];
const through = (dataFolder: string, options?: Parameters<typeof open>[2]): ArtifactStore => {
  const store = open({ ...server, endpoint: way.endpoint }, dataFolder, options);
  opened.push(store);
  return store;
};

before(async () => {
  server = await startS3Server();
  way = await openWay(server.endpoint);
  [folder, empty] = (await Promise.all([1, 2].map(() => mkdtemp(join(tmpdir(), 'platform-artifacts-'))))) as [
    string,
    string,
  ];
  ({ id } = await deployInto(folder).make('shop', 'export default { fetch: () => new Response("hi") };'));
});
after(async () => {
  for (const store of opened) await store.close();
  way.close();
  await server.close();
  for (const each of [folder, empty]) rmSync(each, { recursive: true, force: true });
});

const nothingIn = async (dataFolder: string): Promise<void> =>
  assert.deepEqual(await readdir(join(dataFolder, 'artifacts')).catch(() => []), []);

test('a prefix of another platform is refused by name, for reading and for writing', async () => {
  await open(server, folder, { prefix: 'taken' }).upload(id);
  const other = open(server, folder, { prefix: 'taken', installation: 'another-platform' });
  const wanted = {
    reason: 'refused',
    message:
      's3://files/taken/ belongs to the platform one-platform, and this one is another-platform: set ARTIFACTS_S3_BUCKET or ARTIFACTS_S3_PREFIX to a separate location',
  };
  await assert.rejects(other.upload(id), wanted);
  await assert.rejects(other.remove(id), wanted);
  await assert.rejects(open(server, empty, { prefix: 'taken', installation: 'another-platform' }).fetch(id), wanted);
  await nothingIn(empty);
});

test('a key without rights, and a bucket that does not exist, are errors that say where to look', async () => {
  way.fault = (_, response) => {
    response.writeHead(403).end('<Error><Code>AccessDenied</Code></Error>');
    return true;
  };
  await assert.rejects(through(folder).upload(id), {
    reason: 'refused',
    message:
      'The artifact storage answered with status 403 for _artifacts/installation: check the permissions of ARTIFACTS_S3_ACCESS_KEY_ID, which must read, write, delete and list',
  });
  await assert.rejects(open({ ...server, bucket: 'none' }, folder).upload(id), {
    reason: 'refused',
    message:
      'The artifact storage answered with status 404 for _artifacts/installation: check ARTIFACTS_S3_ENDPOINT and ARTIFACTS_S3_BUCKET',
  });
});

test('a storage that fails for a moment is asked again; one that stays away is an error, and nothing is stored', async () => {
  let failures = 0;
  way.fault = (_, response) => {
    if (++failures > 4) return false;
    response.writeHead(503).end();
    return true;
  };
  await through(folder, { prefix: 'slow', awayMsMax: 20_000 }).upload(id);
  way.fault = (incoming) => {
    incoming.socket.destroy();
    return true;
  };
  await assert.rejects(through(empty, { prefix: 'slow' }).fetch(id), { kind: 'artifact_store', reason: 'away' });
  await nothingIn(empty);
});

test('a storage that takes a request and never answers is away', async () => {
  way.fault = () => true;
  await assert.rejects(through(folder, { prefix: 'stalled', stallMsMax: 100 }).upload(id), {
    reason: 'away',
    message: /^s3:\/\/files\/stalled\/ cannot be used: the storage fails: /,
  });
});

test('a truncated answer is fetched again, and bytes that are not the artifact are refused', async () => {
  way.fault = () => false;
  await through(folder, { prefix: 'cut' }).upload(id);
  let cuts = 0;
  way.fault = (incoming, response) => {
    if (!incoming.url!.endsWith('.tar.gz') || ++cuts > 1) return false;
    response.writeHead(200, { 'content-length': '100000' });
    response.write('half', () => response.destroy());
    return true;
  };
  const machine = await mkdtemp(join(tmpdir(), 'platform-artifacts-'));
  await through(machine, { prefix: 'cut' }).fetch(id);
  assert.deepEqual(await readdir(join(machine, 'artifacts')), [id]);
  rmSync(machine, { recursive: true });

  way.fault = () => false;
  const key = `cut/${id.slice(0, 2)}/${id}.tar.gz`;
  const second = await deployInto(folder).make('shop', 'export default { fetch: () => new Response("other") };');
  await through(folder, { prefix: 'cut' }).upload(second.id);
  const bucket = openBucket(server);
  const wrong = await bucket.expect({ method: 'GET', key: `cut/${second.id.slice(0, 2)}/${second.id}.tar.gz` });
  await bucket.expect({ method: 'PUT', key, body: new Uint8Array(await wrong.arrayBuffer()) });
  await assert.rejects(through(empty, { prefix: 'cut' }).fetch(id), {
    reason: 'damaged',
    message: `s3://files/cut/: ${id} is damaged: The artifact cannot be used: manifest.json is not that of ${id}`,
  });
  await bucket.expect({ method: 'PUT', key, body: Buffer.from('nonsense') });
  await assert.rejects(through(empty, { prefix: 'cut' }).fetch(id), { reason: 'damaged' });
  await bucket.close();
  await nothingIn(empty);
});

test('a storage that keeps fewer bytes than were sent has not stored it', async () => {
  let isPut = false;
  way.fault = (incoming, response) => {
    isPut ||= incoming.method === 'PUT' && incoming.url!.endsWith('.tar.gz');
    if (incoming.method !== 'HEAD') return false;
    response.writeHead(isPut ? 200 : 404, { 'content-length': '3' }).end();
    return true;
  };
  await assert.rejects(through(folder, { prefix: 'short' }).upload(id), {
    reason: 'away',
    message: /^s3:\/\/files\/short\/ has 3 bytes of \d+ of [0-9a-f]{64}$/,
  });
  way.fault = () => false;
  assert.deepEqual([...(await through(folder, { prefix: 'short' }).list()).keys()], []);
});

async function openWay(target: string): Promise<typeof way> {
  const { port: targetPort } = new URL(target);
  const proxy = createServer((incoming, response) => {
    if (here.fault(incoming, response)) return;
    // The host is signed.
    const { method, url, headers } = incoming;
    incoming.pipe(
      request({ host: '127.0.0.1', port: targetPort, method, path: url, headers }, (answer) => {
        response.writeHead(answer.statusCode!, answer.headers);
        answer.pipe(response);
      }),
    );
  });
  proxy.listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  const here = {
    endpoint: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`,
    fault: (() => false) as Fault,
    close() {
      proxy.closeAllConnections();
      proxy.close();
    },
  };
  return here;
}
