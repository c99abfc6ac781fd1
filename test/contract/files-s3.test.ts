// Files in a bucket, over a server that speaks S3.
import { openFilesS3 } from '#runtime/stores/files-s3.ts';
import { startS3Server } from '#test/setup/s3-server.ts';
import { fileStoreContract } from './file-store.ts';

fileStoreContract(
  async () => {
    const server = await startS3Server();
    const { endpoint, bucket, region, accessKeyId, secretAccessKey } = server;
    const store = openFilesS3({
      endpoint,
      bucket,
      region,
      accessKeyId,
      secretAccessKey,
      prefix: 'a/b',
      uploadBytesHeldMax: 1024 * 1024,
    });
    return {
      store,
      async close() {
        await store.close();
        await server.close();
      },
    };
  },
  { dotSegments: false, exact: false, listsDigests: false },
);
