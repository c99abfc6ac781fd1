// Finds a Git host by name or ID. For `platform git-hosts`.
import type { Api } from '../../account/api.ts';
import { ask } from '../../api/requests.ts';
import { CliError } from '../../terminal/failure.ts';

/** A Git host as the API returns it. */
export interface GitHost {
  readonly id: string;
  readonly kind: string;
  readonly name: string;
  readonly url: string;
  readonly tokenAdvice: string;
  /** The page that connects an account without a token; null if the host has no OAuth application. */
  readonly connectUrl: string | null;
  readonly oauth: { readonly redirectUrl: string; readonly scopes: string; readonly advice: string };
}

/** The argument that means the GitHub App, which is not a Git host with accounts. */
export const GITHUB = 'github';

/** The GitHub App as the API returns it. */
export interface AppStatus {
  readonly source: 'environment' | 'platform' | null;
  readonly url: string | null;
  readonly createUrl: string | null;
  readonly problem: string | null;
}

/** An account on a Git host as the API returns it. */
export interface GitAccount {
  readonly id: string;
  readonly hostId: string;
  readonly hostName: string;
  readonly login: string;
  readonly expiresAt: string | null;
  readonly problem: string | null;
}

/** The hosts that are used with access tokens. */
export async function hostsOf(api: Api): Promise<readonly GitHost[]> {
  return (await ask<{ hosts: readonly GitHost[] }>(api, 'GET', '/git-hosts')).hosts;
}

/** @param word name or ID; case of the name does not matter. @throws {CliError} if not found. */
export async function hostOf(api: Api, word: string): Promise<GitHost> {
  const hosts = await hostsOf(api);
  const found = hosts.find(({ id, name }) => id === word || name.toLowerCase() === word.toLowerCase());
  if (found !== undefined) return found;
  throw new CliError(`There is no Git host "${word}" on ${api.origin}`, {
    exitCode: 2,
    advice:
      hosts.length === 0
        ? 'An operator adds a host with `platform git-hosts add <kind> <name>`.'
        : `Git hosts: ${hosts.map(({ name }) => name).join(', ')}.`,
  });
}
