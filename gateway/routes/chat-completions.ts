// POST /chat/completions: a complete or streamed response, from the first candidate model that answers.
import { openBill, type Bill } from '../accounts/bill.ts';
import { estimateChat, saidLength, tokensOfLength } from '../accounts/estimate.ts';
import { keptOrAsked } from '../answers/kept-answers.ts';
import { isJson, isList, usedOf, wireUsage, type ChatRequest, type Json, type Used } from '../contract/chat.ts';
import { GatewayError } from '../contract/errors.ts';
import { askForJson, askForStream, type CallContext } from '../providers/call.ts';
import { type Target, type WireRequest, nameOf } from '../contract/wire.ts';
import { wires } from '../providers/wires.ts';
import { readChat } from '../contract/request-body.ts';
import { tryInTurn, type Tried } from '../routing/attempts.ts';
import { openChatStream, type StreamEnd } from '../streams/chat-stream.ts';
import { sseHeaders } from '../streams/sse-writer.ts';
import { answerHeaders, contextOf, targetsOfCall, type Call } from './call.ts';

/** @param sent the request body, or the body of another protocol converted to this one. @throws {GatewayError} */
export async function chatCompletions(call: Call, sent: Json): Promise<Response> {
  const context = contextOf(call);
  const body = readChat(sent);
  const targets = await targetsOfCall(call, body);
  const { models: fallbacks, ...request } = body;
  void fallbacks;
  const ask = (asked: ChatRequest): Promise<Response> => askProviders(call, context, targets, asked);
  return keptOrAsked({ call, body: request as ChatRequest, models: targets.map(nameOf), ask });
}

async function askProviders(
  call: Call,
  context: CallContext,
  targets: readonly Target[],
  body: ChatRequest,
): Promise<Response> {
  const bill = await openBill(call.deps, {
    ...call,
    modelRequested: body.model,
    isStream: body.stream === true,
    models: targets.map(nameOf),
    estimate: estimateChat(body, context.limits.completionTokensDefault),
  });
  try {
    const chat = { call, context, targets, request: body, bill };
    return await (body.stream === true ? stream(chat) : answer(chat));
  } catch (error) {
    const gatewayError =
      error instanceof GatewayError ? error : new GatewayError('internal_error', 'The gateway failed');
    bill.close({ used: null, model: null, error: gatewayError, begunAt: null });
    throw error;
  }
}

interface Chat {
  readonly call: Call;
  readonly context: CallContext;
  readonly targets: readonly Target[];
  readonly request: ChatRequest;
  readonly bill: Bill;
}

type Ask<Answer> = (target: Target, put: WireRequest) => Promise<Answer>;

async function answer(chat: Chat): Promise<Response> {
  const { call, bill } = chat;
  const { tried, upstreamMs } = await timed(chat, (target, put) => {
    const wire = wires[target.provider.kind];
    return askForJson(chat.context, target, wire, put, (json) => wire.chatAnswer(json));
  });
  const used = usedOf(tried.answer['usage']) ?? estimated(bill, tried.answer);
  bill.close({ used, model: nameOf(tried.target), error: null, begunAt: call.deps.now() });
  // Clients rely on `usage`, so estimated usage is added if the provider reported none.
  const shown = used.isEstimated ? { ...tried.answer, usage: wireUsage(used) } : tried.answer;
  return Response.json(shown, { headers: { ...bill.headers, ...answerHeaders(call, tried, upstreamMs) } });
}

async function stream(chat: Chat): Promise<Response> {
  const { call, bill, request } = chat;
  const { tried, upstreamMs } = await timed(chat, (target, put) =>
    askForStream(chat.context, target, wires[target.provider.kind], put),
  );
  const begunAt = call.deps.now();
  const opened = openChatStream({
    ...tried.answer,
    showsUsage: request.stream_options?.['include_usage'] === true,
    promptTokens: bill.estimate.promptTokens,
    keepAliveMs: chat.context.limits.keepAliveMs,
    onEnd({ used, error }: StreamEnd) {
      call.open.delete(end);
      bill.close({ used, model: nameOf(tried.target), error, begunAt });
    },
  });
  const { body, end } = opened;
  call.open.add(end);
  return new Response(body, {
    headers: { ...sseHeaders, ...bill.headers, ...answerHeaders(call, tried, upstreamMs) },
  });
}

/** One attempt, adapted to the provider's known refusals, and retried with changes when it refuses a field. */
async function attemptAt<Answer>({ call, request, bill, context }: Chat, target: Target, ask: Ask<Answer>) {
  const { refusedFields, caller } = call;
  const hold = { isBounded: bill.isBounded, tokensDefault: context.limits.completionTokensDefault };
  const put = wires[target.provider.kind].chatRequest(target, request, hold);
  const sent = refusedFields.apply(caller.organizationId, target, put, request);
  try {
    return await ask(target, sent);
  } catch (error) {
    const upstream = error instanceof GatewayError ? error.details.upstream : undefined;
    if (upstream === undefined) throw error;
    const { code, message, details } = error as GatewayError;
    const isAmended = refusedFields.learn(caller.organizationId, target, sent, request, error as GatewayError);
    throw isAmended ? new GatewayError(code, message, { ...details, upstream: { ...upstream, isAmended } }) : error;
  }
}

async function timed<Answer>(chat: Chat, ask: Ask<Answer>): Promise<{ tried: Tried<Answer>; upstreamMs: number }> {
  const { call, context, targets } = chat;
  const { deps, breaker, caller, request } = call;
  const sentAt = deps.now();
  const { limits } = context;
  const attempt = (target: Target): Promise<Answer> => attemptAt(chat, target, ask);
  const tried = await tryInTurn({ targets, attempt, breaker, caller, limits, signal: request.signal });
  return { tried, upstreamMs: deps.now() - sentAt };
}

function estimated({ estimate }: Bill, body: Json): Used {
  const choices = isList(body['choices']) ? body['choices'] : [];
  let length = 0;
  for (const choice of choices)
    if (isJson(choice) && isJson(choice['message'])) length += saidLength(choice['message']);
  return {
    promptTokens: estimate.promptTokens,
    completionTokens: tokensOfLength(length),
    cachedTokens: 0,
    reasoningTokens: 0,
    isEstimated: true,
  };
}
