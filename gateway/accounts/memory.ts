// Accounts in memory, for `platform dev` and tests. The data is lost when the process exits.
import { randomBytes } from 'node:crypto';
import { hashOf, isSame, newToken, ownerOf } from '#core/ai-token.ts';
import type { Caller, UsageRow } from '../contract/contract.ts';
import type { Accounts, LimitsOf, TokenRegistry, UsageBook } from './accounts.ts';
import { createMemoryLedger } from './memory-ledger.ts';
import { sumOf } from './memory-usage.ts';

const ROWS_MAX = 10_000;

export function createMemoryAccounts(deps: { readonly now: () => number; readonly limitsOf: LimitsOf }): Accounts {
  return { tokens: createTokens(deps.now), ledger: createMemoryLedger(deps), usage: createUsage() };
}

interface Kept {
  readonly hash: Buffer;
  readonly caller: Caller;
  readonly expiresAt: number | null;
}

function createTokens(now: () => number): TokenRegistry {
  const byOwner = new Map<string, readonly Kept[]>();
  const keep = (owner: string, kept: readonly Kept[]): void => {
    if (kept.length === 0) byOwner.delete(owner);
    else byOwner.set(owner, kept);
  };
  const of = (owner: string): readonly Kept[] => byOwner.get(owner) ?? [];
  return {
    issue(caller, expiresAt) {
      const owner = caller.deploymentId ?? `k${randomBytes(8).toString('hex')}`;
      const token = newToken(owner);
      keep(owner, [...of(owner), { hash: hashOf(token), caller, expiresAt }]);
      return Promise.resolve(token);
    },
    authenticate(token) {
      const owner = ownerOf(token);
      const hash = hashOf(token);
      const found = owner === null ? undefined : of(owner).find((kept) => isSame(kept.hash, hash));
      if (found === undefined) return Promise.resolve('invalid');
      const isOver = found.expiresAt !== null && found.expiresAt <= now();
      return Promise.resolve(isOver ? 'expired' : found.caller);
    },
    revokeDeployment(deploymentId, kept) {
      const hash = kept === null ? null : hashOf(kept);
      keep(deploymentId, hash === null ? [] : of(deploymentId).filter((one) => isSame(one.hash, hash)));
      return Promise.resolve();
    },
    revoke(token) {
      const owner = ownerOf(token);
      const hash = hashOf(token);
      if (owner !== null) {
        const others = of(owner).filter((one) => !isSame(one.hash, hash));
        keep(owner, others);
      }
      return Promise.resolve();
    },
  };
}

function createUsage(): UsageBook {
  const rows: UsageRow[] = [];
  return {
    record(row) {
      rows.push(row);
      if (rows.length > ROWS_MAX) rows.shift();
    },
    flush: () => Promise.resolve(),
    rowsOf: (organizationId, most) =>
      Promise.resolve(
        rows
          .filter(({ caller }) => caller.organizationId === organizationId)
          .toReversed()
          .slice(0, most),
      ),
    sum: (question) => Promise.resolve(sumOf(rows, question)),
  };
}
