// Interfaces between the parts of the AI gateway: caller, reservation, usage and models. gateway.ts connects the parts.
import type { AiCaller } from '#core/ai-caller.ts';
import type { AiProviderKind } from '#core/ai-settings.ts';
import type { GatewayLimits } from '#core/limits.ts';

/** The caller, identified by a token or by the platform. */
export type Caller = AiCaller;

/** Why a token is refused; `not_allowed`: it is valid, but AI is not enabled. */
type TokenRefusal = 'invalid' | 'expired' | 'not_allowed';

/** Identifies the token. */
export interface TokenStore {
  authenticate(token: string): Promise<Caller | TokenRefusal>;
}

/** Tokens of a call: the estimated maximum before it, or the actual usage after it. */
export interface TokenCount {
  readonly promptTokens: number;
  readonly completionTokens: number;
}

/** Maximum usage of a call, or its actual usage. */
export interface Spend extends TokenCount {
  /** Millionths of the price table's currency; 0 for models without a price. */
  readonly costMicros: number;
}

/** Remaining budget of a limit. */
export interface Remaining {
  readonly limit: number;
  readonly remaining: number;
  readonly resetMs: number;
}

/** A reservation for a call; released by calling `settle` once. */
export interface Reservation {
  /** Whether a limit on tokens or cost applies: the response is then limited to the reserved tokens. */
  readonly isBounded: boolean;
  /** The limit closest to being reached, or null. */
  readonly requests: Remaining | null;
  readonly tokens: Remaining | null;
  /** @param used usage of the call; null if no request was sent. Never throws. */
  settle(used: Spend | null): void;
}

/** Why a reservation is refused. */
export interface Refusal {
  readonly code: 'rate_limit_exceeded' | 'insufficient_quota';
  /** The exceeded limit, such as `requests per minute of the organization: 60 of 60 used`. */
  readonly message: string;
  /** When to retry; null means retrying does not help. */
  readonly retryAfterMs: number | null;
  /** The exceeded limit. */
  readonly of: 'requests' | 'tokens' | 'cost';
  readonly left: Remaining;
}

/** Budgets and rates of organization, project and deployment. */
export interface Ledger {
  /** Reserves before a call is sent. Concurrent calls together never exceed a limit by more than one call. */
  reserve(caller: Caller, estimate: Spend): Promise<Reservation | Refusal>;
}

/** Record of a finished call. */
export interface UsageRow {
  readonly id: string;
  /** ms since 1970. */
  readonly at: number;
  readonly caller: Caller;
  readonly modelRequested: string;
  /** `provider/model` that answered, or null. */
  readonly model: string | null;
  readonly promptTokens: number;
  readonly completionTokens: number;
  readonly cachedTokens: number;
  readonly reasoningTokens: number;
  /** Whether the provider reported no usage, so that the tokens are estimated. */
  readonly isEstimated: boolean;
  /** Cost in millionths of the price table's currency; null if the model has no price. */
  readonly costMicros: number | null;
  /** 499: the client disconnected. */
  readonly status: number;
  readonly isStream: boolean;
  /** Time to the first byte of the response body; null if there was none. */
  readonly firstByteMs: number | null;
  readonly totalMs: number;
}

/** Records usage in batches, after the response. */
export interface UsageLog {
  record(row: UsageRow): void;
  /** Resolves when everything recorded so far is stored. */
  flush(): Promise<void>;
}

/** How usage is grouped; days are in UTC. */
export const usageGroups = ['model', 'deployment', 'day'] as const;
export type UsageGroup = (typeof usageGroups)[number];

/** A usage query. */
export interface UsageQuestion {
  readonly organizationId: string;
  /** Null means the whole organization. */
  readonly projectId: string | null;
  /** Null means the whole project. */
  readonly deploymentId: string | null;
  /** ms since 1970; `to` is exclusive. */
  readonly from: number;
  readonly to: number;
  readonly by: UsageGroup;
  /** Maximum groups: the first days, otherwise the groups with the most tokens. */
  readonly groupsMax: number;
}

/** Total usage of calls. */
export interface UsageSum {
  readonly calls: number;
  /** Calls with status 400 or above. */
  readonly failedCalls: number;
  readonly promptTokens: number;
  readonly completionTokens: number;
  readonly cachedTokens: number;
  readonly reasoningTokens: number;
  readonly costMicros: number;
  /** Calls of models without a price, not included in the cost. */
  readonly unpricedCalls: number;
}

export interface UsageSums {
  readonly total: UsageSum;
  /** Key null: no model answered, or the call came from no deployment. */
  readonly groups: readonly (UsageSum & { readonly key: string | null })[];
  /** Whether there are more groups. */
  readonly hasMore: boolean;
}

/** Reads usage. */
export interface UsageReader {
  /** The result includes all usage that was recorded before the query. */
  sum(question: UsageQuestion): Promise<UsageSums>;
}

/** The provider's protocol. */
export type ProviderKind = AiProviderKind;

/** A provider of models. */
export interface ProviderConfig {
  /** The part of `provider/model` before the slash. */
  readonly name: string;
  readonly kind: ProviderKind;
  /** Base URL with the version, such as `https://api.openai.com/v1`; '' for `mock`. */
  readonly url: string;
  /** '' if the provider needs no key. */
  readonly key: string;
  /** Whether the provider may have a private address, which only the operator's providers may. */
  readonly isPrivate: boolean;
  /** Models listed by `/models`; models that are not listed can be called too. */
  readonly models: readonly string[];
}

/** Models available to an organization. */
export interface ModelTable {
  readonly providers: readonly ProviderConfig[];
  /** Aliases: names without a provider -> `provider/model`. */
  readonly aliases: Readonly<Record<string, string>>;
  /** Models that `auto` tries in order. */
  readonly auto: readonly string[];
}

/** Looks up the table of an organization. */
export type ModelTables = (organizationId: string) => Promise<ModelTable>;

/** Price in millionths of a currency per million tokens. */
export interface Price {
  readonly prompt: number;
  readonly completion: number;
}

/** A POST of JSON to a provider. */
interface ProviderRequest {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly signal: AbortSignal;
}

/** A provider's response, as far as the gateway uses it; a `Response` also fits. */
export interface ProviderResponse {
  readonly status: number;
  readonly headers: { get(name: string): string | null };
  readonly body: AsyncIterable<Uint8Array> | null;
}

/** Dependencies of the gateway. */
export interface GatewayDeps {
  readonly tokens: TokenStore;
  readonly ledger: Ledger;
  readonly usage: UsageLog & UsageReader;
  readonly models: ModelTables;
  /** Price of a `provider/model`; null if unknown. */
  readonly price: (model: string) => Price | null;
  /**
   * Sends to a provider: refuses addresses that the egress policy denies, and follows no redirects. Never used for
   * `mock`.
   */
  readonly send: (request: ProviderRequest, provider: ProviderConfig) => Promise<ProviderResponse>;
  /** Logs; never includes a prompt, a response or a token. */
  readonly log: (level: 'info' | 'warn' | 'error', message: string, details: Readonly<Record<string, unknown>>) => void;
  /** ms since 1970. */
  readonly now: () => number;
  readonly limits: GatewayLimits;
}

/** An admitted call. */
export interface AdmittedCall {
  readonly id: string;
  readonly request: Request;
  readonly caller: Caller;
  /** ms since 1970. */
  readonly startedAt: number;
  readonly deps: GatewayDeps;
}

/** The gateway as a request handler. */
export interface Gateway {
  /** @param caller the caller, if it is already known, for calls over a socket of the platform. */
  fetch(request: Request, caller?: Caller): Promise<Response>;
  /** Ends open streams and stores recorded usage. */
  close(): Promise<void>;
}
