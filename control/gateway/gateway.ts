// The AI gateway as a function of requests: who calls, which route, and every error as its clients read it. Knows no
// server, no process and no database: all it needs is handed in.
import { randomUUID } from 'node:crypto';
import type { Json } from './chat.ts';
import type { Caller, Gateway, GatewayParts } from './contract.ts';
import { errorResponse, GatewayError } from './errors.ts';
import { readJson } from './request-body.ts';
import type { Call } from './routes/call.ts';
import { chatCompletions } from './routes/chat-completions.ts';
import { embeddings } from './routes/embeddings.ts';
import { listModels, oneModel } from './routes/models.ts';
import { createCircuitBreaker } from './routing/circuit-breaker.ts';

const PREFIX = /^\/ai(?:\/v1)?(?=\/|$)/;
/** Wires that clients may expect here. */
const unserved = new Set(['/messages', '/responses', '/completions', '/images/generations', '/audio/transcriptions']);

export function createGateway(parts: GatewayParts): Gateway {
  const { breakerFailuresMax: failuresMax, breakerOpenMs: openMs } = parts.limits;
  const breaker = createCircuitBreaker(parts.now, { failuresMax, openMs });
  const open = new Set<(error: GatewayError) => void>();
  return {
    async fetch(request, known) {
      const id = `req_${randomUUID().replaceAll('-', '')}`;
      const startedAt = parts.now();
      let response: Response;
      try {
        const caller = known ?? (await callerOf(request, parts));
        response = await route({ id, request, caller, startedAt, parts, breaker, open });
      } catch (error) {
        response = errorResponse(told(error, id, request));
      }
      response.headers.set('x-request-id', id);
      return response;
    },
    async close() {
      for (const end of open) end(new GatewayError('upstream_error', 'The gateway is closing: try again'));
      await parts.usage.flush();
    },
  };

  function told(error: unknown, id: string, { signal }: Request): GatewayError {
    if (error instanceof GatewayError) {
      const { status, code } = error;
      if (status >= 500) parts.log('warn', `call ${id} failed: ${code}`, { id, status, code });
      return error;
    }
    if (signal.aborted) return new GatewayError('client_gone', 'The client closed the connection');
    // Its message may hold what a client wrote.
    const name = error instanceof Error ? error.name : typeof error;
    parts.log('error', `call ${id} failed: ${name}`, { id, where: placeOf(error) });
    return new GatewayError('internal_error', `The gateway failed; its log has more at ${id}`);
  }
}

/** @throws {GatewayError} 401, 403 */
async function callerOf(request: Request, { tokens }: GatewayParts): Promise<Caller> {
  const [, token] = /^Bearer +(\S+) *$/i.exec(request.headers.get('authorization') ?? '') ?? [];
  if (token === undefined)
    throw new GatewayError('invalid_api_key', 'No token: send it as "Authorization: Bearer <token>"');
  const caller = await tokens.authenticate(token);
  if (caller === 'expired') throw new GatewayError('token_expired', 'The token has expired');
  if (caller === 'not_allowed') throw new GatewayError('model_not_allowed', 'AI is not enabled for this deployment');
  if (caller === 'invalid') throw new GatewayError('invalid_api_key', 'The token is unknown or was revoked');
  return caller;
}

async function route(call: Call): Promise<Response> {
  const { pathname } = new URL(call.request.url);
  const path = PREFIX.test(pathname) ? pathname.replace(PREFIX, '') : null;
  if (path === '/chat/completions') return only('POST', call, async () => chatCompletions(call, await bodyOf(call)));
  if (path === '/embeddings') return only('POST', call, async () => embeddings(call, await bodyOf(call)));
  if (path === '/models') return only('GET', call, () => listModels(call));
  if (path?.startsWith('/models/') === true) return only('GET', call, () => oneModel(call, modelOf(path)));
  if (path !== null && unserved.has(path))
    throw new GatewayError('route_not_found', `${path} is not served here: use /ai/chat/completions`);
  throw new GatewayError(
    'route_not_found',
    'No such route: there are /ai/chat/completions, /ai/embeddings and /ai/models',
  );
}

const bodyOf = ({ request, parts }: Call): Promise<Json> => readJson(request, parts.limits.bodyBytesMax);

function only(method: string, { request }: Call, answer: () => Promise<Response>): Promise<Response> {
  if (request.method === method) return answer();
  throw new GatewayError('method_not_allowed', `This route takes ${method}, not ${request.method}`);
}

/** Clients send the slash of a model's name as it is, or encoded. */
function modelOf(path: string): string {
  try {
    return decodeURIComponent(path.slice('/models/'.length));
  } catch {
    throw new GatewayError('invalid_request', 'The name of the model is not encoded as a part of a URL');
  }
}

/** The first line of a stack that is a place. */
function placeOf(error: unknown): string {
  const stack = error instanceof Error ? (error.stack ?? '') : '';
  return /\n\s+at (?:.*\()?([^()\n]+:\d+:\d+)/.exec(stack)?.[1]?.split('/').slice(-2).join('/') ?? '';
}
