// The contract of sandboxes over a provider of hosted machines: a double that speaks the API of
// docs/sandbox-provider.md.
import { openDoubledBackend, startHostedProvider } from '#test/setup/hosted-provider.ts';
import { testSandboxBackend } from './sandbox.ts';

testSandboxBackend('a hosted provider', async () => {
  const provider = await startHostedProvider();
  const backend = await openDoubledBackend(provider);
  return {
    backend,
    async close() {
      await backend.close();
      await provider.close();
    },
  };
});
