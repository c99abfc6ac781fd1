// A SharedArrayBuffer that grows.
import { attacker, type Attack } from '#test/setup/hostile.ts';

export default {
  kind: 'memory',
  worker: attacker(
    `try { const buffer = new SharedArrayBuffer(1, { maxByteLength: 2 ** 30 }); const view = new Uint8Array(buffer); for (let size = 1e6; size < 2 ** 30; size += 2e7) { buffer.grow(size); view.fill(1); } return new Response('got ' + buffer.byteLength); } catch (error) { return new Response(String(error)); }`,
  ),
  environment: { WORKER_CPU_LIMIT_MS_FREE: '2000' },
  attack: ({ flood }) => flood('/attack', { clients: 1, ms: 1500 }),
  expect: '200 RangeError: Array buffer allocation failed',
  growthMbMax: 200,
} satisfies Attack;
