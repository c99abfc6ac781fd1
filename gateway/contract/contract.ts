// What the parts of the AI gateway know of each other: who calls, what a call may use, what was used, and which models
// there are. gateway.ts joins the parts.
import type { AiCaller } from '#core/ai-caller.ts';
import type { AiProviderKind } from '#core/ai-settings.ts';
import type { GatewayLimits } from '#core/limits.ts';

/** Who calls, as their token or the platform says. */
export type Caller = AiCaller;

/** Why a token does not count; `not_allowed`: it does, and AI is not enabled. */
export type TokenRefusal = 'invalid' | 'expired' | 'not_allowed';

/** Tells tokens apart. */
export interface TokenStore {
  authenticate(token: string): Promise<Caller | TokenRefusal>;
}

/** Tokens of a call: those it may use at most, told before it is made, or those that it did use. */
export interface TokenCount {
  readonly promptTokens: number;
  readonly completionTokens: number;
}

/** How much of a limit is left. */
export interface Remaining {
  readonly limit: number;
  readonly remaining: number;
  readonly resetMs: number;
}

/** Room that a call was given; ends by `settle`, once. */
export interface Reservation {
  /** Whether a limit of tokens applies: the answer is then held to what was reserved. */
  readonly isBounded: boolean;
  /** Of the limit that is nearest; null: there is none. */
  readonly requests: Remaining | null;
  readonly tokens: Remaining | null;
  /** @param used null: nothing was sent. Never throws. */
  settle(used: TokenCount | null): void;
}

/** Why a call gets no room. */
export interface Refusal {
  readonly code: 'rate_limit_exceeded' | 'insufficient_quota';
  /** Such as `requests per minute of the organization: 60 of 60 used`. */
  readonly message: string;
  /** When it may be tried again; null: not of itself. */
  readonly retryAfterMs: number | null;
  /** Of the limit that has no room. */
  readonly of: 'requests' | 'tokens';
  readonly left: Remaining;
}

/** Budgets and rates of organization, project and deployment. */
export interface Ledger {
  /** Takes room for a call before it is sent: calls at the same moment never pass a limit together by more than one. */
  reserve(caller: Caller, estimate: TokenCount): Promise<Reservation | Refusal>;
}

/** What a call was, once it is over. */
export interface UsageRow {
  readonly id: string;
  /** ms since 1970. */
  readonly at: number;
  readonly caller: Caller;
  readonly modelRequested: string;
  /** `provider/model` that answered; null: none did. */
  readonly model: string | null;
  readonly promptTokens: number;
  readonly completionTokens: number;
  readonly cachedTokens: number;
  readonly reasoningTokens: number;
  /** Whether the provider did not say, and the tokens are estimated. */
  readonly isEstimated: boolean;
  /** Millionths of the currency of the price table; null: it has no price for the model. */
  readonly costMicros: number | null;
  /** 499: the client was gone. */
  readonly status: number;
  readonly isStream: boolean;
  /** To the first byte of the answer's body; null: there was none. */
  readonly firstByteMs: number | null;
  readonly totalMs: number;
}

/** Keeps what was used, together with others and after the answer. */
export interface UsageLog {
  record(row: UsageRow): void;
  /** Resolves when all that was recorded is kept. */
  flush(): Promise<void>;
}

/** What usage is told apart by; days are those of UTC. */
export const usageGroups = ['model', 'deployment', 'day'] as const;
export type UsageGroup = (typeof usageGroups)[number];

/** Which usage is meant. */
export interface UsageQuestion {
  readonly organizationId: string;
  /** Null: all of the organization. */
  readonly projectId: string | null;
  /** Null: all of the project. */
  readonly deploymentId: string | null;
  /** ms since 1970; `to` itself does not count. */
  readonly from: number;
  readonly to: number;
  readonly by: UsageGroup;
  /** Groups: of days the first, else those with the most tokens. */
  readonly groupsMax: number;
}

/** What calls have used together. */
export interface UsageSum {
  readonly calls: number;
  /** Of these, with a status from 400 on. */
  readonly failedCalls: number;
  readonly promptTokens: number;
  readonly completionTokens: number;
  readonly cachedTokens: number;
  readonly reasoningTokens: number;
  readonly costMicros: number;
  /** Calls of models without a price, which the cost leaves out. */
  readonly unpricedCalls: number;
}

export interface UsageSums {
  readonly total: UsageSum;
  /** Key null: no model answered, or no deployment called. */
  readonly groups: readonly (UsageSum & { readonly key: string | null })[];
  /** There are more groups. */
  readonly hasMore: boolean;
}

/** Tells what was used. */
export interface UsageReader {
  /** With all that was recorded before. */
  sum(question: UsageQuestion): Promise<UsageSums>;
}

/** What a provider speaks. */
export type ProviderKind = AiProviderKind;

/** Where models are. */
export interface ProviderConfig {
  /** The part of `provider/model` before the slash. */
  readonly name: string;
  readonly kind: ProviderKind;
  /** With the version, such as `https://api.openai.com/v1`; '' for `mock`. */
  readonly url: string;
  /** '' where it wants none. */
  readonly key: string;
  /** Whether it may lead to a private address: only the operator's. */
  readonly isPrivate: boolean;
  /** Models that `/models` names; those not named are passed on all the same. */
  readonly models: readonly string[];
}

/** What an organization's calls can reach. */
export interface ModelTable {
  readonly providers: readonly ProviderConfig[];
  /** Names without a provider -> `provider/model`. */
  readonly aliases: Readonly<Record<string, string>>;
  /** What `auto` tries in turn. */
  readonly auto: readonly string[];
}

/** Finds the table of an organization. */
export type ModelTables = (organizationId: string) => Promise<ModelTable>;

/** Millionths of a currency for a million tokens. */
export interface Price {
  readonly prompt: number;
  readonly completion: number;
}

/** A POST of JSON to a provider. */
export interface ProviderRequest {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly signal: AbortSignal;
}

/** What it answers, as far as it is read: a `Response` is one too. */
export interface ProviderResponse {
  readonly status: number;
  readonly headers: { get(name: string): string | null };
  readonly body: AsyncIterable<Uint8Array> | null;
}

/** Everything that the gateway is made of. */
export interface GatewayParts {
  readonly tokens: TokenStore;
  readonly ledger: Ledger;
  readonly usage: UsageLog & UsageReader;
  readonly models: ModelTables;
  /** Of a `provider/model`; null: nobody knows. */
  readonly price: (model: string) => Price | null;
  /** Sends to a provider: refuses addresses that the egress policy forbids, follows no redirect. Never for `mock`. */
  readonly send: (request: ProviderRequest, provider: ProviderConfig) => Promise<ProviderResponse>;
  /** Never with a prompt, an answer or a token in it. */
  readonly log: (level: 'info' | 'warn' | 'error', message: string, details: Readonly<Record<string, unknown>>) => void;
  /** ms since 1970. */
  readonly now: () => number;
  readonly limits: GatewayLimits;
}

/** A call that has been let in. */
export interface AdmittedCall {
  readonly id: string;
  readonly request: Request;
  readonly caller: Caller;
  /** ms since 1970. */
  readonly startedAt: number;
  readonly parts: GatewayParts;
}

/** The gateway as a function of requests. */
export interface Gateway {
  /** @param caller known already, where the call comes over a socket of the platform's own. */
  fetch(request: Request, caller?: Caller): Promise<Response>;
  /** Ends what streams, and keeps what was used. */
  close(): Promise<void>;
}
