// Sign-in with a passkey: the challenge, the answer, and the script of all pages with passkeys. A passkey verifies the
// person by fingerprint, face or PIN, and counts as both factors. Part of ui-app.ts.
import { readFileSync } from 'node:fs';
import path from 'node:path';
import Type from '#core/typebox/typebox.mjs';
import { platform } from '#packages/worker/index.ts';
import { holdPasskey, notePasskeyUse } from '../records/passkeys.ts';
import { countAttempt } from './attempts.ts';
import { recordSignIn } from './audit.ts';
import { safePath } from './origin.ts';
import { goTo } from './pages.ts';
import { CHALLENGE_SECONDS, makeChallenge, optionsResponse, takeChallenge } from './passkey-challenges.ts';
import { assertionFields, checkPasskeys, PASSKEY_FORM_BYTES_MAX } from './passkey-offer.ts';
import { verifyPasskey } from './passkey-verification.ts';
import { openSession, showSignIn, type UiRequest } from './ui-request.ts';

const PATH = '/api/auth/sign-in/passkey';
const KIND = 'passkey-sign-in';
const SCRIPT = readFileSync(path.join(import.meta.dirname, 'passkeys-in-browser.js'));

export const passkeyApp = platform<UiRequest>()
  .get('/api/auth/passkeys.js', () => {
    const headers = {
      'content-type': 'text/javascript; charset=utf-8',
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
    };
    return new Response(SCRIPT, { headers });
  })
  .post(`${PATH}/options`, async (ctx) => {
    const { env } = ctx;
    const rpId = checkPasskeys(env);
    await countAttempt(env.sql, 'passkey', env.network);
    const { challenge, cookie } = await makeChallenge(env, KIND, ctx.req.headers);
    // The options are the same for everyone, because the authenticator offers the accounts that it has.
    const publicKey = { challenge, rpId, userVerification: 'required', timeout: CHALLENGE_SECONDS * 1000 };
    return optionsResponse(publicKey, cookie);
  })
  .post(
    PATH,
    {
      bodyType: 'form',
      bodyLimit: PASSKEY_FORM_BYTES_MAX,
      body: Type.Object({ ...assertionFields, redirect: Type.Optional(Type.String({ maxLength: 4096 })) }),
    },
    async (ctx) => {
      const { env } = ctx;
      const rpId = checkPasskeys(env);
      await countAttempt(env.sql, 'passkey', env.network);
      const { redirect: asked, ...assertion } = ctx.body;
      const redirect = safePath(asked, env.addresses.ui);
      const taken = await takeChallenge(env, KIND, ctx.req.headers, assertion.clientDataJSON);
      if (taken === null) return showSignIn(env, redirect, { error: 'expired', status: 401 });
      const accountId = await env.sql.begin(async (tx) => {
        const passkey = await holdPasskey(tx, Buffer.from(assertion.id, 'base64url'));
        if (passkey === null) return null;
        const counter = await verifyPasskey({ ...env, rpId, challenge: taken.challenge }, passkey, assertion);
        if (counter === null) return null;
        await notePasskeyUse(tx, passkey.id, counter);
        await recordSignIn(tx, passkey.accountId, 'account.passkey_sign_in');
        return passkey.accountId;
      });
      if (accountId === null) return showSignIn(env, redirect, { error: 'passkey', status: 401 });
      return goTo(redirect, [await openSession(env, { accountId, tokenId: null }, ctx.req.headers)]);
    },
  );
