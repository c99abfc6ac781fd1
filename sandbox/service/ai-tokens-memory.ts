// AI gateway tokens for the sandboxes of one process, `platform dev`: like those in Postgres (ai-tokens.ts), stored as
// hashes for an hour. Lost when the process exits.
import { hashOf, isSame, newToken, newTokenId } from '#core/ai-token.ts';
import type { AiTokens } from './ai-tokens.ts';

const TOKEN_MS = 60 * 60_000;
/** Grace period of the previous token, for programs that have read it. */
const OVERLAP_MS = 5 * 60_000;

interface MemoryAiTokens extends AiTokens {
  /** Whether a token is valid now. */
  isGood(token: string): boolean;
}

export function createMemoryAiTokens(now: () => number = Date.now): MemoryAiTokens {
  const kept = new Map<string, readonly { readonly hash: Buffer; readonly expiresAt: number }[]>();
  return {
    async issue(key) {
      const at = now();
      const token = newToken(newTokenId().replace('_', ''));
      const before = (kept.get(key) ?? [])
        .filter(({ expiresAt }) => expiresAt > at)
        .map(({ hash, expiresAt }) => ({ hash, expiresAt: Math.min(expiresAt, at + OVERLAP_MS) }));
      kept.set(key, [...before, { hash: hashOf(token), expiresAt: at + TOKEN_MS }]);
      return token;
    },
    async revoke(key) {
      kept.delete(key);
    },
    isGood(token) {
      const [at, hash] = [now(), hashOf(token)];
      return [...kept.values()].some((tokens) => tokens.some((one) => one.expiresAt > at && isSame(one.hash, hash)));
    },
  };
}
