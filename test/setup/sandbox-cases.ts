// Kinds of machines for sandboxes that need no container engine, for the contract of backends and the table of calls.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createLocalBackend } from '#sandbox/backends/local/local.ts';
import type { OfferedCase } from '#test/contract/sandbox.ts';
import { openFakeHostedBackend, startHostedProvider } from './hosted-provider.ts';

export async function openLocalCase(): Promise<OfferedCase> {
  const folder = mkdtempSync(path.join(tmpdir(), 'sandboxes-test-'));
  const backend = createLocalBackend({
    folder: path.join(folder, 'boxes'),
    environment: process.env,
    why: '',
    warn: () => {},
  });
  return {
    backend,
    offers: { sizes: null, image: null, egress: null, copies: true },
    async close() {
      await backend.close();
      rmSync(folder, { recursive: true });
    },
  };
}

export async function openHostedCase(): Promise<OfferedCase> {
  const provider = await startHostedProvider();
  const backend = await openFakeHostedBackend(provider);
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
}
