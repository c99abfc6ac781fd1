// What becomes of requests that wait behind one that breaks its budget in the same entry.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { defaultLimits } from '#core/limits.ts';
import { startHandler, type TestHandler } from '#test/setup/handler.ts';

let handler: TestHandler;

before(async () => {
  const cpu = { ...defaultLimits.cpu, http: { free: 200, pro: 200, enterprise: 200 } };
  handler = await startHandler(
    {
      turns: `export default { fetch() { globalThis.count = (globalThis.count ?? 0) + 1; if (globalThis.count > 1) for (;;); return new Response('polite'); } };`,
    },
    { cpu },
  );
});
after(() => handler.close());

test('they begin in a fresh isolate rather than in the one that spins', async () => {
  assert.equal((await handler.fetch('turns')).text, 'polite');
  const answers = await Promise.all(Array.from({ length: 8 }, () => handler.fetch('turns')));
  const spun = answers.filter(({ status }) => status === 500).length;
  // Each isolate is polite once. In the first alone, all eight would spin.
  assert.ok(spun >= 1 && spun <= 5, `${spun} of 8 spun`);
  assert.deepEqual([...new Set(answers.filter(({ status }) => status === 200).map(({ text }) => text))], ['polite']);
  assert.deepEqual(
    answers.filter(({ status }) => status !== 200 && status !== 500).map(({ status, text }) => [status, text]),
    [],
  );
});
