// The AI gateway in a process of its own with a small heap, between a hostile provider and test/hostile: what it does
// not bound ends it. Sends where it is, and on every message how much memory it holds.
import { openOutlet } from '#control/gateway/process/send.ts';
import { providerAt, startGateway } from '#test/setup/gateway.ts';

const outlet = openOutlet();
const url = process.argv[2]!;
const gateway = await startGateway({
  send: outlet.send,
  table: { providers: [providerAt(url), providerAt(url, { name: 'own', isPrivate: false })] },
  limits: {
    answerMs: 2000,
    streamIdleMs: 2000,
    retriesMax: 0,
    breakerFailuresMax: 1000,
    eventCharactersMax: 1_000_000,
    answerBytesMax: 4_000_000,
  },
});
process.on('message', () => {
  globalThis.gc!();
  process.send!({ residentBytes: process.memoryUsage.rss() });
});
process.send!({ url: gateway.url, token: gateway.token });
