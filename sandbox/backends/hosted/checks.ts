// Health checks of a hosted provider and its key, run when the service starts and for its status. Called by backend.ts;
// no message includes the key.
import type { SandboxCheck } from '#core/sandbox/service-status.ts';
import type { HostedProvider, ProviderKey } from './provider.ts';
import type { HostedSettings, PinnedTemplate } from './settings.ts';

const DAY_MS = 86_400_000;
const DAYS_SOON = 30;
const ADVICE = 'create a key with only the actions that docs/sandbox-provider.md lists';

/** The permissions that the key should not have, or null. */
export function keyExcess(key: ProviderKey): string | null {
  const what = !key.isScoped
    ? 'HOSTED_API_KEY is not restricted to certain actions'
    : key.actions.includes('snapshot.write')
      ? 'HOSTED_API_KEY may write snapshots, which is only needed to build templates'
      : null;
  return what === null ? null : `${what}; ${ADVICE}`;
}

/** The problem with its expiry, or null. */
export function keyExpiry(key: ProviderKey, now: number): string | null {
  if (key.expiresAt === null) return 'HOSTED_API_KEY never expires: create one that expires within 365 days';
  if (key.expiresAt - now >= DAYS_SOON * DAY_MS) return null;
  return `HOSTED_API_KEY expires on ${new Date(key.expiresAt).toISOString().slice(0, 10)}: create a new one`;
}

/** Null if templates are at their pinned snapshots. */
export async function snapshotMismatch(
  provider: HostedProvider,
  { template, snapshotId }: PinnedTemplate,
  pin = 'HOSTED_TEMPLATE_SNAPSHOT_ID',
): Promise<string | null> {
  if (template === null || snapshotId === null) return null;
  const current = await provider.templateSnapshot(template);
  if (current === snapshotId) return null;
  return `Template ${template} is at snapshot ${current}, and ${pin} pins ${snapshotId}: look at what changed, then pin the new one`;
}

/** Findings, never a failure. */
export async function checkProvider(
  provider: HostedProvider,
  settings: HostedSettings,
  now: number,
): Promise<SandboxCheck[]> {
  const make = 'Run `platform secrets sandbox-key`, and set HOSTED_API_KEY to the key that it prints.';
  try {
    const key = await provider.key();
    const excess = keyExcess(key);
    const expiry = keyExpiry(key, now);
    const mismatch = await snapshotMismatch(provider, settings);
    const host = new URL(settings.baseUrl).host;
    const well: SandboxCheck = { name: 'provider', status: 'ok', message: `${host} answers over HTTPS`, advice: null };
    return [
      well,
      excess === null
        ? { name: 'key', status: 'ok', message: 'HOSTED_API_KEY is restricted to certain actions', advice: null }
        : { name: 'key', status: 'warn', message: excess, advice: make },
      ...(expiry === null ? [] : [{ name: 'key', status: 'warn', message: expiry, advice: make } as const]),
      ...(mismatch === null
        ? []
        : [{ name: 'template', status: 'fail', message: mismatch, advice: 'New sandboxes are refused.' } as const]),
    ];
  } catch (error) {
    const advice = 'Check HOSTED_BASE_URL and HOSTED_API_KEY of the sandbox service.';
    return [{ name: 'provider', status: 'fail', message: (error as Error).message, advice }];
  }
}
