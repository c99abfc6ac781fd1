// Fields that a provider or one of its models refuses, though the gateway could do without them: learnt from its
// refusals, and kept for a while, so that the next request is put right at once. What only a client asked for is never
// left out: a client reads the refusal.
import type { ChatRequest, Json } from '../contract/chat.ts';
import type { GatewayError } from '../contract/errors.ts';
import type { Target, WireRequest } from '../contract/wire.ts';

const TARGETS_MAX = 10_000;
const REFUSAL =
  /unsupported|not support|unknown|unrecogni[sz]ed|unexpected|not permitted|not allowed|extra|invalid field/i;

interface Change {
  /** What the refusal names. */
  readonly names: RegExp;
  /** Null: the request has nothing to change. */
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
  // Usage is estimated then.
  streamOptions: {
    names: /stream_options|include_usage/,
    amend: ({ stream_options: options, ...rest }) => (options === undefined ? null : rest),
  },
  newName: { names: /\bmax_tokens\b/, amend: renamed('max_tokens', 'max_completion_tokens') },
  oldName: { names: /max_completion_tokens/, amend: renamed('max_completion_tokens', 'max_tokens') },
  // What the adapter of Anthropic makes of `reasoning_effort`.
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
  /** The request without what its target is known to refuse. */
  apply(organizationId: string, target: Target, put: WireRequest, request: ChatRequest): WireRequest;
  /** @returns whether another attempt is worth it: the refusal was of something that can be left out. */
  learn(organizationId: string, target: Target, sent: WireRequest, request: ChatRequest, told: GatewayError): boolean;
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
    learn(organizationId, target, sent, request, told) {
      const said = `${told.details.param ?? ''} ${told.message}`;
      if (told.code !== 'invalid_request' || !REFUSAL.test(`${told.details.as?.code ?? ''} ${said}`)) return false;
      const key = keyOf(organizationId, target);
      const names = known.get(key) ?? new Set();
      // A refusal of the one name may propose the other one: what was sent decides.
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
