// Remembers optional fields that a provider or model refuses. Refused fields are learned from error responses and
// cached, so that the next request omits them. Fields that the client set are never removed: the client gets the error.
import type { ChatRequest, Json } from '../contract/chat.ts';
import type { GatewayError } from '../contract/errors.ts';
import type { Target, WireRequest } from '../contract/wire.ts';

const TARGETS_MAX = 10_000;
const REFUSAL =
  /unsupported|not support|unknown|unrecogni[sz]ed|unexpected|not permitted|not allowed|extra|invalid field/i;

interface Change {
  /** Matches the field in the error message. */
  readonly names: RegExp;
  /** Null means that no field of the request has to change. */
  readonly amend: (body: Json, request: ChatRequest) => Json | null;
}

const renamed =
  (from: string, to: string) =>
  (body: Json): Json | null => {
    if (body[from] === undefined || body[to] !== undefined) return null;
    const { [from]: value, ...rest } = body;
    return { ...rest, [to]: value };
  };

const changes: Readonly<Record<string, Change>> = {
  // Without this field the provider reports no usage, so usage is estimated.
  streamOptions: {
    names: /stream_options|include_usage/,
    amend: ({ stream_options: options, ...rest }) => (options === undefined ? null : rest),
  },
  newName: { names: /\bmax_tokens\b/, amend: renamed('max_tokens', 'max_completion_tokens') },
  oldName: { names: /max_completion_tokens/, amend: renamed('max_completion_tokens', 'max_tokens') },
  // The field that the Anthropic adapter creates from `reasoning_effort`.
  thinking: {
    names: /thinking|effort/,
    amend({ thinking, output_config: config, ...rest }, request) {
      if (thinking === undefined || request['thinking'] !== undefined) return null;
      const { effort, ...kept } = (config ?? {}) as Json;
      void effort;
      return Object.keys(kept).length === 0 ? rest : { ...rest, output_config: kept };
    },
  },
};

export interface RefusedFields {
  /** Removes the fields that the target is known to refuse. */
  apply(organizationId: string, target: Target, put: WireRequest, request: ChatRequest): WireRequest;
  /** @returns whether to retry, because the refused field can be omitted or replaced. */
  learn(
    organizationId: string,
    target: Target,
    sent: WireRequest,
    request: ChatRequest,
    gatewayError: GatewayError,
  ): boolean;
}

export function createRefusedFields(): RefusedFields {
  const known = new Map<string, ReadonlySet<string>>();
  const keyOf = (organizationId: string, { provider, model }: Target): string =>
    JSON.stringify([organizationId, provider.name, provider.url, model]);
  return {
    apply(organizationId, target, put, request) {
      const names = known.get(keyOf(organizationId, target));
      if (names === undefined) return put;
      let { body } = put;
      for (const name of names) body = changes[name]!.amend(body, request) ?? body;
      return { ...put, body };
    },
    learn(organizationId, target, sent, request, gatewayError) {
      const said = `${gatewayError.details.param ?? ''} ${gatewayError.message}`;
      if (gatewayError.code !== 'invalid_request' || !REFUSAL.test(`${gatewayError.details.as?.code ?? ''} ${said}`))
        return false;
      const key = keyOf(organizationId, target);
      const names = known.get(key) ?? new Set();
      // An error about one of the two names may mention the other; only the name that was sent counts.
      const found = Object.entries(changes).find(
        ([name, { names: named, amend }]) => !names.has(name) && named.test(said) && amend(sent.body, request) !== null,
      );
      if (found === undefined) return false;
      known.delete(key);
      known.set(key, new Set([...names, found[0]]));
      if (known.size > TARGETS_MAX) known.delete(known.keys().next().value!);
      return true;
    },
  };
}
