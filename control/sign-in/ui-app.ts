// The app at `/api/auth/` of `AUTH_URL`: sign-in, sign-out, and the consent pages for the CLI. ui.ts forwards the rest
// of `/api/`; the web process (web/) serves the dashboard.
import { randomBytes } from 'node:crypto';
import { isFailure } from '#core/failure.ts';
import Type from '#core/typebox/typebox.mjs';
import { HttpError, middleware, platform } from '#packages/worker/index.ts';
import type { SignedIn } from '../access/actor.ts';
import { ApiError } from '../http/errors.ts';
import type { Dependencies } from '../process/dependencies.ts';
import { hashOf } from '../access/secrets.ts';
import { isSame, SESSION_MS, type Session } from '../sessions/sessions.ts';
import { admit } from './accounts.ts';
import { countAttempt, sweepAttempts } from './attempts.ts';
import { recordSignIn } from './audit.ts';
import { cookiesOf, readCookie } from './cookies.ts';
import { authorizeUrl, exchangeCode, personOf } from './git-host-oauth.ts';
import { backTo, decideDevice, findDevice, makeCode, plainUserCode, readCodeRequest, toQuery } from './grants.ts';
import { isFromOwnPage, safePath } from './origin.ts';
import { codePage, consentPage, devicePage, goTo, html, page, signInPage } from './pages.ts';
import { makeOnce, onceHash, sweepOnce, takeOnce } from './single-use.ts';
import { accountOfSignInToken } from './tokens.ts';

/** Dependencies, and what ui.ts knows about the request. */
interface UiRequest extends Dependencies {
  /** Null: not signed in. */
  readonly session: Session | null;
  /** Network of the client. */
  readonly network: string;
  readonly address: string | null;
}

const FLOW_SECONDS = 600;
const GIT_HOST_CALLBACK = '/api/auth/callback/git-host';

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

/** The app. Its errors are HTML pages. */
export function createUiApp() {
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
      return signInPage(redirect, { gitHost: hostName(ctx.env), error: ctx.query.error ?? null });
    })
    .post(
      '/api/auth/sign-in/token',
      { bodyType: 'form', body: Type.Object({ token: Type.String(), redirect: Type.Optional(Type.String()) }) },
      async (ctx) => {
        const { env } = ctx;
        await countAttempt(env.sql, 'token', env.network);
        const redirect = safePath(ctx.body.redirect, env.addresses.ui);
        const signedIn = await accountOfSignInToken(env.sql, ctx.body.token.trim());
        if (signedIn === null) return signInPage(redirect, { gitHost: hostName(env), error: 'token', status: 401 });
        await recordSignIn(env.sql, signedIn.accountId, 'account.token_sign_in');
        return goTo(redirect, [await openSession(env, signedIn, ctx.req.headers)]);
      },
    )
    .get('/api/auth/sign-in/git-host', { query: redirectQuery }, async (ctx) => {
      return beginAtGitHost(ctx.env, safePath(ctx.query.redirect, ctx.env.addresses.ui), null);
    })
    .post('/api/auth/link/git-host', async (ctx) => {
      const { session } = ctx.env;
      if (session === null) return goTo('/api/auth/sign-in');
      return beginAtGitHost(ctx.env, '/', session.accountId);
    })
    .get(GIT_HOST_CALLBACK, async (ctx) => endAtGitHost(ctx.env, ctx.url.searchParams, ctx.req.headers))
    .post('/api/auth/sign-out', async (ctx) => {
      const cookies = cookiesOf(ctx.env.addresses.ui);
      const value = readCookie(ctx.req.headers.get('cookie'), cookies.session);
      if (value !== null) await ctx.env.signIn.sessions.end(value);
      return goTo('/api/auth/sign-in', [cookies.clear(cookies.session)]);
    })
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
          decision === 'allow' ? 'The command line is logged in' : 'Refused',
          html`<p>Go back to it. This page can be closed.</p>`,
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

async function beginAtGitHost(env: UiRequest, redirect: string, linkTo: string | null): Promise<Response> {
  const { sql, addresses, signIn, network } = env;
  if (signIn.gitHost.oauth === null)
    throw new ApiError('not_available', {
      reason: 'Sign-in with a Git host is not enabled: set GITHOST_CLIENT_ID and GITHOST_CLIENT_SECRET',
    });
  await countAttempt(sql, 'sign-in', network);
  const cookies = cookiesOf(addresses.ui);
  const browser = randomBytes(32).toString('base64url');
  const content = { redirect, browser: hashOf(browser).toString('base64url'), linkTo };
  const state = await makeOnce(sql, 'git-host-state', content, FLOW_SECONDS);
  return goTo(authorizeUrl(signIn.gitHost, `${addresses.ui}${GIT_HOST_CALLBACK}`, state, signIn.secret), [
    cookies.set(cookies.flow, browser, FLOW_SECONDS),
  ]);
}

async function endAtGitHost(env: UiRequest, query: URLSearchParams, headers: Headers): Promise<Response> {
  const { sql, addresses, signIn, network, log } = env;
  await countAttempt(sql, 'sign-in', network);
  const cookies = cookiesOf(addresses.ui);
  const failed = (error: string): Response => goTo(`/api/auth/sign-in?error=${error}`, [cookies.clear(cookies.flow)]);
  const [state = '', ...more] = query.getAll('state');
  const browser = readCookie(headers.get('cookie'), cookies.flow);
  // A state is used up in any case.
  const kept = /^[\w-]{43}$/.test(state)
    ? await takeOnce<{ redirect: string; browser: string; linkTo: string | null }>(
        sql,
        'git-host-state',
        onceHash('git-host-state', state),
      )
    : null;
  if (kept === null || more.length > 0 || browser === null) return failed('expired');
  if (!isSame(hashOf(browser).toString('base64url'), kept.browser)) return failed('expired');
  // The account that started linking must still be signed in.
  if (kept.linkTo !== null && env.session?.accountId !== kept.linkTo) return failed('expired');
  const code = query.get('code');
  if (code === null || query.has('error')) return failed('denied');
  try {
    const token = await exchangeCode(signIn.gitHost, code, `${addresses.ui}${GIT_HOST_CALLBACK}`, state, signIn.secret);
    const admission = await admit(env, await personOf(signIn.gitHost, token.accessToken), token, kept.linkTo);
    if ('refused' in admission) return failed(admission.refused);
    const session = await openSession(env, { ...admission, tokenId: null }, headers);
    return goTo(kept.redirect, [cookies.clear(cookies.flow), session]);
  } catch (error) {
    if (!isFailure(error, 'sign_in_refused')) throw error;
    log.warn({ reason: error.message }, 'Sign-in at the Git host failed');
    return failed('git_host');
  }
}

/** @returns `Set-Cookie`. */
async function openSession(
  { signIn, addresses, address }: UiRequest,
  signedIn: SignedIn,
  headers: Headers,
): Promise<string> {
  const cookies = cookiesOf(addresses.ui);
  // Always opens a new session, so that none from before continues under another account or beside this one.
  const before = readCookie(headers.get('cookie'), cookies.session);
  if (before !== null) await signIn.sessions.end(before);
  const value = await signIn.sessions.open({ ...signedIn, userAgent: headers.get('user-agent'), address });
  return cookies.set(cookies.session, value, SESSION_MS / 1000);
}

/** Counts by account as well, since a signed-in attacker could use many addresses. */
async function typedCode({ sql, network }: UiRequest, accountId: string, typed: string): Promise<string | null> {
  await countAttempt(sql, 'code', network);
  await countAttempt(sql, 'code', accountId);
  return plainUserCode(typed);
}

function noSuchCode(): Response {
  return codePage('', 'This code is unknown or expired. Check it, or log in again in the terminal.', 404);
}

function signInFirst(path: string): Response {
  return goTo(`/api/auth/sign-in?${new URLSearchParams({ redirect: path })}`);
}

async function loginOf({ sql }: Dependencies, accountId: string): Promise<string> {
  const [account] = await sql<{ login: string }[]>`SELECT login FROM control.account WHERE id = ${accountId}`;
  return account?.login ?? accountId;
}

/** Label of the Git host's button; null: no button. */
function hostName({ signIn: { gitHost } }: Dependencies): string | null {
  return gitHost.oauth === null ? null : new URL(gitHost.url).host;
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
      <p><a href="/">To the start</a></p>`,
    {
      status,
      headers,
    },
  );
}
