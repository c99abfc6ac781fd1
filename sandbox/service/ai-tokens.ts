// AI gateway tokens for sandboxes: generated here, stored in Postgres as hashes, valid for an hour. The service's role
// can only create and revoke them with two functions (postgres/migrations/), which decide the owner and the lifetime.
import { hashOf, newToken, newTokenId } from '#core/ai-token.ts';
import type { Statements } from '#postgres/connection.ts';

export interface AiTokens {
  /**
   * Creates a token for a sandbox; the previous token expires in five minutes.
   *
   * @param key the key of the machine.
   * @returns null if this sandbox gets no token.
   */
  issue(key: string): Promise<string | null>;
  /** Revokes all tokens of a sandbox immediately. */
  revoke(key: string): Promise<void>;
}

export function createAiTokens(sql: Statements): AiTokens {
  return {
    async issue(key) {
      const id = newTokenId();
      const token = newToken(id.replace('_', ''));
      const [row] = await sql.all<{ is_made: boolean }>(
        'SELECT sandbox.issue_ai_token($1, $2, $3) AS is_made',
        key,
        id,
        hashOf(token),
      );
      return row!.is_made ? token : null;
    },
    async revoke(key) {
      await sql.all('SELECT sandbox.revoke_ai_tokens($1)', key);
    },
  };
}
