// Users of a project's app: profiles, sign-in methods, sessions. Responses never contain passwords or tokens.
import Type from '#core/typebox/typebox.mjs';
import { platform } from '#packages/worker/index.ts';
import {
  branchOnly,
  branchQuery,
  done,
  Done,
  NullableText,
  NumberCursor,
  reads,
  writes,
  type ResourceState,
} from './access.ts';

const params = Type.Object({ id: Type.String() });
const ofUser = Type.Object({ id: Type.String(), user: Type.String({ maxLength: 128 }) });
const User = Type.Object({
  id: Type.String(),
  email: Type.String(),
  name: Type.String(),
  emailVerified: Type.Boolean(),
  createdAt: Type.String({ description: 'ISO 8601' }),
  metadata: Type.Unknown(),
});

export const users = platform<unknown, ResourceState>()
  .get(
    '/projects/:id/users',
    {
      ...reads,
      summary: 'List the users of an app, newest first',
      params,
      query: Type.Object({
        ...branchQuery,
        email: Type.Optional(Type.String({ maxLength: 254 })),
        cursor: NumberCursor,
        limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 1000, default: 100 })),
      }),
      response: Type.Object({ items: Type.Array(User), nextCursor: NullableText }),
    },
    async (ctx) => {
      const { branch, ...args } = ctx.query;
      const found = await ctx.state.resources.ask('users.list', { project: ctx.params.id, branch, args });
      return { items: [...found.users], nextCursor: found.cursor };
    },
  )
  .post(
    '/projects/:id/users',
    {
      ...writes,
      summary: 'Create a user of an app',
      params,
      query: branchOnly,
      body: Type.Object({
        email: Type.String({ minLength: 3, maxLength: 254 }),
        password: Type.Optional(Type.String({ minLength: 8, maxLength: 128 })),
        name: Type.Optional(Type.String({ maxLength: 256 })),
        emailVerified: Type.Optional(Type.Boolean()),
        metadata: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
      }),
      response: { 201: User },
    },
    async (ctx) => {
      const question = { project: ctx.params.id, branch: ctx.query.branch, args: ctx.body };
      return ctx.json((await ctx.state.resources.ask('users.create', question)).user, 201);
    },
  )
  .delete(
    '/projects/:id/users/:user',
    { ...writes, summary: 'Delete a user with all sessions', params: ofUser, query: branchOnly, response: Done },
    async (ctx) => {
      const { id: project, user: id } = ctx.params;
      await ctx.state.resources.ask('users.delete', { project, branch: ctx.query.branch, args: { id } });
      return done();
    },
  )
  .get(
    '/projects/:id/users/:user/sessions',
    {
      ...reads,
      summary: 'List the open sessions of a user, and their sign-in methods',
      params: ofUser,
      query: branchOnly,
      response: Type.Object({
        items: Type.Array(
          Type.Object({
            id: Type.String(),
            createdAt: Type.Number({ description: 'Milliseconds since 1970' }),
            expiresAt: Type.Number(),
            address: NullableText,
            userAgent: NullableText,
          }),
        ),
        methods: Type.Array(Type.String(), { description: 'credential: a password' }),
      }),
    },
    async (ctx) => {
      const { id: project, user: id } = ctx.params;
      const question = { project, branch: ctx.query.branch, args: { id } };
      const { sessions, methods } = await ctx.state.resources.ask('users.sessions', question);
      return { items: [...sessions], methods: [...methods] };
    },
  )
  .delete(
    '/projects/:id/users/:user/sessions/:session',
    {
      ...writes,
      summary: 'End a session of a user',
      params: Type.Object({ ...ofUser.properties, session: Type.String({ maxLength: 128 }) }),
      query: branchOnly,
      response: Done,
    },
    async (ctx) => {
      const { id: project, user: id, session } = ctx.params;
      const question = { project, branch: ctx.query.branch, args: { id, session } };
      await ctx.state.resources.ask('users.end-session', question);
      return done();
    },
  )
  .get(
    '/projects/:id/sign-in',
    {
      ...reads,
      summary: 'List the sign-in methods of an app',
      params,
      query: branchOnly,
      response: Type.Object({ providers: Type.Array(Type.String()), requiresVerification: Type.Boolean() }),
    },
    async (ctx) => {
      const question = { project: ctx.params.id, branch: ctx.query.branch, args: {} };
      const { providers, requiresVerification } = await ctx.state.resources.ask('users.settings', question);
      return { providers: [...providers], requiresVerification };
    },
  );
