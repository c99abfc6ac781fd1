// The page on which an invited person joins with a passkey instead of a password. The account is created once the
// passkey is verified, and not without it. Part of ui-app.ts.
import Type from '#core/typebox/typebox.mjs';
import { platform } from '#packages/worker/index.ts';
import { hashOf } from '../access/secrets.ts';
import { findLink } from '../records/members.ts';
import { addPasskey, holdPasskey, newPasskeyUser, setPasskeyUser } from '../records/passkeys.ts';
import { holdUsername } from '../records/passwords.ts';
import { countAttempt } from './attempts.ts';
import { recordSignIn } from './audit.ts';
import { Code, createMember, notOpen, PASSKEY_PATH as PATH, pathOf } from './invitation-app.ts';
import { USERNAME_TAKEN, usernameField, usernameProblem } from './new-password.ts';
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
import { openSession, type UiRequest } from './ui-request.ts';

const KIND = 'passkey-join';

export const passkeyInvitationApp = platform<UiRequest>()
  .get(PATH, { query: Type.Object({ code: Type.Optional(Code) }) }, async (ctx) => {
    checkPasskeys(ctx.env);
    const { code = '' } = ctx.query;
    return ctx.env.session === null ? joinPage(ctx.env, code, null) : goTo(pathOf(code));
  })
  .post(
    `${PATH}/options`,
    { bodyType: 'form', body: Type.Object({ code: Code, username: Type.String({ maxLength: 400 }) }) },
    async (ctx) => {
      const { env } = ctx;
      const rpId = checkPasskeys(env);
      await countAttempt(env.sql, 'passkey', env.network);
      const link = hashOf(ctx.body.code);
      const username = ctx.body.username.trim();
      const problem = await problemOf(env, link, username);
      if (problem !== null) return Response.json({ problem }, { status: 422 });
      const user = newPasskeyUser();
      const content = { link: link.toString('hex'), username, user: user.toString('base64url') };
      const { challenge, cookie } = await makeChallenge(env, KIND, ctx.req.headers, content);
      const publicKey = creationOptions({ challenge, rpId, user, login: username, known: [] });
      return optionsResponse(publicKey, cookie);
    },
  )
  .post(
    PATH,
    {
      bodyType: 'form',
      bodyLimit: PASSKEY_FORM_BYTES_MAX,
      body: Type.Object({ ...attestationFields, code: Code }),
    },
    async (ctx) => {
      const { env } = ctx;
      const rpId = checkPasskeys(env);
      await countAttempt(env.sql, 'passkey', env.network);
      const { code, ...attestation } = ctx.body;
      const link = hashOf(code);
      const taken = await takeChallenge(env, KIND, ctx.req.headers, attestation.clientDataJSON);
      if (taken === null || taken.content['link'] !== link.toString('hex')) return joinPage(env, code, PASSKEY_EXPIRED);
      const made = await verifyNewPasskey({ ...env, rpId, challenge: taken.challenge }, attestation);
      if (made === null) return joinPage(env, code, PASSKEY_REFUSED);
      const { username, user } = taken.content;
      const created = await env.sql.begin(async (tx) => {
        if ((await holdPasskey(tx, made.credentialId)) !== null) return 'known';
        const member = await createMember(tx, link, username!);
        if (typeof member === 'string') return member;
        const { accountId } = member;
        await setPasskeyUser(tx, accountId, Buffer.from(user!, 'base64url'));
        // Another request did this in the meantime. If no sign-in method was added, the account is not created.
        if ((await addPasskey(tx, accountId, 'First passkey', made)) !== null)
          throw new Error('The passkey of a new account is registered already');
        await recordSignIn(tx, accountId, 'account.passkey_add');
        return member;
      });
      if (created === 'known') return joinPage(env, code, PASSKEY_KNOWN);
      if (created === 'taken') return joinPage(env, code, USERNAME_TAKEN);
      if (created === 'not_open') return notOpen();
      return goTo('/', [await openSession(env, { ...created, tokenId: null }, ctx.req.headers)]);
    },
  );

/** Why nobody can join by this link with this username, as a sentence. */
async function problemOf({ sql }: UiRequest, link: Buffer, username: string): Promise<string | null> {
  if ((await findLink(sql, link)) === null)
    return 'The invitation was used or revoked, or it has expired. Ask for a new invitation.';
  const problem = usernameProblem(username);
  if (problem !== null) return problem;
  return (await sql.begin((tx) => holdUsername(tx, username, null))) ? null : USERNAME_TAKEN;
}

async function joinPage(env: UiRequest, code: string, problem: string | null): Promise<Response> {
  const link = await findLink(env.sql, hashOf(code));
  if (link === null) return notOpen();
  const fields = html`<input type="hidden" name="code" value="${code}" /> ${usernameField(
      link.email?.split('@')[0] ?? '',
    )}`;
  return page(
    `Join ${link.organization_name}`,
    html`${problem === null ? null : html`<p role="alert">${problem}</p>`}
      <p>
        Your account will have no password: you sign in with the fingerprint, face or PIN of this device, or with a
        security key.
      </p>
      ${passkeyForm('create', PATH, 'Create account', fields)}
      <p data-without-passkeys>This browser cannot create passkeys.</p>
      <p><a href="${pathOf(code)}">Back to the invitation</a></p>`,
    { status: problem === null ? 200 : 422, passkeysAt: env.addresses.ui },
  );
}
