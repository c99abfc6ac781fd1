// The page on which an account adds, renames and removes its passkeys. Changes require a sign-in within the last ten
// minutes, and the last way to sign in cannot be removed. Part of ui-app.ts.
import Type from '#core/typebox/typebox.mjs';
import { platform } from '#packages/worker/index.ts';
import { Id, Label } from '../http/schemas.ts';
import {
  addPasskey,
  listPasskeys,
  lockPasskeys,
  passkeyUserOf,
  PASSKEYS_MAX,
  removePasskey,
  renamePasskey,
  type Passkey,
} from '../records/passkeys.ts';
import { countAttempt } from './attempts.ts';
import { recordSignIn } from './audit.ts';
import { hasOtherWay } from './other-ways.ts';
import { goTo, html, page } from './pages.ts';
import { makeChallenge, optionsResponse, takeChallenge } from './passkey-challenges.ts';
import {
  attestationFields,
  checkPasskeys,
  PASSKEY_EXPIRED,
  PASSKEY_FORM_BYTES_MAX,
  PASSKEY_KNOWN,
  PASSKEY_REFUSED,
  passkeyForm,
} from './passkey-offer.ts';
import { creationOptions } from './passkey-options.ts';
import { verifyNewPasskey } from './passkey-verification.ts';
import { isFresh, loginOf, openSession, signInAgain, signInFirst, type UiRequest } from './ui-request.ts';

const PATH = '/api/auth/passkeys';
const KIND = 'passkey-add';
const FULL = `An account has at most ${PASSKEYS_MAX} passkeys. Remove one first.`;
const LAST = 'This is the only way to sign in to your account. Set a password or add another passkey first.';

export const passkeyListApp = platform<UiRequest>()
  .get(PATH, async (ctx) => {
    checkPasskeys(ctx.env);
    return ctx.env.session === null ? signInFirst(PATH) : ownPage(ctx.env, ctx.env.session.accountId);
  })
  .post(`${PATH}/add/options`, async (ctx) => {
    const { env } = ctx;
    const rpId = checkPasskeys(env);
    const refused = (problem: string): Response => Response.json({ problem }, { status: 422 });
    if (env.session === null || !isFresh(env.session)) return refused('Reload this page, and sign in again.');
    const { accountId } = env.session;
    await countAttempt(env.sql, 'passkey', accountId);
    const known = await listPasskeys(env.sql, accountId);
    if (known.length >= PASSKEYS_MAX) return refused(FULL);
    const user = await passkeyUserOf(env.sql, accountId);
    const { challenge, cookie } = await makeChallenge(env, KIND, ctx.req.headers, { accountId });
    const publicKey = creationOptions({ challenge, rpId, user, login: await loginOf(env, accountId), known });
    return optionsResponse(publicKey, cookie);
  })
  .post(
    `${PATH}/add`,
    {
      bodyType: 'form',
      bodyLimit: PASSKEY_FORM_BYTES_MAX,
      body: Type.Object({ ...attestationFields, name: Label }),
    },
    async (ctx) => {
      const { env } = ctx;
      const rpId = checkPasskeys(env);
      if (env.session === null) return signInFirst(PATH);
      const { accountId } = env.session;
      await countAttempt(env.sql, 'passkey', accountId);
      const { name, ...attestation } = ctx.body;
      const taken = await takeChallenge(env, KIND, ctx.req.headers, attestation.clientDataJSON);
      if (taken === null || taken.content['accountId'] !== accountId) return ownPage(env, accountId, PASSKEY_EXPIRED);
      const made = await verifyNewPasskey({ ...env, rpId, challenge: taken.challenge }, attestation);
      if (made === null) return ownPage(env, accountId, PASSKEY_REFUSED);
      const problem = await env.sql.begin(async (tx) => {
        const refused = await addPasskey(tx, accountId, name, made);
        if (refused === null) await recordSignIn(tx, accountId, 'account.passkey_add');
        return refused;
      });
      if (problem === null) return goTo(PATH);
      return ownPage(env, accountId, problem === 'full' ? FULL : PASSKEY_KNOWN);
    },
  )
  .post(`${PATH}/rename`, { bodyType: 'form', body: Type.Object({ passkey: Id, name: Label }) }, async (ctx) => {
    const { env } = ctx;
    checkPasskeys(env);
    if (env.session === null) return signInFirst(PATH);
    if (!isFresh(env.session)) return signInAgain(PATH);
    await renamePasskey(env.sql, env.session.accountId, ctx.body.passkey, ctx.body.name);
    return goTo(PATH);
  })
  .post(`${PATH}/remove`, { bodyType: 'form', body: Type.Object({ passkey: Id }) }, async (ctx) => {
    const { env } = ctx;
    checkPasskeys(env);
    if (env.session === null) return signInFirst(PATH);
    if (!isFresh(env.session)) return signInAgain(PATH);
    const { accountId } = env.session;
    const { passkey } = ctx.body;
    const done = await env.sql.begin(async (tx) => {
      await lockPasskeys(tx, accountId);
      if (!(await hasOtherWay(tx, env, accountId, { passkeyId: passkey }))) return 'last';
      if (!(await removePasskey(tx, accountId, passkey))) return 'unknown';
      await recordSignIn(tx, accountId, 'account.passkey_remove');
      return 'removed';
    });
    if (done === 'last') return ownPage(env, accountId, LAST);
    if (done === 'unknown') return goTo(PATH);
    // A person who found or stole the device may have signed in with it.
    await env.signIn.sessions.endAll(accountId);
    return goTo(PATH, [await openSession(env, env.session, ctx.req.headers)]);
  });

async function ownPage(env: UiRequest, accountId: string, problem: string | null = null): Promise<Response> {
  const passkeys = await listPasskeys(env.sql, accountId);
  const canChange = env.session !== null && isFresh(env.session);
  const name = html`<label for="name">Name of the passkey</label>
    <input id="name" name="name" placeholder="My laptop" required maxlength="100" autocomplete="off" />`;
  const add = html`${passkeyForm('create', `${PATH}/add`, 'Add a passkey', name)}
    <p data-without-passkeys>This browser cannot create passkeys.</p>`;
  const again = html`<p>
    <a class="button first" href="/api/auth/sign-in?${String(new URLSearchParams({ redirect: PATH, error: 'again' }))}"
      >Sign in again to change them</a
    >
  </p>`;
  return page(
    'Passkeys',
    html`${problem === null ? null : html`<p role="alert">${problem}</p>`}
      <p>
        A passkey signs you in with the fingerprint, face or PIN of your device, or with a security key. It replaces the
        password and the code.
      </p>
      ${passkeys.map((one) => listed(one, canChange)).reduce((all, one) => html`${all}${one}`, html``)}
      ${canChange ? add : again}
      <p><a href="/account">Back to the account</a></p>`,
    { status: problem === null ? 200 : 422, ...(canChange && { passkeysAt: env.addresses.ui }) },
  );
}

function listed({ id, name, created_at, used_at }: Passkey, canChange: boolean) {
  const used = used_at === null ? 'never used' : `last used ${dayOf(used_at)}`;
  const hidden = html`<input type="hidden" name="passkey" value="${id}" />`;
  const change = html`<details>
    <summary>Rename or remove</summary>
    <form method="post" action="${PATH}/rename">
      ${hidden}<label for="${id}">New name</label>
      <input id="${id}" name="name" value="${name}" required maxlength="100" autocomplete="off" />
      <button aria-label="Rename ${name}">Rename</button>
    </form>
    <form method="post" action="${PATH}/remove">
      ${hidden}
      <p>Removing it ends your other sessions.</p>
      <button aria-label="Remove ${name}">Remove</button>
    </form>
  </details>`;
  return html`<p><strong dir="auto">${name}</strong><br />Added ${dayOf(created_at)}, ${used}</p>
    ${canChange ? change : null}`;
}

function dayOf(date: Date): string {
  return date.toISOString().slice(0, 10);
}
