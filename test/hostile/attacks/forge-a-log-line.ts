// Getters and setters on built-in prototypes that would put records of the bridge in place of numbers: a log line, an
// answer, credit.
import { attacker, type Attack } from '#test/setup/hostile.ts';

export default {
  kind: 'escape',
  worker: attacker(
    `if (url.search === '?end') { console.log('THE END'); return new Response('fine'); }
    const evil = '1\\u0001\\u0002L\\u00010\\u0001error\\u0001"FORGED"\\u0001\\u0002k\\u00011\\u00010';
    const thing = { toString: () => evil, valueOf: () => evil, [Symbol.toPrimitive]: () => evil };
    const bytes = Object.getPrototypeOf(Uint8Array.prototype);
    const kept = ['byteLength', 'length'].map((name) => [name, Object.getOwnPropertyDescriptor(bytes, name)]);
    const { trunc } = Math; const { define } = { define: Object.defineProperty };
    const keys = ['used', 'limit', 'account', 'stores', '0', '1', '2'];
    const reader = request.body.getReader();
    await scheduler.wait(50);
    let response;
    for (const give of [evil, thing]) {
      let read;
      for (const [name] of kept) define(bytes, name, { configurable: true, get() { return give; } });
      for (const key of keys) define(Object.prototype, key, { configurable: true, get() { return undefined; }, set(value) { define(this, key, { value, writable: true, configurable: true, enumerable: true }); } });
      Math.trunc = () => give;
      try { read = reader.read(); } catch {}
      try { response = new Response('x', { status: 200 }); } catch {}
      Math.trunc = trunc;
      for (const key of keys) delete Object.prototype[key];
      for (const [name, original] of kept) define(bytes, name, original);
      await Promise.race([read, scheduler.wait(50)]).catch(() => {});
    }
    return response;`,
  ),
  async attack({ get, platform }) {
    await get('/attack', { method: 'POST', body: 'x'.repeat(200_000), waitMs: 3000 });
    const answer = await get('/attack?end');
    const first = await platform.logged((line) => /FORGED|THE END/.test(JSON.stringify(line)));
    return JSON.stringify(first).includes('FORGED') ? 'a forged log line' : answer;
  },
  expect: '200 fine',
} satisfies Attack;
