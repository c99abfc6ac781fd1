// A module that imports everything it can name.
import { attacker, type Attack } from '#test/setup/hostile.ts';

export default {
  kind: 'escape',
  worker: attacker(
    `const found = Object.getOwnPropertyNames(globalThis).filter((name) => /ivm|native|leave|connect|platform/.test(name)); const symbols = Object.getOwnPropertySymbols(globalThis).map(String).filter((name) => !/toStringTag|platform\\.(node|waitUntil|env|env\\.vars)/.test(name)); return new Response(JSON.stringify([found, symbols]));`,
  ),
  attack: ({ get }) => get(),
  expect: '200 [[],[]]',
} satisfies Attack;
