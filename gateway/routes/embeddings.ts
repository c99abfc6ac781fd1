// POST /embeddings: vectors of texts, from the first candidate model that answers.
import { openBill } from '../accounts/bill.ts';
import { tokensOfLength } from '../accounts/estimate.ts';
import { isList, usedOf, type Json } from '../contract/chat.ts';
import { GatewayError } from '../contract/errors.ts';
import { askForJson } from '../providers/call.ts';
import { type EmbeddingsRequest, nameOf } from '../contract/wire.ts';
import { wires } from '../providers/wires.ts';
import { missing, wrong } from '../contract/request-body.ts';
import { tryInTurn } from '../routing/attempts.ts';
import { answerHeaders, contextOf, targetsOfCall, type Call } from './call.ts';

/** @param body the request body, or the body of another protocol converted to this one. @throws {GatewayError} */
export async function embeddings(call: Call, body: Json): Promise<Response> {
  const { deps, breaker, caller, request: sent } = call;
  const context = contextOf(call);
  const targets = (await targetsOfCall(call, body)).filter(
    ({ provider }) => wires[provider.kind].embeddingsRequest !== null,
  );
  if (targets.length === 0)
    throw new GatewayError('model_not_found', 'The provider of this model does not support embeddings', {
      param: 'model',
    });
  const promptTokens = tokensOfLength(lengthOf(body));
  const { models: fallbacks, ...request } = body as EmbeddingsRequest;
  void fallbacks;
  const bill = await openBill(deps, {
    ...call,
    modelRequested: request.model,
    isStream: false,
    models: targets.map(nameOf),
    estimate: { promptTokens, completionTokens: 0 },
  });
  try {
    const sentAt = deps.now();
    const tried = await tryInTurn({
      targets,
      breaker,
      caller,
      limits: context.limits,
      signal: sent.signal,
      attempt: (target) => {
        const wire = wires[target.provider.kind];
        const wireRequest = wire.embeddingsRequest!(target, request as EmbeddingsRequest);
        return askForJson(context, target, wire, wireRequest, (json) =>
          wire.embeddingsAnswer(json, request as EmbeddingsRequest),
        );
      },
    });
    const upstreamMs = deps.now() - sentAt;
    const used = usedOf(tried.answer['usage']) ?? {
      promptTokens,
      completionTokens: 0,
      cachedTokens: 0,
      reasoningTokens: 0,
      isEstimated: true,
    };
    bill.close({ used, model: nameOf(tried.target), error: null, begunAt: deps.now() });
    return Response.json(tried.answer, { headers: { ...bill.headers, ...answerHeaders(call, tried, upstreamMs) } });
  } catch (error) {
    const gatewayError =
      error instanceof GatewayError ? error : new GatewayError('internal_error', 'The gateway failed');
    bill.close({ used: null, model: null, error: gatewayError, begunAt: null });
    throw error;
  }
}

/** A text, texts, tokens, or lists of tokens. @throws {GatewayError} 400 */
function lengthOf({ input }: Json): number {
  if (input === undefined) throw missing('input');
  const inputs = isList(input) ? input : [input];
  if (inputs.length === 0) throw wrong('input', 'a text or a list of at least one text');
  let length = 0;
  for (const one of inputs) {
    if (typeof one === 'string') length += one.length;
    else if (Number.isSafeInteger(one)) length += 4;
    else if (isList(one) && one.every(Number.isSafeInteger)) length += 4 * one.length;
    else throw wrong('input', 'a text or a list of texts');
  }
  return length;
}
