// `npm test -- edge`: tests certificates, domains and Caddy's handling of requests (test/edge/) with the real Caddy and
// a test authority, on ports 80 and 443 of a separate network namespace. Words pick files.
import { globSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { root } from '../tools/processes.ts';
import { pickFiles, refusesFiles, runTestFiles } from './test-files.ts';

/** Names that resolve to this machine, for the certificate authority. */
const NAMES =
  'acme.test apps.test shop.apps.test blog.apps.test shop--main.apps.test www.shop.test shop.test next.shop.test one.test two.test three.test four.test wild.apps.test away.shop.test limited.shop.test clock.shop.test stranger.test shop.apps.example.net';

export async function run(words: readonly string[]): Promise<number> {
  const all = globSync('test/edge/*.test.ts', { cwd: root }).sort();
  if (refusesFiles('edge', words, all)) return 2;
  const files = pickFiles(all, words);
  const folder = mkdtempSync(path.join(tmpdir(), 'platform-edge-test-'));
  const hosts = path.join(folder, 'hosts');
  writeFileSync(hosts, `127.0.0.1 localhost ${NAMES}\n`, { mode: 0o644 });
  try {
    const isRoot = process.getuid?.() === 0;
    const inside = 'ip link set lo up && mount --bind "$0" /etc/hosts && exec "$@"';
    const flags = [isRoot ? '-mn' : '-Urmn', '--propagation', 'private'];
    return await runTestFiles(files, ['--test-concurrency=1'], ['unshare', ...flags, 'sh', '-c', inside, hosts]);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
