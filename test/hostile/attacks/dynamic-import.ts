// import() of Node modules, files and data.
import { attacker, type Attack } from '#test/setup/hostile.ts';

export default {
  kind: 'escape',
  worker: attacker(
    `const got = []; for (const name of ['fs', 'node:fs', 'file:///etc/passwd', 'data:text/javascript,export default 1', '/etc/passwd', 'isolated-vm']) { try { const module = await import([name][0]); got.push(name + Object.keys(module)); } catch {} } return new Response('got ' + got.length);`,
  ),
  attack: ({ get }) => get(),
  expect: '200 got 0',
} satisfies Attack;
