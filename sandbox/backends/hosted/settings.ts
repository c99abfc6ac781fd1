// The variables of a hosted provider (docs/sandbox-provider.md), read once when the sandbox service starts with
// SANDBOX_PROVIDER=hosted. Missing or invalid values are refused by name, with the fix. Pure.
import { isIP } from 'node:net';
import { parseInteger } from '#core/parse-integer.ts';

/** The template of machines. */
export interface PinnedTemplate {
  /** Null means the provider's default. */
  readonly template: string | null;
  /** Machines are refused if the template is at another snapshot; null means any snapshot. */
  readonly snapshotId: string | null;
}

/** `HOSTED_*` and `SANDBOX_AI_URL`; `template` and `snapshotId`: `HOSTED_TEMPLATE`, `HOSTED_TEMPLATE_SNAPSHOT_ID`. */
export interface HostedSettings extends PinnedTemplate {
  /** `HOSTED_BASE_URL`, without a trailing slash. */
  readonly baseUrl: string;
  /** `HOSTED_API_KEY`. */
  readonly apiKey: string;
  /** `HOSTED_ORG`. */
  readonly organization: string;
  /**
   * `BUILD_SANDBOX_TEMPLATE` and its pinned snapshot, for build sandboxes; null means the template of all other
   * sandboxes.
   */
  readonly builds: PinnedTemplate | null;
  /** `HOSTED_MACHINE_TYPE`. */
  readonly machineType: 'small' | 'default' | 'large';
  /** `HOSTED_TTL_SECONDS`; 0: never. */
  readonly ttlSeconds: number;
  /** `HOSTED_REQUIRE_SCOPED_KEY`. */
  readonly requiresScopedKey: boolean;
  /** `SANDBOX_AI_URL`. */
  readonly aiUrl: string;
}

const MACHINE_TYPES = ['small', 'default', 'large'] as const;
const TTL_SECONDS_MAX = 30 * 86_400;

/** @throws {Error} that names the variable, its value and the accepted values; never the value of the key. */
export function hostedSettings(environment: Readonly<Record<string, string | undefined>>): HostedSettings {
  const get = (name: string): string => environment[name]?.trim() ?? '';
  const missing = ['HOSTED_API_KEY', 'HOSTED_ORG', 'HOSTED_BASE_URL', 'SANDBOX_AI_URL'].filter(
    (name) => get(name) === '',
  );
  if (missing.length > 0) throw new Error(`SANDBOX_PROVIDER=hosted needs ${missing.join(', ')}`);
  const machineType = get('HOSTED_MACHINE_TYPE') || 'default';
  if (!isMachineType(machineType))
    throw new Error(`HOSTED_MACHINE_TYPE is "${machineType}": it must be one of ${MACHINE_TYPES.join(', ')}`);
  const scoped = get('HOSTED_REQUIRE_SCOPED_KEY') || 'false';
  if (scoped !== 'true' && scoped !== 'false')
    throw new Error(`HOSTED_REQUIRE_SCOPED_KEY is "${scoped}": it must be true or false`);
  const template = get('HOSTED_TEMPLATE') || null;
  const snapshotId = get('HOSTED_TEMPLATE_SNAPSHOT_ID') || null;
  if (template === null && snapshotId !== null)
    throw new Error('HOSTED_TEMPLATE_SNAPSHOT_ID pins a template: set HOSTED_TEMPLATE, or unset both');
  const buildTemplate = get('BUILD_SANDBOX_TEMPLATE') || null;
  const buildSnapshotId = get('BUILD_SANDBOX_TEMPLATE_SNAPSHOT_ID') || null;
  if (buildTemplate === null && buildSnapshotId !== null)
    throw new Error('BUILD_SANDBOX_TEMPLATE_SNAPSHOT_ID pins a template: set BUILD_SANDBOX_TEMPLATE, or unset both');
  return {
    baseUrl: providerUrl(get('HOSTED_BASE_URL')),
    apiKey: get('HOSTED_API_KEY'),
    organization: get('HOSTED_ORG'),
    template,
    snapshotId,
    builds: buildTemplate === null ? null : { template: buildTemplate, snapshotId: buildSnapshotId },
    machineType,
    ttlSeconds: parseInteger('HOSTED_TTL_SECONDS', get('HOSTED_TTL_SECONDS') || '86400', { most: TTL_SECONDS_MAX }),
    requiresScopedKey: scoped === 'true',
    aiUrl: publicUrl(get('SANDBOX_AI_URL')),
  };
}

/** `HOSTED_BASE_URL`. @throws {Error} when a key would be sent over plain HTTP. */
export function providerUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url?.protocol !== 'https:' || url.username !== '' || url.search !== '' || url.hash !== '')
    throw new Error(
      `HOSTED_BASE_URL must be an https address without a key or a query, but is "${withoutPassword(text)}"`,
    );
  return url.href.replace(/\/+$/, '');
}

/** Hosted machines reach this URL over the Internet. */
function publicUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url?.protocol !== 'https:' || isInternal(url.hostname))
    throw new Error(
      `SANDBOX_AI_URL must be the public https address of the API's /ai (https://api.example.com/ai), but is "${withoutPassword(text)}"`,
    );
  return url.href.replace(/\/+$/, '');
}

/** Whether a host is an address, which has no certificate, a name without a dot, or a name of a private network. */
function isInternal(host: string): boolean {
  if (isIP(host.replace(/^\[|\]$/g, '')) !== 0 || !host.includes('.')) return true;
  return /\.(?:localhost|local|internal|lan|home|test|invalid)\.?$/.test(host);
}

function isMachineType(text: string): text is HostedSettings['machineType'] {
  return (MACHINE_TYPES as readonly string[]).includes(text);
}

function withoutPassword(text: string): string {
  return text.replace(/\/\/[^/@]*@/, '//...@');
}
