// Ids of the control plane's records: a prefix for the kind, and twenty random characters. Pure.
import { randomInt } from 'node:crypto';

const prefixes = {
  organization: 'org',
  account: 'usr',
  project: 'prj',
  repository: 'rep',
  gitHost: 'gho',
  gitAccount: 'gac',
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
  passkey: 'pky',
  upload: 'upl',
  migrationRun: 'mgr',
} as const;

const text = (length: number): string => Array.from({ length }, () => randomInt(36).toString(36)).join('');

/** @example newId('project') // 'prj_4m1k8...' */
export function newId(kind: keyof typeof prefixes): string {
  return `${prefixes[kind]}_${text(20)}`;
}

/** A deployment id, as used in route records and hosts. */
export function newDeploymentId(): string {
  return `d${text(12)}`;
}
