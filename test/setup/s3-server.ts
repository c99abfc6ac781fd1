// A server that speaks S3, with the bucket `files`, in a process of its own.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A server, and what its bucket is opened with. */
export interface S3Server {
  readonly endpoint: string;
  readonly bucket: string;
  readonly region: string;
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  close(): Promise<void>;
}

export async function startS3Server(): Promise<S3Server> {
  const directory = await mkdtemp(join(tmpdir(), 'platform-s3-'));
  const server = fork(join(import.meta.dirname, 's3-server.mjs'), [directory], {
    execArgv: ['--openssl-legacy-provider', '--disable-warning=DEP0040'],
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  const [{ port }] = (await once(server, 'message')) as [{ port: number }];
  return {
    endpoint: `http://127.0.0.1:${port}`,
    bucket: 'files',
    region: 'us-east-1',
    accessKeyId: 'S3RVER',
    secretAccessKey: 'S3RVER',
    async close() {
      const exited = once(server, 'exit');
      server.disconnect();
      await exited;
      await rm(directory, { recursive: true });
    },
  };
}

/** The variables of a bucket. @param prefix `FILES_S3` or `BACKUP_S3` */
export function variablesOf(server: S3Server, prefix: string): Record<string, string> {
  return {
    [`${prefix}_ENDPOINT`]: server.endpoint,
    [`${prefix}_REGION`]: server.region,
    [`${prefix}_ACCESS_KEY_ID`]: server.accessKeyId,
    [`${prefix}_SECRET_ACCESS_KEY`]: server.secretAccessKey,
  };
}
