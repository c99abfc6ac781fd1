// The page of an invitation's link, and its forms. Opening the page does not use the link up, since mail programs open
// links too. A link that is unknown, used, revoked or expired gets the same answer. Part of ui-app.ts.
import Type from '#core/typebox/typebox.mjs';
import { platform } from '#packages/worker/index.ts';
import type { Transaction } from '#postgres/sql.ts';
import { actorOfSession } from '../access/actor.ts';
import { hashOf } from '../access/secrets.ts';
import { newId } from '../records/ids.ts';
import { findLink, joinByLink, takeLink } from '../records/members.ts';
import { holdUsername } from '../records/passwords.ts';
import { countAttempt } from './attempts.ts';
import { recordJoin } from './audit.ts';
import { beginAtGitHost } from './git-host-flow.ts';
import { knowBrowser } from './known-browsers.ts';
import {
  checkOffered,
  makeNewPassword,
  newPasswordFields,
  offersPasswords,
  saveNewPassword,
  USERNAME_TAKEN,
} from './new-password.ts';
import { goTo, html, page } from './pages.ts';
import { offersPasskeys } from './passkey-offer.ts';
import { hostName, loginOf, offeredProvider, openSession, signInFirst, type UiRequest } from './ui-request.ts';

const PATH = '/api/auth/invitation';
/** The page on which a person joins with a passkey (passkey-invitation-app.ts). */
export const PASSKEY_PATH = `${PATH}/passkey`;
export const Code = Type.String({ maxLength: 100 });
const Text = Type.String({ maxLength: 400 });
const form = { bodyType: 'form', body: Type.Object({ code: Code }) } as const;

/** The link of an invitation. @param ui `AUTH_URL`. */
export function invitationUrl(ui: string, code: string): string {
  return `${ui}${pathOf(code)}`;
}

export const invitationApp = platform<UiRequest>()
  .get(PATH, { query: Type.Object({ code: Type.Optional(Code) }) }, async (ctx) => {
    return invitationPage(ctx.env, ctx.query.code ?? '');
  })
  .post(PATH, form, async (ctx) => {
    const { sql, session } = ctx.env;
    const { code } = ctx.body;
    if (session === null) return signInFirst(pathOf(code));
    const { accountId } = session;
    const taken = await sql.begin(async (tx) => {
      const link = await takeLink(tx, hashOf(code), accountId);
      if (link === null) return null;
      await joinByLink(tx, link, accountId);
      await recordJoin(tx, accountId, link);
      return link;
    });
    return taken === null ? invitationPage(ctx.env, code) : goTo('/');
  })
  .post(`${PATH}/git-host`, form, async (ctx) => {
    const { code } = ctx.body;
    if ((await findLink(ctx.env.sql, hashOf(code))) === null) return notOpen();
    return beginAtGitHost(ctx.env, '/', { invitation: hashOf(code) });
  })
  .post(
    `${PATH}/account`,
    { bodyType: 'form', body: Type.Object({ code: Code, username: Text, password: Text }) },
    async (ctx) => {
      const { env } = ctx;
      checkOffered(env);
      await countAttempt(env.sql, 'password', env.network);
      const { code, username, password } = ctx.body;
      if ((await findLink(env.sql, hashOf(code))) === null) return notOpen();
      const next = await makeNewPassword(env, username, password);
      if ('problem' in next) return invitationPage(env, code, next.problem);
      const created = await env.sql.begin(async (tx) => {
        const member = await createMember(tx, hashOf(code), next.username);
        if (typeof member !== 'string') await saveNewPassword(tx, member.accountId, next);
        return member;
      });
      if (created === 'taken') return invitationPage(env, code, USERNAME_TAKEN);
      if (created === 'not_open') return notOpen();
      const session = await openSession(env, { ...created, tokenId: null }, ctx.req.headers);
      return goTo('/', [session, knowBrowser(env, created.accountId)]);
    },
  );

/**
 * Creates an account that becomes a member through an invitation link. The caller adds the sign-in method of the new
 * account. If nothing was changed, returns the reason.
 */
export async function createMember(
  tx: Transaction,
  linkHash: Buffer,
  username: string,
): Promise<{ readonly accountId: string } | 'taken' | 'not_open'> {
  if (!(await holdUsername(tx, username, null))) return 'taken';
  const link = await takeLink(tx, linkHash, null);
  if (link === null) return 'not_open';
  const accountId = newId('account');
  await tx`INSERT INTO control.account (id, login, signed_in_at) VALUES (${accountId}, ${username}, now())`;
  await joinByLink(tx, link, accountId);
  await recordJoin(tx, accountId, link);
  return { accountId };
}

/** The path of a link. */
export function pathOf(code: string): string {
  return `${PATH}?${codeQuery(code)}`;
}

function codeQuery(code: string): string {
  return new URLSearchParams({ code }).toString();
}

/** The page for a link that is not open. */
export function notOpen(): Response {
  return page(
    'Invitation not found',
    html`<p role="alert">It was used or revoked, or it has expired. Ask for a new one.</p>
      <p><a href="/">Go to the dashboard</a></p>`,
    { status: 404 },
  );
}

async function invitationPage(env: UiRequest, code: string, problem: string | null = null): Promise<Response> {
  const { sql, session, signIn } = env;
  const link = await findLink(sql, hashOf(code));
  if (link === null) return notOpen();
  const title = `Join ${link.organization_name}`;
  const hidden = html`<input type="hidden" name="code" value="${code}" />`;
  const offer = html`${problem === null ? null : html`<p role="alert">${problem}</p>`}
    <p>You are invited to <strong>${link.organization_name}</strong> as <strong>${link.role}</strong>.</p>`;
  if (session === null) {
    const gitHost = hostName(env);
    const provider = offeredProvider(env)?.settings.name ?? null;
    const atGitHost = html`<form method="post" action="${PATH}/git-host">
      ${hidden}<button class="first">Continue with ${gitHost}</button>
    </form>`;
    const atProvider = html`<form method="post" action="${PATH}/oidc">
      ${hidden}<button class="first">Continue with ${provider}</button>
    </form>`;
    const isFirst = provider === null && gitHost === null;
    const byPassword = html`<form method="post" action="${PATH}/account">
      ${hidden} ${newPasswordFields(link.email?.split('@')[0] ?? '')}
      <button ${isFirst ? html`class="first"` : null}>Create account</button>
    </form>`;
    const byPasskey = html`<p><a class="button" href="${PASSKEY_PATH}?${codeQuery(code)}">Use a passkey</a></p>`;
    const back = new URLSearchParams({ redirect: pathOf(code) }).toString();
    return page(
      title,
      html`${offer} ${provider === null ? null : atProvider} ${gitHost === null ? null : atGitHost}
        ${offersPasswords(env) ? byPassword : null} ${offersPasskeys(env) ? byPasskey : null}
        <p><a href="/api/auth/sign-in?${back}">I already have an account</a></p>`,
      {
        status: problem === null ? 200 : 422,
        // The form continues at the Git host.
        ...(gitHost !== null && { formsTo: new URL(signIn.gitHost.url).origin }),
      },
    );
  }
  const { memberships = {} } = (await actorOfSession(sql, session)) ?? {};
  const login = await loginOf(env, session.accountId);
  if (Object.hasOwn(memberships, link.organization_id))
    return page(
      title,
      html`<p>You are signed in as <strong>${login}</strong>, who is already a member. The invitation stays valid.</p>
        <p><a href="/">Go to the dashboard</a></p>`,
    );
  return page(
    title,
    html`${offer}
      <p>You are signed in as <strong>${login}</strong>. To join with another account, sign out first.</p>
      <form method="post" action="${PATH}">${hidden}<button class="first">Join</button></form>`,
  );
}
