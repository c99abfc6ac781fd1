// Accounting of one call: reserves budget before the call and records its usage once afterwards. The response only
// waits for the reservation.
import type { Used } from '../contract/chat.ts';
import type { Caller, GatewayDeps, Price, Remaining, TokenCount } from '../contract/contract.ts';
import { GatewayError } from '../contract/errors.ts';

/** How a call ended. */
interface Ending {
  /** Null if the call used no tokens. */
  readonly used: Used | null;
  /** `provider/model` that answered, or null. */
  readonly model: string | null;
  readonly error: GatewayError | null;
  /** When the response began, in ms since 1970; null if it did not begin. */
  readonly begunAt: number | null;
}

export interface Bill {
  /** Whether the response is limited to the reserved tokens. */
  readonly isBounded: boolean;
  /** Remaining limits, as headers. */
  readonly headers: Readonly<Record<string, string>>;
  readonly estimate: TokenCount;
  /** Records usage, once; never throws. */
  close(ending: Ending): void;
}

interface Opened {
  readonly id: string;
  readonly caller: Caller;
  readonly startedAt: number;
  readonly modelRequested: string;
  readonly isStream: boolean;
  /** Candidate models as `provider/model`; the reservation is for the most expensive candidate. */
  readonly models: readonly string[];
  readonly estimate: TokenCount;
}

/** @throws {GatewayError} 429 */
export async function openBill(deps: GatewayDeps, opened: Opened): Promise<Bill> {
  const { id, caller, startedAt, modelRequested, isStream, models, estimate } = opened;
  const costMicros = Math.max(0, ...models.map((model) => costOf(deps.price(model), estimate) ?? 0));
  const room = await deps.ledger.reserve(caller, { ...estimate, costMicros });
  if ('code' in room) {
    const error = new GatewayError(room.code, room.message, { retryAfterMs: room.retryAfterMs });
    throw error.with(room.of === 'cost' ? {} : remainingHeaders(room.of, room.left));
  }
  let isClosed = false;
  return {
    isBounded: room.isBounded,
    headers: { ...remainingHeaders('requests', room.requests), ...remainingHeaders('tokens', room.tokens) },
    estimate,
    close({ used, model, error, begunAt }) {
      if (isClosed) return;
      isClosed = true;
      const status = error?.status ?? 200;
      const counted = used ?? sentFor(error, estimate);
      const cost = counted === null ? 0 : costOf(model === null ? null : deps.price(model), counted);
      room.settle(counted === null ? null : { ...counted, costMicros: cost ?? 0 });
      deps.usage.record({
        id,
        at: startedAt,
        caller,
        modelRequested,
        model,
        promptTokens: counted?.promptTokens ?? 0,
        completionTokens: counted?.completionTokens ?? 0,
        cachedTokens: counted?.cachedTokens ?? 0,
        reasoningTokens: counted?.reasoningTokens ?? 0,
        isEstimated: counted?.isEstimated ?? false,
        costMicros: cost,
        status,
        isStream,
        firstByteMs: begunAt === null ? null : begunAt - startedAt,
        totalMs: deps.now() - startedAt,
      });
    },
  };
}

/** The provider has read the request even if the client disconnects before the response. */
function sentFor(error: GatewayError | null, { promptTokens }: TokenCount): Used | null {
  if (error?.code !== 'client_gone' && error?.code !== 'upstream_timeout') return null;
  return { promptTokens, completionTokens: 0, cachedTokens: 0, reasoningTokens: 0, isEstimated: true };
}

function costOf(price: Price | null, { promptTokens, completionTokens }: TokenCount): number | null {
  if (price === null) return null;
  return Math.ceil((promptTokens * price.prompt + completionTokens * price.completion) / 1_000_000);
}

function remainingHeaders(of: string, left: Remaining | null): Record<string, string> {
  if (left === null) return {};
  return {
    [`x-ratelimit-limit-${of}`]: String(left.limit),
    [`x-ratelimit-remaining-${of}`]: String(left.remaining),
    [`x-ratelimit-reset-${of}`]: `${Math.ceil(left.resetMs / 1000)}s`,
  };
}
