// Handles of the host guessed by number: keys and compressors of others.
import { attacker, type Attack } from '#test/setup/hostile.ts';

export default {
  kind: 'escape',
  worker: attacker(
    `const hooks = globalThis[Symbol.for('platform.node')]; const got = []; for (let handle = 1; handle < 50; handle++) { try { got.push(hooks.crypto({ op: 'hash.digest', handle, id: handle, key: handle }, [])); } catch {} try { got.push(hooks.zlib({ op: 'flush', handle, id: handle }, [])); } catch {} } return new Response('got ' + got.length);`,
  ),
  attack: ({ get }) => get(),
  expect: '200 got 0',
} satisfies Attack;
