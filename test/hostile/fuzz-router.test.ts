// The router: Host headers and route records of any form. A host finds the project it is spelled for or nothing, and a
// record that is broken is refused with a word. FUZZ_SECONDS makes it last, FUZZ_SEED repeats it.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { RouteRecord } from '#core/manifest.ts';
import { parseRouteRecord } from '#artifacts/route-record.ts';
import { createRouteTable } from '#runtime/engine/router/route-table.ts';
import { createSeededRandom } from '#test/setup/seeded-random.ts';

const random = createSeededRandom();
const seconds = Number(process.env['FUZZ_SECONDS'] ?? 1);

function record(project: string, domains: readonly string[]): RouteRecord {
  const id = `d${project.padEnd(12, '0').slice(0, 12)}`;
  const deployment = { id, artifact: '0'.repeat(64), branch: 'main', createdAt: '2026-01-01T00:00:00.000Z' };
  return {
    version: 1,
    project,
    plan: 'free',
    vars: {},
    domains: [...domains],
    production: id,
    branches: { main: id },
    deployments: { [id]: deployment },
  };
}

test('a Host header leads to the project it names or nowhere', () => {
  const table = createRouteTable(['localhost', 'apps.example.com']);
  table.replace([
    record('victim', ['victim.com']),
    record('attacker', ['attacker.com', 'victim.localhost', 'x.apps.example.com']),
  ]);
  const pieces = [
    'victim', 'attacker', '.localhost', 'localhost', '.apps.example.com', '--', 'main', '-', '.', ':', ':80', ':99999', '@', '/', '\\', '%2e', '%00', '\0', ' ', '\t', 'victim.com', 'attacker.com', '[::1]', '__proto__', 'constructor', 'xn--', 'dvictim000000', '\u0131', '',
  ]; // prettier-ignore
  const until = performance.now() + seconds * 1000;
  while (performance.now() < until) {
    for (let count = 0; count < 1000; count++) {
      const host = random.text(pieces, 5);
      const route = table.find(host);
      if (route === null) continue;
      const plain = host.replace(/:\d*$/, '').replace(/\.$/, '');
      const names = [`${route.project}.localhost`, `${route.project}.apps.example.com`, `${route.project}.com`];
      const branches = ['main', route.deployment].flatMap((name) => [
        `${route.project}--${name}.localhost`,
        `${route.project}--${name}.apps.example.com`,
      ]);
      assert.ok(
        [...names, ...branches].includes(plain),
        `seed ${random.seed}: ${JSON.stringify(host)} led to ${route.project}`,
      );
    }
  }
});

test('a route record of any form is read or refused with a word', () => {
  const whole = JSON.stringify(record('victim', ['victim.com']));
  const values = ['null', '0', '""', '[]', '{}', '"__proto__"', '"../x"', 'true', '1e999', '"\\u0000"', '[[[[]]]]'];
  let refused = 0;
  const until = performance.now() + seconds * 1000;
  while (performance.now() < until) {
    let text = whole;
    for (let count = 1 + random.below(3); count > 0; count--) {
      const at = random.below(text.length);
      const kind = random.below(3);
      if (kind === 0) text = text.slice(0, at) + text.slice(at + 1 + random.below(5));
      else if (kind === 1) text = text.slice(0, at) + random.pick(values) + text.slice(at);
      else text = text.replace(/"[^"]*"(?=[,}])/, () => random.pick(values));
    }
    try {
      const read = parseRouteRecord(text);
      assert.match(read.project, /^[a-z0-9-]+$/, `seed ${random.seed}: ${text}`);
    } catch (error) {
      assert.ok(error instanceof Error && error.message !== '', `seed ${random.seed}: ${text}`);
      if (error instanceof assert.AssertionError) throw error;
      refused++;
    }
  }
  assert.ok(refused > 100);
});
