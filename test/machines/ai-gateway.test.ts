// The AI gateway from machines of a hosted provider: from its double, which reaches the gateway of the test.
import { testSandboxAi } from '#test/contract/sandbox-ai.ts';
import { openFakeHostedBackend, startHostedProvider } from '#test/setup/hosted-provider.ts';

testSandboxAi('a hosted provider', async (aiUrl) => {
  const provider = await startHostedProvider();
  const backend = await openFakeHostedBackend(provider);
  // A provider's machines are told what SANDBOX_AI_URL says, which no test can have: a public address.
  return { backend: { ...backend, aiUrl }, close: () => provider.close() };
});
