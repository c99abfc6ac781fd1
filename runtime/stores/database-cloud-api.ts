// The management API of a libSQL cloud: finds the database of a project, and creates it and its group if necessary.
// Called by database-cloud.ts. The API token is only sent to that API.
import { createHash } from 'node:crypto';
import { PlatformError } from '#core/errors.ts';
import { parseInteger } from '#core/parse-integer.ts';
import type { DatabasePlace } from '../engine/bindings/scope.ts';

/** `DBCLOUD_*` (docs/database.md). */
export interface DatabaseCloudSettings {
  /** `DBCLOUD_API_URL`. */
  readonly apiUrl: string;
  /** `DBCLOUD_ORGANIZATION`. */
  readonly organization: string;
  /** `DBCLOUD_GROUP_NAME`. */
  readonly group: string;
  /** `DBCLOUD_PRIMARY_LOCATION`. */
  readonly location: string;
  /** `DBCLOUD_DATABASE_PREFIX`. */
  readonly prefix: string;
  /** `DBCLOUD_API_TOKEN`. */
  readonly apiToken: string;
  /** `DBCLOUD_GROUP_AUTH_TOKEN`: grants access to the databases of the group. */
  readonly groupToken: string;
  /** `DBCLOUD_PITR_RETENTION_DAYS`: how far in the past a branch may start; null if the cloud decides. */
  readonly retentionDays: number | null;
}

const required = [
  'DBCLOUD_ORGANIZATION',
  'DBCLOUD_GROUP_NAME',
  'DBCLOUD_PRIMARY_LOCATION',
  'DBCLOUD_DATABASE_PREFIX',
  'DBCLOUD_API_TOKEN',
  'DBCLOUD_GROUP_AUTH_TOKEN',
] as const;

/**
 * The settings of an environment.
 *
 * @throws {Error} naming every missing or invalid variable; never a value of a token.
 */
export function databaseCloudSettings(
  environment: Readonly<Record<string, string | undefined>>,
): DatabaseCloudSettings {
  const missing = required.filter((name) => (environment[name] ?? '') === '');
  if (missing.length > 0) throw new Error(`DB_STORAGE_MODE=managed-cloud needs ${missing.join(', ')}`);
  const value = (name: string): string => environment[name] as string;
  const prefix = value('DBCLOUD_DATABASE_PREFIX');
  if (!/^[a-z0-9][a-z0-9-]{0,19}$/.test(prefix)) {
    throw new Error(
      `DBCLOUD_DATABASE_PREFIX must be at most 20 lower-case letters, digits and hyphens, but is "${prefix}"`,
    );
  }
  const apiUrl = environment['DBCLOUD_API_URL'] || 'https://api.turso.tech';
  if (!URL.canParse(apiUrl) || !/^https?:/.test(apiUrl))
    throw new Error(`DBCLOUD_API_URL must be an address, but is "${apiUrl}"`);
  const days = environment['DBCLOUD_PITR_RETENTION_DAYS'] || null;
  return {
    apiUrl: apiUrl.replace(/\/+$/, ''),
    organization: value('DBCLOUD_ORGANIZATION'),
    group: value('DBCLOUD_GROUP_NAME'),
    location: value('DBCLOUD_PRIMARY_LOCATION'),
    prefix,
    apiToken: value('DBCLOUD_API_TOKEN'),
    groupToken: value('DBCLOUD_GROUP_AUTH_TOKEN'),
    retentionDays: days === null ? null : parseInteger('DBCLOUD_PITR_RETENTION_DAYS', days, { least: 1, most: 9999 }),
  };
}

/** The name of a database in the cloud: readable, unique, of letters, digits and hyphens, at most 64. */
export function cloudName(prefix: string, { namespace, resource }: DatabasePlace): string {
  const hash = createHash('sha256').update(`${namespace}/${resource}`).digest('hex').slice(0, 10);
  const words = `${namespace}-${resource}`.replace(/[^a-z0-9]+/g, '-').slice(0, 64 - prefix.length - hash.length - 2);
  return `${prefix}-${words}-${hash}`.replace(/-{2,}/g, '-');
}

/** The initial content of a new database. */
interface CloudSeed {
  readonly type: 'database';
  readonly name: string;
  /** A time in the past. */
  readonly timestamp?: string;
}

export interface DatabaseCloudApi {
  /** Returns the address of a database, which is created if necessary. */
  addressOf(place: DatabasePlace): Promise<string>;
  /** Creates a database. @throws {PlatformError} `conflict` when it already exists. */
  create(place: DatabasePlace, seed: CloudSeed): Promise<string>;
  remove(place: DatabasePlace): Promise<boolean>;
}

const TIMEOUT_MS = 30_000;

export function createDatabaseCloudApi(settings: DatabaseCloudSettings): DatabaseCloudApi {
  const { apiUrl, apiToken, organization, group, location, prefix } = settings;
  const root = `${apiUrl}/v1/organizations/${encodeURIComponent(organization)}`;
  const addresses = new Map<string, Promise<string>>();

  async function ask(
    method: string,
    path: string,
    body?: unknown,
  ): Promise<{ status: number; value: Record<string, unknown> }> {
    let response: Response;
    try {
      response = await fetch(root + path, {
        method,
        headers: { authorization: `Bearer ${apiToken}`, 'content-type': 'application/json' },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        signal: AbortSignal.timeout(TIMEOUT_MS),
        redirect: 'error',
      });
    } catch {
      throw new PlatformError('database_unavailable', { reason: 'the database cloud does not answer' });
    }
    const text = await response.text();
    let value: Record<string, unknown> = {};
    try {
      value = JSON.parse(text) as Record<string, unknown>;
    } catch {
      // The response is an error page, of which the status is sufficient.
    }
    return { status: response.status, value };
  }

  function refused(what: string, status: number, value: Record<string, unknown>): PlatformError {
    const said = typeof value['error'] === 'string' ? `: ${value['error'].slice(0, 200)}` : '';
    return new PlatformError('database_unavailable', {
      reason: `the database cloud answered ${what} with status ${status}${said}`,
    });
  }

  function toAddress(value: Record<string, unknown>): string {
    const { Hostname, hostname } = (value['database'] ?? {}) as { Hostname?: unknown; hostname?: unknown };
    const host = Hostname ?? hostname;
    if (typeof host !== 'string' || host === '') {
      throw new PlatformError('database_unavailable', { reason: 'the database cloud returned no address' });
    }
    return `${new URL(apiUrl).protocol}//${host}`;
  }

  async function make(name: string, seed?: CloudSeed): Promise<{ status: number; value: Record<string, unknown> }> {
    const body = { name, group, ...(seed === undefined ? {} : { seed }) };
    const made = await ask('POST', '/databases', body);
    const isGroupMissing = (made.status === 400 || made.status === 404) && /group/i.test(String(made.value['error']));
    if (!isGroupMissing) return made;
    const grouped = await ask('POST', '/groups', { name: group, location });
    if (grouped.status >= 400 && grouped.status !== 409)
      throw refused('the creation of its group', grouped.status, grouped.value);
    return ask('POST', '/databases', body);
  }

  async function find(place: DatabasePlace): Promise<string> {
    const name = cloudName(prefix, place);
    const found = await ask('GET', `/databases/${name}`);
    if (found.status === 200) return toAddress(found.value);
    if (found.status !== 404) throw refused('the lookup of a database', found.status, found.value);
    const made = await make(name);
    // Another engine may have created the database first.
    if (made.status === 409) return toAddress((await ask('GET', `/databases/${name}`)).value);
    if (made.status >= 400) throw refused('the creation of a database', made.status, made.value);
    return toAddress(made.value);
  }

  return {
    addressOf(place) {
      const name = cloudName(prefix, place);
      let address = addresses.get(name);
      if (address === undefined) {
        address = find(place);
        addresses.set(name, address);
        address.catch(() => addresses.delete(name));
      }
      return address;
    },
    async create(place, seed) {
      const made = await make(cloudName(prefix, place), seed);
      if (made.status === 409)
        throw new PlatformError('conflict', { reason: 'A database of that name already exists' });
      if (made.status >= 400) throw refused('the creation of a database', made.status, made.value);
      return toAddress(made.value);
    },
    async remove(place) {
      const name = cloudName(prefix, place);
      addresses.delete(name);
      const removed = await ask('DELETE', `/databases/${name}`);
      if (removed.status >= 400 && removed.status !== 404)
        throw refused('the removal of a database', removed.status, removed.value);
      return removed.status !== 404;
    },
  };
}
