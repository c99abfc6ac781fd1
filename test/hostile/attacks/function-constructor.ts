// Code from text sees nothing that a worker does not.
import { attacker, type Attack } from '#test/setup/hostile.ts';

export default {
  kind: 'escape',
  worker: attacker(
    `const run = (text) => { try { return String(Function(text)()); } catch (error) { return error.name; } }; return new Response([run('return typeof process'), run('return typeof require'), run('return typeof module'), run('return typeof ivm'), (0, eval)('typeof globalThis.connect'), (0, eval)('typeof globalThis["platform:begin"]')].join());`,
  ),
  attack: ({ get }) => get(),
  expect: '200 undefined,undefined,undefined,undefined,undefined,undefined',
} satisfies Attack;
