// Shared by the sandbox routes: naming a sandbox, checking its options, forwarding a call, returning its response.
import type { Readable } from 'node:stream';
import Type from '#core/typebox/typebox.mjs';
import { BindingName, branchQuery, done, type ResourceAccess } from './access.ts';
import type { SandboxRequest } from './sandbox-calls.ts';
import { toWebStream } from './streamed.ts';

const PAGE_MAX = 1000;

export const Sandbox = Type.String({ pattern: '^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$', description: 'Its id' });
export const ofBinding = Type.Object({ id: Type.String(), binding: BindingName });
export const ofOne = Type.Object({ id: Type.String(), binding: BindingName, sandbox: Sandbox });
/** Pagination by id. */
export const page = Type.Object({
  ...branchQuery,
  prefix: Type.Optional(Sandbox),
  cursor: Type.Optional(Sandbox),
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: PAGE_MAX, default: 100 })),
});
export const Moment = Type.Number({ description: 'Milliseconds since 1970' });

/** Validated with the call, as for the binding and with the same messages (core/sandbox/options.ts). */
export const SandboxOptions = Type.Unsafe<Readonly<Record<string, unknown>>>(
  Type.Object(
    {
      machine: Type.Optional(Type.Unknown({ description: 'small, default, large or xlarge' })),
      image: Type.Optional(Type.Unknown({ description: 'Name of an image that the operator allows' })),
      egress: Type.Optional(
        Type.Unknown({ description: '{"mode": "all"}, {"mode": "none"}, or {"mode": "allow", "allow": [<hosts>]}' }),
      ),
      ai: Type.Optional(
        Type.Unknown({ description: 'Whether commands in the sandbox have a token for the AI gateway' }),
      ),
      snapshot: Type.Optional(
        Type.Unknown({ description: 'ID of a snapshot to start from, if the sandbox does not exist yet' }),
      ),
    },
    { description: "Image of the sandbox; null for the operator's default" },
  ),
);

/** The fields of a route's request that select the sandboxes. */
interface Asking {
  readonly params: { readonly id: string; readonly binding: string };
  readonly query: { readonly branch?: string | undefined };
  readonly signal: AbortSignal;
  readonly state: { readonly resources: ResourceAccess };
}

/** Returns the response body. */
export function ask({ params, query, signal, state }: Asking, request: SandboxRequest): Promise<Readable> {
  const { id: project, binding } = params;
  return state.resources.sandbox({ project, branch: query.branch, binding, request, signal });
}

/** An empty response. */
export function end(answer: Readable): Response {
  answer.resume();
  return done();
}

/** Streams the agent's JSON as it arrives. @param within the key of an object in which the JSON is wrapped */
export function jsonOf(answer: Readable, within?: 'items'): never {
  const body = within === undefined ? answer : enclosed(`{"${within}":`, answer, '}');
  return new Response(toWebStream(body), { headers: { 'content-type': 'application/json' } }) as never;
}

async function* enclosed(before: string, chunks: AsyncIterable<Uint8Array>, after: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from(before);
  yield* chunks;
  yield Buffer.from(after);
}
