// Ids of the control plane's records: a prefix that says what it is, and twenty random characters. Pure.
import { createHash, randomBytes, randomInt } from 'node:crypto';

const prefixes = {
  organization: 'org',
  account: 'usr',
  project: 'prj',
  repository: 'rep',
  token: 'tok',
  variable: 'var',
  domain: 'dom',
  webhook: 'whk',
  webhookDelivery: 'whd',
  deployHook: 'hok',
  drain: 'drn',
  alertRule: 'alr',
  alertChannel: 'alc',
  alertEvent: 'ale',
  alertDelivery: 'ald',
  aiProvider: 'aip',
  invitation: 'inv',
  upload: 'upl',
  migrationRun: 'mgr',
} as const;

const text = (length: number): string => Array.from({ length }, () => randomInt(36).toString(36)).join('');

/** @example newId('project') // 'prj_4m1k8...' */
export function newId(kind: keyof typeof prefixes): string {
  return `${prefixes[kind]}_${text(20)}`;
}

/** Of a deployment: as in route records and hosts. */
export function newDeploymentId(): string {
  return `d${text(12)}`;
}

/**
 * A secret that is given out once, and the hash that is kept of it.
 *
 * @example newSecret('plt') // { secret: 'plt_...', hash }
 */
export function newSecret(prefix: string): { readonly secret: string; readonly hash: Buffer } {
  const secret = `${prefix}_${randomBytes(32).toString('base64url')}`;
  return { secret, hash: hashOf(secret) };
}

/** SHA-256, under which secrets are kept. */
export function hashOf(secret: string): Buffer {
  return createHash('sha256').update(secret).digest();
}
