// Public ports of sandboxes, from outside a worker: expose, list, remove. Callers with read access do not receive the
// port's token, because it allows everything that the server behind the port allows.
import Type from '#core/typebox/typebox.mjs';
import { platform } from '#packages/worker/index.ts';
import { BindingName, branchOnly, Done, NullableText, reads, writes, type ResourceState } from './access.ts';
import { ask, end, ofOne, Sandbox, SandboxOptions } from './sandbox-asking.ts';
import { toJson } from './sandbox-calls.ts';

const Port = Type.Integer({ minimum: 1, maximum: 65_535 });
const shown = {
  url: Type.String({ description: 'Public URL; stays the same when the port is exposed again' }),
  port: Type.Integer(),
  name: NullableText,
  auth: Type.Enum(['token', 'public']),
};
const ExposedPort = Type.Object(shown);
const ExposedPortWithToken = Type.Object({
  ...shown,
  token: Type.Optional(
    Type.String({ description: 'Send the token once as `?token=`, or with each request as `x-platform-port-token`' }),
  ),
});

type Shown = Type.Static<typeof ExposedPortWithToken>;

export const sandboxPorts = platform<unknown, ResourceState>()
  .get(
    '/projects/:id/sandboxes/:binding/:sandbox/ports',
    {
      ...reads,
      summary: 'List the exposed ports of a sandbox, without their tokens',
      params: ofOne,
      query: branchOnly,
      response: Type.Object({ items: Type.Array(ExposedPort) }),
    },
    async (ctx) => {
      const answer = await ask(ctx, { operation: 'listExposedPorts', sandbox: ctx.params.sandbox });
      const ports = (await toJson(answer)) as readonly Shown[];
      return { items: ports.map(({ url, port, name, auth }) => ({ url, port, name, auth })) };
    },
  )
  .post(
    '/projects/:id/sandboxes/:binding/:sandbox/ports',
    {
      ...writes,
      summary: 'Expose a port, or read its token again',
      params: ofOne,
      query: branchOnly,
      body: Type.Object({
        port: Port,
        name: Type.Optional(Type.String({ minLength: 1, maxLength: 63, description: 'For humans' })),
        auth: Type.Optional(
          Type.Enum(['token', 'public'], { description: '`public`: everyone who knows the URL has access' }),
        ),
        options: Type.Optional(SandboxOptions),
      }),
      response: ExposedPortWithToken,
    },
    async (ctx) => {
      const { options, ...args } = ctx.body;
      const { sandbox } = ctx.params;
      return (await toJson(await ask(ctx, { operation: 'exposePort', sandbox, args, options }))) as Shown;
    },
  )
  .delete(
    '/projects/:id/sandboxes/:binding/:sandbox/ports/:port',
    {
      ...writes,
      summary: 'Revoke the URL of a port',
      params: Type.Object({ id: Type.String(), binding: BindingName, sandbox: Sandbox, port: Port }),
      query: branchOnly,
      response: Done,
    },
    async (ctx) => {
      const { sandbox, port } = ctx.params;
      return end(await ask(ctx, { operation: 'unexposePort', sandbox, args: { port } }));
    },
  );
