// `npm run test:edge`: certificates, domains and what Caddy does with requests (test/edge/), with the real Caddy and an
// authority of our own, on ports 80 and 443 of a network namespace that nobody else sees. Words pick files.
import { execFileSync } from 'node:child_process';
import { globSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { nodeFlags } from '#core/node-flags.mjs';
import { root, runProgram } from './processes.ts';

/** All lead to this machine: the authority looks for them there. */
const NAMES =
  'acme.test apps.test shop.apps.test blog.apps.test shop--main.apps.test www.shop.test shop.test next.shop.test one.test two.test three.test four.test wild.apps.test away.shop.test limited.shop.test clock.shop.test stranger.test shop.apps.example.net';

export async function run(words: readonly string[]): Promise<number> {
  const missing = whatIsMissing();
  if (missing !== null) {
    process.stderr.write(`test:edge is not run: ${missing}\n`);
    return process.env['CI'] === undefined ? 0 : 1;
  }
  const all = globSync('test/edge/*.test.ts', { cwd: root }).sort();
  const files = words.length === 0 ? all : all.filter((file) => words.some((word) => file.includes(word)));
  const folder = mkdtempSync(path.join(tmpdir(), 'platform-edge-test-'));
  const hosts = path.join(folder, 'hosts');
  writeFileSync(hosts, `127.0.0.1 localhost ${NAMES}\n`, { mode: 0o644 });
  const test = [
    ...nodeFlags,
    '--no-warnings',
    '--test',
    '--test-reporter=spec',
    '--test-concurrency=1',
    '--test-timeout=240000',
  ];
  try {
    const isRoot = process.getuid?.() === 0;
    const inside = 'ip link set lo up && mount --bind "$0" /etc/hosts && exec "$@"';
    const args = [isRoot ? '-mn' : '-Urmn', '--propagation', 'private', 'sh', '-c', inside, hosts];
    return (await runProgram('unshare', [...args, process.execPath, ...test, ...files], { cwd: root, show: true }))
      .code;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function whatIsMissing(): string | null {
  for (const [program, argument] of [
    [process.env['CADDY_BIN'] ?? 'caddy', 'version'],
    ['nginx', '-v'],
    ['unshare', '--version'],
    ['ip', '-V'],
  ] as const) {
    try {
      execFileSync(program, [argument], { stdio: 'ignore' });
    } catch {
      return `there is no ${program} (apt-get install caddy nginx util-linux iproute2)`;
    }
  }
  return null;
}
