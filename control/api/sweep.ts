// Deletes expired data of the API: rate limit windows, idempotent responses, invitations.
import type { Dependencies } from '../process/dependencies.ts';
import { sweepRates } from '../access/rate-limit.ts';
import { sweepIdempotency } from './request/idempotency.ts';

export async function sweepApi({ sql, limits }: Pick<Dependencies, 'sql' | 'limits'>): Promise<void> {
  await sweepRates(sql);
  await sweepIdempotency(sql, limits.idempotencyMs);
  await sql`DELETE FROM control.invitation WHERE expires_at < now()`;
}
