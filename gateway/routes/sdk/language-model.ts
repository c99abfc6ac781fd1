// POST /sdk/language-model: an AI SDK call, run as a chat completion with the same accounting, models and streams.
import { isJson, type Json } from '../../contract/chat.ts';
import { readJson } from '../../contract/request-body.ts';
import type { Call } from '../call.ts';
import { chatCompletions } from '../chat-completions.ts';
import { chatRequestOf } from './chat-request.ts';
import { providerOf } from './provider-options.ts';
import { contentOf, finishReason, sdkUsage } from './result.ts';
import { readModelHeader, readVersion, wireWarning } from './sdk-call.ts';
import { openSdkStream } from './sdk-stream.ts';
import { createPartReader } from './stream-parts.ts';

const STREAM_HEADER = 'ai-language-model-streaming';

/** @throws {GatewayError} */
export async function languageModel(call: Call): Promise<Response> {
  const { request, deps, caller, id } = call;
  const version = readVersion(request);
  const model = readModelHeader(request);
  const isStream = request.headers.get(STREAM_HEADER) === 'true';
  const options = await readJson(request, deps.limits.bodyBytesMax);
  const provider = providerOf(await deps.models(caller.organizationId), model);
  const { request: chat, warnings } = chatRequestOf(options, { model, isStream, provider });
  const response = await chatCompletions(call, chat);
  const { headers } = response;
  const answered = headers.get('x-platform-model') ?? model;
  const metadata: Json = { gateway: { model: answered, requestId: id } };
  if (isStream) {
    const showsRaw = options['includeRawChunks'] === true;
    const reader = createPartReader({ version, model: answered, warnings, showsRaw, metadata });
    const body = openSdkStream(response.body!, reader, deps.limits.eventCharactersMax);
    return new Response(body, { headers });
  }
  const completion = (await response.json()) as unknown;
  const { content, raw } = contentOf(isJson(completion) ? completion : {}, version);
  const result = {
    content,
    finishReason: finishReason(raw, version),
    usage: sdkUsage(isJson(completion) ? completion['usage'] : null, version),
    warnings: warnings.map((warning) => wireWarning(warning, version)),
    providerMetadata: metadata,
  };
  return Response.json(result, { headers });
}
