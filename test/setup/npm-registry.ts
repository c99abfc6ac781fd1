// A registry of packages with one package in it, on this machine's loopback.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';

/** A running registry. */
interface TestRegistry {
  readonly port: number;
  /** Requests, as host and path. */
  readonly asked: string[];
}

/** It has `words` 1.0.0, whose export is "from the registry". Closed after the test. */
export async function openRegistry(t: Pick<TestContext, 'after'>): Promise<TestRegistry> {
  const folder = mkdtempSync(join(tmpdir(), 'registry-'));
  mkdirSync(join(folder, 'package'));
  const manifest = { name: 'words', version: '1.0.0', type: 'module', exports: './index.js' };
  writeFileSync(join(folder, 'package/package.json'), JSON.stringify(manifest));
  writeFileSync(join(folder, 'package/index.js'), "export default 'from the registry';\n");
  const archive = execFileSync('tar', ['-cz', '-C', folder, 'package']);
  rmSync(folder, { recursive: true });
  const integrity = `sha512-${createHash('sha512').update(archive).digest('base64')}`;
  const asked: string[] = [];
  const server = createServer((request, response) => {
    const { host } = request.headers;
    asked.push(`${host}${request.url}`);
    if (request.url!.endsWith('.tgz')) return void response.end(archive);
    const dist = { tarball: `http://${host}/words/-/words-1.0.0.tgz`, integrity };
    const versions = { '1.0.0': { ...manifest, dist } };
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify({ name: 'words', 'dist-tags': { latest: '1.0.0' }, versions }));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.close().closeAllConnections());
  return { port: (server.address() as AddressInfo).port, asked };
}
