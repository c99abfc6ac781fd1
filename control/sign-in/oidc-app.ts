// Sign-in with OpenID Connect, and the page on which an account links and unlinks its identity there. Changes require
// the current password, or a sign-in within the last ten minutes if the account has no password. Part of ui-app.ts.
import Type from '#core/typebox/typebox.mjs';
import { platform } from '#packages/worker/index.ts';
import { hashOf } from '../access/secrets.ts';
import { findLink } from '../records/members.ts';
import { lockPasskeys } from '../records/passkeys.ts';
import { oidcLoginOf } from '../records/oidc-identities.ts';
import { readPassword } from '../records/passwords.ts';
import { countAttempt } from './attempts.ts';
import { recordSignIn } from './audit.ts';
import { beginAtProvider, checkProvider, endAtProvider, OIDC_CALLBACK } from './oidc-flow.ts';
import { applyGroups, holdOrganizations } from './oidc-groups.ts';
import { safePath } from './origin.ts';
import { hasOtherWay } from './other-ways.ts';
import { goTo, html, page } from './pages.ts';
import { isFresh, loginOf, signInAgain, signInFirst, type UiRequest } from './ui-request.ts';

const LINK_PATH = '/api/auth/link/oidc';
const Text = Type.String({ maxLength: 400 });
const currentForm = { bodyType: 'form', body: Type.Object({ current: Text }) } as const;

export const oidcApp = platform<UiRequest>()
  .get(
    '/api/auth/sign-in/oidc',
    { query: Type.Object({ redirect: Type.Optional(Type.String({ maxLength: 4096 })) }) },
    (ctx) => beginAtProvider(ctx.env, safePath(ctx.query.redirect, ctx.env.addresses.ui)),
  )
  .get(OIDC_CALLBACK, (ctx) => endAtProvider(ctx.env, ctx.url.searchParams, ctx.req.headers))
  .post(
    '/api/auth/invitation/oidc',
    { bodyType: 'form', body: Type.Object({ code: Type.String({ maxLength: 100 }) }) },
    async (ctx) => {
      const invitation = hashOf(ctx.body.code);
      // The page says that this way is not enabled.
      if ((await findLink(ctx.env.sql, invitation)) === null) return goTo('/api/auth/invitation');
      return beginAtProvider(ctx.env, '/', { invitation });
    },
  )
  .get(LINK_PATH, (ctx) => {
    checkProvider(ctx.env);
    return ctx.env.session === null ? signInFirst(LINK_PATH) : ownPage(ctx.env, ctx.env.session.accountId);
  })
  .post(LINK_PATH, currentForm, (ctx) =>
    confirmed(ctx.env, ctx.body.current, (linkTo) => beginAtProvider(ctx.env, '/account', { linkTo })),
  )
  .post(`${LINK_PATH}/remove`, currentForm, (ctx) =>
    confirmed(ctx.env, ctx.body.current, async (accountId) => {
      const { env } = ctx;
      const isRemoved = await env.sql.begin(async (tx) => {
        // The rows are locked in the same order as at a sign-in.
        await tx`SELECT 1 FROM control.oidc_identity WHERE account_id = ${accountId} FOR UPDATE`;
        await holdOrganizations(env, tx, { groups: [] }, { accountId, invitation: null });
        await lockPasskeys(tx, accountId);
        if (!(await hasOtherWay(tx, env, accountId, 'oidc'))) return false;
        await tx`DELETE FROM control.oidc_identity WHERE account_id = ${accountId}`;
        // Ends the memberships that came from groups, since no further sign-in would end them.
        await applyGroups(env, tx, accountId, new Map());
        await recordSignIn(tx, accountId, 'account.oidc_remove');
        return true;
      });
      return isRemoved
        ? goTo('/account')
        : ownPage(env, accountId, 'This is the only way to sign in to your account. Set a password first.');
    }),
  );

/** A change by the signed-in account, which requires its current password if it has one. */
async function confirmed(
  env: UiRequest,
  current: string,
  change: (accountId: string) => Promise<Response>,
): Promise<Response> {
  checkProvider(env);
  if (env.session === null) return signInFirst(LINK_PATH);
  const { accountId } = env.session;
  await countAttempt(env.sql, 'password', accountId);
  const known = await readPassword(env.sql, accountId);
  if (known === null && !isFresh(env.session)) return signInAgain(LINK_PATH);
  if (known !== null && !(await env.signIn.passwords.verify(current, known.hash)))
    return ownPage(env, accountId, 'The current password is wrong.');
  return change(accountId);
}

async function ownPage(env: UiRequest, accountId: string, problem: string | null = null): Promise<Response> {
  const { name, issuer } = checkProvider(env).settings;
  const linked = await oidcLoginOf(env.sql, accountId, issuer);
  const hasPassword = (await readPassword(env.sql, accountId)) !== null;
  const login = await loginOf(env, accountId);
  const current = html`<label for="current">Current password</label>
    <input id="current" name="current" type="password" autocomplete="current-password" required maxlength="128" />`;
  return page(
    linked === null ? `Link ${name}` : `Unlink ${name}`,
    html`${problem === null ? null : html`<p role="alert">${problem}</p>`}
      ${
        linked === null
          ? html`<p>You can then sign in as <strong>${login}</strong> with ${name}.</p>`
          : html`<p>
              You sign in as <strong>${login}</strong> with <strong>${linked}</strong> at ${name}. Without it, you also
              leave organizations that its groups gave you.
            </p>`
      }
      <form method="post" action="${LINK_PATH}${linked === null ? '' : '/remove'}">
        ${hasPassword ? current : html`<input type="hidden" name="current" value="" />`}
        <button class="first">${linked === null ? 'Continue' : 'Unlink'}</button
        ><a class="button" href="/account">Cancel</a>
      </form>`,
    { status: problem === null ? 200 : 422 },
  );
}
