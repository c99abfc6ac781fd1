// Options read from Object.prototype by the platform's own code.
import { attacker, type Attack } from '#test/setup/hostile.ts';

export default {
  kind: 'escape',
  worker: attacker(
    `for (const key of ['copy', 'reference', 'timeout', 'result', 'arguments', 'promise', 'status', 'headers', 'stream', 'redirect', 'then', 'signal', 'body', 'mode', 'webSocket']) Object.defineProperty(Object.prototype, key, { configurable: true, get() { return undefined; }, set(value) { Object.defineProperty(this, key, { value, writable: true, configurable: true, enumerable: true }); } }); try { await fetch('http://169.254.169.254/').catch(() => {}); } finally { for (const key of ['copy', 'reference', 'timeout', 'result', 'arguments', 'promise', 'status', 'headers', 'stream', 'redirect', 'then', 'signal', 'body', 'mode', 'webSocket']) delete Object.prototype[key]; } return new Response('fine');`,
  ),
  attack: ({ get }) => get(),
  expect: '200 fine',
} satisfies Attack;
