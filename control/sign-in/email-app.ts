// The page on which a user sets the email address for recovering a lost password. The address is used once the
// signed-in user has opened the link that was sent there. An email address neither identifies an account nor allows a
// sign-in. Part of ui-app.ts.
import Type from '#core/typebox/typebox.mjs';
import { platform } from '#packages/worker/index.ts';
import { EmailAddress } from '../http/schemas.ts';
import { readPassword } from '../records/passwords.ts';
import { countAttempt } from './attempts.ts';
import { recordSignIn } from './audit.ts';
import { goTo, html, page } from './pages.ts';
import { endRecovery } from './recovery.ts';
import { holdOnce, makeOnce, onceHash, takeOnce } from './single-use.ts';
import { signInFirst, type UiRequest } from './ui-request.ts';

const PATH = '/api/auth/email';
const KIND = 'email';
const SECONDS = 3600;
const Text = Type.String({ maxLength: 400 });

/** Content of a confirmation link. */
interface Asked extends Record<string, string> {
  readonly accountId: string;
  readonly email: string;
}

export const emailApp = platform<UiRequest>()
  .get(PATH, async (ctx) =>
    ctx.env.session === null ? signInFirst(PATH) : ownPage(ctx.env, ctx.env.session.accountId),
  )
  .post(
    PATH,
    { bodyType: 'form', body: Type.Object({ email: EmailAddress, current: Type.Optional(Text) }) },
    async (ctx) => {
      const { env } = ctx;
      if (env.session === null) return signInFirst(PATH);
      const { accountId } = env.session;
      await countAttempt(env.sql, 'password', accountId);
      const { email, current = '' } = ctx.body;
      const known = await readPassword(env.sql, accountId);
      if (known !== null && !(await env.signIn.passwords.verify(current, known.hash)))
        return ownPage(env, accountId, 'The current password is wrong.');
      await countAttempt(env.sql, 'mail', accountId);
      const asked: Asked = { accountId, email };
      const code = await makeOnce(env.sql, KIND, asked, SECONDS);
      const url = `${env.addresses.ui}${confirmPath(code)}`;
      const { error } = await env.mail.send({
        to: email,
        subject: 'Confirm your address',
        text: `Open this address within an hour to confirm that it is yours:\n${url}\n\nIf you did not request this at ${env.addresses.ui}, ignore this email.`,
      });
      if (error !== null) return ownPage(env, accountId, `The mail could not be sent: ${error}`);
      return page(
        'Check your mail',
        html`<p>A link is on its way to <strong>${email}</strong>. Open it in this browser.</p>`,
      );
    },
  )
  .get(`${PATH}/confirm`, { query: Type.Object({ code: Type.Optional(Text) }) }, async (ctx) => {
    const { env } = ctx;
    const { code = '' } = ctx.query;
    if (env.session === null) return signInFirst(confirmPath(code));
    const asked = await env.sql.begin((tx) => holdOnce<Asked>(tx, KIND, onceHash(KIND, code)));
    if (asked === null || asked.accountId !== env.session.accountId) return notOpen();
    return page(
      'Confirm your address',
      html`<p>You can then reset a lost password by email to <strong>${asked.email}</strong>.</p>
        <form method="post" action="${PATH}/confirm">
          <input type="hidden" name="code" value="${code}" /><button class="first">Confirm</button>
        </form>`,
    );
  })
  .post(`${PATH}/confirm`, { bodyType: 'form', body: Type.Object({ code: Text }) }, async (ctx) => {
    const { env } = ctx;
    if (env.session === null) return signInFirst(PATH);
    const { accountId } = env.session;
    const hash = onceHash(KIND, ctx.body.code);
    const isSet = await env.sql.begin(async (tx) => {
      // The link of another account is not used up.
      if ((await holdOnce<Asked>(tx, KIND, hash))?.accountId !== accountId) return false;
      const { email } = (await takeOnce<Asked>(tx, KIND, hash))!;
      await tx`UPDATE control.account SET email = ${email}, email_proven_at = now() WHERE id = ${accountId}`;
      // Recovery links that were sent to the previous address end.
      await endRecovery(tx, accountId);
      await recordSignIn(tx, accountId, 'account.email_set');
      return true;
    });
    return isSet ? goTo('/account') : notOpen();
  });

function confirmPath(code: string): string {
  return `${PATH}/confirm?${new URLSearchParams({ code })}`;
}

function notOpen(): Response {
  return page(
    'Link not found',
    html`<p role="alert">It was used, it has expired, or it belongs to another account.</p>
      <p><a href="/account">Go to the account</a></p>`,
    { status: 404 },
  );
}

async function ownPage(env: UiRequest, accountId: string, problem: string | null = null): Promise<Response> {
  const hasPassword = (await readPassword(env.sql, accountId)) !== null;
  const current = html`<label for="current">Current password</label>
    <input id="current" name="current" type="password" autocomplete="current-password" required maxlength="128" />`;
  const form = html`<form method="post" action="${PATH}">
    <label for="email">Email address</label>
    <input id="email" name="email" type="email" autocomplete="email" required maxlength="254" />
    ${hasPassword ? current : null}
    <button class="first">Send a link</button>
  </form>`;
  return page(
    'Recovery email',
    html`${problem === null ? null : html`<p role="alert">${problem}</p>`}
      ${!env.mail.isOn() ? html`<p>This platform cannot send emails.</p>` : form}
      <p><a href="/account">Back to the account</a></p>`,
    { status: problem === null ? 200 : 422 },
  );
}
