// Writing through the prototypes of env, of requests and of bindings.
import { attacker, type Attack } from '#test/setup/hostile.ts';

export default {
  kind: 'escape',
  worker: attacker(
    `env.__proto__.stolen = 1; ctx.__proto__.waitUntil = () => {}; request.__proto__.constructor = null; Object.getPrototypeOf(globalThis).evil = 1; return new Response('mine only');`,
  ),
  attack: ({ get }) => get(),
  expect: '200 mine only',
} satisfies Attack;
