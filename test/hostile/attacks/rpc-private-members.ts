// Reaches for what an entrypoint does not offer: its environment, its fields, its constructor, Object.prototype, the
// stubs of an invocation that has ended.
import { attacker, type Attack } from '#test/setup/hostile.ts';

export default {
  kind: 'escape',
  worker: attacker(
    `const { Guarded } = ctx.exports;
    const names = ['env', 'ctx', 'secret', 'constructor', '__proto__', '__defineGetter__', '__lookupGetter__', 'valueOf'];
    const reached = [];
    const stub = await Guarded.open();
    for (const name of names) {
      for (const to of [stub, Guarded.open()]) {
        const value = await Promise.resolve(to[name]).then((x) => x, () => 'refused');
        if (value !== 'refused') reached.push(name);
      }
    }
    for (const path of ['constructor.constructor', 'open.constructor', '__proto__.open']) {
      const [first, second] = path.split('.');
      const value = await Promise.resolve(stub[first][second]('return this')).then((x) => x, () => 'refused');
      if (value !== 'refused') reached.push(path);
    }
    if (globalThis.kept !== undefined) {
      const value = await Promise.resolve(globalThis.kept.open()).then(() => 'reached', () => 'refused');
      if (value !== 'refused') reached.push('kept');
    }
    globalThis.kept = stub;
    return new Response(reached.length === 0 ? 'nothing' : reached.join(' '));`,
    `import { RpcTarget, WorkerEntrypoint } from 'cloudflare:workers';
    class Inner extends RpcTarget { secret = 'secret'; open() { return 1; } }
    export class Guarded extends WorkerEntrypoint { secret = 'secret'; open() { return new Inner(); } }`,
  ),
  environment: { WORKER_CPU_LIMIT_MS_FREE: '2000' },
  attack: ({ flood }) => flood('/attack', { clients: 1, ms: 1000, waitMs: 20_000 }),
  expect: '200 nothing',
} satisfies Attack;
