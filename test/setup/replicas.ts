// A database service that replicates, for tests: with a bucket and a Postgres of the test.
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { ops } from '#runtime/databases/protocol/frames.ts';
import { at, ask, startDatabases, type TestDatabases } from './databases.ts';
import { variablesOf, type S3Server } from './s3-server.ts';
import { until } from './until.ts';

/** Starts a service that stores below a prefix. @param postgresUrl null: Postgres does not answer yet. */
export async function startReplicated(
  s3: S3Server,
  postgresUrl: string | null,
  prefix: string,
  options: Parameters<typeof startDatabases>[1] & { readonly intervalMs?: number; readonly endpoint?: string } = {},
): Promise<TestDatabases> {
  const replica = {
    PATH: process.env['PATH'] ?? '',
    ...variablesOf(s3, 'DB_REPLICA_S3'),
    DB_REPLICA_S3_BUCKET: s3.bucket,
    DB_REPLICA_S3_PREFIX: prefix,
    ...(options.endpoint !== undefined && { DB_REPLICA_S3_ENDPOINT: options.endpoint }),
  };
  const limits = { replicaIntervalMs: options.intervalMs ?? 100 };
  const databases = await startDatabases(limits, { ...options, replica });
  if (postgresUrl !== null) databases.service.usePostgres(postgresUrl);
  return databases;
}

/** Waits until all that was written before is stored. */
export async function replicated({ client }: TestDatabases, place = at): Promise<{ oldest: number; newest: number }> {
  let found: { range: { oldest: number; newest: number } | null } | undefined;
  await until(async () => {
    found = await client.replica(place).catch(() => undefined);
    return found?.range != null;
  });
  return found!.range!;
}

/** Restores a moment of the database `main` into a copy, and answers its rows. */
export async function rowsAt(databases: TestDatabases, time: number, copy: string, sql: string): Promise<unknown> {
  await databases.client.restoreAt(at, time, copy);
  const { e, r } = await ask(databases.client, ops.query, [sql, []], { ...at, resource: copy });
  return e ?? r;
}

/** How a bucket behaves that is not as it should be. */
type Behaviour = 'well' | 'down' | 'denied' | 'slow';

/** A proxy before a bucket. */
interface BucketProxy {
  readonly endpoint: string;
  behave(how: Behaviour): void;
  close(): Promise<void>;
}

const SLOW_MS = 300;

/** Starts a proxy that passes everything on until a test changes that. */
export async function startProxy(endpoint: string): Promise<BucketProxy> {
  let behaviour: Behaviour = 'well';
  const { hostname, port } = new URL(endpoint);
  const server = createServer((incoming, answer) => {
    if (behaviour === 'down') {
      incoming.destroy();
      return;
    }
    if (behaviour === 'denied') {
      incoming.resume();
      answer.writeHead(403, { 'content-type': 'application/xml' });
      answer.end('<Error><Code>AccessDenied</Code><Message>Access Denied</Message></Error>');
      return;
    }
    const pass = (): void => {
      const { method, url, headers } = incoming;
      const outgoing = request({ hostname, port, method, path: url, headers, setHost: false }, (from) => {
        answer.writeHead(from.statusCode ?? 502, from.headers);
        from.pipe(answer);
      });
      outgoing.on('error', () => answer.destroy());
      incoming.pipe(outgoing);
    };
    if (behaviour === 'slow') setTimeout(pass, SLOW_MS);
    else pass();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    behave: (how) => (behaviour = how),
    close: () => {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}
