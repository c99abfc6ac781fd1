// The pages for a lost password: ask for a link by mail, and set a new password with a link. The response is the same
// whether or not the account exists, and emails are sent in the background. Part of ui-app.ts.
import Type from '#core/typebox/typebox.mjs';
import { platform } from '#packages/worker/index.ts';
import { findPassword, readPassword } from '../records/passwords.ts';
import { removeFactor } from '../records/second-factors.ts';
import { countAttempt } from './attempts.ts';
import { countUsername } from './known-browsers.ts';
import { goTo, html, page } from './pages.ts';
import { checkOffered, makeNewPassword, newPasswordFields, saveNewPassword, USERNAME_TAKEN } from './new-password.ts';
import { holdRecovery, makeRecoveryUrl } from './recovery.ts';
import { loginOf, type UiRequest } from './ui-request.ts';

const PATH = '/api/auth/recovery';
const MAIL_SECONDS = 3600;
const Text = Type.String({ maxLength: 400 });

export const recoveryApp = platform<UiRequest>()
  .get(PATH, (ctx) => {
    checkOffered(ctx.env);
    return askPage(ctx.env);
  })
  .post(PATH, { bodyType: 'form', body: Type.Object({ username: Text }) }, async (ctx) => {
    const { env } = ctx;
    checkOffered(env);
    await countAttempt(env.sql, 'recovery', env.network);
    const username = ctx.body.username.trim();
    await countUsername(env, ctx.req.headers, username);
    // The mail is sent in the background, because neither duration nor failure may reveal whether the account exists.
    if (env.mail.isOn()) env.background('Sending a recovery link', () => sendLink(env, username));
    return page(
      'Check your mail',
      html`<p>
          If an account with this username has a confirmed email address, a link is on its way to it. The link works
          once, for an hour.
        </p>
        <p><a href="/api/auth/sign-in">Back to sign-in</a></p>`,
    );
  })
  .get(`${PATH}/set`, { query: Type.Object({ code: Type.Optional(Text) }) }, async (ctx) => {
    checkOffered(ctx.env);
    return setPage(ctx.env, ctx.query.code ?? '', null);
  })
  .post(
    `${PATH}/set`,
    { bodyType: 'form', body: Type.Object({ code: Text, username: Text, password: Text }) },
    async (ctx) => {
      const { env } = ctx;
      checkOffered(env);
      await countAttempt(env.sql, 'recovery', env.network);
      const { code, username, password } = ctx.body;
      const { sql } = env;
      if ((await sql.begin((tx) => holdRecovery(tx, code))) === null) return notOpen();
      const next = await makeNewPassword(env, username, password);
      if ('problem' in next) return setPage(env, code, next.problem);
      // Setting a password uses the link up.
      const [used, isSet] = await sql.begin(async (tx) => {
        const held = await holdRecovery(tx, code);
        const isSaved = held !== null && (await saveNewPassword(tx, held.accountId, next));
        if (isSaved && held.removesFactor) await removeFactor(tx, held.accountId);
        return [held, isSaved] as const;
      });
      if (used === null) return notOpen();
      if (!isSet) return setPage(env, code, USERNAME_TAKEN);
      await env.signIn.sessions.endAll(used.accountId);
      return goTo('/api/auth/sign-in?error=password_set');
    },
  );

async function sendLink(env: UiRequest, username: string): Promise<void> {
  const { sql, addresses, mail, log } = env;
  const known = await findPassword(sql, username);
  if (known === null) return;
  const [account] = await sql<{ email: string }[]>`
    SELECT email FROM control.account
    WHERE id = ${known.account_id} AND email IS NOT NULL AND email_proven_at IS NOT NULL`;
  if (account === undefined) return;
  const url = await makeRecoveryUrl(
    sql,
    addresses.ui,
    { accountId: known.account_id, removesFactor: false },
    MAIL_SECONDS,
  );
  const { error } = await mail.send({
    to: account.email,
    subject: 'Set a new password',
    text: `Somebody asked for a new password for ${known.username} at ${addresses.ui}. Open this address to set it:\n${url}\n\nIt works once, for an hour. If it was not you, do nothing.`,
  });
  if (error !== null) log.warn({ accountId: known.account_id, reason: error }, 'Recovery link was not sent');
}

function askPage({ mail }: UiRequest): Response {
  const form = html`<form method="post" action="${PATH}">
    <label for="username">Username</label>
    <input id="username" name="username" autocomplete="username" autocapitalize="none" required maxlength="100" />
    <button class="first">Send a link</button>
  </form>`;
  return page(
    'Forgot your password?',
    html`${mail.isOn() ? form : null}
      <p>${!mail.isOn() ? 'Ask' : 'Without a confirmed email address, ask'} the operator for a recovery link.</p>
      <p><a href="/api/auth/sign-in">Back to sign-in</a></p>`,
  );
}

function notOpen(): Response {
  return page(
    'Link not found',
    html`<p role="alert">It was used, or it has expired. Ask for a new one.</p>
      <p><a href="/api/auth/sign-in">Back to sign-in</a></p>`,
    { status: 404 },
  );
}

async function setPage(env: UiRequest, code: string, problem: string | null): Promise<Response> {
  const recovery = await env.sql.begin((tx) => holdRecovery(tx, code));
  if (recovery === null) return notOpen();
  const { accountId } = recovery;
  const username = (await readPassword(env.sql, accountId))?.username ?? (await loginOf(env, accountId));
  return page(
    'Set a new password',
    html`${problem === null ? null : html`<p role="alert">${problem}</p>`}
      <p>Your sessions end. Then sign in with the new password.</p>
      <form method="post" action="${PATH}/set">
        <input type="hidden" name="code" value="${code}" />
        ${newPasswordFields(username)}
        <button class="first">Save</button>
      </form>`,
    { status: problem === null ? 200 : 422 },
  );
}
