// One call of ours on as large a buffer as can be had, by resizing, growing, transferring and from a large text.
import { readFileSync } from 'node:fs';
import { attacker, type Attack } from '#test/setup/hostile.ts';

export default {
  kind: 'memory',
  worker: attacker(
    `const said = []; const size = 2 ** 31;
    const calls = [
      () => new ArrayBuffer(1, { maxByteLength: size }), () => new ArrayBuffer(size, { maxByteLength: size }), () => new SharedArrayBuffer(1, { maxByteLength: size }),
      () => { const all = []; for (let i = 0; i < 40; i++) { const one = new ArrayBuffer(1, { maxByteLength: 2 ** 25 }); one.resize(2 ** 25); all.push(one); } },
      () => { const all = []; for (let i = 0; i < 40; i++) all.push(new ArrayBuffer(1, { maxByteLength: 2 ** 25 }).transfer({ valueOf: () => 2 ** 25 })); },
      () => { const text = '\\u20ac'.repeat(2 ** 28); new TextEncoder().encode(text); }, () => btoa('x'.repeat(2 ** 29 - 30)), () => atob('abcd'.repeat(2 ** 27 - 10)),
    ];
    for (const call of calls) { try { call(); said.push('made'); } catch (error) { said.push(error.name); } }
    return new Response(said.join(' '));`,
  ),
  environment: { WORKER_CPU_LIMIT_MS_FREE: '5000' },
  async attack({ get, platform }) {
    const answer = await get();
    const peakMb =
      Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${platform.enginePid}/status`, 'utf8'))?.[1]) / 1024;
    return peakMb > 700 ? `the engine peaked at ${Math.round(peakMb)} MB` : answer;
  },
  expect: '200 RangeError RangeError RangeError RangeError RangeError RangeError RangeError RangeError',
} satisfies Attack;
