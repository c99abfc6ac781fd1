// A visitor who wants to read what a worker threw, as a developer would: with the page of a browser, under names of
// this machine.
import { attacker, type Attack } from '#test/setup/hostile.ts';

export default {
  kind: 'tenancy',
  worker: attacker(`throw new TypeError('password is hunter2');`),
  async attack({ raw }) {
    const seen = new Set<string>();
    for (const accept of ['text/html', '*/*', 'text/html,application/xhtml+xml;q=0.9']) {
      for (const path of ['/attack', '/attack?debug=1', '/_platform/dev/changes']) {
        const answer = await raw(
          `GET ${path} HTTP/1.1\r\nhost: attacker.localhost\r\naccept: ${accept}\r\nconnection: close\r\n\r\n`,
          300,
        );
        const told = /hunter2|TypeError|worker\.js|src\/|event-stream|<pre|<script/i.test(answer);
        seen.add(`${answer.slice(9, 12)} ${told ? 'told' : 'silent'}`);
      }
    }
    return [...seen].toSorted().join(', ');
  },
  expect: '200 silent, 500 silent',
} satisfies Attack;
