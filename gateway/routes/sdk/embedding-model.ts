// POST /sdk/embedding-model: embeds values of the AI SDK, using the embeddings route.
import { isJson, isList, type Json } from '../../contract/chat.ts';
import { readJson, missing } from '../../contract/request-body.ts';
import type { Call } from '../call.ts';
import { embeddings } from '../embeddings.ts';
import { gatewayFields, providerFields, providerOf } from './provider-options.ts';
import { readModelHeader, readVersion, wireWarning } from './sdk-call.ts';

/** @throws {GatewayError} */
export async function embeddingModel(call: Call): Promise<Response> {
  const { request, deps, caller, id } = call;
  const version = readVersion(request);
  const model = readModelHeader(request);
  const options = await readJson(request, deps.limits.bodyBytesMax);
  // Version 2 names them `input`.
  const input = options['values'] ?? options['input'];
  if (input === undefined) throw missing('values');
  const provider = providerOf(await deps.models(caller.organizationId), model);
  const gateway = gatewayFields(options['providerOptions']);
  const response = await embeddings(call, {
    ...providerFields(options['providerOptions'], provider).fields,
    ...gateway.fields,
    ...(options['dimensions'] === undefined ? {} : { dimensions: options['dimensions'] }),
    model,
    input,
    encoding_format: 'float',
  });
  const { headers } = response;
  const { data, usage } = (await response.json()) as { readonly data: readonly Json[]; readonly usage?: Json };
  const tokens = isJson(usage) ? (usage['prompt_tokens'] ?? usage['total_tokens']) : undefined;
  const result = {
    embeddings: inOrder(data).map(({ embedding }) => embedding),
    ...(typeof tokens === 'number' ? { usage: { tokens } } : {}),
    warnings: gateway.warnings.map((warning) => wireWarning(warning, version)),
    providerMetadata: { gateway: { model: headers.get('x-platform-model') ?? model, requestId: id } },
  };
  return Response.json(result, { headers });
}

/** Providers may return the vectors in another order. */
function inOrder(data: readonly Json[]): readonly Json[] {
  const found = data.filter(isJson).filter(({ embedding }) => isList(embedding));
  return found.toSorted((one, other) => Number(one['index'] ?? 0) - Number(other['index'] ?? 0));
}
