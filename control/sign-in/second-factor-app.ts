// The second step of a sign-in with a password, and the page on which an account turns it on or off. A correct password
// alone opens no session: it creates a record, which a code must complete within five minutes and in the same browser.
// Part of ui-app.ts.
import Type from '#core/typebox/typebox.mjs';
import { platform } from '#packages/worker/index.ts';
import type { Transaction } from '#postgres/sql.ts';
import { base32 } from '../access/totp.ts';
import { readPassword } from '../records/passwords.ts';
import {
  beginFactor,
  confirmFactor,
  countRecoveryCodes,
  hasSecondFactor,
  removeFactor,
  renewRecoveryCodes,
  useCode,
} from '../records/second-factors.ts';
import { countAttempt } from './attempts.ts';
import { recordSignIn } from './audit.ts';
import { cookiesOf, readCookie } from './cookies.ts';
import { knowBrowser } from './known-browsers.ts';
import { checkOffered } from './new-password.ts';
import { goTo, html, page } from './pages.ts';
import { holdOnce, makeOnce, onceHash, takeOnce } from './single-use.ts';
import { loginOf, openSession, signInFirst, type UiRequest } from './ui-request.ts';

const STEP_PATH = '/api/auth/sign-in/code';
const PATH = '/api/auth/two-factor';
const STEP_SECONDS = 300;
const KIND = 'second-factor';
const Text = Type.String({ maxLength: 400 });

/** Data from the first step of a sign-in. */
interface Begun extends Record<string, string> {
  readonly accountId: string;
  readonly redirect: string;
}

/** Continues a sign-in after a correct password: asks for a code. */
export async function askForCode(env: UiRequest, accountId: string, redirect: string): Promise<Response> {
  const begun: Begun = { accountId, redirect };
  const secret = await makeOnce(env.sql, KIND, begun, STEP_SECONDS);
  const cookies = cookiesOf(env.addresses.ui);
  return goTo(STEP_PATH, [cookies.set(cookies.flow, secret, STEP_SECONDS)]);
}

export const secondFactorApp = platform<UiRequest>()
  .get(STEP_PATH, () => askPage(null))
  .post(STEP_PATH, { bodyType: 'form', body: Type.Object({ code: Text }) }, async (ctx) => {
    const { env } = ctx;
    checkOffered(env);
    const cookies = cookiesOf(env.addresses.ui);
    const hash = onceHash(KIND, readCookie(ctx.req.headers.get('cookie'), cookies.flow) ?? '');
    const begun = await env.sql.begin((tx) => holdOnce<Begun>(tx, KIND, hash));
    if (begun === null) return goTo('/api/auth/sign-in?error=expired', [cookies.clear(cookies.flow)]);
    const { accountId, redirect } = begun;
    await countAttempt(env.sql, 'factor', accountId);
    const isDone = await env.sql.begin(async (tx) => {
      const used = await useCode(tx, env.keys, accountId, ctx.body.code);
      if (used === null || (await takeOnce(tx, KIND, hash)) === null) return false;
      await recordSignIn(tx, accountId, 'account.password_sign_in');
      if (used === 'recovery') await recordSignIn(tx, accountId, 'account.recovery_code_use');
      return true;
    });
    if (!isDone) return askPage('This code is wrong, or was already used. Wait for the next code.');
    const session = await openSession(env, { accountId, tokenId: null }, ctx.req.headers);
    return goTo(redirect, [cookies.clear(cookies.flow), session, knowBrowser(env, accountId)]);
  })
  .get(PATH, async (ctx) => {
    checkOffered(ctx.env);
    return ctx.env.session === null ? signInFirst(PATH) : ownPage(ctx.env, ctx.env.session.accountId, null);
  })
  .post(`${PATH}/begin`, { bodyType: 'form', body: Type.Object({ current: Text }) }, (ctx) =>
    changed(ctx.env, ctx.body.current, async (tx, accountId) => {
      const secret = await beginFactor(tx, ctx.env.keys, accountId);
      return secret === null ? null : secretPage(ctx.env, accountId, secret, null);
    }),
  )
  .post(`${PATH}/confirm`, { bodyType: 'form', body: Type.Object({ code: Text }) }, async (ctx) => {
    const { env } = ctx;
    checkOffered(env);
    if (env.session === null) return signInFirst(PATH);
    const { accountId } = env.session;
    await countAttempt(env.sql, 'factor', accountId);
    const codes = await env.sql.begin(async (tx) => {
      const made = await confirmFactor(tx, env.keys, accountId, ctx.body.code.replace(/\s/g, ''));
      if (made !== null) await recordSignIn(tx, accountId, 'account.second_factor_add');
      return made;
    });
    if (codes !== null) return codesPage(codes);
    const secret = await env.sql.begin((tx) => beginFactor(tx, env.keys, accountId));
    return secret === null
      ? ownPage(env, accountId, null)
      : secretPage(
          env,
          accountId,
          secret,
          'This code is wrong. Check the clock of your phone, and enter the next code.',
        );
  })
  .post(`${PATH}/codes`, { bodyType: 'form', body: Type.Object({ current: Text }) }, (ctx) =>
    changed(ctx.env, ctx.body.current, async (tx, accountId) =>
      (await hasSecondFactor(tx, accountId)) ? codesPage(await renewRecoveryCodes(tx, accountId)) : null,
    ),
  )
  .post(`${PATH}/off`, { bodyType: 'form', body: Type.Object({ current: Text }) }, (ctx) =>
    changed(ctx.env, ctx.body.current, async (tx, accountId) => {
      await removeFactor(tx, accountId);
      await recordSignIn(tx, accountId, 'account.second_factor_remove');
      return goTo('/account');
    }),
  );

/** A change that needs the current password. Null if nothing changes, and the page shows the current state. */
async function changed(
  env: UiRequest,
  current: string,
  change: (tx: Transaction, accountId: string) => Promise<Response | null>,
): Promise<Response> {
  checkOffered(env);
  if (env.session === null) return signInFirst(PATH);
  const { accountId } = env.session;
  await countAttempt(env.sql, 'password', accountId);
  const known = await readPassword(env.sql, accountId);
  if (!(await env.signIn.passwords.verify(current, known?.hash ?? null)))
    return ownPage(env, accountId, 'The current password is wrong.');
  return (await env.sql.begin((tx) => change(tx, accountId))) ?? ownPage(env, accountId, null);
}

function askPage(problem: string | null): Response {
  return page(
    'Enter a code',
    html`${problem === null ? null : html`<p role="alert">${problem}</p>`}
      <form method="post" action="${STEP_PATH}">
        <label for="code">Code of your authenticator app, or a recovery code</label>
        <input
          id="code"
          name="code"
          autocomplete="one-time-code"
          autofocus
          spellcheck="false"
          required
          maxlength="40"
        />
        <button class="first">Sign in</button>
      </form>
      <p><a href="/api/auth/recovery">Lost your phone and your recovery codes?</a></p>`,
    { status: problem === null ? 200 : 401 },
  );
}

/** A form that needs the current password. */
function passwordForm(action: string, label: string, isFirst: boolean) {
  return html`<form method="post" action="${PATH}/${action}">
    <label for="${action}">Current password</label>
    <input id="${action}" name="current" type="password" autocomplete="current-password" required maxlength="128" />
    <button class="${isFirst ? 'first' : ''}">${label}</button>
  </form>`;
}

async function ownPage(env: UiRequest, accountId: string, problem: string | null): Promise<Response> {
  const isOn = await hasSecondFactor(env.sql, accountId);
  const hasPassword = (await readPassword(env.sql, accountId)) !== null;
  const left = isOn ? await countRecoveryCodes(env.sql, accountId) : 0;
  const whenOn = html`<p>It is on. You have ${String(left)} recovery codes left.</p>
    ${passwordForm('codes', 'New recovery codes', true)} ${passwordForm('off', 'Turn off', false)}`;
  const whenOff = html`<p>Sign-in with your password then needs a code of an authenticator app.</p>
    ${passwordForm('begin', 'Continue', true)}`;
  const without = html`<p>
    It protects sign-in with a password. <a href="/api/auth/password">Set a password</a> first.
  </p>`;
  return page(
    'Two-factor authentication',
    html`${problem === null ? null : html`<p role="alert">${problem}</p>`}
      ${isOn ? whenOn : hasPassword ? whenOff : without}
      <p><a href="/account">Back to the account</a></p>`,
    { status: problem === null ? 200 : 422 },
  );
}

/** Shows the secret of a factor that is not confirmed. */
async function secretPage(
  env: UiRequest,
  accountId: string,
  secret: Buffer,
  problem: string | null,
): Promise<Response> {
  const key = base32(secret);
  const issuer = new URL(env.addresses.ui).host;
  const label = encodeURIComponent(`${issuer}:${await loginOf(env, accountId)}`);
  const uri = `otpauth://totp/${label}?${new URLSearchParams({ secret: key, issuer })}`;
  return page(
    'Add it to your app',
    html`${problem === null ? null : html`<p role="alert">${problem}</p>`}
      <p>Add this key to an authenticator app, or <a href="${uri}">open it there</a> on a phone:</p>
      <p><code>${key.replace(/.{4}(?!$)/g, '$& ')}</code></p>
      <form method="post" action="${PATH}/confirm">
        <label for="code">The code that the app shows</label>
        <input id="code" name="code" inputmode="numeric" autocomplete="one-time-code" required maxlength="10" />
        <button class="first">Turn on</button>
      </form>`,
    { status: problem === null ? 200 : 422 },
  );
}

function codesPage(codes: readonly string[]): Response {
  return page(
    'Keep your recovery codes',
    html`<p>
        Two-factor authentication is on. Without your phone, each of these codes signs you in once. They are not shown
        again.
      </p>
      ${codes.map((code) => html`<p><code>${code}</code></p>`).reduce((all, one) => html`${all}${one}`)}
      <p><a class="button first" href="/account">I have kept them</a></p>`,
  );
}
