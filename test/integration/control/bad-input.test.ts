// Bad input to every route of the API: wrong types, SQL, odd ids, huge bodies. Nothing of it is an
// error of the platform's, and nothing of it changes anything.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { defaultLimits } from '#core/limits.ts';
import { startControl, type TestControl } from '#test/setup/control.ts';
import { makeScene, readOperations, sampleRequest, type Operation, type Scene } from '#test/setup/control-walk.ts';
import { createSeededRandom, type SeededRandom } from '#test/setup/seeded-random.ts';

let control: TestControl;
let scene: Scene;
let operations: Operation[];
before(async () => {
  // No rate limit: a 429 proves nothing.
  control = await startControl({ limits: { ...defaultLimits.control, requestsPerMinute: 1_000_000 } });
  scene = await makeScene(control);
  operations = (await readOperations(control)).filter(({ name }) => !name.startsWith('DELETE'));
});
after(() => control.close());

const rounds = Number(process.env['API_FUZZ_ROUNDS'] ?? 2);
const odd = [
  null,
  true,
  -1,
  1e308,
  '',
  '\0',
  '\ud800',
  "'; DROP TABLE control.project; --",
  '../../etc/passwd',
  '-x',
  'x'.repeat(70_000),
  [],
  [[[]]],
  {},
  { $ne: null },
  { constructor: { prototype: {} } },
] as const;

test('wrong types in bodies and queries are refused without an error of ours', async (t) => {
  const random = createSeededRandom();
  t.diagnostic(`seed ${random.seed}, ${rounds} rounds; FUZZ_SEED repeats it, API_FUZZ_ROUNDS widens it`);
  const failed: string[] = [];
  for (let round = 0; round < rounds; round++)
    for (const operation of operations) {
      const sample = sampleRequest(scene, operation);
      const body = operation.body === null ? undefined : spoiled(sample.body, random);
      const [path = '', query = ''] = sample.path.split('?');
      const asked = new URLSearchParams(query);
      for (const { name, in: place } of operation.parameters)
        if (place === 'query' && random.below(2) === 0) asked.set(name, String(random.pick(odd)).slice(0, 3000));
      const at = `${path}?${asked}`;
      const { status, body: answer } = await control.call(operation.method, at, body, scene.tokenOf('owner'));
      if (answer?.code === 'internal' || status === 500)
        failed.push(`${operation.name} ${at.slice(0, 200)} ${JSON.stringify(body)?.slice(0, 300)}: ${status}`);
      if (status >= 400 && (typeof answer?.message !== 'string' || typeof answer.requestId !== 'string'))
        failed.push(`${operation.name}: ${status} has another form: ${JSON.stringify(answer).slice(0, 200)}`);
      if (status < 300 && operation.method !== 'GET') await scene.renew();
    }
  assert.deepEqual(failed, [], `seed ${random.seed}`);
});

/** A body with one of its members, or all of it, replaced. */
function spoiled(body: unknown, random: SeededRandom): unknown {
  if (typeof body !== 'object' || body === null || random.below(5) === 0) return random.pick(odd);
  return { ...body, [random.pick([...Object.keys(body), '__proto__', 'unknown'])]: random.pick(odd) };
}

test('ids that are odd are unknown, not errors', async () => {
  const failed: string[] = [];
  for (const operation of operations) {
    if (!operation.path.includes('{')) continue;
    for (const id of ["'; DROP TABLE x; --", '%00', '\ud83d', '../..', 'x'.repeat(3000), '-']) {
      const { body } = sampleRequest(scene, operation);
      const path = operation.path.replace(/\{\w+\}/g, encodeURIComponent(id.toWellFormed()));
      const { status, body: answer } = await control.call(operation.method, path, body, scene.tokenOf('owner'));
      if (status < 400 || status >= 500)
        failed.push(`${operation.name} with ${id.slice(0, 20)}: ${status} ${answer?.code}`);
    }
  }
  assert.deepEqual(failed, []);
});

test('a huge body is refused by every route', async () => {
  const failed: string[] = [];
  const huge = { text: 'x'.repeat(3_000_000) };
  for (const operation of operations) {
    if (operation.body === null) continue;
    const { path } = sampleRequest(scene, operation);
    const { status } = await control.call(operation.method, path, huge, scene.tokenOf('owner'));
    // Some take more than others, and look at names before they read.
    if (status !== 413 && status !== 403 && status !== 400) failed.push(`${operation.name}: ${status}`);
  }
  assert.deepEqual(failed, []);
});
