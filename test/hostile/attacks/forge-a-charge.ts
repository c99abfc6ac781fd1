// Setters on Object.prototype for all that an account is made of: a loop is ended while no invocation is known to run,
// and what it is blamed on must neither be stolen nor keep the breach from being told.
import { attacker, type Attack } from '#test/setup/hostile.ts';

export default {
  kind: 'escape',
  worker: attacker(
    `if (url.searchParams.has('stolen')) return new Response(String(stolen.length));
    for (const key of ['used', 'limit', 'account', 'stores', '0', '1', '2']) {
      Object.defineProperty(Object.prototype, key, { configurable: true, get() { return undefined; }, set(value) {
        stolen.push(this);
        for (const name of ['used', 'limit']) Object.defineProperty(this, name, { value: -999968984, writable: true, configurable: true });
      } });
    }
    const text = '[' + '1,'.repeat(2e6) + '1]';
    const registry = (globalThis.registry ??= new FinalizationRegistry(() => { for (;;); }));
    for (let i = 0; i < 100; i++) registry.register({}, i);
    Promise.resolve().then(() => { let big = 3n ** 400_000n; for (;;) big = big * big; });
    return new Response(new ReadableStream({ pull() { for (;;) JSON.parse(text); } }));`,
    'const stolen = [];',
  ),
  async attack({ flood, platform }) {
    const answers = await flood('/attack', { clients: 2, ms: 2000 });
    const state = await platform.state();
    const numbers = JSON.stringify(state).match(/-\d{4,}/g) ?? [];
    return numbers.length > 0 ? `the status holds ${numbers.join(', ')}` : answers.replace(/^200 [^,]*, /, '');
  },
  expect: [
    '500 cpu_limit_exceeded',
    '500 cpu_limit_exceeded, 503 isolate_replaced',
    '503 isolate_replaced',
    '200 , 500 cpu_limit_exceeded',
  ],
} satisfies Attack;
