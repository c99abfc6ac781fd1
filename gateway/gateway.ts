// The AI gateway as a request handler: authenticates the caller, picks the route, and formats every error for clients.
// Independent of server, process and database: all dependencies are passed in.
import { randomUUID } from 'node:crypto';
import { isFailure } from '#core/failure.ts';
import { createKeptAnswers } from './answers/kept-answers.ts';
import type { Json } from './contract/chat.ts';
import type { Caller, Gateway, GatewayDeps } from './contract/contract.ts';
import { errorResponse, GatewayError } from './contract/errors.ts';
import { createRefusedFields } from './providers/refused-fields.ts';
import { readJson } from './contract/request-body.ts';
import type { Call } from './routes/call.ts';
import { chatCompletions } from './routes/chat-completions.ts';
import { embeddings } from './routes/embeddings.ts';
import { listModels, oneModel } from './routes/models.ts';
import { embeddingModel } from './routes/sdk/embedding-model.ts';
import { languageModel } from './routes/sdk/language-model.ts';
import { sdkModels, unservedModel } from './routes/sdk/models.ts';
import { modelOf } from './routes/sdk/sdk-call.ts';
import { sdkErrorBody } from './routes/sdk/sdk-errors.ts';
import { usageOf } from './routes/usage.ts';
import { createCircuitBreaker } from './routing/circuit-breaker.ts';

const AWAY_RETRY_MS = 1000;
const PREFIX = /^\/ai(?:\/v1)?(?=\/|$)/;
/** The gateway protocol of the AI SDK. */
const SDK = '/sdk/';
const SDK_MODEL = /^\/sdk\/([a-z]+)-model$/;
/** Paths of other protocols that clients may try, with advice on what to call instead. */
const unserved: Readonly<Record<string, string>> = {
  '/messages': 'send chat completions, to models of Anthropic too, to /ai/chat/completions',
  '/responses': 'use /ai/chat/completions: client.chat.completions of openai, openai.chat() of the AI SDK',
  '/completions': 'send the prompt as a message to /ai/chat/completions',
  '/images/generations': 'there are /ai/chat/completions and /ai/embeddings',
  '/audio/transcriptions': 'there are /ai/chat/completions and /ai/embeddings',
};

export function createGateway(deps: GatewayDeps): Gateway {
  const { breakerFailuresMax: failuresMax, breakerOpenMs: openMs } = deps.limits;
  const breaker = createCircuitBreaker(deps.now, { failuresMax, openMs });
  const refusedFields = createRefusedFields();
  const kept = createKeptAnswers(deps);
  const open = new Set<(error: GatewayError) => void>();
  const asking = new Set<string>();
  return {
    async fetch(request, known) {
      const id = `req_${randomUUID().replaceAll('-', '')}`;
      const startedAt = deps.now();
      let response: Response;
      try {
        const caller = known ?? (await callerOf(request, deps));
        response = await route({ id, request, caller, startedAt, deps, breaker, refusedFields, kept, open }, asking);
      } catch (error) {
        const failure = told(error, id, request);
        const isSdk = pathOf(request)?.startsWith(SDK) === true;
        response = errorResponse(failure, isSdk ? sdkErrorBody(failure, modelOf(request)) : undefined);
      }
      response.headers.set('x-request-id', id);
      return response;
    },
    async close() {
      for (const end of open) end(new GatewayError('upstream_error', 'The gateway is closing: try again'));
      await deps.usage.flush();
    },
  };

  function told(error: unknown, id: string, { signal }: Request): GatewayError {
    if (error instanceof GatewayError) {
      const { status, code } = error;
      if (status >= 500) deps.log('warn', `call ${id} failed: ${code}`, { id, status, code });
      return error;
    }
    if (signal.aborted) return new GatewayError('client_gone', 'The client closed the connection');
    if (isFailure(error, 'accounts_away')) {
      deps.log('error', `call ${id} failed: its token or its limits could not be looked up`, { id });
      return new GatewayError('unavailable', 'The gateway cannot look up tokens and limits: try again', {
        retryAfterMs: AWAY_RETRY_MS,
      });
    }
    // The error's message may contain client input.
    const name = error instanceof Error ? error.name : typeof error;
    deps.log('error', `call ${id} failed: ${name}`, { id, where: placeOf(error) });
    return new GatewayError('internal_error', `Internal error: the log of the gateway has the cause under ${id}`);
  }
}

/** @throws {GatewayError} 401, 403 */
async function callerOf(request: Request, { tokens }: GatewayDeps): Promise<Caller> {
  const [, token] = /^Bearer +(\S+) *$/i.exec(request.headers.get('authorization') ?? '') ?? [];
  if (token === undefined)
    throw new GatewayError(
      'invalid_api_key',
      'Authentication required: send a token as "Authorization: Bearer <token>"',
    );
  const caller = await tokens.authenticate(token);
  if (caller === 'expired') throw new GatewayError('token_expired', 'The token has expired');
  if (caller === 'not_allowed') throw new GatewayError('model_not_allowed', 'AI is not enabled for this deployment');
  if (caller === 'invalid') throw new GatewayError('invalid_api_key', 'The token is unknown or was revoked');
  return caller;
}

/** The path after the prefix; null if the path has another prefix. */
function pathOf(request: Request): string | null {
  const { pathname } = new URL(request.url);
  return PREFIX.test(pathname) ? pathname.replace(PREFIX, '') : null;
}

async function route(call: Call, asking: Set<string>): Promise<Response> {
  const path = pathOf(call.request);
  if (path === '/chat/completions') return only('POST', call, async () => chatCompletions(call, await bodyOf(call)));
  if (path === '/embeddings') return only('POST', call, async () => embeddings(call, await bodyOf(call)));
  if (path === '/models') return only('GET', call, () => listModels(call));
  if (path?.startsWith('/models/') === true) return only('GET', call, () => oneModel(call, nameIn(path)));
  if (path === '/usage') return only('GET', call, () => usageOf(call, asking));
  if (path === `${SDK}language-model`) return only('POST', call, () => languageModel(call));
  if (path === `${SDK}embedding-model`) return only('POST', call, () => embeddingModel(call));
  if (path === `${SDK}config`) return only('GET', call, () => sdkModels(call));
  const [, kind] = SDK_MODEL.exec(path ?? '') ?? [];
  if (kind !== undefined) unservedModel(call, kind);
  if (path !== null && Object.hasOwn(unserved, path))
    throw new GatewayError('route_not_found', `/ai${path} is not supported: ${unserved[path]}`);
  throw new GatewayError(
    'route_not_found',
    'Unknown route: use /ai/chat/completions, /ai/embeddings, /ai/models or /ai/usage',
  );
}

const bodyOf = ({ request, deps }: Call): Promise<Json> => readJson(request, deps.limits.bodyBytesMax);

function only(method: string, { request }: Call, answer: () => Promise<Response>): Promise<Response> {
  if (request.method === method) return answer();
  throw new GatewayError('method_not_allowed', `Method ${request.method} is not allowed here: use ${method}`);
}

/** Clients send the slash in a model's name as is, or encoded. */
function nameIn(path: string): string {
  try {
    return decodeURIComponent(path.slice('/models/'.length));
  } catch {
    throw new GatewayError('invalid_request', 'The model name in the URL is not URL-encoded');
  }
}

/** The first stack line with a source location. */
function placeOf(error: unknown): string {
  const stack = error instanceof Error ? (error.stack ?? '') : '';
  return /\n\s+at (?:.*\()?([^()\n]+:\d+:\d+)/.exec(stack)?.[1]?.split('/').slice(-2).join('/') ?? '';
}
