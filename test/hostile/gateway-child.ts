// The AI gateway in a process of its own with a small heap, between a hostile provider and test/hostile: what it does
// not bound ends it. Two of them: one waits long, so that no slow machine is taken for a provider that hangs. Sends
// where they are, and on every message how much memory the process holds.
import { openOutlet } from '#gateway/process/send.ts';
import { providerAt, startGateway } from '#test/setup/gateway.ts';

const outlet = openOutlet();
const url = process.argv[2]!;
const gatewayOf = (waitMs: number): ReturnType<typeof startGateway> =>
  startGateway({
    send: outlet.send,
    table: { providers: [providerAt(url), providerAt(url, { name: 'own', isPrivate: false })] },
    limits: {
      answerMs: waitMs,
      streamIdleMs: waitMs,
      retriesMax: 0,
      breakerFailuresMax: 1000,
      eventCharactersMax: 1_000_000,
      answerBytesMax: 4_000_000,
    },
  });
const [hasty, patient] = await Promise.all([gatewayOf(1000), gatewayOf(120_000)]);
process.on('message', () => {
  globalThis.gc!();
  process.send!({ residentBytes: process.memoryUsage.rss() });
});
process.send!([hasty, patient].map(({ url, token }) => ({ url, token })));
