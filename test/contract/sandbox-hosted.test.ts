// The contract of sandboxes over a provider of hosted machines: a double that speaks the API of
// docs/sandbox-provider.md.
import { openDoubledBackend, startHostedProvider } from '#test/setup/hosted-provider.ts';
import { testSandboxBackend } from './sandbox.ts';

testSandboxBackend('a hosted provider', async () => {
  const provider = await startHostedProvider();
  const backend = await openDoubledBackend(provider);
  return {
    backend,
    offers: {
      sizes: {
        of: async (_box, key) => provider.all().find(({ name }) => name.endsWith(`-${key}`))!.machineType,
        expected: { none: 'default', small: 'small', default: 'default', large: 'large', xlarge: 'xlarge' },
        refused: { xlarge: /the provider has no machine "xlarge": it has small, default, large$/ },
      },
      image: /machines of a hosted provider are made of its template, and take no image \(tools:3\): leave it out$/,
      egress: /machines of a hosted provider have its network, which egress "none" cannot narrow$/,
      copies: /a hosted provider makes copies by snapshots, which the key of this platform must not write$/,
    },
    async close() {
      await backend.close();
      await provider.close();
    },
  };
});
