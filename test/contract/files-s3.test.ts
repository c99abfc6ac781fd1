// Files in a bucket, over a server that speaks S3.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openFilesS3 } from '#runtime/stores/files-s3.ts';
import { fileStoreContract } from './file-store.ts';

fileStoreContract(
  async () => {
    const directory = await mkdtemp(join(tmpdir(), 'platform-s3-'));
    const server = fork(join(import.meta.dirname, '../setup/s3-server.mjs'), [directory], {
      execArgv: ['--openssl-legacy-provider', '--disable-warning=DEP0040'],
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    });
    const [{ port }] = (await once(server, 'message')) as [{ port: number }];
    const store = openFilesS3({
      endpoint: `http://127.0.0.1:${port}`,
      bucket: 'files',
      region: 'us-east-1',
      accessKeyId: 'S3RVER',
      secretAccessKey: 'S3RVER',
      prefix: 'a/b',
      uploadBytesHeldMax: 1024 * 1024,
    });
    return {
      store,
      async close() {
        await store.close();
        const exited = once(server, 'exit');
        server.disconnect();
        await exited;
        await rm(directory, { recursive: true });
      },
    };
  },
  { dotSegments: false, exact: false, listsDigests: false },
);
