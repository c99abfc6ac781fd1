// Creates the sandbox service's key: restricted to the actions it needs, with an expiry. Called by `platform secrets
// sandbox-key` with an administrator's key, which is not stored.
import { isDeepStrictEqual } from 'node:util';
import { Failure, isFailure } from '#core/failure.ts';
import { openProviderCalls, record, strings, text, unreadable } from './provider-calls.ts';

/** Options of the key. */
interface ScopedKeyDeps {
  /** `HOSTED_BASE_URL`, without a trailing slash. */
  readonly baseUrl: string;
  /** `HOSTED_ADMIN_KEY`. */
  readonly adminKey: string;
  /** `HOSTED_ORG`. */
  readonly organization: string;
  /** Name of the key at the provider. */
  readonly name: string;
  readonly days: number;
  /** Whether machines start from a template, whose snapshot has to be read. */
  readonly hasTemplate: boolean;
  readonly now?: number;
  readonly certificateAuthority?: string;
  readonly retryMs?: number;
}

/** A key, which the provider shows only once. */
export interface ScopedKey {
  readonly name: string;
  readonly key: string;
  readonly actions: readonly string[];
  readonly expiresAt: string;
}

const ACTIONS = [
  'sandbox.create',
  'sandbox.read',
  'sandbox.update',
  'sandbox.resume',
  'sandbox.stop',
  'sandbox.delete',
  'exec',
  'file.read',
  'file.write',
  'account.read',
];
const ANSWER_MS = 30_000;
/** The provider answers 503 while it changes credentials: retried for half a minute. */
const ATTEMPTS = 8;
const RETRY_MS = 500;
const DAY_MS = 86_400_000;

/**
 * @throws {Failure} `sandbox_provider` also when the created key has more permissions or a later expiry than requested;
 * it is not shown then.
 */
export async function makeScopedKey(deps: ScopedKeyDeps): Promise<ScopedKey> {
  const { baseUrl, adminKey, organization, name, days, hasTemplate, now = Date.now() } = deps;
  const calls = openProviderCalls({
    baseUrl,
    apiKey: adminKey,
    keyName: 'HOSTED_ADMIN_KEY',
    answerMs: ANSWER_MS,
    attempts: ATTEMPTS,
    retryMs: deps.retryMs ?? RETRY_MS,
    ...(deps.certificateAuthority === undefined ? {} : { certificateAuthority: deps.certificateAuthority }),
  });
  const actions = hasTemplate ? [...ACTIONS, 'snapshot.read'] : ACTIONS;
  const expiresAt = new Date(now + days * DAY_MS).toISOString();
  const target = `/v1/organizations/${encodeURIComponent(organization)}/keys`;
  try {
    const answer = record(await calls.call('POST', target, { name, actions, expiresAt }), target);
    const key = text(answer['key'], target);
    if (!/^[\x21-\x7e]{8,4096}$/.test(key)) throw unreadable(target);
    const may = strings(answer['actions']).toSorted();
    const ends = Date.parse(String(answer['expiresAt']));
    if (!isDeepStrictEqual(may, actions.toSorted()) || !(ends <= Date.parse(expiresAt) + DAY_MS))
      throw new Failure(
        'sandbox_provider',
        `the provider made another key than it was asked for (${may.join(', ') || 'any action'}; until ${String(answer['expiresAt'])}): delete ${name} there`,
        { status: 0 },
      );
    return { name, key, actions, expiresAt: new Date(ends).toISOString() };
  } catch (error) {
    if (isFailure(error, 'sandbox_provider') && error.status === 409)
      throw new Failure(
        'sandbox_provider',
        `the provider has a key ${name} already: give another --name, or delete it there`,
        { status: 409 },
      );
    throw error;
  } finally {
    await calls.close();
  }
}
