// The wire of bindings for Node: calls of any form are answered in JSON, with a result or an error, and change nothing
// of what others ask; values of any form come back as they went. FUZZ_SECONDS makes it last, FUZZ_SEED repeats it.
import assert from 'node:assert/strict';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { connect } from '#packages/dev/env.ts';
import { createDashboardProject } from '#test/setup/dashboard-project.ts';
import { startDev, type TestDev } from '#test/setup/dev.ts';
import { createSeededRandom } from '#test/setup/seeded-random.ts';
import { readdirSync, readFileSync } from 'node:fs';

const random = createSeededRandom();
const seconds = Number(process.env['FUZZ_SECONDS'] ?? 2);

let folder: string;
let dev: TestDev;
let address: { readonly url: string; readonly token: string };

before(async () => {
  folder = await createDashboardProject({ 'src/index.ts': `export default { fetch: () => new Response('up') };` });
  dev = await startDev(folder);
  await dev.printed(/Dashboard http/);
  const state = join(folder, '.platform/dev');
  const file = readdirSync(state).find((name) => name.startsWith('mock-server-'))!;
  address = JSON.parse(readFileSync(join(state, file), 'utf8')) as typeof address;
});
after(async () => {
  await dev.close();
  await rm(folder, { recursive: true, force: true });
});

async function ask(body: string | Uint8Array, headers: Readonly<Record<string, string>> = {}): Promise<Response> {
  return fetch(`${address.url}/rpc`, {
    method: 'POST',
    body: body as never,
    headers: { authorization: `Bearer ${address.token}`, ...headers },
  });
}

const words = ['DB', 'KV', 'JOBS', 'FILES', 'vars', '__proto__', 'constructor', 'get', 'put', 'prepare', 'batch', 'transaction', 'toString', 'all', 'bind', 'first', 'list', 'send', '', 'SELECT 1', '$bytes', '$date', '$map', '$set', '$bigint', '$number', '$undefined', '$function', '$object', '$headers', '$request', '$binding', '$statement', '$body', '\0', '\ud800', 'x'.repeat(5000)] as const; // prettier-ignore

function anything(depth: number): unknown {
  switch (random.below(depth > 4 ? 4 : 8)) {
    case 0:
      return random.pick(words);
    case 1:
      return random.pick([0, -1, 1.5, 2 ** 53, null, true, -0]);
    case 2:
      return random.text(words, 3);
    case 3:
      return {};
    case 4:
      return Array.from({ length: random.below(4) }, () => anything(depth + 1));
    case 5:
      return { [random.pick(words)]: anything(depth + 1) };
    default:
      return Object.fromEntries(
        Array.from({ length: random.below(4) }, () => [random.pick(words), anything(depth + 1)]),
      );
  }
}

function call(): unknown {
  const next = Array.from({ length: random.below(3) }, () =>
    random.below(4) === 0 ? anything(2) : { method: random.pick(words), args: anything(3) },
  );
  return random.below(5) === 0
    ? anything(0)
    : {
        binding: random.below(6) === 0 ? anything(3) : random.pick(['DB', 'KV', 'JOBS', 'FILES']),
        method: random.pick(words),
        args: random.below(3) === 0 ? anything(2) : [anything(2), anything(2)],
        ...(random.below(2) === 0 && { next }),
        ...(random.below(12) === 0 && { transaction: true }),
      };
}

test(`calls of any form are answered, and the next call is answered as ever (seed ${random.seed})`, async () => {
  const until = performance.now() + seconds * 1000;
  let count = 0;
  // On a busy machine too, as many as are looked at between.
  while (count < 100 || performance.now() < until) {
    const text = JSON.stringify(call());
    const broken = random.below(5) === 0 ? text.slice(0, random.below(text.length)) : text;
    const inHeader = random.below(4) === 0 && broken.length < 4000;
    const response = inHeader
      ? await ask(random.text(words, 3), { 'x-platform-call': Buffer.from(broken).toString('base64url') })
      : await ask(broken);
    const said = await response.text();
    assert.ok([200, 400].includes(response.status), `${response.status} ${said.slice(0, 300)} to ${broken}`);
    const last = said.trim().split('\n').at(-1)!;
    assert.doesNotThrow(() => JSON.parse(last), `${last.slice(0, 300)} to ${broken}`);
    if (++count % 50 === 0)
      assert.deepEqual(
        await (await ask(JSON.stringify({ binding: 'KV', method: 'get', args: ['never put'] }))).json(),
        { result: null },
        broken,
      );
  }
});

test('what is nested without end is refused, and ends nothing', async () => {
  for (const args of [
    `${'['.repeat(200_000)}${']'.repeat(200_000)}`,
    `${'{"a":'.repeat(100_000)}1${'}'.repeat(100_000)}`,
  ]) {
    const response = await ask(`{"binding":"KV","method":"put","args":${args}}`);
    assert.equal(response.status, 400);
    await response.body?.cancel();
  }
  assert.equal((await ask('{"binding":"KV","method":"get","args":["a"]}')).status, 200);
});

test(`values of any form come back as they went (seed ${random.seed})`, async () => {
  const env = (await connect(address)) as {
    KV: { setJSON(key: string, value: unknown): Promise<void>; getJSON(key: string): Promise<unknown> };
  };
  for (let round = 0; round < 100; round++) {
    const value = JSON.parse(
      JSON.stringify(anything(0)).replaceAll('__proto__', 'proto').replaceAll('\\ud800', '?'),
    ) as unknown;
    await env.KV.setJSON('any', value);
    assert.deepEqual(await env.KV.getJSON('any'), value, JSON.stringify(value));
  }
});
