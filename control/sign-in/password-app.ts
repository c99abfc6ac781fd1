// Sign-in with a username and a password, and the page on which an account sets or changes its password. An unknown
// username gets the answer of a wrong password, after the same work. Part of ui-app.ts.
import Type from '#core/typebox/typebox.mjs';
import { platform } from '#packages/worker/index.ts';
import { findPassword, readPassword } from '../records/passwords.ts';
import { hasSecondFactor } from '../records/second-factors.ts';
import { countAttempt } from './attempts.ts';
import { recordSignIn } from './audit.ts';
import { checkOffered, makeNewPassword, newPasswordFields, saveNewPassword, USERNAME_TAKEN } from './new-password.ts';
import { countUsername, knowBrowser } from './known-browsers.ts';
import { safePath } from './origin.ts';
import { goTo, html, page } from './pages.ts';
import { askForCode } from './second-factor-app.ts';
import { isFresh, loginOf, openSession, showSignIn, signInAgain, signInFirst, type UiRequest } from './ui-request.ts';

const PATH = '/api/auth/password';
const Text = Type.String({ maxLength: 400 });

export const passwordApp = platform<UiRequest>()
  .post(
    '/api/auth/sign-in/password',
    {
      bodyType: 'form',
      body: Type.Object({ username: Text, password: Text, redirect: Type.Optional(Type.String()) }),
    },
    async (ctx) => {
      const { env } = ctx;
      const { username, password } = ctx.body;
      checkOffered(env);
      const accountId = await checkPassword(env, ctx.req.headers, username.trim(), password);
      const redirect = safePath(ctx.body.redirect, env.addresses.ui);
      if (accountId === null) return showSignIn(env, redirect, { error: 'password', status: 401 });
      if (await hasSecondFactor(env.sql, accountId)) return askForCode(env, accountId, redirect);
      await recordSignIn(env.sql, accountId, 'account.password_sign_in');
      const session = await openSession(env, { accountId, tokenId: null }, ctx.req.headers);
      return goTo(redirect, [session, knowBrowser(env, accountId)]);
    },
  )
  .get(PATH, async (ctx) => {
    checkOffered(ctx.env);
    const { session } = ctx.env;
    if (session === null) return signInFirst(PATH);
    const isFirst = (await readPassword(ctx.env.sql, session.accountId)) === null;
    return isFirst && !isFresh(session) ? signInAgain(PATH) : ownPage(ctx.env, session.accountId, null);
  })
  .post(
    PATH,
    {
      bodyType: 'form',
      body: Type.Object({ username: Text, password: Text, current: Type.Optional(Text) }),
    },
    async (ctx) => {
      const { env } = ctx;
      checkOffered(env);
      if (env.session === null) return signInFirst(PATH);
      const { accountId } = env.session;
      await countAttempt(env.sql, 'password', accountId);
      const { username, password, current = '' } = ctx.body;
      const known = await readPassword(env.sql, accountId);
      if (known === null && !isFresh(env.session)) return signInAgain(PATH);
      if (known !== null && !(await env.signIn.passwords.verify(current, known.hash)))
        return ownPage(env, accountId, 'The current password is wrong.');
      const next = await makeNewPassword(env, username, password);
      if ('problem' in next) return ownPage(env, accountId, next.problem);
      if (!(await env.sql.begin((tx) => saveNewPassword(tx, accountId, next))))
        return ownPage(env, accountId, USERNAME_TAKEN);
      await env.signIn.sessions.endAll(accountId);
      const session = await openSession(env, env.session, ctx.req.headers);
      return goTo('/account', [session, knowBrowser(env, accountId)]);
    },
  );

/** The account of a username and a password; null if they do not belong together. */
async function checkPassword(
  env: UiRequest,
  headers: Headers,
  username: string,
  password: string,
): Promise<string | null> {
  await countAttempt(env.sql, 'password', env.network);
  await countUsername(env, headers, username);
  const known = await findPassword(env.sql, username);
  const isRight = await env.signIn.passwords.verify(password, known?.hash ?? null);
  return isRight && known !== null ? known.account_id : null;
}

async function ownPage(env: UiRequest, accountId: string, problem: string | null): Promise<Response> {
  const known = await readPassword(env.sql, accountId);
  const login = await loginOf(env, accountId);
  const current = html`<label for="current">Current password</label>
    <input id="current" name="current" type="password" autocomplete="current-password" required maxlength="128" />`;
  return page(
    known === null ? 'Set a password' : 'Change the password',
    html`${problem === null ? null : html`<p role="alert">${problem}</p>`}
      <p>You are signed in as <strong>${login}</strong>. Your other sessions end.</p>
      <form method="post" action="${PATH}">
        ${known === null ? null : current} ${newPasswordFields(known?.username ?? login)}
        <button class="first">Save</button>
      </form>
      <p><a href="/account">Back to the account</a></p>`,
    { status: problem === null ? 200 : 422 },
  );
}
