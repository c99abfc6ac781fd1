// Handles of the host guessed by number: keys and compressors of others.
import { attacker, type Attack } from '#test/setup/hostile.ts';

export default {
  kind: 'escape',
  worker: attacker(
    `const hooks = globalThis[Symbol.for('platform.node')]; const got = []; for (let handle = 1; handle < 50; handle++) for (const op of ['hash.update', 'hash.digest', 'hmac.digest', 'cipher.update', 'sign', 'key.export', 'push', 'flush']) for (const kind of ['crypto', 'zlib']) { try { const { value } = hooks[kind]({ op, handle, id: handle, key: handle, last: true }, []); if (value?.error === undefined) got.push(value); } catch {} } return new Response('got ' + got.length);`,
  ),
  attack: ({ get }) => get(),
  expect: '200 got 0',
} satisfies Attack;
