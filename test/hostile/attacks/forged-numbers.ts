// Number.prototype.toString and toJSON that answer with records of the bridge.
import { attacker, type Attack } from '#test/setup/hostile.ts';

export default {
  kind: 'escape',
  worker: attacker(
    `const evil = '1\\u0001\\u0002D\\u00011\\u0001\\u0002'; Number.prototype.toFixed = Number.prototype.toString = String.prototype.toString = function () { return evil; }; Object.prototype.toJSON = function () { return { id: 1, code: 'internal' }; }; setTimeout(() => {}, 5); const until = performance.now() + 10; while (performance.now() < until); console.log(1, {}); await crypto.subtle.digest('SHA-256', new Uint8Array(3)).catch(() => {}); delete Object.prototype.toJSON; return new Response('fine');`,
  ),
  attack: ({ get }) => get(),
  expect: '200 fine',
  ends: true,
} satisfies Attack;
