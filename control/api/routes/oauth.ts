// How the CLI gets its token: RFC 6749 with PKCE, RFC 8628 and RFC 7009. Errors have the fields of OAuth and of this
// API (control/http/failures.ts adds the fields of OAuth to errors of the framework). Members that no field declares
// are ignored, as RFC 6749 requires. The pages are served from the dashboard's origin, which has the sessions.
import { Failure, isFailure } from '#core/failure.ts';
import Type from '#core/typebox/typebox.mjs';
import { platform } from '#packages/worker/index.ts';
import type { Dependencies } from '../../process/dependencies.ts';
import { countAttempt } from '../../sign-in/attempts.ts';
import {
  CLIENT_ID,
  clientName,
  DEVICE_SECONDS,
  exchangeCode,
  makeDevice,
  POLL_SECONDS,
  pollDevice,
  readCodeRequest,
  TOKEN_DAYS,
  toQuery,
} from '../../sign-in/grants.ts';
import type { IssuedToken } from '../../records/tokens.ts';
import { revokeSecret } from '../../sign-in/tokens.ts';
import type { RequestState } from '../request/middleware.ts';
import { networkOf } from '../../http/client-address.ts';
import { openToAll } from '../request/needs.ts';

const Text = Type.String({ maxLength: 1024 });
const GrantFailure = Type.Object({
  error: Type.String(),
  error_description: Type.String(),
  message: Type.String(),
  code: Type.String(),
  requestId: Type.String(),
});
const Token = Type.Object({ access_token: Type.String(), token_type: Type.String(), expires_in: Type.Integer() });

const DAY_SECONDS = 86_400;
const DEVICE_GRANT = 'urn:ietf:params:oauth:grant-type:device_code';

export const oauth = platform<Dependencies, RequestState>()
  .get(
    '/oauth/authorize',
    { ...openToAll(), tags: ['oauth'], summary: 'Authorize a command line in the browser', hidden: true },
    (ctx) => {
      const { requestId } = ctx.state;
      try {
        const asked = readCodeRequest(ctx.url.searchParams);
        if ('error' in asked) return ctx.redirect(asked.back, 303);
        return ctx.redirect(`${ctx.env.addresses.ui}/api/auth/authorize?${new URLSearchParams(toQuery(asked))}`, 303);
      } catch (error) {
        return Response.json(failureOf(error, requestId), { status: 400 });
      }
    },
  )
  .post(
    '/oauth/device',
    {
      ...openToAll(),
      tags: ['oauth'],
      summary: 'Start a login with a code to enter in a browser',
      bodyType: 'form',
      body: Type.Object({ client_id: Text, name: Type.Optional(Text), scope: Type.Optional(Text) }),
      response: {
        200: Type.Object({
          device_code: Type.String(),
          user_code: Type.String(),
          verification_uri: Type.String(),
          verification_uri_complete: Type.String(),
          expires_in: Type.Integer(),
          interval: Type.Integer(),
        }),
        400: GrantFailure,
      },
    },
    async (ctx) => {
      const { sql, addresses } = ctx.env;
      const address = ctx.state.address ?? '';
      await countAttempt(sql, 'device', networkOf(address));
      if (ctx.body.client_id !== CLIENT_ID) return ctx.json(failureOf(noClient(), ctx.state.requestId), 400);
      const { deviceCode, userCode } = await makeDevice(sql, clientName(ctx.body.name), address);
      const page = `${addresses.ui}/api/auth/device`;
      return {
        device_code: deviceCode,
        user_code: userCode,
        verification_uri: page,
        verification_uri_complete: `${page}?code=${userCode}`,
        expires_in: DEVICE_SECONDS,
        interval: POLL_SECONDS,
      };
    },
  )
  .post(
    '/oauth/token',
    {
      ...openToAll(),
      tags: ['oauth'],
      summary: 'Exchange a code for a token',
      bodyType: 'form',
      body: Type.Object({
        client_id: Text,
        grant_type: Text,
        code: Type.Optional(Text),
        redirect_uri: Type.Optional(Text),
        code_verifier: Type.Optional(Text),
        device_code: Type.Optional(Text),
      }),
      response: { 200: Token, 400: GrantFailure },
    },
    async (ctx) => {
      const { sql } = ctx.env;
      await countAttempt(sql, 'exchange', networkOf(ctx.state.address ?? ''));
      try {
        return issued(await grant(ctx.env, ctx.body));
      } catch (error) {
        return ctx.json(failureOf(error, ctx.state.requestId), 400);
      }
    },
  )
  .post(
    '/oauth/revoke',
    {
      ...openToAll(),
      tags: ['oauth'],
      summary: 'Revoke a token',
      bodyType: 'form',
      body: Type.Object({ token: Text, client_id: Type.Optional(Text), token_type_hint: Type.Optional(Text) }),
      response: { 200: Type.Object({}) },
    },
    async (ctx) => {
      await countAttempt(ctx.env.sql, 'exchange', networkOf(ctx.state.address ?? ''));
      await revokeSecret(ctx.env.sql, ctx.body.token);
      return {};
    },
  );

interface TokenRequest {
  readonly client_id: string;
  readonly grant_type: string;
  readonly code?: string;
  readonly redirect_uri?: string;
  readonly code_verifier?: string;
  readonly device_code?: string;
}

function grant({ sql }: Dependencies, tokenRequest: TokenRequest): Promise<IssuedToken> {
  if (tokenRequest.client_id !== CLIENT_ID) throw noClient();
  const { code, redirect_uri: redirectUri, code_verifier: verifier, device_code: deviceCode } = tokenRequest;
  if (tokenRequest.grant_type === DEVICE_GRANT && deviceCode !== undefined) return pollDevice(sql, deviceCode);
  if (tokenRequest.grant_type !== 'authorization_code')
    throw new Failure('oauth', `grant_type must be authorization_code or ${DEVICE_GRANT}`, {
      code: 'unsupported_grant_type',
    });
  if (code === undefined || redirectUri === undefined || verifier === undefined)
    throw new Failure('oauth', 'code, redirect_uri and code_verifier are required', { code: 'invalid_request' });
  return exchangeCode(sql, { code, redirectUri, verifier });
}

function noClient(): Failure<'oauth'> {
  return new Failure('oauth', `Unknown client: use ${CLIENT_ID}`, { code: 'invalid_client' });
}

function issued({ secret }: IssuedToken): { access_token: string; token_type: string; expires_in: number } {
  return { access_token: secret, token_type: 'Bearer', expires_in: TOKEN_DAYS * DAY_SECONDS };
}

/** @throws errors that are not OAuth errors. */
function failureOf(error: unknown, requestId: string) {
  if (!isFailure(error, 'oauth')) throw error;
  const { code, message } = error;
  return { error: code, error_description: message, message, code, requestId };
}
