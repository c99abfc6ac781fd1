// Tokens of the AI gateway for sandboxes: made here, kept by Postgres as hashes, for an hour. The role of the service
// may have them made and ended by two functions (postgres/migrations/), which decide whose they are and how long.
import { hashOf, newToken, newTokenId } from '#core/ai-token.ts';
import type { Statements } from '#postgres/connection.ts';

export interface AiTokens {
  /**
   * A new one for a sandbox; the one before it ends five minutes from now.
   *
   * @param key of the machine.
   * @returns null: this sandbox has none.
   */
  issue(key: string): Promise<string | null>;
  /** All of a sandbox, at once. */
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
