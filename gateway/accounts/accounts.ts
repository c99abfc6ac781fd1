// Types of the stores for tokens, limits and usage. The memory and Postgres implementations share this interface and
// one test suite.
import type { Caller, Ledger, TokenStore, UsageLog, UsageReader, UsageRow } from '../contract/contract.ts';

/** Issues, looks up and revokes tokens. */
export interface TokenRegistry extends TokenStore {
  /**
   * @param expiresAt ms since 1970; null if the token is valid as long as its owner exists.
   * @returns the token, which is not stored.
   */
  issue(caller: Caller, expiresAt: number | null): Promise<string>;
  /** Revokes all tokens of a deployment except `keep`, the new token of a rotation. */
  revokeDeployment(deploymentId: string, keep: string | null): Promise<void>;
  revoke(token: string): Promise<void>;
}

/** The scope of a limit. */
export type LimitScope = 'organization' | 'project' | 'deployment' | 'key';

/** Limits per minute, day or month (UTC). */
export interface Limit {
  readonly scope: LimitScope;
  readonly of: 'requests' | 'tokens' | 'cost';
  readonly per: 'minute' | 'day' | 'month';
  /** The maximum. For `cost`, the maximum is in millionths of the price table's currency. */
  readonly most: number;
}

/** A limit that an organization sets for itself, a project or a key. For `cost`, `most` is in units of the currency. */
export type SetLimit = Omit<Limit, 'scope'>;

/** Limits that apply to a caller. */
export type LimitsOf = (caller: Caller) => readonly Limit[];

/** Usage records that can be queried. */
export interface UsageBook extends UsageLog, UsageReader {
  /** Newest first. */
  rowsOf(organizationId: string, most: number): Promise<readonly UsageRow[]>;
}

/** The stores of one implementation, in memory or in Postgres. */
export interface Accounts {
  readonly tokens: TokenRegistry;
  readonly ledger: Ledger;
  readonly usage: UsageBook;
}
