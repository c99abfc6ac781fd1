// A chunk whose memory is taken away between being read from its stream and being sent: the entry cannot be answered.
import { attacker, type Attack } from '#test/setup/hostile.ts';

const worker = attacker(
  `const bytes = new Uint8Array(10); let sent = false;
  return new Response(new ReadableStream({ pull(controller) { if (sent) return; sent = true; controller.enqueue(bytes); Promise.resolve().then(async () => { for (let i = 0; i < 20; i++) await null; bytes.buffer.transfer(); }); } }));`,
);

export default {
  kind: 'cpu',
  worker: { attacker: worker, accomplice: worker },
  attack: async ({ flood }) => flood('/attack', { clients: 1, ms: 1500 }),
  expect: ['200 ECONNRESET', 'ECONNRESET'],
} satisfies Attack;
