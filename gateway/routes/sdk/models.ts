// GET /sdk/config: the models listed by the AI SDK's `gateway.getAvailableModels()`. Also refuses calls to kinds of
// models that are not supported.
import { GatewayError } from '../../contract/errors.ts';
import { namesOf } from '../../routing/model-names.ts';
import type { Call } from '../call.ts';
import { guessVersion, modelOf } from './sdk-call.ts';

const TOKENS_OF_PRICE = 1_000_000;
const MICROS = 1_000_000;

export async function sdkModels({ request, deps, caller }: Call): Promise<Response> {
  const table = await deps.models(caller.organizationId);
  const specificationVersion = `v${guessVersion(request)}`;
  const models = namesOf(table).map(({ id, owner }) => {
    const price = deps.price(table.aliases[id] ?? id);
    const pricing =
      price === null ? {} : { pricing: { input: perToken(price.prompt), output: perToken(price.completion) } };
    return { id, name: id, ...pricing, specification: { specificationVersion, provider: owner, modelId: id } };
  });
  return Response.json({ models });
}

/** Price per token. @param micros the price in millionths, per million tokens. */
const perToken = (micros: number): string => (micros / MICROS / TOKENS_OF_PRICE).toFixed(12).replace(/\.?0+$/, '');

/** @throws {GatewayError} 404 */
export function unservedModel({ request }: Call, kind: string): never {
  const model = modelOf(request) ?? 'none';
  throw new GatewayError(
    'model_not_found',
    `The model ${JSON.stringify(model.slice(0, 100))} is not served as ${kind}: there are language and embedding models`,
    { param: 'model' },
  );
}
