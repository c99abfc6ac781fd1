// Middleware and state around a handler. An error in a step becomes a response immediately, so that outer steps (CORS
// headers, logs) always get a Response.
import { HttpError } from './failure.ts';
import { AnswerError, mutable, toResponse } from './reply.ts';
import { HandlerContext, Reply } from './request-context.ts';
import type { Answer } from './route-types.ts';
import { isThenable } from './schema.ts';

/** One step around the routes that are added later. */
export type Link =
  | { readonly kind: 'middleware'; readonly run: (ctx: HandlerContext, next: () => Promise<Response>) => unknown }
  | { readonly kind: 'state'; readonly make: (ctx: unknown) => unknown };

/** Responds to an error. */
export type ErrorHandler = (error: unknown, ctx: HandlerContext) => Answer | Promise<Answer>;

/** The middleware around one handler. */
export interface HandlerScope {
  readonly links: readonly Link[];
  readonly onError: ErrorHandler | null;
}

type Maybe<T> = T | Promise<T>;

/** Runs the steps from `at` on, then `end`. Never throws, never rejects. */
export function runChain(
  around: HandlerScope,
  at: number,
  ctx: HandlerContext,
  end: (ctx: HandlerContext) => Maybe<Response>,
): Maybe<Response> {
  const fail = (error: unknown): Maybe<Response> => failureResponse(error, ctx, around.onError);
  try {
    for (let index = at; index < around.links.length; index++) {
      const link = around.links[index]!;
      if (link.kind === 'middleware') return runMiddleware(around, index, link, ctx, end);
      const made = link.make(ctx);
      if (isThenable(made))
        return (made as Promise<object>).then((adds) => {
          Object.assign(ctx.state, adds);
          return runChain(around, index + 1, ctx, end);
        }, fail);
      Object.assign(ctx.state, made);
    }
    const answered = end(ctx);
    return isThenable(answered) ? (answered as Promise<Response>).then(undefined, fail) : answered;
  } catch (error) {
    return fail(error);
  }
}

function runMiddleware(
  around: HandlerScope,
  index: number,
  link: Link & { kind: 'middleware' },
  ctx: HandlerContext,
  end: (ctx: HandlerContext) => Maybe<Response>,
): Maybe<Response> {
  let called = false;
  const next = async (): Promise<Response> => {
    if (called) throw new Error('Middleware called next() twice');
    called = true;
    return mutable(await runChain(around, index + 1, ctx, end));
  };
  const result = link.run(ctx, next);
  if (!isThenable(result)) return answerOf(result, ctx);
  return (result as Promise<unknown>)
    .then((value) => answerOf(value, ctx))
    .then(undefined, (error) => failureResponse(error, ctx, around.onError));
}

/** Result of middleware, `onError` and `notFound`. */
function answerOf(result: unknown, ctx: HandlerContext): Maybe<Response> {
  if (result instanceof Response) return result;
  if (result instanceof Reply) return toResponse(result, ctx, null);
  throw new TypeError('Middleware returned no response: it must return next() or a response of its own');
}

/** The response to an error: from `onError`, else from the error itself. */
function failureResponse(error: unknown, ctx: HandlerContext, onError: ErrorHandler | null): Maybe<Response> {
  if (error instanceof AnswerError) console.error(`${ctx.req.method} ${ctx.route ?? ctx.path}: ${error.message}`);
  if (onError === null) return plainFailure(error);
  try {
    const result = onError(error, ctx);
    if (!isThenable(result)) return answerOf(result, ctx);
    return (result as Promise<Answer>).then((value) => answerOf(value, ctx)).then(undefined, plainFailure);
  } catch (second) {
    return plainFailure(second);
  }
}

/** Clients only get errors that are meant for them. */
function plainFailure(error: unknown): Response {
  if (error instanceof HttpError) return error.toResponse();
  if (error instanceof AnswerError) return Response.json({ error: 'Response validation failed' }, { status: 500 });
  console.error(error);
  return Response.json({ error: 'Internal Server Error' }, { status: 500 });
}
