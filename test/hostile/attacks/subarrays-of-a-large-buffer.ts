// Ten thousand chunks of one byte, each a view of the same 20 MB: what crosses has to be the byte.
import { attacker, type Attack } from '#test/setup/hostile.ts';

export default {
  kind: 'memory',
  worker: attacker(
    `const big = new Uint8Array(20_000_000); let sent = 0; return new Response(new ReadableStream({ pull(controller) { if (sent === 10_000) controller.close(); else { controller.enqueue(big.subarray(sent, sent + 1)); sent++; } } }));`,
  ),
  attack: async ({ get }) => (await get()).replaceAll('\0', '').trim(),
  expect: '200',
} satisfies Attack;
