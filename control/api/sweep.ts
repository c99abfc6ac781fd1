// Forgets what the API keeps for a while: windows of rate limits, answers under idempotency keys, expired invitations.
import type { Parts } from '../parts.ts';
import { sweepIdempotency } from './idempotency.ts';
import { sweepRates } from './rate-limit.ts';

export async function sweepApi({ sql, limits }: Pick<Parts, 'sql' | 'limits'>): Promise<void> {
  await sweepRates(sql);
  await sweepIdempotency(sql, limits.idempotencyMs);
  await sql`DELETE FROM control.invitation WHERE expires_at < now()`;
}
