// What keeps tokens, room and usage: the forms of it share these types, and one suite of tests.
import type { Caller, Ledger, TokenStore, UsageLog, UsageReader, UsageRow } from '../contract/contract.ts';

/** Tokens, and what issues and revokes them. */
export interface TokenRegistry extends TokenStore {
  /**
   * @param expiresAt ms since 1970; null: it lives as long as what it belongs to.
   * @returns the token, which is kept nowhere.
   */
  issue(caller: Caller, expiresAt: number | null): Promise<string>;
  /** All of a deployment; at a rotation, all but `keep`. */
  revokeDeployment(deploymentId: string, keep: string | null): Promise<void>;
  revoke(token: string): Promise<void>;
}

/** Tokens or limits cannot be looked up at the moment. */
export class AccountsAway extends Error {}

/** What a limit is on. */
export type LimitScope = 'organization' | 'project' | 'deployment' | 'key';

/** What a caller may use in a minute, a day or a month by UTC. */
export interface Limit {
  readonly scope: LimitScope;
  readonly of: 'requests' | 'tokens';
  readonly per: 'minute' | 'day' | 'month';
  readonly most: number;
}

/** A limit as an organization sets it for itself, a project or a key. */
export type SetLimit = Omit<Limit, 'scope'>;

/** Limits that apply to a caller. */
export type LimitsOf = (caller: Caller) => readonly Limit[];

/** Usage that can be read again. */
export interface UsageBook extends UsageLog, UsageReader {
  /** The latest ones first. */
  rowsOf(organizationId: string, most: number): Promise<readonly UsageRow[]>;
}

/** One form of the accounts. */
export interface Accounts {
  readonly tokens: TokenRegistry;
  readonly ledger: Ledger;
  readonly usage: UsageBook;
}
