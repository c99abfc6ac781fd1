// The app at `/api/auth/` of `AUTH_URL`: sign-in, sign-out, and the consent pages for the CLI. ui.ts forwards the rest
// of `/api/`; the web process (web/) serves the dashboard.
import { isFailure } from '#core/failure.ts';
import Type from '#core/typebox/typebox.mjs';
import { HttpError, middleware, platform } from '#packages/worker/index.ts';
import { ApiError } from '../http/errors.ts';
import type { Dependencies } from '../process/dependencies.ts';
import { leadsToSetup } from '../records/setup.ts';
import { countAttempt, sweepAttempts } from './attempts.ts';
import { recordSignIn } from './audit.ts';
import { cookiesOf, readCookie } from './cookies.ts';
import { emailApp } from './email-app.ts';
import { beginAtGitHost, checkGitHost, endAtGitHost, GIT_HOST_CALLBACK } from './git-host-flow.ts';
import { backTo, decideDevice, findDevice, makeCode, plainUserCode, readCodeRequest, toQuery } from './grants.ts';
import { invitationApp } from './invitation-app.ts';
import { oidcApp } from './oidc-app.ts';
import { isFromOwnPage, safePath } from './origin.ts';
import { codePage, consentPage, devicePage, goTo, html, linkPage, page } from './pages.ts';
import { passkeyApp } from './passkey-app.ts';
import { passkeyInvitationApp } from './passkey-invitation-app.ts';
import { passkeyListApp } from './passkey-list-app.ts';
import { passwordApp } from './password-app.ts';
import { recoveryApp } from './recovery-app.ts';
import { secondFactorApp } from './second-factor-app.ts';
import { sweepOnce } from './single-use.ts';
import { accountOfSignInToken } from './tokens.ts';
import { loginOf, openSession, showSignIn, signInFirst, type UiRequest } from './ui-request.ts';

const LINK_PATH = '/api/auth/link/git-host';

/** Accepts forms only from the platform's own pages. */
const ownPagesOnly = middleware<object, UiRequest>(async (ctx, next) => {
  const { method, headers } = ctx.req;
  if (method !== 'GET' && method !== 'HEAD' && !isFromOwnPage(headers, ctx.env.addresses.ui))
    throw new ApiError('origin_forbidden', { origin: headers.get('origin') ?? 'an unknown page' });
  return next();
});

const redirectQuery = Type.Object({
  redirect: Type.Optional(Type.String({ maxLength: 4096 })),
  error: Type.Optional(Type.String({ maxLength: 100 })),
});
const Decision = Type.Union([Type.Literal('allow'), Type.Literal('deny')]);

/** Pages for signed-in people, under `/api/auth/`. */
export type UiRoutes = ReturnType<typeof noRoutes>;
const noRoutes = () => platform<UiRequest>();

/** The app. Errors are HTML pages. */
export function createUiApp(more: UiRoutes | null = null) {
  return platform<UiRequest>()
    .use(ownPagesOnly)
    .onError((error, ctx) => errorPage(error, ctx.env))
    .get('/api/auth/session', async (ctx) => {
      const { session } = ctx.env;
      if (session === null) return Response.json({ account: null }, { headers: { 'cache-control': 'no-store' } });
      const account = { id: session.accountId, login: await loginOf(ctx.env, session.accountId) };
      return Response.json(
        { account, expiresAt: session.expiresAt.toISOString() },
        { headers: { 'cache-control': 'no-store' } },
      );
    })
    .get('/api/auth/sign-in', { query: redirectQuery }, (ctx) => {
      const redirect = safePath(ctx.query.redirect, ctx.env.addresses.ui);
      if (ctx.env.session !== null && ctx.query.error === undefined) return goTo(redirect);
      return showSignIn(ctx.env, redirect, { error: ctx.query.error ?? null });
    })
    .post(
      '/api/auth/sign-in/token',
      { bodyType: 'form', body: Type.Object({ token: Type.String(), redirect: Type.Optional(Type.String()) }) },
      async (ctx) => {
        const { env } = ctx;
        await countAttempt(env.sql, 'token', env.network);
        const redirect = safePath(ctx.body.redirect, env.addresses.ui);
        const signedIn = await accountOfSignInToken(env.sql, ctx.body.token.trim());
        if (signedIn === null) return showSignIn(env, redirect, { error: 'token', status: 401 });
        await recordSignIn(env.sql, signedIn.accountId, 'account.token_sign_in');
        const isFirst = redirect === '/' && (await leadsToSetup(env.sql, signedIn.accountId));
        return goTo(isFirst ? '/setup' : redirect, [await openSession(env, signedIn, ctx.req.headers)]);
      },
    )
    .get('/api/auth/sign-in/git-host', { query: redirectQuery }, async (ctx) => {
      return beginAtGitHost(ctx.env, safePath(ctx.query.redirect, ctx.env.addresses.ui));
    })
    .get(LINK_PATH, { query: redirectQuery }, (ctx) => {
      const { session, signIn, addresses } = ctx.env;
      const redirect = safePath(ctx.query.redirect ?? '/account', addresses.ui);
      if (session === null) return signInFirst(`${LINK_PATH}?${new URLSearchParams({ redirect })}`);
      checkGitHost(ctx.env);
      return linkPage(new URL(signIn.gitHost.url), redirect);
    })
    .post(LINK_PATH, { query: redirectQuery }, async (ctx) => {
      const { session } = ctx.env;
      if (session === null) return goTo('/api/auth/sign-in');
      const redirect = safePath(ctx.query.redirect, ctx.env.addresses.ui);
      return beginAtGitHost(ctx.env, redirect, { linkTo: session.accountId });
    })
    .get(GIT_HOST_CALLBACK, async (ctx) => endAtGitHost(ctx.env, ctx.url.searchParams, ctx.req.headers))
    .post('/api/auth/sign-out', async (ctx) => {
      const cookies = cookiesOf(ctx.env.addresses.ui);
      const value = readCookie(ctx.req.headers.get('cookie'), cookies.session);
      if (value !== null) await ctx.env.signIn.sessions.end(value);
      return goTo('/api/auth/sign-in', [cookies.clear(cookies.session)]);
    })
    .route('/', invitationApp)
    .route('/', passwordApp)
    .route('/', passkeyApp)
    .route('/', passkeyListApp)
    .route('/', passkeyInvitationApp)
    .route('/', oidcApp)
    .route('/', recoveryApp)
    .route('/', secondFactorApp)
    .route('/', emailApp)
    .route('/', more ?? noRoutes())
    .get('/api/auth/authorize', async (ctx) => {
      const { env, url } = ctx;
      const asked = readCodeRequest(url.searchParams);
      if ('error' in asked) return goTo(asked.back);
      const fields = toQuery(asked);
      if (env.session === null) return signInFirst(`/api/auth/authorize?${new URLSearchParams(fields)}`);
      return consentPage(await loginOf(env, env.session.accountId), asked.name, asked.redirectUri, fields);
    })
    .post(
      '/api/auth/authorize',
      { bodyType: 'form', body: Type.Object({ decision: Decision }, { additionalProperties: Type.String() }) },
      async (ctx) => {
        const { env } = ctx;
        if (env.session === null) return goTo('/api/auth/sign-in');
        const { decision, ...fields } = ctx.body as Record<string, string>;
        const asked = readCodeRequest(new URLSearchParams(fields));
        if ('error' in asked) return goTo(asked.back);
        const { redirectUri, state } = asked;
        if (decision !== 'allow') return goTo(backTo(redirectUri, { error: 'access_denied', state }));
        const code = await makeCode(env.sql, env.session, asked);
        return goTo(backTo(redirectUri, { code, state }));
      },
    )
    .get('/api/auth/device', { query: Type.Object({ code: Type.Optional(Type.String()) }) }, (ctx) => {
      const code = (ctx.query.code ?? '').replace(/[^A-Za-z-]/g, '').slice(0, 20);
      if (ctx.env.session === null) return signInFirst(`/api/auth/device?${new URLSearchParams({ code })}`);
      return codePage(code);
    })
    .post('/api/auth/device', { bodyType: 'form', body: Type.Object({ code: Type.String() }) }, async (ctx) => {
      const { env } = ctx;
      if (env.session === null) return goTo('/api/auth/sign-in');
      const code = await typedCode(env, env.session.accountId, ctx.body.code);
      const device = code === null ? null : await findDevice(env.sql, code);
      if (code === null || device === null) return noSuchCode();
      return devicePage(
        await loginOf(env, env.session.accountId),
        device.name,
        device.address,
        `${code.slice(0, 4)}-${code.slice(4)}`,
      );
    })
    .post(
      '/api/auth/device/decide',
      { bodyType: 'form', body: Type.Object({ code: Type.String(), decision: Decision }) },
      async (ctx) => {
        const { env } = ctx;
        if (env.session === null) return goTo('/api/auth/sign-in');
        const { decision } = ctx.body;
        const code = await typedCode(env, env.session.accountId, ctx.body.code);
        if (code === null || !(await decideDevice(env.sql, code, env.session, decision))) return noSuchCode();
        return page(
          decision === 'allow' ? 'The command line is authorized' : 'Refused',
          html`<p>You can close this page and return to the terminal.</p>`,
        );
      },
    )
    .build();
}

/** Deletes expired codes, states, attempts and sessions. */
export async function sweepSignIn({ sql, signIn }: Pick<Dependencies, 'sql' | 'signIn'>): Promise<void> {
  await sweepOnce(sql);
  await sweepAttempts(sql);
  await signIn.sessions.sweep();
}

/** Attempts are also counted by account, since a signed-in attacker could use many addresses. */
async function typedCode({ sql, network }: UiRequest, accountId: string, typed: string): Promise<string | null> {
  await countAttempt(sql, 'code', network);
  await countAttempt(sql, 'code', accountId);
  return plainUserCode(typed);
}

function noSuchCode(): Response {
  return codePage('', 'This code is unknown or expired. Check it, or log in again in the terminal.', 404);
}

function errorPage(error: unknown, { log }: Dependencies): Response {
  const known = isFailure(error, 'oauth')
    ? { status: 400, message: error.message, headers: {} }
    : error instanceof ApiError
      ? { status: error.status, message: error.message, headers: error.headers }
      : error instanceof HttpError
        ? { status: error.status, message: error.message, headers: {} }
        : null;
  if (known === null) log.error({ err: error }, 'Request of the sign-in pages failed');
  const { status, message, headers } = known ?? {
    status: 500,
    message: 'Something went wrong on our side',
    headers: {},
  };
  return page(
    'That did not work',
    html`<p role="alert">${message}</p>
      <p><a href="/">Go to the dashboard</a></p>`,
    {
      status,
      headers,
    },
  );
}
