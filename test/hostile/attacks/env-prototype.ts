// Writing through the prototypes of env, of requests and of bindings.
import { attacker, type Attack } from '#test/setup/hostile.ts';

export default {
  kind: 'escape',
  worker: attacker(
    `try { env.__proto__.stolen = 1; } catch {} try { ctx.__proto__.waitUntil = () => {}; } catch {} try { request.__proto__.constructor = null; } catch {} try { Object.getPrototypeOf(globalThis).evil = 1; } catch {} return new Response('mine only');`,
  ),
  attack: ({ get }) => get(),
  expect: '200 mine only',
} satisfies Attack;
